/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that began and have no end in our records: their supervisor died, or the engine killed it together with the job.
 * The engine's accounting has the end.
 */
#include "common/log.h"
#include "common/mem.h"
#include "ocs/qacct.h"
#include "translate/jobs_private.h"

#include <signal.h>
#include <string.h>

/* One that scancel was asked to end is cancelled, whatever the script made of the signal. */
static bool needs_accounting(const struct job *j)
{
	const struct record_run *run = j->run;

	return !j->engine && j->record && run && run->start > 0 &&
	       (!run->state || !strcmp(run->state, "KILLED_BY_ENGINE")) &&
	       !record_cancel_of(j->record, run->task);
}

/* A copy: the record stays as it was written. */
static void complete(struct jobs *jobs, struct job *j, const struct qacct_run *from)
{
	static char states[][16] = {
		[QACCT_COMPLETED] = "COMPLETED", [QACCT_FAILED] = "FAILED",     [QACCT_TIMEOUT] = "TIMEOUT",
		[QACCT_KILLED] = "CANCELLED",    [QACCT_REQUEUED] = "REQUEUED",
	};
	enum qacct_verdict verdict = qacct_judge(from, j->record->time_limit);
	struct record_run *run;

	if (verdict == QACCT_UNKNOWN)
		return;
	run = xmalloc(sizeof(*run));
	*run = *j->run;
	run->state = states[verdict];
	run->code = verdict == QACCT_FAILED ? from->exit_status : 0;
	run->signal = 0;
	if (verdict == QACCT_TIMEOUT || verdict == QACCT_KILLED)
		run->signal = from->exit_status > 128 ? from->exit_status - 128 : SIGKILL;
	if (run->end <= 0)
		run->end = run->start + from->wallclock;
	jobs->completed = xreallocarray(jobs->completed, jobs->ncompleted + 1, sizeof(*jobs->completed));
	jobs->completed[jobs->ncompleted++] = run;
	j->run = run;
	jobs_set_end(j);
}

void jobs_complete(struct jobs *jobs)
{
	cleanup_qacct struct qacct q = QACCT_INIT;
	uint64_t asked = 0;

	/* elements of an array are neighbours, and one answer has them all */
	for (size_t i = 0; i < jobs->n; i++) {
		struct job *j = &jobs->rows[i];
		const struct qacct_run *run;
		struct error err = ERROR_INIT;

		if (!needs_accounting(j))
			continue;
		if (j->id != asked) {
			qacct_release(&q);
			asked = j->id;
			if (qacct_job(&q, j->id, jobs->conf->engine_timeout, &err) < 0) {
				log_debug("%s", err.text);
				return;
			}
		}
		run = qacct_last_run(&q, j->id, j->run->task);
		if (run)
			complete(jobs, j, run);
	}
}
