/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"
#include "common/mem.h"
#include "launcher/steps_private.h"

#include <string.h>

/* What an agent and its qrsh may take to go, after the ranks are dead. */
#define END_SLACK_MS 3000

const char *steps_node(const struct steps *s, uint32_t host)
{
	return s->cfg.alloc->hosts[host].node_name;
}

static const unsigned char *key_of(void *arg, const struct auth_who *who)
{
	struct steps *s = arg;

	if (who->kind == AUTH_CTL)
		return s->ctl_key;
	if (who->kind != AUTH_AGENT || who->host == 0 || who->host >= s->cfg.alloc->nhosts)
		return NULL;
	/* a key is good for one connection of the agent that got it */
	if (s->agents[who->host].state != AGENT_STARTING || s->agents[who->host].key_used)
		return NULL;
	return s->agents[who->host].key;
}

static void *on_proved(void *arg, struct net_caller *caller, const struct auth_who *who,
		       const struct channel_ops **ops)
{
	struct steps *s = arg;

	if (who->kind == AUTH_CTL)
		return ctl_connected(s, caller, ops);
	*ops = &agent_channel_ops;
	agent_connected(&s->agents[who->host], caller);
	return &s->agents[who->host];
}

static void on_unix_peer(void *arg, int fd)
{
	client_new_local(arg, fd);
}

static const struct net_listener_ops tcp_ops = { .key = key_of, .proved = on_proved };
static const struct net_listener_ops unix_ops = { .unix_peer = on_unix_peer };

static int listen_unix(struct steps *s, struct error *err)
{
	int fd = net_listen_unix(s->cfg.job_dir, "ctl", err);

	if (fd < 0)
		return -1;
	return net_listener_start(&s->unix_listener, s->cfg.loop, fd, true, 0, &unix_ops, s, err);
}

static int listen_tcp(struct steps *s, struct error *err)
{
	const struct launch_settings *ls = &s->cfg.job->launch;
	int fd;

	s->addresses = net_addresses(ls->interface, err);
	if (!s->addresses)
		return -1;
	fd = net_listen_tcp(ls->port_first, ls->port_last, &s->port, err);
	if (fd < 0)
		return -1;
	return net_listener_start(&s->tcp_listener, s->cfg.loop, fd, false, ls->auth_timeout * 1000, &tcp_ops,
				  s, err);
}

struct steps *steps_new(const struct steps_config *cfg, struct error *err)
{
	struct steps *s = xcalloc(1, sizeof(*s));
	size_t n = cfg->alloc->nhosts;

	s->cfg = *cfg;
	s->used = xcalloc(n, sizeof(*s->used));
	s->running = xcalloc(n, sizeof(*s->running));
	s->agents = xcalloc(n, sizeof(*s->agents));
	for (uint32_t i = 0; i < n; i++) {
		s->agents[i].steps = s;
		s->agents[i].host = i;
	}
	if (auth_init(err) < 0 || listen_unix(s, err) < 0 || listen_tcp(s, err) < 0 ||
	    ctl_write_file(s, err) < 0) {
		steps_free(s);
		return NULL;
	}
	return s;
}

size_t steps_pids(const struct steps *s, const pid_t **pids)
{
	struct steps *w = (struct steps *)s; /* the list is only a cache of what s says */
	size_t n = 0;
	size_t max = s->cfg.alloc->nhosts + 1;

	for (const struct step *st = s->steps; st; st = st->next)
		max += st->layout.nnodes;
	w->pids = xreallocarray(w->pids, max, sizeof(*w->pids));
	for (const struct step *st = s->steps; st; st = st->next)
		for (uint32_t i = 0; st->places && i < st->layout.nnodes; i++)
			if (st->places[i].is_local && st->places[i].state == PLACE_RUNNING)
				w->pids[n++] = st->places[i].stepper.pid;
	for (uint32_t i = 0; i < s->cfg.alloc->nhosts; i++)
		if (s->agents[i].qrsh && tool_pid(s->agents[i].qrsh) > 0)
			w->pids[n++] = tool_pid(s->agents[i].qrsh);
	*pids = s->pids;
	return n;
}

