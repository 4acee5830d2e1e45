/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's own parts: `shim-launch batch SPOOLDIR`, a job's batch step. Below the minder, in a process group of
 * its own, parent of the canary, of the script, of the master host's steppers and of all qrsh clients.
 */
#ifndef SOC_LAUNCHER_BATCH_H
#define SOC_LAUNCHER_BATCH_H

#include "common/env.h"
#include "launcher/alloc.h"
#include "launcher/canary.h"
#include "launcher/loop.h"
#include "launcher/steps.h"
#include "ocs/jobspec.h"
#include "ocs/spool.h"

#include <stdbool.h>
#include <sys/resource.h>

/* Why the job ends. The first reason stays. */
enum batch_end {
	END_NONE,
	END_SCRIPT,
	END_TIMEOUT,
	END_CANCELLED,
	END_KILLED,
	END_NEVER,
	END_REQUEUED,
	END_DEADLINE
};

struct batch {
	struct loop loop;
	struct spool spool;
	struct jobspec job;
	struct alloc alloc;
	struct env engine; /* what the engine gave us */
	struct env env;    /* of the script, and of every step */
	char *libexec;
	char *job_dir;    /* SOO_JOB_DIR */
	bool own_job_dir; /* not below TMPDIR: nobody else removes it */
	char *work_dir;   /* where the script runs */
	char *script;     /* our copy of it */
	int job_fd, record_fd;
	int std_fd[3];       /* the script's */
	struct rlimit files; /* limit of open files as the engine set it */

	struct canary canary;
	struct steps *steps; /* NULL: the job runs without */
	struct loop_child script_child;
	pid_t *spared;    /* the last answer of batch_spared() */
	pid_t script_pid; /* -1: not started or ended */
	int status;       /* wait status of the script */

	enum batch_end end;
	int64_t cancelled_by; /* uid */
	struct loop_timer limit, warning, look, kill, give_up;
	int64_t started;                  /* ms */
	int64_t limit_left, warning_left; /* ms, while suspended */
	int64_t looked;                   /* when we last saw the clock */
	bool suspended;
	bool at_deadline; /* the limit is --deadline, earlier than --time */
};

/* --- batch_output.c --- */
/* A --output, --error or --input pattern with its %-words replaced. Caller frees. */
char *output_expand(const char *pattern, const struct alloc *a, const struct jobspec *job);
/* Opens the script's stdin, stdout and stderr into b->std_fd. -1 with err: the job can't be launched. */
int output_open(struct batch *b, struct error *err);
/* Where a user looks first, when nothing of the job is known but the engine's environment: slurm-<id>.out in the
 * submit folder, else the home. A descriptor, or -1. */
int output_open_last_resort(const struct env *engine);

/* --- batch_script.c --- */
/* b->env, from the engine's, the user's (spool) and Slurm's. */
int script_environment(struct batch *b, struct error *err);
/* Copies the script to where it is run from; b->script. */
int script_copy(struct batch *b, struct error *err);
/* Forks and execs it; b->script_pid. A script that can't be executed ends with errno as its code, as under Slurm. */
int script_start(struct batch *b, loop_child_fn on_end, struct error *err);

/* --- batch_limits.c --- */
/* Can the job still end before its --deadline? */
bool limits_in_time(const struct batch *b);
/* Arms --time, --deadline and --signal; the clock stands still while the job is suspended. */
void limits_start(struct batch *b);
void limits_stop(struct batch *b);
/* The engine stopped or continued the job. */
void limits_suspend(struct batch *b, bool stopped);
/* TERM now, KILL after kill_wait. by: uid; only used for END_CANCELLED. */
void limits_end_job(struct batch *b, enum batch_end why, int64_t by);
/* signo to the script alone, or to all that it started on this host. */
void limits_signal(struct batch *b, int signo, bool full);

/* --- batch_grants.c --- */
/* The ids of the job's GPUs into b->alloc; where they can't be had, a line in the job's output says so. */
void grants_read(struct batch *b);

/* --- batch_depend.c --- */
enum gate { GATE_OPEN, GATE_NEVER, GATE_KILLED };
/* Before the script: may the job start? KILLED: it was ended while it waited for the answer. -1 with err. */
int depend_gate(struct batch *b, struct error *err);
/* The start, or end, of the job is recorded: word to those that wait for it. */
void depend_tell(struct batch *b, bool start);

/* --- batch_requeue.c --- */
/* Has the engine start the job again; returns our exit code for that, where the engine doesn't kill us first. */
int requeue_exit(const struct batch *b);

/* --- batch.c --- */
/* Processes that must not be signalled with the script's: canary, steppers, qrsh clients. Borrowed until the next call. */
size_t batch_spared(struct batch *b, const pid_t **pids);

#endif
