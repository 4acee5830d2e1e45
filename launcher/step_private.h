/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files step*.c alone: srun's side of one step. */
#ifndef SOC_LAUNCHER_STEP_PRIVATE_H
#define SOC_LAUNCHER_STEP_PRIVATE_H

#include "launcher/net.h"
#include "launcher/proto.h"
#include "ocs/stepspec.h"

#define CODE_REFUSED 1
#define CODE_LAUNCH 8 /* the step could not be started on some host */

struct srun;

enum host_state { HOST_WAITED_FOR, HOST_CONNECTED, HOST_READY, HOST_RUNNING, HOST_DONE, HOST_LOST };

struct srun_host {
	struct srun *srun;
	uint32_t index;
	enum host_state state;
	struct net_caller *caller;
	bool in_paused, in_nobody;
	uint32_t reported;        /* ranks whose end is known */
	struct loop_timer report; /* ends of ranks are told together */
};

enum task_state { TASK_WAITING, TASK_RUNNING, TASK_EXITED, TASK_LOST };

struct srun_task {
	uint32_t host;
	enum task_state state;
	bool told; /* its end has been printed (or needs no line) */
	int status;
};

/* Where output goes: a descriptor that may be slow, shared with others, or gone. */
struct sink {
	struct srun *srun;
	int fd;   /* -1: nowhere */
	bool own; /* opened by us */
	bool pollable, watched;
	struct strbuf queue;
	size_t sent;
	bool midline;   /* with labels: the last line has no end yet */
	uint64_t owner; /* whose line that is */
};

struct srun_input {
	int fd; /* -1: none */
	bool own, pollable, watched, ended;
	uint32_t only; /* RANK_ALL or a task */
	struct loop_timer again;
};

enum abort_kind {
	ABORT_NONE,
	ABORT_BAD_EXIT,
	ABORT_WAIT,
	ABORT_SIGNAL,
	ABORT_PIPE,
	ABORT_CANCEL,
	ABORT_TIME,
	ABORT_LAUNCH,
	ABORT_NODE
};

struct srun {
	struct loop loop;
	struct stepspec spec;
	struct layout_request want;
	uint32_t cpus_given; /* -c of this srun, or LAYOUT_UNSET */
	uint64_t limits[HOSTSPEC_LIMITS];
	char *job_dir;
	struct channel ctl;
	bool granted, launched, started, done_sent, finished;
	bool told_waiting;
	struct step_granted g;
	struct net_listener unix_listener, tcp_listener;
	char *addresses, *unix_path, *unix_name;
	uint16_t port;

	struct srun_host *hosts;
	struct srun_task *tasks;
	struct hostspec common; /* of every host's SPEC */
	struct sink out, err;
	struct srun_input in;

	enum abort_kind abort;
	bool job_step_aborted; /* "Job step aborted" was said: no "Force Terminated" */
	bool first_exit;
	int64_t first_exit_ms, last_int_ms;
	int code, final_signal; /* highest of the tasks */
	int fixed_code;         /* of a launch that failed; 0 */
	bool timed_out, node_failed;
	uint64_t utime_us, stime_us, maxrss_kib;
	struct loop_timer launch_limit, wait, time_limit, kill, abort_limit, int_kill;
};

/* --- step.c --- */
/* "JOB.STEP" of messages. */
const char *step_name(const struct srun *s);
void step_finish_if_done(struct srun *s);
void step_exit(struct srun *s, int code);

/* --- step_host.c --- */
void hosts_expect(struct srun *s);
void hosts_signal(struct srun *s, int signo);
void hosts_resume(struct srun *s);
void host_lost(struct srun_host *h, const char *why);
void hosts_close(struct srun *s);
extern const struct net_listener_ops step_listener_ops;

/* --- step_io.c --- */
/* Settles -i, -o, -e: descriptors here, stream_spec for the hosts. -1 with err ("Could not open stdout file: ..."). */
int io_open(struct srun *s, struct error *err);
void io_start(struct srun *s);
/* Output of a task arrived; false: its host should not send more for now. */
bool io_output(struct srun *s, uint32_t rank, const struct frame *f);
void io_input_again(struct srun *s);
/* Everything is written (or nobody is there to take it). */
bool io_flushed(const struct srun *s);
void io_close(struct srun *s);

/* --- step_end.c --- */
void end_task(struct srun *s, uint32_t rank, int status);
void end_task_lost(struct srun *s, uint32_t rank);
/* Prints the ends of a host's tasks that have not been told yet. */
void end_report(struct srun_host *h);
void end_abort(struct srun *s, enum abort_kind kind);
void end_signal(struct srun *s, int signo, pid_t sender);
void end_started(struct srun *s);
/* Exit code and, for the record, state of the whole step; prints what Slurm prints last. */
int end_verdict(struct srun *s, struct step_done *d);

#endif