static void send_signal(struct agent *a, uint32_t step, int signo)
{
	unsigned char word[4] = { 0, 0, 0, (unsigned char)signo };

	if (a->state == AGENT_UP)
		agent_send(a, FRAME_STEPPERS_SIG, 0, step, word, sizeof(word));
}

void steps_suspend(struct steps *s, bool stopped)
{
	steps_signal(s, -1, stopped ? SIGSTOP : SIGCONT);
}

void steps_signal(struct steps *s, int64_t step, int signo)
{
	for (struct step *st = s->steps; st; st = st->next)
		for (uint32_t i = 0; st->places && i < st->layout.nnodes; i++)
			if ((step < 0 || st->id == step) && st->places[i].is_local &&
			    st->places[i].state == PLACE_RUNNING)
				stepper_signal(&st->places[i].stepper, signo);
	for (uint32_t i = 1; i < s->cfg.alloc->nhosts; i++)
		send_signal(&s->agents[i], step < 0 ? RANK_ALL : (uint32_t)step, signo);
}

/* --- the end --- */

static void tell_end(void *arg)
{
	struct steps *s = arg;

	loop_timer_cancel(s->cfg.loop, &s->end_kill);
	loop_timer_cancel(s->cfg.loop, &s->end_limit);
	if (s->ended) {
		void (*fn)(void *) = s->ended;

		s->ended = NULL;
		fn(s->ended_arg);
	}
}

static bool local_steppers(const struct steps *s)
{
	for (const struct step *st = s->steps; st; st = st->next)
		for (uint32_t i = 0; st->places && i < st->layout.nnodes; i++)
			if (st->places[i].is_local && st->places[i].state == PLACE_RUNNING)
				return true;
	return false;
}

void steps_check_end(struct steps *s)
{
	if (s->ending && !local_steppers(s) && !agents_alive(s) && !s->end_now.active)
		loop_timer_set(s->cfg.loop, &s->end_now, 0, tell_end, s);
}

static void kill_all(void *arg)
{
	steps_signal(arg, -1, SIGKILL);
}

void steps_close(struct steps *s)
{
	if (s->closed)
		return;
	s->closed = true;
	for (struct step *st = s->steps; st; st = st->next)
		if (st->state == STEP_WAITING && st->client)
			client_send(st->client, FRAME_STEP_REFUSED, 0, 0,
				    "Job/step already completing or completed", 40);
}

void steps_end(struct steps *s, int64_t kill_wait_ms, void (*done)(void *arg), void *arg)
{
	s->ending = true;
	s->ended = done;
	s->ended_arg = arg;
	steps_close(s);
	steps_signal(s, -1, kill_wait_ms ? SIGTERM : SIGKILL);
	agents_end(s, kill_wait_ms);
	if (kill_wait_ms)
		loop_timer_set(s->cfg.loop, &s->end_kill, kill_wait_ms, kill_all, s);
	loop_timer_set(s->cfg.loop, &s->end_limit, kill_wait_ms + END_SLACK_MS, tell_end, s);
	steps_check_end(s);
}

void steps_free(struct steps *s)
{
	net_listener_stop(&s->unix_listener);
	net_listener_stop(&s->tcp_listener);
	ctl_free_all(s);
	while (s->clients)
		client_gone(s->clients);
	while (s->steps)
		step_free(s->steps);
	for (uint32_t i = 0; i < s->cfg.alloc->nhosts; i++) {
		struct agent *a = &s->agents[i];

		loop_timer_cancel(s->cfg.loop, &a->retry);
		loop_timer_cancel(s->cfg.loop, &a->launch_limit);
		if (a->caller)
			net_caller_free(a->caller);
		if (a->qrsh)
			tool_forget(a->qrsh);
		if (a->qconf)
			tool_forget(a->qconf);
	}
	loop_timer_cancel(s->cfg.loop, &s->end_kill);
	loop_timer_cancel(s->cfg.loop, &s->end_limit);
	loop_timer_cancel(s->cfg.loop, &s->end_now);
	sodium_memzero(s->agents, s->cfg.alloc->nhosts * sizeof(*s->agents));
	free(s->agents);
	free(s->used);
	free(s->running);
	free(s->pids);
	free(s->addresses);
	free(s);
}
