/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents: one per host and job, started by qrsh -inherit when a step first needs the host. What qrsh prints and its exit
 * code are only hints: an agent is there when it has proved itself on our socket.
 */
#include "common/log.h"
#include "common/mem.h"
#include "common/pack.h"
#include "common/path.h"
#include "launcher/steps_private.h"
#include "ocs/engine.h"

#include <inttypes.h>
#include <string.h>

extern char **environ;

#define RETRY_MS 500

static void try_start(struct agent *a);

static const struct launch_settings *settings(const struct agent *a)
{
	return &a->steps->cfg.job->launch;
}

static struct loop *loop_of(const struct agent *a)
{
	return a->steps->cfg.loop;
}

/* --- places that wait for the agent or run under it --- */

typedef void (*place_fn)(struct place *p, const void *arg);

static void each_place(const struct agent *a, enum place_state state, place_fn fn, const void *arg)
{
	for (struct step *st = a->steps->steps, *next; st; st = next) {
		next = st->next;
		for (uint32_t i = 0; st->places && i < st->layout.nnodes; i++) {
			struct place *p = &st->places[i];

			if (p->host == a->host && p->state == state) {
				fn(p, arg); /* may free the step: it has at most one place on a host */
				break;
			}
		}
	}
}

static void lose_place(struct place *p, const void *why)
{
	place_gone(p, why);
}

static void send_start(struct place *p, const void *arg)
{
	struct step *st = p->step;
	struct agent *a = &st->steps->agents[p->host];
	const struct launch_settings *ls = settings(a);
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct stepper_start start = {
		.step_id = st->id,
		.host_index = p->index,
		.addresses = st->launch.addresses,
		.port = st->launch.port,
		.control_timeout = ls->control_timeout,
		.ping_interval = ls->ping_interval,
		.auth_timeout = ls->auth_timeout,
	};

	(void)arg;
	if (st->client && st->client->host == p->host)
		start.unix_path = st->launch.unix_path;
	memcpy(start.token, p->token, PROTO_TOKEN);
	stepper_start_pack(&start, &out);
	p->state = PLACE_RUNNING;
	agent_send(a, FRAME_STEPPER, 0, st->id, out.buf, out.len);
	sodium_memzero(out.buf, out.len);
}

static bool wanted(const struct agent *a)
{
	for (const struct step *st = a->steps->steps; st; st = st->next)
		for (uint32_t i = 0; st->places && i < st->layout.nnodes; i++)
			if (st->places[i].host == a->host && st->places[i].state == PLACE_WAITING)
				return true;
	return false;
}

/* --- starting --- */

static void start_queued(struct steps *s)
{
	for (uint32_t i = 1; i < s->cfg.alloc->nhosts && s->starting < s->cfg.job->launch.launch_window; i++)
		if (s->agents[i].state == AGENT_QUEUED && !s->agents[i].retry.active)
			try_start(&s->agents[i]);
}

static void no_longer_starting(struct agent *a, enum agent_state state)
{
	if (a->state == AGENT_STARTING) {
		a->steps->starting--;
		loop_timer_cancel(loop_of(a), &a->launch_limit);
	}
	a->state = state;
}

static void fail(struct agent *a, const char *why)
{
	char text[400];

	snprintf(text, sizeof(text), "%s", why);
	no_longer_starting(a, AGENT_NONE);
	loop_timer_cancel(loop_of(a), &a->retry);
	each_place(a, PLACE_WAITING, lose_place, text);
	start_queued(a->steps);
	steps_check_end(a->steps);
}

/* The last line that says something, without qrsh's "error: ". */
static void last_line(const char *text, char *out, size_t size)
{
	const char *end = text + strlen(text);
	const char *start;

	while (end > text && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
		end--;
	start = end;
	while (start > text && start[-1] != '\n')
		start--;
	if (!strncmp(start, "error: ", 7))
		start += 7;
	snprintf(out, size, "%.*s", (int)(end - start), start);
}

/* Words of refusals that another try can't change. */
static const char *const hopeless[] = {
	"not set in environment",    "in environment",     "Unknown option",
	"can't resolve host name",   "is not a valid job", "cannot run it",
	"No such file or directory", "Permission denied",
};

static bool is_hopeless(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(hopeless); i++)
		if (strstr(text, hopeless[i]))
			return true;
	return false;
}

/*
 * execd has one text for every refusal. It may not know the job yet (a restart of it, a slow host), or the slot of our
 * former agent there, or of another task of the user's, may still be taken.
 */
static int64_t patience_ms(const struct agent *a)
{
	if (strstr(a->refusal, "didn't accept task") && a->last_up)
		return (int64_t)settings(a)->slot_retry * 1000;
	return (int64_t)settings(a)->race_retry * 1000;
}

