/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/depend_submit.h"

#include "common/mem.h"
#include "common/path.h"
#include "translate/emit_qsub.h"

void depend_submission_release(struct depend_submission *s)
{
	depend_job_release(&s->job);
	depend_holds_release(&s->holds);
	depend_view_release(&s->view);
}

static void note_alive(struct depend_job *j, const struct depend_world *w)
{
	for (size_t i = 0; i < j->list.n; i++) {
		const struct depend_term *t = &j->list.terms[i];
		bool noted = t->type == DEPEND_SINGLETON || !depend_is_alive(w, t->job);

		for (size_t k = 0; k < j->nalive && !noted; k++)
			noted = j->alive[k] == t->job;
		if (noted)
			continue;
		j->alive = xreallocarray(j->alive, j->nalive + 1, sizeof(*j->alive));
		j->alive[j->nalive++] = t->job;
	}
}

/* May more than the ends of whole jobs, all of them, decide? */
static bool needs_settling(const struct depend *d, enum depend_verdict verdict)
{
	bool partial = verdict == DEPEND_NEVER || d->any;

	for (size_t i = 0; i < d->n; i++)
		partial = partial || d->terms[i].type == DEPEND_AFTER || d->terms[i].has_index;
	return partial;
}

int depend_submission_prepare(struct depend_submission *s, const struct conf *conf, const struct request *r,
			      const char *name, struct error *err)
{
	struct depend_job *j = &s->job;
	struct depend_world w;
	enum depend_verdict verdict;

	*s = (struct depend_submission){ .job = DEPEND_JOB_INIT };
	if (!r->dependency || !*r->dependency)
		return 0;
	j->kill = r->kill_invalid_depend < 0 ? conf->kill_invalid_depend : r->kill_invalid_depend;
	j->name = emit_job_name(name);
	j->begin = (time_t)r->begin;
	if (depend_parse(&j->list, r->dependency, err) < 0 || depend_view_open(&s->view, conf, err) < 0 ||
	    depend_view_world(&s->view, j, 0, &w, err) < 0)
		return -1;
	depend_normalize(&j->list, &w);
	note_alive(j, &w);
	w.alive = j->alive;
	w.nalive = j->nalive;
	verdict = depend_judge(&j->list, depend_facts, &w, time(NULL), &s->holds.begin);
	/* A twin may come before this job does: singletons are left to the engine. */
	if (verdict == DEPEND_MET && !depend_has(&j->list, DEPEND_SINGLETON)) {
		depend_release(&j->list);
		return 0;
	}
	s->settle = needs_settling(&j->list, verdict);
	/* The elements of an array that wait one by one decide for themselves. */
	s->holds.user = verdict == DEPEND_NEVER && !(r->array.count && depend_has(&j->list, DEPEND_CORR));
	depend_hold(j, &w, r->array.index, r->array.count, &s->holds);
	return 0;
}

int depend_submission_write(const struct depend_submission *s, int spool_fd, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (!s->job.list.n)
		return 0;
	depend_job_write(&s->job, &text);
	return path_write_newat(spool_fd, "dependency", 0600, text.buf, text.len, false, err);
}

void depend_submission_finish(struct depend_submission *s, uint64_t id)
{
	const struct conf *conf = s->view.conf;

	if (!s->job.list.n)
		return;
	depend_register(&s->view, &s->job, id);
	if (!s->settle)
		return;
	/* What happened between the look and the registration, nobody else sees. */
	depend_view_release(&s->view);
	if (depend_view_open(&s->view, conf, NULL) == 0)
		depend_settle(&s->view, id);
}
