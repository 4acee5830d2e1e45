/* SPDX-License-Identifier: Apache-2.0 */
/* Values of sbatch's options about when a job runs, and whom that is told. */
#include "translate/request.h"

#include "common/duration.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/when.h"

#include <string.h>
#include <strings.h>

static int invalid(const struct opt_context *ctx, struct error *err)
{
	return error_set(err, ERR_USAGE, "Invalid --%s specification", ctx->row->name);
}

int parse_when(const struct opt_context *ctx, struct error *err)
{
	time_t t;
	int pos;

	if (when_parse(ctx->value, time(NULL), &t, &pos) < 0) {
		/* Slurm's first line has no name of the program in front */
		log_bare("Invalid time specification (pos=%d): %s", pos, ctx->value);
		return invalid(ctx, err);
	}
	if (!t)
		return invalid(ctx, err);
	*(int64_t *)ctx->field = (int64_t)t;
	return 0;
}

/* As --time, but 0 and "infinite" are none at all. */
int parse_time_min(const struct opt_context *ctx, struct error *err)
{
	int64_t *field = ctx->field;

	if (duration_parse(ctx->value, field, NULL) < 0)
		return invalid(ctx, err);
	if (*field == DURATION_INFINITE)
		*field = 0;
	return 0;
}

/* Slurm reads a leading number; what isn't one is 0, the priority that holds a job. */
int check_priority(const struct opt_context *ctx, struct error *err)
{
	char *end;
	long long n = strtoll(ctx->value, &end, 10);

	if (!strcasecmp(ctx->value, "TOP"))
		return 0;
	if (n < 0)
		return error_set(err, ERR_USAGE, "Priority must be >= 0\nInvalid --priority specification");
	if (n >= UINT32_MAX)
		return error_set(err, ERR_USAGE, "Priority must be < %u\nInvalid --priority specification",
				 UINT32_MAX);
	return 0;
}

int request_check_times(const struct request *r, int64_t now, struct error *err)
{
	/* (a deadline that the limit doesn't fit before is no error in Slurm: it may be changed while the job waits) */
	if (r->time_min <= r->time_limit && (!r->deadline || r->deadline > now))
		return 0;
	return error_set(
		err, ERR_VALUE,
		"Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)");
}

/* --- mail --- */

enum { MAIL_NONE = 1 << 30 };

static const struct {
	const char *name;
	unsigned events; /* enum mail_event; 0: there is no such event here, and so never a mail */
} mail_types[] = {
	{ "NONE", MAIL_NONE },
	{ "BEGIN", MAIL_BEGIN },
	{ "END", MAIL_END },
	{ "FAIL", MAIL_FAIL },
	{ "REQUEUE", MAIL_REQUEUE },
	{ "ALL", MAIL_BEGIN | MAIL_END | MAIL_FAIL | MAIL_REQUEUE },
	{ "INVALID_DEPEND", 0 },
	{ "STAGE_OUT", 0 },
	{ "ARRAY_TASKS", MAIL_ARRAY_TASKS },
	{ "TIME_LIMIT", MAIL_TIME_LIMIT },
	{ "TIME_LIMIT_90", MAIL_TIME_LIMIT },
	{ "TIME_LIMIT_80", MAIL_TIME_LIMIT },
	{ "TIME_LIMIT_50", MAIL_TIME_LIMIT },
};

static int find_mail_type(const char *word, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(mail_types); i++)
		if (strlen(mail_types[i].name) == n && !strncasecmp(mail_types[i].name, word, n))
			return (int)i;
	return -1;
}

/* The words up to the first that Slurm doesn't know, which ends the list; the first must be one. NONE wins. */
int parse_mail_type(const struct opt_context *ctx, struct error *err)
{
	unsigned events = 0;
	const char *p = ctx->value;
	bool any = false;

	while (*p) {
		size_t n = strcspn(p, ",");
		int i = find_mail_type(p, n);

		if (i < 0)
			break;
		any = true;
		events |= mail_types[i].events;
		p += n + (p[n] == ',');
	}
	if (!any)
		return invalid(ctx, err);
	if (events & MAIL_NONE)
		events = 0;
	if (events & MAIL_TIME_LIMIT)
		return error_set(
			err, ERR_VALUE,
			"--mail-type: the engine sends no mail about time limits; use --signal, and mail in "
			"the script");
	*(unsigned *)ctx->field = events;
	return 0;
}