static void give_up(struct agent *a, const char *hint)
{
	char text[400];

	snprintf(text, sizeof(text), "%s%s%s", a->refusal[0] ? a->refusal : "qrsh ended without a word",
		 *hint ? "; " : "", hint);
	fail(a, text);
}

/* A PE that lets no tasks in refuses every time: no need to go on then, and the user learns why. */
static void on_qconf(void *arg, int status, const char *text)
{
	struct agent *a = arg;
	const char *line = strstr(text, "control_slaves");

	a->qconf = NULL;
	if (a->state != AGENT_QUEUED || !WIFEXITED(status) || WEXITSTATUS(status) || !line)
		return;
	line += strlen("control_slaves");
	if (!strncmp(line + strspn(line, " \t"), "FALSE", 5))
		give_up(a,
			"the job's parallel environment has control_slaves FALSE: ask the administrator for TRUE");
}

static void look_at_pe(struct agent *a)
{
	const char *pe = getenv("PE");
	cleanup_free char *qconf = engine_client("qconf", NULL);
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	if (!pe || !qconf || a->qconf)
		return;
	argvec_pushl(&argv, qconf, "-sp", pe, NULL);
	a->qconf = tool_start(loop_of(a), qconf, &argv, environ, NULL, 0, on_qconf, a, NULL);
}

static void on_retry(void *arg)
{
	struct agent *a = arg;

	if (a->steps->starting < settings(a)->launch_window)
		try_start(a);
}

static void on_qrsh_end(void *arg, int status, const char *text)
{
	struct agent *a = arg;

	(void)status;
	a->qrsh = NULL;
	if (a->state != AGENT_STARTING) {
		steps_check_end(a->steps);
		return;
	}
	if (a->key_used) /* it is there, and its end will show on the socket */
		return;
	last_line(text, a->refusal, sizeof(a->refusal));
	no_longer_starting(a, AGENT_QUEUED);
	if (a->steps->ending || is_hopeless(a->refusal) || loop_now() - a->first_try > patience_ms(a)) {
		give_up(a, "");
		return;
	}
	if (strstr(a->refusal, "didn't accept task"))
		look_at_pe(a);
	loop_timer_set(loop_of(a), &a->retry, RETRY_MS, on_retry, a);
	start_queued(a->steps);
}

static void on_launch_limit(void *arg)
{
	struct agent *a = arg;

	if (a->qrsh) {
		tool_signal(a->qrsh, SIGTERM);
		tool_forget(a->qrsh);
		a->qrsh = NULL;
	}
	fail(a, "no answer from the host within launch_timeout");
}

/* The engine's environment of the job, less what would change how qrsh runs or what it runs. */
static void qrsh_environment(struct env *e)
{
	env_add_all(e, environ);
	env_unset(e, "QRSH_WRAPPER");
	env_unset(e, "LD_PRELOAD");
}

static void qrsh_argv(const struct agent *a, const char *qrsh, struct argvec *argv)
{
	const struct steps *s = a->steps;
	const struct launch_settings *ls = settings(a);

	argvec_pushl(argv, qrsh, "-inherit", "-noshell", s->cfg.alloc->hosts[a->host].engine_name, NULL);
	argvec_pushf(argv, "%s/minder", s->cfg.libexec);
	argvec_pushf(argv, "%s/shim-launch", s->cfg.libexec);
	argvec_push(argv, "agent");
	argvec_pushf(argv, "%s:%u", s->addresses, s->port);
	argvec_pushf(argv, "%u", a->host);
	argvec_push(argv, steps_node(s, a->host));
	argvec_pushf(argv, "%u", ls->control_timeout);
	argvec_pushf(argv, "%u", ls->ping_interval);
	argvec_pushf(argv, "%u", ls->auth_timeout);
}

static void try_start(struct agent *a)
{
	cleanup_free char *qrsh = NULL;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_env struct env env = ENV_INIT;
	char secret[AUTH_KEY * 2 + 2];
	struct error err = ERROR_INIT;

	qrsh = engine_client("qrsh", &err);
	if (!qrsh) {
		fail(a, err.text);
		return;
	}
	randombytes_buf(a->key, sizeof(a->key));
	a->key_used = false;
	sodium_bin2hex(secret, sizeof(secret), a->key, sizeof(a->key));
	secret[AUTH_KEY * 2] = '\n';
	qrsh_argv(a, qrsh, &argv);
	qrsh_environment(&env);
	a->state = AGENT_STARTING;
	a->steps->starting++;
	a->qrsh = tool_start(loop_of(a), qrsh, &argv, env.vars.v, secret, AUTH_KEY * 2 + 1, on_qrsh_end, a,
			     &err);
	sodium_memzero(secret, sizeof(secret));
	if (!a->qrsh) {
		fail(a, err.text);
		return;
	}
	loop_timer_set(loop_of(a), &a->launch_limit, (int64_t)settings(a)->launch_timeout * 1000,
		       on_launch_limit, a);
}

