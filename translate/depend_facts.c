/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/depend_facts.h"

#include "common/mem.h"
#include "ocs/engine.h"
#include "translate/job_ids.h"

#include <inttypes.h>
#include <string.h>

#define MAX_POSITIONS (1 << 20)

/* Where one part of a job, or the job, stands. */
struct part {
	bool pends, runs; /* on the engine; neither: gone */
	time_t started;
};

/* A job's parts; without array there is one, of position 0. */
struct parts {
	struct part *v; /* by position */
	size_t n;       /* highest position + 1 */
	bool any;
};

static void parts_note(struct parts *p, uint32_t position, const struct qstat_job *e)
{
	if (position >= p->n) {
		p->v = xreallocarray(p->v, position + 1, sizeof(*p->v));
		memset(p->v + p->n, 0, (position + 1 - p->n) * sizeof(*p->v));
		p->n = position + 1;
	}
	p->any = true;
	p->v[position].pends = !e->is_running;
	p->v[position].runs = e->is_running;
	p->v[position].started = e->started;
}

static void parts_find(struct parts *p, const struct qstat *q, uint64_t id)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct qstat_job *e = &q->jobs[i];
		cleanup_free uint32_t *tasks = NULL;
		size_t n = 0;

		if (e->id != id)
			continue;
		if (*e->tasks)
			qstat_tasks(e->tasks, MAX_POSITIONS, &tasks, &n, NULL);
		for (size_t k = 0; k < n; k++)
			parts_note(p, tasks[k], e);
		if (!*e->tasks)
			parts_note(p, 0, e);
	}
}

bool depend_is_alive(const struct depend_world *w, uint64_t id)
{
	for (size_t i = 0; i < w->engine->n; i++)
		if (w->engine->jobs[i].id == id)
			return true;
	return false;
}

const struct record_job *depend_record(struct depend_world *w, uint64_t id)
{
	const struct record_job *r = record_store_job(w->store, w->uid, id, RECORD_ALL);
	uid_t owner;

	if (!r && record_store_owner(w->store, id, &owner))
		r = record_store_job(w->store, owner, id, RECORD_ALL);
	return r && r->has_submit ? r : NULL;
}

/* --- the engine's accounting --- */

/* The number behind key at the start of line; -1: another line. */
static long number_of(const char *line, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(line, key, n) || line[n] != ' ')
		return -1;
	return strtol(line + n, NULL, 10);
}

int depend_read_accounting(const char *text)
{
	bool found = false;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		long status = number_of(text, "exit_status"), failed = number_of(text, "failed");

		found = found || status >= 0;
		if (status > 0 || failed > 0)
			return 0;
	}
	return found ? 1 : -1;
}

static bool accounting_says_ok(const struct depend_world *w, uint64_t id, uint32_t position)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	argvec_pushl(&argv, "qacct", "-j", NULL);
	argvec_pushf(&argv, "%" PRIu64, id);
	if (position) {
		argvec_push(&argv, "-t");
		argvec_pushf(&argv, "%" PRIu32, position);
	}
	return engine_run(&argv, NULL, w->engine_timeout, &answer, NULL) == 0 && answer.code == 0 &&
	       depend_read_accounting(answer.out.buf) > 0;
}

/* --- one part --- */

static void set_end(struct depend_facts *f, const struct record_run *run)
{
	f->over = true;
	f->start = run ? (time_t)run->start : 0;
	f->end = run ? (time_t)run->end : 0;
	f->ok = run && run->state && !strcmp(run->state, "COMPLETED");
}

/* The engine has it no more, or its script has ended and the engine is tidying up. */
static void look_at_end(const struct depend_world *w, const struct record_job *r, uint64_t id,
			uint32_t position, struct depend_facts *f)
{
	const struct record_run *run = r ? record_last_run(r, position) : NULL;

	if (r && !run && position)
		run = record_last_run(r, 0); /* the array as a whole ended before it began */
	set_end(f, run);
	if ((run && run->state) || (r && record_cancel_of(r, position)))
		return;
	f->is_unsure = !w->final;
	if (w->final)
		f->ok = accounting_says_ok(w, id, position);
}

