/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step side of the supervisor: the control sockets (Unix for the job's own hosts, TCP for agents and
 * `shim-launch ctl`), the agents, the accounting of CPUs between steps, the steppers of the master host, step records.
 * The supervisor (batch.c) owns one of these and tells it what the engine does to the job.
 */
#ifndef SOC_LAUNCHER_STEPS_H
#define SOC_LAUNCHER_STEPS_H

#include "common/env.h"
#include "launcher/alloc.h"
#include "launcher/loop.h"
#include "ocs/jobspec.h"

struct steps;

/* What the step side asks of the supervisor. */
struct steps_hooks {
	/* `ctl cancel`: end the job as scancel does (TERM, kill_wait, KILL), state CANCELLED by uid */
	void (*cancel)(void *arg, uid_t by);
	/* `ctl signal N batch|full`: to the script alone, or to it and all that it started on this host */
	void (*signal_batch)(void *arg, int signo, bool full);
	/* `ctl requeue`: end the job, and let the engine start it again. NULL, or why not */
	const char *(*requeue)(void *arg);
	void *arg;
};

struct steps_config {
	struct loop *loop;
	const struct alloc *alloc; /* borrowed for life, as all pointers here */
	const struct jobspec *job;
	const struct env *job_env; /* batch-level environment (jobenv_fill and the user's) */
	const char *libexec;       /* folder of our programs */
	const char *job_dir;       /* SOO_JOB_DIR: the Unix socket goes to <job_dir>/ctl */
	const char *spool_dir;     /* the "control" file goes there */
	int record_dirfd;          /* -1: no records */
	const char *host;          /* this host's name in records */
	struct steps_hooks hooks;
};

/* Opens the Unix socket (at once) and the TCP listener with the control file. NULL with err: the job then runs without
 * steps, and srun says why. */
struct steps *steps_new(const struct steps_config *cfg, struct error *err);
/* The engine stopped or continued the job: every rank on every host follows. */
void steps_suspend(struct steps *s, bool stopped);
/* signo to every rank of every step (of step id, -1: all). */
void steps_signal(struct steps *s, int64_t step, int signo);
/* The job was cancelled or is over its limit: its script may still act on that, but begins no more steps. */
void steps_close(struct steps *s);
/* The job ends: TERM to ranks, KILL after kill_wait_ms (0: at once), agents let go; done(arg) once all hosts are empty
 * or the time is over. */
void steps_end(struct steps *s, int64_t kill_wait_ms, void (*done)(void *arg), void *arg);
/* pids of local steppers: tree_signal() spares them where the supervisor signals only the script's own tree. */
size_t steps_pids(const struct steps *s, const pid_t **pids);
void steps_free(struct steps *s);

/* Role mains (launcher/main.c dispatches): exit code. argv[0] is the role's name. */
int agent_main(int argc, char **argv);
int step_main(int argc, char **argv);
int ctl_main(int argc, char **argv);
int batch_main(int argc, char **argv);
int guard_main(int argc, char **argv);

#endif
