/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/wait_job.h"

#include "common/log.h"
#include "common/mem.h"
#include "ocs/qstat.h"

#include <pwd.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * A look at the records reads a file or a few: at first often, for short jobs, then every two seconds as Slurm does. A
 * big array's many files slow it down, so that waiting never takes more than a few percent of a processor.
 */
#define LOOK_FIRST_MS 100
#define LOOK_MS 2000
#define LOOK_SHARE 25
/* The engine sees this only for jobs that are deleted without a word of ours. */
#define ASK_MS 30000
#define ASK_UNSURE_MS 5000

/* One element, or the job. */
static void look_at(const struct record_job *j, uint32_t task, bool gone, struct wait_result *w)
{
	const struct record_run *run = record_last_run(j, task);
	bool killed = run && run->state && !strcmp(run->state, "KILLED_BY_ENGINE");
	bool ended = run && run->state && !killed && strcmp(run->state, "REQUEUED") != 0;
	int code = 0;

	if (!ended && !gone) {
		w->over = false;
		w->unsure = w->unsure || killed || record_cancel_of(j, task);
		return;
	}
	if (ended)
		code = run->signal ? 1 : (int)run->code;
	else if (run && strcmp(run->state ? run->state : "", "REQUEUED") != 0)
		code = 1; /* killed while it ran */
	if (code > w->code)
		w->code = code;
}

struct wait_result wait_look(const struct record_job *j, bool gone)
{
	struct wait_result w = { .over = true };

	if (!j) {
		w.over = gone;
		return w;
	}
	if (!j->narray)
		look_at(j, 0, gone, &w);
	for (size_t i = 0; i < j->narray; i++)
		look_at(j, (uint32_t)i + 1, gone, &w);
	return w;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* An engine that doesn't answer has forgotten nothing. */
static bool is_gone(const struct conf *conf, uint64_t id)
{
	const struct passwd *pw = getpwuid(getuid());
	cleanup_qstat struct qstat q = QSTAT_INIT;

	if (!pw || qstat_list(&q, pw->pw_name, NULL, conf->engine_timeout, NULL) < 0)
		return false;
	for (size_t i = 0; i < q.n; i++)
		if (q.jobs[i].id == id)
			return false;
	return true;
}

static struct wait_result look(const struct conf *conf, uint64_t id, bool gone)
{
	cleanup_free char *spool = conf_spool_dir(conf, NULL);
	struct record_store *store = record_store_new(conf->accounting_dir, spool, conf->cluster_name);
	struct wait_result w = wait_look(record_store_job(store, getuid(), id, RECORD_ALL), gone);

	record_store_free(store);
	return w;
}

static void sleep_ms(int64_t ms)
{
	struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

int wait_for_job(const struct conf *conf, uint64_t id)
{
	int64_t asked = now_ms(), pause = LOOK_FIRST_MS;

	for (;;) {
		int64_t start = now_ms(), cost;
		struct wait_result w = look(conf, id, false);

		if (w.over)
			return w.code;
		if (start - asked >= (w.unsure ? ASK_UNSURE_MS : ASK_MS)) {
			asked = start;
			/* in this order: an end is recorded before the engine forgets the job */
			if (is_gone(conf, id))
				return look(conf, id, true).code;
		}
		cost = now_ms() - start;
		sleep_ms(pause > cost * LOOK_SHARE ? pause : cost * LOOK_SHARE);
		pause = pause * 3 / 2 > LOOK_MS ? LOOK_MS : pause * 3 / 2;
	}
}
