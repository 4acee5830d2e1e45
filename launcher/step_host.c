/* SPDX-License-Identifier: Apache-2.0 */
/* srun's conversation with the steppers. */
#include "common/log.h"
#include "common/mem.h"
#include "launcher/step_private.h"

#include <string.h>

#define REPORT_MS 30 /* ends of tasks that come that close together share a line */

static const unsigned char *key_of(void *arg, const struct auth_who *who)
{
	struct srun *s = arg;

	/* a token is good for one connection */
	if (who->kind != AUTH_STEPPER || who->id != s->g.step_id || who->host >= s->g.nhosts ||
	    s->hosts[who->host].state != HOST_WAITED_FOR)
		return NULL;
	return s->g.hosts[who->host].token;
}

static void send_spec(struct srun_host *h)
{
	struct srun *s = h->srun;
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct hostspec spec = s->common;

	spec.node = s->g.hosts[h->index].name;
	spec.node_index = h->index;
	spec.cpus = s->g.hosts[h->index].cpus;
	spec.ranks = s->g.layout.ranks[h->index];
	spec.nranks = s->g.layout.tasks[h->index];
	hostspec_pack(&spec, &out);
	channel_send_parts(&h->caller->channel, FRAME_SPEC, 0, out.buf, out.len);
}

static const struct channel_ops host_ops;

static void *on_proved(void *arg, struct net_caller *caller, const struct auth_who *who,
		       const struct channel_ops **ops)
{
	struct srun *s = arg;
	struct srun_host *h = &s->hosts[who->host];

	h->caller = caller;
	h->state = HOST_CONNECTED;
	sodium_memzero(s->g.hosts[who->host].token, PROTO_TOKEN);
	channel_keepalive(&caller->channel, s->g.ping_interval * 1000, s->g.control_timeout * 1000);
	send_spec(h);
	*ops = &host_ops;
	return h;
}

const struct net_listener_ops step_listener_ops = { .key = key_of, .proved = on_proved };

void hosts_expect(struct srun *s)
{
	s->hosts = xcalloc(s->g.nhosts, sizeof(*s->hosts));
	s->tasks = xcalloc(s->g.layout.ntasks, sizeof(*s->tasks));
	for (uint32_t i = 0; i < s->g.nhosts; i++) {
		s->hosts[i].srun = s;
		s->hosts[i].index = i;
		for (uint32_t k = 0; k < s->g.layout.tasks[i]; k++)
			s->tasks[s->g.layout.ranks[i][k]].host = i;
	}
}

/* No rank anywhere is started before every host can start its own. */
static void start_when_ready(struct srun *s)
{
	for (uint32_t i = 0; i < s->g.nhosts; i++)
		if (s->hosts[i].state != HOST_READY)
			return;
	if (s->abort != ABORT_NONE)
		return;
	loop_timer_cancel(&s->loop, &s->launch_limit);
	for (uint32_t i = 0; i < s->g.nhosts; i++) {
		s->hosts[i].state = HOST_RUNNING;
		channel_send(&s->hosts[i].caller->channel, FRAME_START, 0, 0, NULL, 0);
	}
	for (uint32_t i = 0; i < s->g.layout.ntasks; i++)
		s->tasks[i].state = TASK_RUNNING;
	s->started = true;
	end_started(s);
	io_start(s);
}

static void on_report(void *arg)
{
	end_report(arg);
}

static void take_exit(struct srun_host *h, const struct frame *f)
{
	struct srun *s = h->srun;
	struct rank_exit e;

	if (rank_exit_unpack(&e, f->payload, f->length, NULL) < 0 || f->rank >= s->g.layout.ntasks ||
	    s->tasks[f->rank].host != h->index || s->tasks[f->rank].state != TASK_RUNNING)
		return;
	s->utime_us += e.utime_us;
	s->stime_us += e.stime_us;
	s->maxrss_kib = e.maxrss_kib > s->maxrss_kib ? e.maxrss_kib : s->maxrss_kib;
	h->reported++;
	if (h->reported < s->g.layout.tasks[h->index] && !h->report.active)
		loop_timer_set(&s->loop, &h->report, REPORT_MS, on_report, h);
	end_task(s, f->rank, (int)e.status);
	if (h->reported == s->g.layout.tasks[h->index])
		end_report(h);
}

/* The step can't be started: nothing runs yet, and nothing will. */
static void launch_failed(struct srun_host *h, uint32_t rank, const char *why)
{
	struct srun *s = h->srun;
	const char *node = s->g.hosts[h->index].name;

	if (rank != RANK_ALL) {
		log_error("task %u launch failed: Slurmd could not connect IO", rank);
		log_error("%s: %s", node, why);
	} else {
		log_error("Task launch for StepId=%s failed on node %s: %s", step_name(s), node, why);
		log_error("Application launch failed: %s", why);
	}
	end_abort(s, ABORT_LAUNCH);
}