void agent_start_place(struct agent *a, struct place *p)
{
	if (a->state == AGENT_UP) {
		send_start(p, NULL);
		return;
	}
	if (a->state != AGENT_NONE)
		return;
	a->state = AGENT_QUEUED;
	a->first_try = loop_now();
	a->refusal[0] = '\0';
	start_queued(a->steps);
}

/* --- the connection --- */

void agent_send(struct agent *a, uint8_t type, uint8_t flags, uint32_t rank, const void *payload, size_t n)
{
	if (a->caller)
		channel_send(&a->caller->channel, type, flags, rank, payload, n);
}

void agent_connected(struct agent *a, struct net_caller *caller)
{
	a->caller = caller;
	a->key_used = true;
	channel_keepalive(&caller->channel, settings(a)->ping_interval * 1000,
			  settings(a)->control_timeout * 1000);
}

static void up(struct agent *a)
{
	no_longer_starting(a, AGENT_UP);
	a->last_up = loop_now();
	if (!wanted(a))
		log_debug("%s: agent is up, nobody waits for it any more", steps_node(a->steps, a->host));
	each_place(a, PLACE_WAITING, send_start, NULL);
	start_queued(a->steps);
	if (a->steps->ending)
		agents_end(a->steps, a->steps->kill_wait_ms);
}

static void stepper_exit(struct agent *a, uint32_t id)
{
	struct step *st = step_by_id(a->steps, id);

	for (uint32_t i = 0; st && st->places && i < st->layout.nnodes; i++) {
		if (st->places[i].host == a->host && st->places[i].state == PLACE_RUNNING) {
			place_gone(&st->places[i], "its step manager ended");
			return;
		}
	}
}

static void relay(struct agent *a, const struct frame *f)
{
	struct client *c = client_of_relay(a->steps, a, f->rank);
	struct frame inner;
	size_t need;

	if (!c ||
	    proto_parse(f->payload, f->length, PROTO_PAYLOAD_MAX, &inner, &need, NULL) != (long)f->length)
		return;
	client_frame(c, &inner);
}

static void on_frame(void *arg, const struct frame *f)
{
	struct agent *a = arg;
	struct client *c;

	switch (f->type) {
	case FRAME_AGENT_READY:
		if (a->state == AGENT_STARTING)
			up(a);
		break;
	case FRAME_STEPPER_EXIT:
		stepper_exit(a, f->rank);
		break;
	case FRAME_RELAY_OPEN:
		if (!client_of_relay(a->steps, a, f->rank))
			client_new_relayed(a->steps, a, f->rank);
		break;
	case FRAME_RELAY:
		relay(a, f);
		break;
	case FRAME_RELAY_CLOSE:
		c = client_of_relay(a->steps, a, f->rank);
		if (c)
			client_gone(c);
		break;
	default:
		break;
	}
}

static void on_closed(void *arg, const char *why)
{
	struct agent *a = arg;
	bool starting = a->state == AGENT_STARTING;
	char text[200];

	net_caller_free(a->caller);
	a->caller = NULL;
	sodium_memzero(a->key, sizeof(a->key));
	snprintf(text, sizeof(text), "the agent there was lost (%s)", why);
	for (struct client *c = a->steps->clients, *next; c; c = next) {
		next = c->next;
		if (c->agent == a)
			client_gone(c);
	}
	if (starting) {
		fail(a, text);
		return;
	}
	a->state = AGENT_NONE;
	each_place(a, PLACE_RUNNING, lose_place, text);
	steps_check_end(a->steps);
}

const struct channel_ops agent_channel_ops = { .frame = on_frame, .closed = on_closed };

/* --- the end --- */

void agents_end(struct steps *s, int64_t kill_wait_ms)
{
	cleanup_strbuf struct strbuf word = STRBUF_INIT;

	s->kill_wait_ms = kill_wait_ms;
	pack_u32(&word, (uint32_t)kill_wait_ms);
	for (uint32_t i = 1; i < s->cfg.alloc->nhosts; i++) {
		struct agent *a = &s->agents[i];

		if (a->state == AGENT_UP)
			agent_send(a, FRAME_AGENT_END, 0, 0, word.buf, word.len);
		if (a->state == AGENT_QUEUED)
			fail(a, "the job ends");
	}
}

/* One that is still on its way counts: its qrsh must not be left behind. */
bool agents_alive(const struct steps *s)
{
	for (uint32_t i = 1; i < s->cfg.alloc->nhosts; i++)
		if (s->agents[i].qrsh || s->agents[i].caller)
			return true;
	return false;
}