static void look_at_part(const struct depend_world *w, const struct record_job *r, uint64_t id,
			 uint32_t position, const struct part *p, struct depend_facts *f)
{
	const struct record_run *run = r && p ? record_last_run(r, position) : NULL;

	*f = (struct depend_facts){ .known = true };
	if (!p || (!p->pends && !p->runs)) {
		look_at_end(w, r, id, position, f);
	} else if (p->runs) {
		f->started = true;
		f->start = run && run->start > 0 ? (time_t)run->start : p->started;
		/* A run that the engine killed may be followed by another; one that was requeued is. */
		if (run && run->state && strcmp(run->state, "KILLED_BY_ENGINE") &&
		    strcmp(run->state, "REQUEUED") != 0 && p->started && run->end >= (double)p->started)
			set_end(f, run);
	}
}

/* --- jobs --- */

static void add_facts(struct depend_facts *all, const struct depend_facts *one)
{
	bool failed =
		(all->over && !all->ok && !all->is_unsure) || (one->over && !one->ok && !one->is_unsure);

	all->started = (all->started || all->over) && (one->started || one->over);
	all->over = all->over && one->over;
	all->ok = all->ok && one->ok;
	all->is_unsure = !failed && (all->is_unsure || one->is_unsure);
	if (one->start > all->start)
		all->start = one->start;
	if (one->end > all->end)
		all->end = one->end;
}

static const struct part *part_at(const struct parts *p, uint32_t position)
{
	return position < p->n ? &p->v[position] : NULL;
}

/* Every element; of an array without records those that the engine has. */
static void look_at_array(const struct depend_world *w, const struct record_job *r, uint64_t id,
			  const struct parts *p, struct depend_facts *f)
{
	size_t last = r && r->narray ? r->narray : p->n ? p->n - 1 : 0;
	bool first = true;

	for (size_t i = 1; i <= last; i++) {
		const struct part *part = part_at(p, (uint32_t)i);
		struct depend_facts one;

		if (!(r && r->narray) && !(part && (part->pends || part->runs)))
			continue;
		look_at_part(w, r, id, (uint32_t)i, part, &one);
		if (first)
			*f = one;
		else
			add_facts(f, &one);
		first = false;
	}
}

/* A job of the same user and name, submitted before. */
static void look_for_twins(const struct depend_world *w, struct depend_facts *f)
{
	f->known = f->over = true;
	for (size_t i = 0; w->name && i < w->engine->n; i++) {
		const struct qstat_job *e = &w->engine->jobs[i];

		if (!strcmp(e->name, w->name) && !strcmp(e->owner, w->user) && (!w->self || e->id < w->self))
			f->over = false;
	}
}

static bool was_alive(const struct depend_world *w, uint64_t id)
{
	for (size_t i = 0; i < w->nalive; i++)
		if (w->alive[i] == id)
			return true;
	return false;
}

static void look_at_job(struct depend_world *w, const struct depend_term *t, struct depend_facts *f)
{
	const struct record_job *r = depend_record(w, t->job);
	bool corresponds = t->type == DEPEND_CORR && w->has_index && r && r->narray;
	bool has_index = t->has_index || corresponds;
	uint32_t position = 0;
	struct parts parts = { NULL, 0, false };

	parts_find(&parts, w->engine, t->job);
	if (has_index)
		position = record_array_task(r, t->has_index ? t->index : w->index);
	f->known = r || parts.any || was_alive(w, t->job);
	/* An element that never was counts as one that is forgotten; a corresponding one as the whole array. */
	if (t->has_index && (!position || (r && !r->narray)))
		f->known = false;
	else if (f->known && has_index && position)
		look_at_part(w, r, t->job, position, part_at(&parts, position), f);
	else if (f->known && ((r && r->narray) || parts.n > 1))
		look_at_array(w, r, t->job, &parts, f);
	else if (f->known)
		look_at_part(w, r, t->job, 0, part_at(&parts, 0), f);
	free(parts.v);
}

void depend_facts(const struct depend_term *t, struct depend_facts *f, void *arg)
{
	struct depend_world *w = arg;

	if (t->type == DEPEND_SINGLETON)
		look_for_twins(w, f);
	else
		look_at_job(w, t, f);
}

void depend_normalize(struct depend *d, struct depend_world *w)
{
	for (size_t i = 0; i < d->n; i++) {
		struct depend_term *t = &d->terms[i];
		uint32_t position = (uint32_t)(t->job % ELEMENT_FACTOR);
		const struct record_job *r = NULL;

		if (t->type != DEPEND_SINGLETON && !t->has_index && t->job > ELEMENT_FACTOR && position &&
		    !depend_is_alive(w, t->job))
			r = depend_record(w, t->job / ELEMENT_FACTOR);
		if (!r || position > r->narray)
			continue;
		t->has_index = true;
		t->index = record_array_index(r, position);
		t->job /= ELEMENT_FACTOR;
	}
}
