/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/qacct.h"

#include "common/mem.h"
#include "ocs/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of sge_accounting(5), field "failed". */
enum {
	FAILED_RESCHEDULED = 25,
	FAILED_LIMIT = 37,
	FAILED_KILLED = 100,
};
enum { SIGNAL_BASE = 128 };

void qacct_release(struct qacct *q)
{
	free(q->v);
	*q = (struct qacct)QACCT_INIT;
}

/* A record while its lines are read. */
struct reading {
	struct qacct_run run;
	bool has_failed, has_status;
};

static void finish(struct qacct *q, struct reading *r)
{
	if (r->run.id && r->has_failed && r->has_status) {
		q->v = xreallocarray(q->v, q->n + 1, sizeof(*q->v));
		q->v[q->n++] = r->run;
	}
	*r = (struct reading){ .has_failed = false };
}

/* The number that value begins with ("100 : assumedly after job", "137 (Killed)"). */
static bool take_number(const char *value, int *out)
{
	char *end;
	long n = strtol(value, &end, 10);

	if (end == value || n < 0 || n > INT32_MAX)
		return false;
	*out = (int)n;
	return true;
}

static void take_value(struct reading *r, const char *name, size_t n, const char *value)
{
	static const struct {
		const char *name;
		enum { ID, TASK, SLAVE, FAILED, STATUS, WALLCLOCK } key;
	} keys[] = {
		{ "jobnumber", ID },  { "taskid", TASK },        { "pe_taskid", SLAVE },
		{ "failed", FAILED }, { "exit_status", STATUS }, { "ru_wallclock", WALLCLOCK },
	};
	unsigned long task;
	double s;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strlen(keys[i].name) != n || strncmp(keys[i].name, name, n) != 0)
			continue;
		switch (keys[i].key) {
		case ID:
			r->run.id = strtoull(value, NULL, 10);
			break;
		case TASK: /* "undefined": 0 */
			task = strtoul(value, NULL, 10);
			r->run.task = task <= UINT32_MAX ? (uint32_t)task : 0;
			break;
		case SLAVE:
			r->run.is_slave = strncmp(value, "NONE", 4) != 0;
			break;
		case FAILED:
			r->has_failed = take_number(value, &r->run.failed);
			break;
		case STATUS:
			r->has_status = take_number(value, &r->run.exit_status);
			break;
		case WALLCLOCK:
			s = strtod(value, NULL);
			r->run.wallclock = s > 0 && s < 1e12 ? s : 0;
			break;
		}
	}
}

void qacct_parse(struct qacct *q, const char *text)
{
	struct reading r = { .has_failed = false };

	/* each record begins with a line of '='; values go to the end of their line */
	for (const char *line = text; *line; line += *line == '\n') {
		size_t name = strcspn(line, " \n");

		if (*line == '=')
			finish(q, &r);
		else if (line[name] == ' ')
			take_value(&r, line, name, line + name + strspn(line + name, " "));
		line += strcspn(line, "\n");
	}
	finish(q, &r);
}

int qacct_job(struct qacct *q, uint64_t id, int timeout, struct error *err)
{
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;

	argvec_push(&argv, "qacct");
	argvec_push(&argv, "-j");
	argvec_pushf(&argv, "%" PRIu64, id);
	if (engine_run(&argv, NULL, timeout, &answer, err) < 0)
		return -1;
	/* 1: "error: job id 7 not found", or no accounting file yet */
	if (answer.code == 0)
		qacct_parse(q, answer.out.buf);
	return 0;
}

const struct qacct_run *qacct_last_run(const struct qacct *q, uint64_t id, uint32_t task)
{
	for (size_t i = q->n; i > 0; i--) {
		const struct qacct_run *run = &q->v[i - 1];

		if (run->id == id && run->task == task && !run->is_slave)
			return run;
	}
	return NULL;
}

enum qacct_verdict qacct_judge(const struct qacct_run *run, int64_t time_limit)
{
	bool is_past_limit = time_limit > 0 && run->wallclock >= (double)time_limit;

	switch (run->failed) {
	case 0:
		return run->exit_status ? QACCT_FAILED : QACCT_COMPLETED;
	case FAILED_RESCHEDULED:
		return QACCT_REQUEUED;
	case FAILED_LIMIT:
		/* h_cpu and h_vmem, too: without a limit of ours on the time it was one of these, or the queue's */
		return time_limit > 0 ? QACCT_TIMEOUT : QACCT_KILLED;
	case FAILED_KILLED:
		if (run->exit_status <= SIGNAL_BASE)
			return QACCT_UNKNOWN;
		return is_past_limit ? QACCT_TIMEOUT : QACCT_KILLED;
	default:
		return QACCT_UNKNOWN;
	}
}
