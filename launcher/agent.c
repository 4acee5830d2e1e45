/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `shim-launch agent ADDR[,ADDR...]:PORT HOST NODE CONTROL PING AUTH`: the supervisor's hand on another host of the job,
 * started by qrsh -inherit below a minder. Its secret comes on stdin (64 hexadecimal digits, newline, EOF). It forks
 * steppers and passes the requests of the host's sruns on. It never dies by a signal of its own: to the engine a task
 * that does means that the whole job failed.
 */
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/pack.h"
#include "common/path.h"
#include "launcher/canary.h"
#include "launcher/net.h"
#include "launcher/stepper.h"
#include "launcher/steps.h"
#include "launcher/tree.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

extern char **environ;

#define DIAL_MS 30000
#define TERM_WAIT_MS 5000
#define POLL_MS 20
#define SECRET_MAX 256
/*
 * Where the engine stops every process of a job (ENABLE_ADDGRP_KILL, systemd), the supervisor is stopped with the script
 * and can't tell; tasks on other hosts the engine leaves running. So its silence means: suspended.
 */
#define HEARTBEAT_MS 2000
#define SUSPENDED_MS 6000

struct agent_step {
	struct agent_run *agent;
	uint32_t id;
	struct stepper_child stepper;
	struct agent_step *next;
};

/* One srun of this host. */
struct local_client {
	struct agent_run *agent;
	uint32_t relay;
	struct channel channel;
	struct loop_timer gone;
	struct local_client *next;
};

struct agent_run {
	struct loop loop;
	struct canary canary;
	struct env env; /* what belongs to this host */
	char *job_dir;
	bool own_job_dir; /* not below TMPDIR: nobody else removes it */
	unsigned char key[AUTH_KEY];
	char *addresses;
	uint16_t port;
	uint32_t host, control_timeout, ping_interval, auth_timeout;
	struct channel *channel;
	struct net_listener listener;
	struct agent_step *steps;
	struct local_client *clients;
	uint32_t next_relay;
	bool ending, asleep; /* asleep: the supervisor is silent, our ranks are stopped */
	int64_t last_beat;
	struct loop_timer kill, poll, heartbeat;
};

/* --- the end --- */

static void kill_steppers(struct agent_run *a, int signo)
{
	for (struct agent_step *st = a->steps; st; st = st->next)
		stepper_signal(&st->stepper, signo);
}

static void end_now(void *arg)
{
	struct agent_run *a = arg;

	tree_kill(&a->canary.pid, a->canary.pid > 0);
	if (a->channel)
		channel_flush(a->channel);
	loop_stop(&a->loop);
}

static void end_when_empty(void *arg)
{
	struct agent_run *a = arg;

	if (!a->steps)
		end_now(a);
	else
		loop_timer_set(&a->loop, &a->poll, POLL_MS, end_when_empty, a);
}

static void end_in(struct agent_run *a, int64_t ms)
{
	if (a->ending && ms)
		return;
	a->ending = true;
	if (!ms) {
		end_now(a);
		return;
	}
	kill_steppers(a, SIGCONT);
	kill_steppers(a, SIGTERM);
	loop_timer_set(&a->loop, &a->kill, ms, end_now, a);
	end_when_empty(a);
}

static void on_canary(void *arg, enum canary_event event)
{
	struct agent_run *a = arg;

	/* STOP and CONT of the engine reach us by the supervisor too, and may do so twice without harm */
	if (event == CANARY_KILLED)
		end_now(a);
	else
		kill_steppers(a, event == CANARY_STOPPED ? SIGSTOP : SIGCONT);
}

/* --- steppers --- */

static void on_stepper_end(void *arg, pid_t pid, int status, const struct rusage *ru)
{
	struct agent_step *st = arg;
	struct agent_run *a = st->agent;

	(void)pid;
	(void)ru;
	if (WIFSTOPPED(status) || WIFCONTINUED(status))
		return;
	stepper_close(&st->stepper);
	for (struct agent_step **p = &a->steps; *p; p = &(*p)->next) {
		if (*p == st) {
			*p = st->next;
			break;
		}
	}
	if (a->channel)
		channel_send(a->channel, FRAME_STEPPER_EXIT, 0, st->id, NULL, 0);
	free(st);
}

static void start_stepper(struct agent_run *a, const struct frame *f)
{
	struct stepper_start start = { 0 };
	struct agent_step *st;
	struct error err = ERROR_INIT;

	if (a->ending || stepper_start_unpack(&start, f->payload, f->length, &err) < 0) {
		channel_send(a->channel, FRAME_STEPPER_EXIT, 0, f->rank, NULL, 0);
		stepper_start_release(&start);
		return;
	}
	st = xcalloc(1, sizeof(*st));
	st->agent = a;
	st->id = start.step_id;
	if (stepper_fork(&st->stepper, &a->loop, &start, &a->env, on_stepper_end, st, &err) < 0) {
		channel_send(a->channel, FRAME_STEPPER_EXIT, 0, f->rank, NULL, 0);
		free(st);
	} else {
		st->next = a->steps;
		a->steps = st;
	}
	stepper_start_release(&start);
}

