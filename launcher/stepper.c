/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/stepper.h"

#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "launcher/rank.h"
#include "launcher/stepenv.h"
#include "launcher/stepper_private.h"
#include "launcher/tree.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define GRACE_MS 2000 /* a rank's background child may hold its output open that long after the last rank */
#define TERM_WAIT_MS 5000 /* after the loss of srun: TERM to KILL */
#define POLL_MS 20
#define DIAL_MS 30000

static void finish_if_done(struct stepper *s);

/* Is any descendant left? A subreaper is the parent of all orphans, so no walk of /proc is needed. */
static bool has_children(void)
{
	siginfo_t si;

	return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void say(struct stepper *s, const char *text)
{
	if (s->channel)
		channel_send(s->channel, FRAME_NOTE, 0, 0, text, strlen(text));
}

static void quit(struct stepper *s)
{
	if (s->channel)
		channel_flush(s->channel);
	loop_stop(&s->loop);
}

/* --- ends --- */

static void quit_when_empty(void *arg)
{
	struct stepper *s = arg;

	if (!has_children())
		quit(s);
	else
		loop_timer_set(&s->loop, &s->poll, POLL_MS, quit_when_empty, s);
}

static void kill_and_quit(void *arg)
{
	struct stepper *s = arg;

	tree_kill(NULL, 0);
	quit(s);
}

/* srun is gone: what it started must not outlive it. */
static void lost_srun(struct stepper *s)
{
	if (s->ending)
		return;
	s->ending = true;
	if (!has_children()) {
		quit(s);
		return;
	}
	tree_signal(SIGCONT, NULL, 0);
	tree_signal(SIGTERM, NULL, 0);
	loop_timer_set(&s->loop, &s->kill, TERM_WAIT_MS, kill_and_quit, s);
	loop_timer_set(&s->loop, &s->poll, POLL_MS, quit_when_empty, s);
}

static void refuse(struct stepper *s, uint32_t rank, const char *text)
{
	channel_send(s->channel, FRAME_RANK_FAIL, 0, rank, text, strlen(text));
	/* srun closes when it has read that */
}

/* --- ranks --- */

static void report_exit(struct task *t, int status, const struct rusage *ru)
{
	struct rank_exit e = {
		.status = (uint32_t)status,
		.utime_us = (uint64_t)ru->ru_utime.tv_sec * 1000000 + (uint64_t)ru->ru_utime.tv_usec,
		.stime_us = (uint64_t)ru->ru_stime.tv_sec * 1000000 + (uint64_t)ru->ru_stime.tv_usec,
		.maxrss_kib = (uint64_t)ru->ru_maxrss,
	};
	cleanup_strbuf struct strbuf out = STRBUF_INIT;

	rank_exit_pack(&e, &out);
	if (t->stepper->channel)
		channel_send(t->stepper->channel, FRAME_RANK_EXIT, 0, t->id, out.buf, out.len);
}

static void read_exec_status(struct task *t)
{
	int code = 0;
	char text[1024];

	if (t->status_fd < 0)
		return;
	loop_fd_remove(&t->stepper->loop, t->status_fd);
	if (read(t->status_fd, &code, sizeof(code)) == sizeof(code)) {
		snprintf(text, sizeof(text), "slurmstepd: error: execve(): %s: %s\n", t->stepper->command,
			 strerror(code));
		stream_say(t, text);
	}
	close(t->status_fd);
	t->status_fd = -1;
}

static void on_exec_status(void *arg, uint32_t events)
{
	(void)events;
	read_exec_status(arg);
}

static void on_rank_end(void *arg, pid_t pid, int status, const struct rusage *ru)
{
	struct task *t = arg;

	(void)pid;
	if (WIFSTOPPED(status) || WIFCONTINUED(status))
		return;
	read_exec_status(t);
	t->exited = true;
	input_close(t);
	/* its output goes before its end, and its end before that of the host */
	streams_drain(t);
	report_exit(t, status, ru);
	t->stepper->running--;
	finish_if_done(t->stepper);
}

static void say_done(struct stepper *s)
{
	s->done = true;
	loop_timer_cancel(&s->loop, &s->grace);
	if (s->channel)
		channel_send(s->channel, FRAME_HOST_DONE, 0, 0, NULL, 0);
	else
		quit(s);
}

static void on_grace(void *arg)
{
	struct stepper *s = arg;

	/* srun reads slowly: the bytes that it hasn't got yet are no leftover */
	if (s->channel && !channel_idle(s->channel)) {
		loop_timer_set(&s->loop, &s->grace, GRACE_MS, on_grace, s);
		return;
	}
	tree_kill(NULL, 0);
	for (uint32_t i = 0; i < s->ntasks; i++)
		streams_drain(&s->tasks[i]);
	/* a holder outside of the tree (a daemon of another job): not ours to wait for */
	if (!s->done)
		say_done(s);
}

/* The ranks are over. What they left running ends with the step. */
static void finish_if_done(struct stepper *s)
{
	if (!s->started || s->running || s->done || s->ending)
		return;
	if (s->open_streams && has_children()) {
		if (!s->grace.active)
			loop_timer_set(&s->loop, &s->grace, GRACE_MS, on_grace, s);
		return;
	}
	if (s->open_streams) {
		/* nothing of ours holds them: their rest is in the pipes */
		if (!s->grace.active)
			loop_timer_set(&s->loop, &s->grace, 0, on_grace, s);
		return;
	}
	if (has_children())
		tree_kill(NULL, 0);
	say_done(s);
}

void stepper_stream_ended(struct stepper *s)
{
	finish_if_done(s);
}

static int start_rank(struct stepper *s, struct task *t, struct error *err)
{
	struct rank_start r = {
		.path = s->path,
		.argv = s->argv.v,
		.envp = t->env.vars.v,
		.fds = { t->child_fds[0], t->child_fds[1], t->child_fds[2] },
		.umask = (mode_t)s->spec.umask,
		.limits = s->spec.limits,
		.mask = &s->loop.original_mask,
	};

	t->pid = rank_spawn(&r, &t->status_fd, err);
	if (t->pid < 0)
		return -1;
	t->started = true;
	s->running++;
	loop_child_add(&s->loop, &t->child, t->pid, on_rank_end, t);
	loop_fd_add(&s->loop, t->status_fd, EPOLLIN, on_exec_status, t, NULL);
	return 0;
}

static void start_ranks(struct stepper *s)
{
	struct error err = ERROR_INIT;

	if (!s->prepared || s->started)
		return;
	s->started = true;
	for (uint32_t i = 0; i < s->ntasks; i++) {
		if (start_rank(s, &s->tasks[i], &err) < 0) {
			refuse(s, s->tasks[i].id, err.text);
			return;
		}
	}
	for (uint32_t i = 0; i < s->ntasks; i++)
		streams_start(&s->tasks[i]);
}

/* --- preparation --- */

static void enter_folder(struct stepper *s)
{
	char text[1200];

	if (chdir(s->spec.cwd) == 0)
		return;
	snprintf(text, sizeof(text), "slurmstepd: error: couldn't chdir to `%s': %s: going to /tmp instead",
		 s->spec.cwd, strerror(errno));
	/* Slurm says it twice: its manager goes there, then the rank */
	say(s, text);
	say(s, text);
	if (chdir("/tmp") < 0)
		say(s, "slurmstepd: error: couldn't chdir to /tmp either");
}

static void make_task(struct stepper *s, uint32_t i)
{
	struct task *t = &s->tasks[i];
	struct stepenv_rank rank = { .node = s->spec.node,
				     .node_index = s->spec.node_index,
				     .cpus = s->spec.cpus,
				     .ranks = s->spec.ranks,
				     .nranks = s->ntasks,
				     .local = i };

	*t = (struct task){ .stepper = s,
			    .local = i,
			    .id = s->spec.ranks[i],
			    .in_fd = -1,
			    .status_fd = -1,
			    .err_file = -1,
			    .child_fds = { -1, -1, -1 },
			    .out = { .fd = -1, .held = STRBUF_INIT },
			    .err = { .fd = -1, .held = STRBUF_INIT },
			    .in = STRBUF_INIT,
			    .env = ENV_INIT };
	env_add_all(&t->env, s->spec.env.vars.v);
	stepenv_host(&t->env, s->host_env);
	stepenv_rank(&t->env, &rank);
}

static int prepare(struct stepper *s, struct error *err, uint32_t *failed)
{
	*failed = RANK_ALL;
	if (hostspec_unpack(&s->spec, s->spec_bytes.buf, s->spec_bytes.len, err) < 0)
		return -1;
	strbuf_release(&s->spec_bytes);
	enter_folder(s);
	s->ntasks = s->spec.nranks;
	s->tasks = xcalloc(s->ntasks, sizeof(*s->tasks));
	for (uint32_t i = 0; i < s->ntasks; i++)
		make_task(s, i);
	/* what the message names is what the user wrote, but with the folder before a relative path */
	s->path = rank_resolve(s->spec.argv.v[0], &s->tasks[0].env);
	s->command = xstrdup(s->spec.argv.v[0][0] == '.' ? s->path : s->spec.argv.v[0]);
	argvec_push(&s->argv, s->path);
	for (size_t i = 1; i < s->spec.argv.n; i++)
		argvec_push(&s->argv, s->spec.argv.v[i]);
	return streams_open(s, failed, err);
}

static void take_spec(struct stepper *s, const struct frame *f)
{
	struct error err = ERROR_INIT;
	uint32_t failed;

	if (s->prepared)
		return;
	strbuf_add(&s->spec_bytes, f->payload, f->length);
	if (s->spec_bytes.len > PROTO_SPEC_MAX) {
		refuse(s, RANK_ALL, "the step's description is too long");
		return;
	}
	if (f->flags & FRAME_MORE)
		return;
	if (prepare(s, &err, &failed) < 0) {
		refuse(s, failed, err.text);
		return;
	}
	s->prepared = true;
	channel_send(s->channel, FRAME_READY, 0, 0, NULL, 0);
}

/* --- signals --- */

static void signal_ranks(struct stepper *s, int signo)
{
	/* a stop and a kill are for all that the ranks started, others for each rank's process group, as in Slurm */
	if (signo == SIGKILL || signo == SIGSTOP || signo == SIGCONT) {
		tree_signal(signo, NULL, 0);
		return;
	}
	for (uint32_t i = 0; i < s->ntasks; i++)
		if (s->tasks[i].started && !s->tasks[i].exited)
			kill(-s->tasks[i].pid, signo);
}

static void take_signal(struct stepper *s, const struct frame *f)
{
	int signo = f->length == 4 ? f->payload[3] : 0;

	if (signo <= 0 || signo >= NSIG)
		return;
	signal_ranks(s, signo);
}

static void on_life(void *arg, uint32_t events)
{
	struct stepper *s = arg;
	unsigned char signo;
	ssize_t k = read(s->life_fd, &signo, 1);

	(void)events;
	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (k == 1 && signo != STEPPER_ORPHANED) {
		signal_ranks(s, signo);
		return;
	}
	if (k == 1) {
		/* the end of a connection shows by itself, but who still dials would do so until it's too late */
		if (!s->channel && !s->started)
			quit(s);
		return;
	}
	/* our parent is gone, and with it whoever would account for the ranks or end them */
	loop_fd_remove(&s->loop, s->life_fd);
	say(s, "slurmstepd: error: the process above the step manager was lost");
	kill_and_quit(s);
}

/* --- the connection --- */

static void on_frame(void *arg, const struct frame *f)
{
	struct stepper *s = arg;

	switch (f->type) {
	case FRAME_SPEC:
		take_spec(s, f);
		break;
	case FRAME_START:
		start_ranks(s);
		break;
	case FRAME_IN:
		input_take(s, f);
		break;
	case FRAME_SIG:
		take_signal(s, f);
		break;
	default:
		break;
	}
}

static void on_closed(void *arg, const char *why)
{
	struct stepper *s = arg;

	(void)why;
	net_channel_free(s->channel);
	s->channel = NULL;
	if (s->done)
		quit(s);
	else
		lost_srun(s);
}

static void on_drained(void *arg)
{
	streams_resume(arg);
}

static const struct channel_ops channel_ops = { .frame = on_frame,
						.closed = on_closed,
						.drained = on_drained };

static void on_dialed(void *arg, struct channel *ch, const char *why)
{
	struct stepper *s = arg;

	(void)why;
	if (!ch) {
		quit(s);
		return;
	}
	channel_keepalive(ch, s->start.ping_interval * 1000, s->start.control_timeout * 1000);
}

static int dial(struct stepper *s, struct error *err)
{
	struct net_dial_request rq = {
		.unix_path = s->start.unix_path,
		.addresses = s->start.addresses,
		.port = s->start.port,
		.who = { .kind = AUTH_STEPPER, .id = s->start.step_id, .host = s->start.host_index },
		.key = s->start.token,
		.auth_ms = s->start.auth_timeout * 1000,
		.timeout_ms = DIAL_MS,
		.ops = &channel_ops,
		.arg = s,
	};

	return net_dial_start(&s->loop, &rq, &s->channel, on_dialed, s, err) ? 0 : -1;
}

/* --- the process --- */

/* Kernels before 5.9 have no close_range(). */
static void close_from(unsigned first, unsigned last)
{
	struct rlimit rl;

	if (syscall(SYS_close_range, first, last, 0U) == 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && last > rl.rlim_cur)
		last = rl.rlim_cur < 65536 ? (unsigned)rl.rlim_cur : 65536;
	for (unsigned fd = first; fd <= last; fd++)
		close((int)fd);
}

/* Nothing of the parent's may stay open here: a socket of it held in a long step would look alive to its peer. */
static void close_others(int keep)
{
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	if (keep > 3)
		close_from(3, (unsigned)keep - 1);
	close_from((unsigned)keep + 1, ~0U);
}

static void NORETURN run(struct stepper *s, const sigset_t *original)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct error err = ERROR_INIT;
	sigset_t mask;

	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXCPU, SIG_IGN);
	fd_raise_limit();
	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		sigaddset(&mask,
			  ignored[i]); /* taken from the loop and dropped: our orders come by the sockets */
	if (loop_init(&s->loop, &mask, NULL, NULL, &err) < 0)
		_exit(1);
	s->loop.original_mask = *original;
	fd_set_nonblock(s->life_fd, true);
	if (loop_fd_add(&s->loop, s->life_fd, EPOLLIN, on_life, s, &err) < 0 || dial(s, &err) < 0 ||
	    loop_run(&s->loop, &err) < 0)
		_exit(1);
	_exit(0);
}

