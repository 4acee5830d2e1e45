/* SPDX-License-Identifier: Apache-2.0 */
/* What a start or an end of one job means for those that wait for it. */
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "ocs/engine.h"
#include "ocs/record.h"
#include "translate/depend_job.h"

#include <inttypes.h>
#include <string.h>

/* No engine gives this number to a job, and each takes a hold by an unknown one for one that is over. */
#define NOBODY "99999999"
#define MAX_FILE (1 << 20)

static void ask(const struct depend_view *v, const struct argvec *argv)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	struct error err = ERROR_INIT;

	/* Where this host may not change jobs, what waits goes on waiting for the end, as -hold_jid has it. */
	if (engine_ask(argv, v->conf->engine_timeout, &answer, &err) < 0)
		log_verbose("%s", err.text);
}

/* Takes the engine's holds by other jobs off; begin: not before then (0: at once). */
static void let_go(const struct depend_view *v, uint64_t id, bool is_array, time_t begin)
{
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	char when[32];
	struct tm tm;

	argvec_pushl(&argv, "qalter", "-hold_jid", NOBODY, NULL);
	if (is_array)
		argvec_pushl(&argv, "-hold_jid_ad", NOBODY, NULL);
	if (begin && localtime_r(&begin, &tm) && strftime(when, sizeof(when), "%Y%m%d%H%M.%S", &tm))
		argvec_pushl(&argv, "-a", when, NULL);
	argvec_pushf(&argv, "%" PRIu64, id);
	ask(v, &argv);
}

static void write_end(const struct depend_view *v, const struct spool *spool, uint64_t id)
{
	cleanup_fd int fd = record_open_dir(v->conf->accounting_dir, spool->dir, NULL);
	const struct record_job *r = record_store_job(v->store, geteuid(), id, RECORD_ALL);
	char host[256] = "localhost";
	struct record rec;

	if (fd < 0 || (r && record_last_run(r, 0) && record_last_run(r, 0)->state))
		return;
	gethostname(host, sizeof(host) - 1);
	record_begin(&rec, "end", id, 0, 0);
	record_str(&rec, "state", "CANCELLED");
	record_int(&rec, "code", 0);
	record_int(&rec, "signal", 0);
	record_str(&rec, "reason", "DependencyNeverSatisfied");
	record_append(&rec, fd, id, 0, host, NULL);
	record_release(&rec);
}

/*
 * It can never start: it goes, or waits for its owner under a hold. What waits for it is settled before it goes, since
 * the engine lets that go at once then.
 */
static void give_up(struct depend_view *v, const struct depend_job *j, const struct spool *spool, uint64_t id)
{
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	if (j->kill) {
		argvec_push(&argv, "qdel");
		/* The record first: without the job in the engine's list it is what says why. */
		write_end(v, spool, id);
		depend_view_forget(v, id);
		depend_settle_waiting(v, spool->fd, "dependents");
		depend_settle_waiting(v, spool->fd, "dependents.start");
	} else {
		argvec_pushl(&argv, "qalter", "-h", "u", NULL);
	}
	argvec_pushf(&argv, "%" PRIu64, id);
	ask(v, &argv);
}

/* Pending, all of it; *is_array. */
static bool is_pending(const struct depend_view *v, uint64_t id, bool *is_array)
{
	bool found = false;

	*is_array = false;
	for (size_t i = 0; i < v->jobs.n; i++) {
		const struct qstat_job *e = &v->jobs.jobs[i];

		if (e->id != id)
			continue;
		if (e->is_running || strchr(e->state, 'd'))
			return false;
		found = true;
		*is_array = *e->tasks != '\0';
	}
	return found;
}

/* Does the engine still hold it for a job that is there and won't be gone in a moment? */
static bool is_held_back(const struct depend_job *j, struct depend_world *w)
{
	for (size_t i = 0; i < j->list.n; i++) {
		struct depend_term whole = { .type = DEPEND_ANY, .job = j->list.terms[i].job };
		struct depend_facts f = { 0 };

		if (j->list.terms[i].type == DEPEND_SINGLETON)
			continue;
		depend_facts(&whole, &f, w);
		if (f.known && !f.over)
			return true;
	}
	return false;
}

static time_t later(time_t a, time_t b)
{
	return a > b ? a : b;
}

void depend_settle(struct depend_view *v, uint64_t id)
{
	cleanup_spool struct spool spool = SPOOL_INIT;
	cleanup_depend_job struct depend_job j = DEPEND_JOB_INIT;
	struct depend_world w;
	enum depend_verdict verdict;
	bool is_array;
	time_t until;

	if (spool_open_job(&spool, v->root, v->conf->cluster_name, id, NULL) < 0 ||
	    depend_job_read(&j, spool.fd, NULL) <= 0 || depend_view_world(v, &j, id, &w, NULL) < 0 ||
	    !is_pending(v, id, &is_array))
		return;
	verdict = depend_judge(&j.list, depend_facts, &w, time(NULL), &until);
	if (verdict == DEPEND_NEVER && is_array && depend_has(&j.list, DEPEND_CORR))
		return; /* some elements may start: each decides for itself */
	if (verdict == DEPEND_NEVER)
		give_up(v, &j, &spool, id);
	else if (verdict == DEPEND_MET && is_held_back(&j, &w))
		let_go(v, id, is_array, j.begin > time(NULL) ? j.begin : 0);
	else if (verdict == DEPEND_OPEN && until)
		let_go(v, id, is_array, later(until, j.begin));
}

void depend_settle_waiting(struct depend_view *v, int spool_fd, const char *file)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (fd_read_file(spool_fd, file, MAX_FILE, &text, NULL) < 0)
		return;
	for (const char *p = text.buf; *p; p += strcspn(p, "\n"), p += *p == '\n')
		depend_settle(v, strtoull(p, NULL, 10));
}
