/* SPDX-License-Identifier: Apache-2.0 */
/* Steps in the supervisor: which CPUs they hold, who waits, where their steppers are. */
#include "common/counts.h"
#include "common/hostlist.h"
#include "common/log.h"
#include "common/mem.h"
#include "launcher/steps_private.h"
#include "ocs/record.h"

#include <string.h>

static const char busy[] = "Requested nodes are busy";

/* --- records --- */

static void append(struct steps *s, struct record *r)
{
	const struct alloc *a = s->cfg.alloc;
	struct error err = ERROR_INIT;

	if (s->cfg.record_dirfd >= 0 &&
	    record_append(r, s->cfg.record_dirfd, a->engine_id, a->engine_task, s->cfg.host, &err) < 0)
		log_error("cannot write the step's record: %s", err.text);
	record_release(r);
}

static void record_start(struct step *st)
{
	struct steps *s = st->steps;
	cleanup_argvec struct argvec nodes = ARGVEC_INIT;
	struct record r;

	for (uint32_t i = 0; i < st->layout.nnodes; i++)
		argvec_push(&nodes, steps_node(s, st->layout.node[i]));
	record_begin(&r, "step_start", s->cfg.alloc->engine_id, s->cfg.alloc->engine_task,
		     s->cfg.alloc->restart);
	record_int(&r, "step", st->id);
	record_str(&r, "name", st->request.name);
	record_strings(&r, "nodes", nodes.v, nodes.n);
	record_int(&r, "ntasks", st->layout.ntasks);
	record_str(&r, "command", st->request.command);
	append(s, &r);
}

static void record_end(struct step *st)
{
	struct steps *s = st->steps;
	struct record r;

	record_begin(&r, "step_end", s->cfg.alloc->engine_id, s->cfg.alloc->engine_task,
		     s->cfg.alloc->restart);
	record_int(&r, "step", st->id);
	/* an srun that died without a word took its ranks with it */
	record_str(&r, "state", st->done ? st->result.state : "CANCELLED");
	record_int(&r, "code", st->done ? st->result.code : 0);
	record_int(&r, "signal", st->done ? st->result.signal : SIGTERM);
	record_real(&r, "utime", (double)st->result.utime_us / 1e6);
	record_real(&r, "stime", (double)st->result.stime_us / 1e6);
	record_int(&r, "maxrss", (int64_t)st->result.maxrss_kib);
	append(s, &r);
}

/* --- CPUs --- */

static void hold(struct step *st, bool on)
{
	struct steps *s = st->steps;

	for (uint32_t i = 0; i < st->layout.nnodes; i++) {
		uint32_t h = st->layout.node[i];
		uint32_t cpus = st->request.want.overlap ? 0 : st->layout.cpus[i];

		if (on) {
			s->used[h] += cpus;
			s->running[h]++;
		} else {
			s->used[h] -= cpus;
			s->running[h]--;
		}
	}
}

static void wake_waiting(struct steps *s)
{
	for (struct step *st = s->steps, *next; st; st = next) {
		next = st->next;
		if (st->state == STEP_WAITING && st->client && !s->closed)
			step_try(st, true);
	}
}

void step_release(struct step *st)
{
	if (st->state != STEP_GRANTED)
		return;
	st->state = STEP_RELEASED;
	record_end(st);
	hold(st, false);
	wake_waiting(st->steps);
}

/* --- the grant --- */

static char *job_nodelist(const struct steps *s)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;

	for (size_t i = 0; i < s->cfg.alloc->nhosts; i++)
		hostlist_push(&hl, s->cfg.alloc->hosts[i].node_name);
	return hostlist_ranged(&hl);
}

static char *job_cpus(const struct steps *s)
{
	cleanup_free uint32_t *v = xcalloc(s->cfg.alloc->nhosts, sizeof(*v));

	for (size_t i = 0; i < s->cfg.alloc->nhosts; i++)
		v[i] = s->cfg.alloc->hosts[i].slots;
	return counts_format(v, s->cfg.alloc->nhosts);
}