int stepper_fork(struct stepper_child *c, struct loop *l, const struct stepper_start *start,
		 const struct env *host_env, loop_child_fn fn, void *arg, struct error *err)
{
	struct stepper s = { .start = *start, .host_env = host_env, .spec_bytes = STRBUF_INIT };
	int life[2];
	sigset_t original = l->original_mask;

	*c = (struct stepper_child){ .life_fd = -1, .pid = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life) < 0)
		return error_errno(err, "socketpair");
	c->pid = fork();
	if (c->pid == 0) {
		close(life[0]);
		loop_abandon(l);
		close_others(life[1]);
		s.life_fd = life[1];
		run(&s, &original);
	}
	close(life[1]);
	if (c->pid < 0) {
		close(life[0]);
		return error_errno(err, "fork");
	}
	c->life_fd = life[0];
	loop_child_add(l, &c->child, c->pid, fn, arg);
	return 0;
}

void stepper_signal(const struct stepper_child *c, int signo)
{
	unsigned char byte = (unsigned char)signo;

	if (c->life_fd >= 0 && send(c->life_fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0; /* it is gone: its end comes by waitpid */
}

void stepper_close(struct stepper_child *c)
{
	if (c->life_fd >= 0)
		close(c->life_fd);
	c->life_fd = -1;
}