static void signal_steppers(struct agent_run *a, const struct frame *f)
{
	int signo = f->length == 4 ? f->payload[3] : NSIG;

	if (signo >= NSIG)
		return;
	for (struct agent_step *st = a->steps; st; st = st->next)
		if (f->rank == RANK_ALL || f->rank == st->id)
			stepper_signal(&st->stepper, signo);
}

/* --- sruns of this host --- */

static void free_client(void *arg)
{
	free(arg);
}

static void drop_client(struct local_client *c)
{
	for (struct local_client **p = &c->agent->clients; *p; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			break;
		}
	}
	channel_flush(&c->channel);
	channel_close(&c->channel);
	loop_timer_set(&c->agent->loop, &c->gone, 0, free_client, c);
}

static void client_frame(void *arg, const struct frame *f)
{
	struct local_client *c = arg;
	cleanup_strbuf struct strbuf whole = STRBUF_INIT;

	if (!c->agent->channel || f->length > PROTO_PAYLOAD_MAX - PROTO_HEADER)
		return;
	proto_put(&whole, f->type, f->flags, f->rank, f->payload, f->length);
	channel_send(c->agent->channel, FRAME_RELAY, 0, c->relay, whole.buf, whole.len);
}

static void client_closed(void *arg, const char *why)
{
	struct local_client *c = arg;

	(void)why;
	if (c->agent->channel)
		channel_send(c->agent->channel, FRAME_RELAY_CLOSE, 0, c->relay, NULL, 0);
	drop_client(c);
}

static const struct channel_ops client_ops = { .frame = client_frame, .closed = client_closed };