static void take_fail(struct srun_host *h, const struct frame *f)
{
	cleanup_free char *why = xstrndup((const char *)f->payload, f->length);

	launch_failed(h, f->rank, why);
	host_lost(h, why);
}

static void take_output(struct srun_host *h, const struct frame *f)
{
	struct srun *s = h->srun;

	if (f->rank >= s->g.layout.ntasks || s->tasks[f->rank].host != h->index)
		return;
	if (!io_output(s, f->rank, f))
		channel_pause(&h->caller->channel, true);
}

static void take_note(const struct frame *f)
{
	log_bare("%.*s", (int)f->length, (const char *)f->payload);
}

static void take_done(struct srun_host *h)
{
	if (h->state != HOST_RUNNING)
		return;
	h->state = HOST_DONE;
	/* a rank that was never reported can't be running any more */
	for (uint32_t k = 0; k < h->srun->g.layout.tasks[h->index]; k++)
		if (h->srun->tasks[h->srun->g.layout.ranks[h->index][k]].state == TASK_RUNNING)
			end_task_lost(h->srun, h->srun->g.layout.ranks[h->index][k]);
	step_finish_if_done(h->srun);
}

static void on_frame(void *arg, const struct frame *f)
{
	struct srun_host *h = arg;

	switch (f->type) {
	case FRAME_READY:
		if (h->state == HOST_CONNECTED) {
			h->state = HOST_READY;
			start_when_ready(h->srun);
		}
		break;
	case FRAME_OUT:
		take_output(h, f);
		break;
	case FRAME_RANK_EXIT:
		take_exit(h, f);
		break;
	case FRAME_RANK_FAIL:
		take_fail(h, f);
		break;
	case FRAME_NOTE:
		take_note(f);
		break;
	case FRAME_HOST_DONE:
		take_done(h);
		break;
	case FRAME_IN_PAUSE:
		h->in_paused = true;
		h->in_nobody = h->in_nobody || (f->flags & FRAME_EOF);
		io_input_again(h->srun);
		break;
	case FRAME_IN_RESUME:
		h->in_paused = false;
		io_input_again(h->srun);
		break;
	default:
		break;
	}
}

static void on_closed(void *arg, const char *why)
{
	struct srun_host *h = arg;

	if (h->caller)
		net_caller_free(h->caller);
	h->caller = NULL;
	if (h->state != HOST_DONE)
		host_lost(h, why);
}

static void on_drained(void *arg)
{
	struct srun_host *h = arg;

	io_input_again(h->srun);
}

static const struct channel_ops host_ops = { .frame = on_frame, .closed = on_closed, .drained = on_drained };

/* Its unreported ranks have failed, and the step with them. */
void host_lost(struct srun_host *h, const char *why)
{
	struct srun *s = h->srun;
	bool before_start = !s->started;

	if (h->state == HOST_DONE || h->state == HOST_LOST)
		return;
	h->state = HOST_LOST;
	if (h->caller)
		net_caller_free(h->caller);
	h->caller = NULL;
	if (before_start && s->abort == ABORT_NONE)
		launch_failed(h, RANK_ALL, why);
	end_report(h);
	if (!before_start && s->abort == ABORT_NONE) {
		s->node_failed = true;
		log_error("Node failure on %s: %s", s->g.hosts[h->index].name, why);
	}
	for (uint32_t k = 0; k < s->g.layout.tasks[h->index]; k++)
		end_task_lost(s, s->g.layout.ranks[h->index][k]);
	end_report(h);
	if (!before_start && !s->spec.no_kill)
		end_abort(s, ABORT_NODE);
	step_finish_if_done(s);
}

void hosts_signal(struct srun *s, int signo)
{
	unsigned char word[4] = { 0, 0, 0, (unsigned char)signo };

	for (uint32_t i = 0; i < s->g.nhosts; i++)
		if (s->hosts[i].caller && s->hosts[i].state == HOST_RUNNING)
			channel_send(&s->hosts[i].caller->channel, FRAME_SIG, 0, 0, word, sizeof(word));
}

void hosts_resume(struct srun *s)
{
	for (uint32_t i = 0; s->hosts && i < s->g.nhosts; i++)
		if (s->hosts[i].caller)
			channel_pause(&s->hosts[i].caller->channel, false);
}

void hosts_close(struct srun *s)
{
	for (uint32_t i = 0; s->hosts && i < s->g.nhosts; i++) {
		loop_timer_cancel(&s->loop, &s->hosts[i].report);
		if (s->hosts[i].caller)
			net_caller_free(s->hosts[i].caller);
		s->hosts[i].caller = NULL;
	}
}
