/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's accounting says of a job that is over: qacct -j ID. */
#ifndef SOC_OCS_QACCT_H
#define SOC_OCS_QACCT_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One run of a job or array element; the engine writes it when the run is over, up to a few seconds later. */
struct qacct_run {
	uint64_t id;
	uint32_t task; /* 0: no array */
	bool is_slave; /* not the script's record, but that of a process started on one of the job's hosts */
	int failed;    /* the engine's own number: 0, 25 (rescheduled), 37 (a limit), 100 (killed) ... */
	int exit_status;  /* the script's, or 128 + signal */
	double wallclock; /* s */
};

struct qacct {
	struct qacct_run *v; /* as the engine wrote them, oldest first */
	size_t n;
};

#define QACCT_INIT                                                                                           \
	{                                                                                                    \
		.v = NULL                                                                                    \
	}
#define cleanup_qacct cleanup(qacct_release)
void qacct_release(struct qacct *q);

/* Adds what is in an answer of qacct -j. Records that lack a number are left out. */
void qacct_parse(struct qacct *q, const char *text);
/* One call. A job that the accounting doesn't know has no runs; -1 with err: qacct couldn't be run. */
int qacct_job(struct qacct *q, uint64_t id, int timeout, struct error *err);
/* The script's last run of task (0: no array); NULL. */
const struct qacct_run *qacct_last_run(const struct qacct *q, uint64_t id, uint32_t task);

enum qacct_verdict {
	QACCT_COMPLETED,
	QACCT_FAILED, /* the script ended with exit_status */
	QACCT_TIMEOUT,
	QACCT_KILLED, /* by somebody, or by a signal */
	QACCT_REQUEUED,
	QACCT_UNKNOWN, /* the engine had a problem with the job */
};

/* time_limit: the job's own in s, 0 or less: none. */
enum qacct_verdict qacct_judge(const struct qacct_run *run, int64_t time_limit);

#endif
