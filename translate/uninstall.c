/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "ocs/qstat.h"
#include "translate/install.h"

#include <string.h>

/* --- what is in the way --- */

static bool has_word(const struct argvec *words, const char *word)
{
	for (size_t i = 0; word && i < words->n; i++)
		if (!strcmp(words->v[i], word))
			return true;
	return false;
}

static bool is_ours(const struct qstat_job *j, const struct install_state *s)
{
	if (has_word(&s->family, j->pe))
		return true;
	for (size_t i = 0; j->queue && i < s->nqueues; i++)
		if (!strcmp(s->queues[i].name, j->queue))
			return true;
	return false;
}

/* Jobs in our PEs, also pending ones, and whatever runs in the queues: its tasks still come by the starter. */
static int check_jobs(const struct install_state *s, const struct conf *conf, struct error *err)
{
	cleanup_qstat struct qstat q = QSTAT_INIT;
	cleanup_strbuf struct strbuf ids = STRBUF_INIT;
	uint64_t last = 0;
	size_t n = 0;

	if (qstat_list(&q, "*", NULL, conf->engine_timeout, err) < 0)
		return -1;
	for (size_t i = 0; i < q.n; i++) {
		if (!is_ours(&q.jobs[i], s) || q.jobs[i].id == last)
			continue;
		last = q.jobs[i].id;
		if (++n <= 10)
			strbuf_addf(&ids, "%s%llu", n > 1 ? ", " : "", (unsigned long long)last);
	}
	if (!n)
		return 0;
	return error_set(err, ERR_ENGINE,
			 "%zu jobs are in these queues or parallel environments (%s%s); nothing was changed",
			 n, ids.buf, n > 10 ? " ..." : "");
}

/* --- restoring --- */

/* What the value becomes: as it was before where nobody touched it since, else only ours taken out. NULL with err. */
static char *restored_pe_list(const struct state_queue *q, const char *now, const struct install_state *s,
			      struct error *err)
{
	if (!strcmp(now, q->pe_list[1]))
		return xstrdup(q->pe_list[0]);
	return plan_without_family(now, &s->family, err);
}

static char *restored_starter(const struct state_queue *q, const char *now)
{
	return xstrdup(strcmp(now, q->starter[1]) ? now : q->starter[0]);
}

static bool is_known(const struct argvec *names, const char *name)
{
	return has_word(names, name);
}

static int restore_queue(const struct state_queue *q, const struct install_state *s, bool apply,
			 struct error *err)
{
	cleanup_qconf_object struct qconf_object o = QCONF_OBJECT_INIT;
	cleanup_free char *pe_list = NULL;
	cleanup_free char *starter = NULL;
	const char *now[2];

	if (qconf_show("-sq", q->name, &o, err) < 0)
		return -1;
	now[0] = qconf_get(&o, "pe_list");
	now[1] = qconf_get(&o, "starter_method");
	if (!now[0] || !now[1])
		return error_set(err, ERR_ENGINE, "queue %s has no pe_list or no starter_method", q->name);
	pe_list = restored_pe_list(q, now[0], s, err);
	if (!pe_list)
		return -1;
	starter = restored_starter(q, now[1]);
	if (!strcmp(pe_list, now[0]) && !strcmp(starter, now[1]))
		return 0;
	if (strcmp(pe_list, now[0]))
		printf("queue %s: pe_list %s\n", q->name, pe_list);
	if (strcmp(starter, now[1]))
		printf("queue %s: starter_method %s\n", q->name, starter);
	if (!apply)
		return 0;
	qconf_set(&o, "pe_list", pe_list);
	qconf_set(&o, "starter_method", starter);
	if (qconf_store("-Mq", &o, err) < 0)
		return error_wrap(err, "queue %s", q->name);
	return 0;
}

static int restore_queues(const struct install_state *s, bool apply, struct error *err)
{
	cleanup_argvec struct argvec queues = ARGVEC_INIT;

	if (qconf_list("-sql", &queues, err) < 0)
		return -1;
	for (size_t i = 0; i < s->nqueues; i++)
		if (is_known(&queues, s->queues[i].name) && restore_queue(&s->queues[i], s, apply, err) < 0)
			return -1;
	return 0;
}

static int remove_pes(const struct install_state *s, bool apply, struct error *err)
{
	cleanup_argvec struct argvec pes = ARGVEC_INIT;

	if (qconf_list("-spl", &pes, err) < 0)
		return -1;
	for (size_t i = 0; i < s->pes.n; i++) {
		if (!is_known(&pes, s->pes.v[i]))
			continue;
		printf("parallel environment %s: remove\n", s->pes.v[i]);
		if (apply && qconf_do("-dp", s->pes.v[i], err) < 0)
			return error_wrap(err, "parallel environment %s", s->pes.v[i]);
	}
	return 0;
}

/* Records are the users': a folder with some in it stays. */
static void remove_files(const struct install_state *s, const struct install_paths *paths, bool apply)
{
	for (size_t i = 0; i < s->files.n; i++) {
		printf("script %s: remove\n", s->files.v[i]);
		if (apply)
			unlink(s->files.v[i]);
	}
	if (s->made_dir && access(s->made_dir, F_OK) == 0) {
		printf("folder %s: remove if it holds no records\n", s->made_dir);
		if (apply && rmdir(s->made_dir) < 0)
			printf("folder %s: kept, it holds records\n", s->made_dir);
	}
	if (apply) {
		unlink(paths->state);
		rmdir(paths->dir);
	}
}

int uninstall_run(const struct install_options *o, const struct conf *conf, struct error *err)
{
	cleanup_install_paths struct install_paths paths = INSTALL_PATHS_INIT;
	cleanup_install_state struct install_state state = INSTALL_STATE_INIT;
	bool found;

	if (install_paths_find(&paths, err) < 0 || install_state_read(&state, paths.state, &found, err) < 0)
		return -1;
	if (!found) {
		puts("nothing is installed in this cell");
		return 0;
	}
	if (o->apply && (install_check_manager(err) < 0 || check_jobs(&state, conf, err) < 0))
		return -1;
	if (restore_queues(&state, o->apply, err) < 0 || remove_pes(&state, o->apply, err) < 0)
		return -1;
	remove_files(&state, &paths, o->apply);
	puts(o->apply ? "done" : "nothing was changed; with --apply it is done");
	return 0;
}
