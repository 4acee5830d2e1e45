/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of the list wait for. */
#include "common/mem.h"
#include "translate/depend_facts.h"
#include "translate/jobs_private.h"

/* The list holds some users' jobs only: does it hold the job's predecessors, if they are there? */
static bool is_complete(struct jobs *jobs, const struct depend *list, uid_t uid)
{
	for (size_t i = 0; jobs->query.users && i < list->n; i++)
		if (list->terms[i].type != DEPEND_SINGLETON &&
		    !record_store_job(jobs->depend_store, uid, list->terms[i].job, RECORD_SUBMIT))
			return false;
	return true;
}

static const struct qstat *engine_list(struct jobs *jobs, const struct depend *list, uid_t uid)
{
	if (is_complete(jobs, list, uid))
		return &jobs->q;
	if (!jobs->everybody.n)
		qstat_list(&jobs->everybody, "*", NULL, jobs->conf->engine_timeout, NULL);
	return &jobs->everybody;
}

enum depend_verdict jobs_dependency(struct jobs *jobs, struct job *j)
{
	cleanup_depend struct depend list = DEPEND_INIT;
	cleanup_free char *spool = NULL;
	enum depend_verdict verdict;
	struct strbuf text = STRBUF_INIT;
	struct depend_world w;

	if (!j->record || !j->record->dependency || depend_parse(&list, j->record->dependency, NULL) < 0)
		return DEPEND_MET;
	if (!jobs->depend_store) {
		spool = conf_spool_dir(jobs->conf, NULL);
		jobs->depend_store =
			record_store_new(jobs->conf->accounting_dir, spool, jobs->conf->cluster_name);
	}
	w = (struct depend_world){ .engine = engine_list(jobs, &list, j->uid),
				   .store = jobs->depend_store,
				   .self = j->id,
				   .uid = j->uid,
				   .user = j->user,
				   .name = j->engine ? j->engine->name : NULL,
				   .has_index = j->is_array && !j->is_group,
				   .index = j->is_array && !j->is_group ? job_index(j) : 0 };
	verdict = depend_judge(&list, depend_facts, &w, jobs->now, NULL);
	/* Of an array by elements some may start. */
	if (verdict == DEPEND_NEVER && j->is_group && depend_has(&list, DEPEND_CORR))
		verdict = depend_reopen(&list);
	depend_show(&list, &text);
	replace_str(&j->dependency, text.buf);
	strbuf_release(&text);
	return verdict;
}