static void on_unix_peer(void *arg, int fd)
{
	struct agent_run *a = arg;
	struct local_client *c;

	/* without the supervisor there are no more steps */
	if (!a->channel) {
		close(fd);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	*c = (struct local_client){ .agent = a, .relay = a->next_relay++, .next = a->clients };
	if (channel_plain(&c->channel, &a->loop, fd, &client_ops, c, NULL) < 0) {
		free(c);
		return;
	}
	a->clients = c;
	channel_send(a->channel, FRAME_RELAY_OPEN, 0, c->relay, NULL, 0);
}

static const struct net_listener_ops unix_ops = { .unix_peer = on_unix_peer };

static struct local_client *client_of(struct agent_run *a, uint32_t relay)
{
	struct local_client *c = a->clients;

	while (c && c->relay != relay)
		c = c->next;
	return c;
}

static void relay_to_client(struct agent_run *a, const struct frame *f)
{
	struct local_client *c = client_of(a, f->rank);
	struct frame inner;
	size_t need;

	if (c &&
	    proto_parse(f->payload, f->length, PROTO_PAYLOAD_MAX, &inner, &need, NULL) == (long)f->length)
		channel_send(&c->channel, inner.type, inner.flags, inner.rank, inner.payload, inner.length);
}

/* --- the supervisor --- */

static void set_asleep(struct agent_run *a, bool asleep)
{
	if (a->asleep == asleep)
		return;
	a->asleep = asleep;
	kill_steppers(a, asleep ? SIGSTOP : SIGCONT);
}

static void on_heartbeat(void *arg)
{
	struct agent_run *a = arg;
	int64_t now = loop_now();

	if (!a->channel || a->ending)
		return;
	/* we were stopped ourselves: nothing can be concluded from what we didn't hear */
	if (now - a->last_beat > 2 * HEARTBEAT_MS)
		a->channel->last_heard = now;
	a->last_beat = now;
	set_asleep(a, now - a->channel->last_heard > SUSPENDED_MS);
	channel_send(a->channel, FRAME_PING, 0, 0, NULL, 0);
	loop_timer_set(&a->loop, &a->heartbeat, HEARTBEAT_MS, on_heartbeat, a);
}

static void on_frame(void *arg, const struct frame *f)
{
	struct agent_run *a = arg;
	struct unpack u = UNPACK_INIT(f->payload, f->length);
	struct local_client *c;

	switch (f->type) {
	case FRAME_STEPPER:
		start_stepper(a, f);
		break;
	case FRAME_STEPPERS_SIG:
		signal_steppers(a, f);
		break;
	case FRAME_AGENT_END:
		end_in(a, unpack_u32(&u));
		break;
	case FRAME_RELAY:
		relay_to_client(a, f);
		break;
	case FRAME_RELAY_CLOSE:
		c = client_of(a, f->rank);
		if (c)
			drop_client(c);
		break;
	default:
		break;
	}
}

static void on_closed(void *arg, const char *why)
{
	struct agent_run *a = arg;

	(void)why;
	net_channel_free(a->channel);
	a->channel = NULL;
	while (a->clients)
		drop_client(a->clients);
	end_in(a, TERM_WAIT_MS);
}

static const struct channel_ops channel_ops = { .frame = on_frame, .closed = on_closed };

static int open_socket(struct agent_run *a, struct error *err)
{
	int fd = net_listen_unix(a->job_dir, "ctl", err);

	if (fd < 0)
		return -1;
	return net_listener_start(&a->listener, &a->loop, fd, true, 0, &unix_ops, a, err);
}

static void on_dialed(void *arg, struct channel *ch, const char *why)
{
	struct agent_run *a = arg;
	struct error err = ERROR_INIT;

	if (!ch) {
		log_error("agent: no way to the job's supervisor: %s", why);
		end_now(a);
		return;
	}
	channel_keepalive(ch, a->ping_interval * 1000, a->control_timeout * 1000);
	if (open_socket(a, &err) < 0) {
		log_error("agent: %s", err.text);
		end_now(a);
		return;
	}
	channel_send(ch, FRAME_AGENT_READY, 0, 0, NULL, 0);
	a->last_beat = loop_now();
	on_heartbeat(a);
}

static int dial(struct agent_run *a, struct error *err)
{
	struct net_dial_request rq = {
		.addresses = a->addresses,
		.port = a->port,
		.who = { .kind = AUTH_AGENT, .host = a->host },
		.key = a->key,
		.auth_ms = a->auth_timeout * 1000,
		.timeout_ms = DIAL_MS,
		.ops = &channel_ops,
		.arg = a,
	};

	return net_dial_start(&a->loop, &rq, &a->channel, on_dialed, a, err) ? 0 : -1;
}

/* --- the beginning --- */

static int read_secret(struct agent_run *a, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	size_t n = 0;
	int rc = 0;

	/* all of it: qrsh's stdin has its EOF right behind the line */
	if (fd_read_to_eof(STDIN_FILENO, SECRET_MAX, &text) < 0)
		return error_errno(err, "secret");
	if (text.len < AUTH_KEY * 2 ||
	    sodium_hex2bin(a->key, sizeof(a->key), text.buf, AUTH_KEY * 2, NULL, &n, NULL) < 0 ||
	    n != AUTH_KEY)
		rc = error_set(err, ERR_PROTOCOL, "no secret on stdin");
	sodium_memzero(text.buf, text.len);
	return rc;
}

static bool parse_number(const char *text, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	*out = (uint32_t)v;
	return *text >= '0' && *text <= '9' && !*end && v <= max;
}

static int parse_arguments(struct agent_run *a, int argc, char **argv, struct error *err)
{
	char *colon = argc == 7 ? strrchr(argv[1], ':') : NULL;
	uint32_t port = 0;

	if (!colon || !parse_number(colon + 1, UINT16_MAX, &port) ||
	    !parse_number(argv[2], UINT32_MAX - 1, &a->host) ||
	    !parse_number(argv[4], 86400, &a->control_timeout) ||
	    !parse_number(argv[5], 86400, &a->ping_interval) ||
	    !parse_number(argv[6], 86400, &a->auth_timeout))
		return error_set(err, ERR_USAGE,
				 "usage: agent ADDR[,ADDR...]:PORT HOST NODE CONTROL PING AUTH");
	a->addresses = xstrndup(argv[1], (size_t)(colon - argv[1]));
	a->port = (uint16_t)port;
	return 0;
}

static int make_job_dir(struct agent_run *a, struct error *err)
{
	int fd = path_open_job_dir(env_get(&a->env, "TMPDIR"), &a->job_dir, &a->own_job_dir, err);

	if (fd < 0)
		return -1;
	close(fd);
	env_set(&a->env, "SOO_JOB_DIR", a->job_dir);
	return 0;
}

static int run(struct agent_run *a, int argc, char **argv, pid_t minder_group, struct error *err)
{
	static const int dropped[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM };
	sigset_t mask;

	if (parse_arguments(a, argc, argv, err) < 0 || read_secret(a, err) < 0 || make_job_dir(a, err) < 0)
		return -1;
	/* warnings of the engine go to every process of the task; they are for the ranks, not for us */
	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
		sigaddset(&mask, dropped[i]);
	signal(SIGPIPE, SIG_IGN);
	if (auth_init(err) < 0 || loop_init(&a->loop, &mask, NULL, NULL, err) < 0)
		return -1;
	if (canary_start(&a->canary, &a->loop, minder_group, on_canary, a, err) < 0 || dial(a, err) < 0)
		return -1;
	return loop_run(&a->loop, err);
}

int agent_main(int argc, char **argv)
{
	struct agent_run a = { .canary = { .pid = -1 } };
	struct error err = ERROR_INIT;
	pid_t minder_group = getpgid(getppid());
	int code = 0;

	env_add_all(&a.env, environ);
	fd_raise_limit();
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (run(&a, argc, argv, minder_group, &err) < 0) {
		log_error("agent: %s", err.text);
		code = 1;
	}
	if (a.canary.pid > 0)
		canary_stop(&a.canary, &a.loop);
	if (a.own_job_dir)
		path_remove_treeat(AT_FDCWD, a.job_dir);
	sodium_memzero(a.key, sizeof(a.key));
	return code;
}