static void make_places(struct step *st)
{
	st->places = xcalloc(st->layout.nnodes, sizeof(*st->places));
	for (uint32_t i = 0; i < st->layout.nnodes; i++) {
		struct place *p = &st->places[i];

		*p = (struct place){
			.step = st, .index = i, .host = st->layout.node[i], .stepper = { .life_fd = -1 }
		};
		randombytes_buf(p->token, sizeof(p->token));
	}
}

static void send_grant(struct step *st)
{
	struct steps *s = st->steps;
	const struct launch_settings *ls = &s->cfg.job->launch;
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	cleanup_free struct step_host *hosts = xcalloc(st->layout.nnodes, sizeof(*hosts));
	cleanup_free char *list = job_nodelist(s);
	cleanup_free char *cpus = job_cpus(s);
	struct step_granted g = {
		.step_id = st->id,
		.job_id = s->cfg.alloc->job_id,
		.job_nodelist = list,
		.job_cpus_per_node = cpus,
		.layout = st->layout,
		.hosts = hosts,
		.nhosts = st->layout.nnodes,
		.srun_host = (char *)steps_node(s, st->client->host),
		.port_first = ls->port_first,
		.port_last = ls->port_last,
		.launch_timeout = ls->launch_timeout,
		.control_timeout = ls->control_timeout,
		.ping_interval = ls->ping_interval,
		.auth_timeout = ls->auth_timeout,
		.kill_wait = ls->kill_wait,
		.kill_on_bad_exit = ls->kill_on_bad_exit,
		.interface = ls->interface,
	};

	for (uint32_t i = 0; i < g.nhosts; i++) {
		hosts[i].name = (char *)steps_node(s, st->layout.node[i]);
		hosts[i].job_index = st->layout.node[i];
		hosts[i].cpus = st->layout.cpus[i];
		hosts[i].local = st->layout.node[i] == st->client->host;
		memcpy(hosts[i].token, st->places[i].token, PROTO_TOKEN);
	}
	step_granted_pack(&g, &out);
	client_send(st->client, FRAME_STEP_GRANTED, st->was_waiting ? FRAME_MORE : 0, st->was_told, out.buf,
		    out.len);
	sodium_memzero(hosts, g.nhosts * sizeof(*hosts));
	sodium_memzero(out.buf, out.len);
}

static void grant(struct step *st)
{
	st->state = STEP_GRANTED;
	st->id = st->steps->next_id++;
	hold(st, true);
	make_places(st);
	record_start(st);
	send_grant(st);
}

void step_try(struct step *st, bool woken)
{
	struct steps *s = st->steps;
	size_t n = s->cfg.alloc->nhosts;
	cleanup_free struct layout_host *hosts = xcalloc(n, sizeof(*hosts));
	struct error err = ERROR_INIT;

	for (uint32_t i = 0; i < n; i++)
		hosts[i] = (struct layout_host){ .name = steps_node(s, i),
						 .cpus = s->cfg.alloc->hosts[i].slots,
						 .used = s->used[i],
						 .steps = s->running[i] };
	switch (layout_place(&st->request.want, hosts, (uint32_t)n, &st->layout, &err)) {
	case LAYOUT_OK:
		grant(st);
		return;
	case LAYOUT_NEVER:
		client_send(st->client, FRAME_STEP_REFUSED, 0, 0, err.text, strlen(err.text));
		return;
	case LAYOUT_BUSY:
		break;
	}
	if (st->request.immediate) {
		client_send(st->client, FRAME_STEP_REFUSED, 0, 0, busy, strlen(busy));
		return;
	}
	/* as in Slurm nothing is said before another step's end woke this one up in vain */
	if (woken) {
		client_send(st->client, FRAME_STEP_WAIT, st->was_told ? FRAME_MORE : 0, 0, busy,
			    strlen(busy));
		st->was_told = true;
	}
	st->was_waiting = true;
}

/* --- steppers --- */

