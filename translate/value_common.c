/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of translate/opt.h that most rows share. */
#include "translate/opt.h"

#include "common/duration.h"
#include "common/mem.h"

#include <limits.h>
#include <string.h>

int opt_parse_help(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	ctx->run->show = OPT_SHOW_HELP;
	return 0;
}

int opt_parse_usage(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	ctx->run->show = OPT_SHOW_USAGE;
	return 0;
}

int opt_parse_version(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	ctx->run->show = OPT_SHOW_VERSION;
	return 0;
}

int opt_parse_flag(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	*(bool *)ctx->field = true;
	return 0;
}

int opt_parse_number_row(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	*(int *)ctx->field = (int)ctx->row->number;
	return 0;
}

/* Slurm's numbers: strtol's, to the end, within int. */
static int parse_int(const struct opt_context *ctx, long least, long *value, struct error *err)
{
	char *end;

	errno = 0;
	*value = strtol(ctx->value, &end, 10);
	if (end == ctx->value || *end || errno || *value < least || *value > INT_MAX)
		return error_set(err, ERR_VALUE, "Invalid numeric value \"%s\" for --%s.", ctx->value,
				 ctx->row->name);
	return 0;
}

int opt_parse_counter(const struct opt_context *ctx, struct error *err)
{
	int *field = ctx->field;
	long n;

	if (ctx->origin != OPT_FROM_ENV) {
		++*field;
		return 0;
	}
	if (!*ctx->value)
		return 0;
	if (parse_int(ctx, 0, &n, err) < 0)
		return -1;
	*field += (int)n;
	return 0;
}

int opt_parse_string(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	replace_str(ctx->field, ctx->value ? ctx->value : "");
	return 0;
}

int opt_parse_positive(const struct opt_context *ctx, struct error *err)
{
	long n;

	if (parse_int(ctx, 1, &n, err) < 0)
		return -1;
	*(uint32_t *)ctx->field = (uint32_t)n;
	return 0;
}

int opt_parse_unsigned(const struct opt_context *ctx, struct error *err)
{
	long n;

	if (parse_int(ctx, 0, &n, err) < 0)
		return -1;
	*(uint32_t *)ctx->field = (uint32_t)n;
	return 0;
}

int opt_parse_duration(const struct opt_context *ctx, struct error *err)
{
	int64_t seconds;

	if (duration_parse(ctx->value, &seconds, NULL) < 0)
		return error_set(err, ERR_USAGE, "Invalid --%s specification", ctx->row->name);
	*(int64_t *)ctx->field = seconds;
	return 0;
}
