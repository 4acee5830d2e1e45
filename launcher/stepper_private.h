/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by stepper.c (life) and stepper_io.c (streams) alone. */
#ifndef SOC_LAUNCHER_STEPPER_PRIVATE_H
#define SOC_LAUNCHER_STEPPER_PRIVATE_H

#include "launcher/net.h"
#include "launcher/proto.h"
#include "launcher/stepper.h"

struct stepper;
struct task;

/* A file that several ranks of the host write to, by us alone. */
struct shared_file {
	char *path;
	int fd;
	struct shared_file *next;
};

/* A rank's stdout or stderr on its way. */
struct stream {
	struct task *task;
	int fd;      /* our end of the pipe (or pty); -1: at its end or never there */
	bool is_err; /* goes to srun's stderr */
	bool paused;
	struct shared_file *file; /* NULL: srun */
	struct strbuf held;       /* an unfinished line */
	bool midline;             /* file with labels: the line's label is written */
};

struct task {
	struct stepper *stepper;
	uint32_t local, id;
	struct env env;
	int child_fds[3];       /* the rank's ends; -1 once it runs */
	struct stream out, err; /* err.fd -1 where stderr shares stdout's */
	int err_file;           /* rank writes its file itself: for what we have to say there; -1 */
	int in_fd;              /* our end of stdin; -1 */
	struct strbuf in;
	size_t in_sent;
	bool in_eof;
	pid_t pid;
	int status_fd;
	struct loop_child child;
	bool started, exited;
};

struct stepper {
	struct loop loop;
	struct stepper_start start;
	const struct env *host_env;
	int life_fd;
	struct channel *channel; /* NULL: not there yet, or lost */
	struct strbuf spec_bytes;
	struct hostspec spec;
	struct argvec argv; /* argv[0] resolved */
	char *path;
	char *command; /* as given, for messages */
	struct task *tasks;
	uint32_t ntasks, running;
	struct shared_file *files;
	bool prepared, started, done, ending, in_paused, in_nobody;
	uint32_t open_streams;
	struct loop_timer grace, kill, poll;
};

/* --- stepper_io.c --- */
/* Opens every file and pipe of every rank. -1 with err, *failed the rank or RANK_ALL. */
int streams_open(struct stepper *s, uint32_t *failed, struct error *err);
/* After the fork of a rank: its ends are closed here, ours watched. */
void streams_start(struct task *t);
/* Takes what is in the pipes of a rank that has ended. */
void streams_drain(struct task *t);
void streams_close(struct stepper *s);
/* Text of ours on a rank's stderr. */
void stream_say(struct task *t, const char *text);
void streams_resume(struct stepper *s);
void input_take(struct stepper *s, const struct frame *f);
/* A rank is gone: nobody reads its input any more. */
void input_close(struct task *t);

/* --- stepper.c --- */
/* Called when a stream reached its end. */
void stepper_stream_ended(struct stepper *s);

#endif