void place_gone(struct place *p, const char *why)
{
	struct step *st = p->step;
	struct steps *s = st->steps;

	if (p->state == PLACE_GONE)
		return;
	p->state = PLACE_GONE;
	if (st->client && !st->done)
		client_send(st->client, FRAME_STEP_LOST, 0, p->index, why, strlen(why));
	step_check(st);
	steps_check_end(s);
}

static void on_stepper_end(void *arg, pid_t pid, int status, const struct rusage *ru)
{
	struct place *p = arg;

	(void)pid;
	(void)ru;
	if (WIFSTOPPED(status) || WIFCONTINUED(status))
		return;
	stepper_close(&p->stepper);
	place_gone(p, WIFSIGNALED(status) ? "its step manager was killed" : "its step manager ended");
}

static void start_local(struct place *p)
{
	struct step *st = p->step;
	const struct launch_settings *ls = &st->steps->cfg.job->launch;
	struct stepper_start start = {
		.step_id = st->id,
		.host_index = p->index,
		.port = st->launch.port,
		.control_timeout = ls->control_timeout,
		.ping_interval = ls->ping_interval,
		.auth_timeout = ls->auth_timeout,
	};
	struct error err = ERROR_INIT;

	if (st->client && st->client->host == 0)
		start.unix_path = st->launch.unix_path;
	start.addresses = st->launch.addresses;
	memcpy(start.token, p->token, PROTO_TOKEN);
	p->is_local = true;
	p->state = PLACE_RUNNING;
	if (stepper_fork(&p->stepper, st->steps->cfg.loop, &start, st->steps->cfg.job_env, on_stepper_end, p,
			 &err) < 0)
		place_gone(p, err.text);
}

void step_launch(struct step *st)
{
	for (uint32_t i = 0; i < st->layout.nnodes; i++) {
		struct place *p = &st->places[i];

		p->state = PLACE_WAITING;
		/* the agents first: they need longest */
		if (p->host != 0)
			agent_start_place(&st->steps->agents[p->host], p);
	}
	for (uint32_t i = 0; i < st->layout.nnodes; i++)
		if (st->places[i].host == 0)
			start_local(&st->places[i]);
}

void step_signal(struct step *st, int signo)
{
	steps_signal(st->steps, st->id, signo);
}

struct step *step_by_id(const struct steps *s, uint32_t id)
{
	struct step *st = s->steps;

	while (st && (st->state == STEP_WAITING || st->id != id))
		st = st->next;
	return st;
}

static void unlink_step(struct step *st)
{
	for (struct step **p = &st->steps->steps; *p; p = &(*p)->next) {
		if (*p == st) {
			*p = st->next;
			return;
		}
	}
}

void step_free(struct step *st)
{
	unlink_step(st);
	if (st->client)
		st->client->step = NULL;
	for (uint32_t i = 0; st->places && i < st->layout.nnodes; i++) {
		struct place *p = &st->places[i];

		if (p->is_local && p->state == PLACE_RUNNING) {
			loop_child_remove(st->steps->cfg.loop, &p->stepper.child);
			stepper_close(&p->stepper);
		}
		sodium_memzero(p->token, sizeof(p->token));
	}
	free(st->places);
	layout_release(&st->layout);
	step_create_release(&st->request);
	step_launch_release(&st->launch);
	step_done_release(&st->result);
	free(st);
}

static bool any_place_left(const struct step *st)
{
	for (uint32_t i = 0; st->places && i < st->layout.nnodes; i++)
		if (st->places[i].state == PLACE_WAITING || st->places[i].state == PLACE_RUNNING)
			return true;
	return false;
}

void step_check(struct step *st)
{
	struct steps *s = st->steps;

	if (st->client)
		return;
	/* srun is gone. Steppers notice by themselves; one that hasn't begun yet never will. */
	for (uint32_t i = 0; st->places && i < st->layout.nnodes; i++)
		if (st->places[i].state == PLACE_WAITING)
			st->places[i].state = PLACE_GONE;
	if (any_place_left(st))
		return;
	step_release(st);
	step_free(st);
	steps_check_end(s);
}
