/* SPDX-License-Identifier: Apache-2.0 */
/* Values of sbatch's options that need more than one of opt.h's shared parsers. */
#include "translate/request.h"

#include "common/mem.h"
#include "common/size.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

/* A count at *p; Slurm's "k" and "m" are 1024s. */
static int take_count(const char **p, uint32_t *n)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(*p, &end, 10);
	if (end == *p || errno)
		return -1;
	if (*end == 'k' || *end == 'K') {
		v *= 1024;
		end++;
	} else if (*end == 'm' || *end == 'M') {
		v *= 1024 * 1024;
		end++;
	}
	if (v < 0 || v > INT_MAX)
		return -1;
	*p = end;
	*n = (uint32_t)v;
	return 0;
}

/* "3", "2-4", "-2" (1-2). */
int parse_nodes(const struct opt_context *ctx, struct error *err)
{
	struct node_range *r = ctx->field;
	struct node_range found = { 1, 0 };
	const char *p = ctx->value;

	if ((*p != '-' && take_count(&p, &found.min) < 0) ||
	    (*p == '-' && p++ && take_count(&p, &found.max) < 0) || *p)
		return error_set(err, ERR_USAGE, "\"%s\" is not a valid node count", ctx->value);
	if (!strchr(ctx->value, '-'))
		found.max = found.min;
	if (found.max < found.min)
		return error_set(err, ERR_USAGE, "Maximum node count %u is less than minimum node count %u",
				 found.max, found.min);
	if (!found.min)
		return error_set(err, ERR_USAGE, "\"%s\" is not a valid node count", ctx->value);
	*r = found;
	return 0;
}

static int invalid(const struct opt_context *ctx, struct error *err)
{
	return error_set(err, ERR_USAGE, "Invalid --%s specification", ctx->row->name);
}

int parse_open_mode(const struct opt_context *ctx, struct error *err)
{
	char c = ctx->value[0];

	if (c == 'a' || c == 'A')
		*(uint8_t *)ctx->field = 'a';
	else if (c == 't' || c == 'T')
		*(uint8_t *)ctx->field = 't';
	else
		return invalid(ctx, err);
	return 0;
}

#define NICE_DEFAULT 100
#define NICE_MAX (INT_MAX - 2)

/* Slurm reads a leading number and takes what isn't one for 0. */
int parse_nice(const struct opt_context *ctx, struct error *err)
{
	long n = ctx->value && *ctx->value ? strtol(ctx->value, NULL, 10) : NICE_DEFAULT;

	if (n > NICE_MAX || n < -NICE_MAX)
		return error_set(err, ERR_USAGE, "Invalid --nice value, out of range (+/- %d)", NICE_MAX);
	*(int *)ctx->field = (int)n;
	return 0;
}

static bool is_one_of(const char *s, size_t n, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == n && !strncasecmp(*names, s, n))
			return true;
	return false;
}

/* method[:method[:method]][,pack|,nopack], method one of block, cyclic, plane=N, arbitrary, *. */
int parse_distribution(const struct opt_context *ctx, struct error *err)
{
	static const char *const first[] = { "block", "cyclic", "*", NULL };
	static const char *const others[] = { "block", "cyclic", "fcyclic", "*", NULL };
	static const char *const packing[] = { "pack", "nopack", NULL };
	const char *p = ctx->value;
	size_t n = strcspn(p, ":,");

	if (!strncasecmp(p, "plane", 5)) {
		if (p[5] != '=' || strtol(p + 6, NULL, 10) <= 0)
			return error_set(
				err, ERR_USAGE,
				"Invalid plane size or size not specified\nInvalid --distribution specification");
	} else if (n == 9 && !strncasecmp(p, "arbitrary", 9)) {
		return error_set(
			err, ERR_VALUE,
			"With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option");
	} else if (!is_one_of(p, n, first)) {
		return invalid(ctx, err);
	}
	for (p += n; *p; p += n) {
		bool pack = *p++ == ',';

		n = strcspn(p, ":,");
		if (!is_one_of(p, n, pack ? packing : others))
			return invalid(ctx, err);
	}
	return opt_parse_string(ctx, err);
}

/* Names that Slurm knows, with or without "SIG" in front. */
static uint32_t signal_by_name(const char *name, size_t n)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT }, { "ABRT", SIGABRT },
		{ "KILL", SIGKILL }, { "ALRM", SIGALRM }, { "TERM", SIGTERM }, { "USR1", SIGUSR1 },
		{ "USR2", SIGUSR2 }, { "URG", SIGURG },   { "CONT", SIGCONT }, { "STOP", SIGSTOP },
		{ "TSTP", SIGTSTP }, { "TTIN", SIGTTIN }, { "TTOU", SIGTTOU },
	};

	if (n > 3 && !strncasecmp(name, "SIG", 3)) {
		name += 3;
		n -= 3;
	}
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (strlen(signals[i].name) == n && !strncasecmp(signals[i].name, name, n))
			return (uint32_t)signals[i].number;
	return 0;
}

#define SIGNAL_BEFORE 60 /* s: Slurm's default */
#define SIGNAL_BEFORE_MAX 65535

/* "[B][R]:" in front. R is about reservations, which there are none of. */
static const char *take_signal_flags(const char *p, struct signal_request *s)
{
	size_t n = strcspn(p, ":@");

	if (p[n] != ':' || !n || strspn(p, "BRbr") != n)
		return p;
	s->batch_only = strpbrk(p, "Bb") && strpbrk(p, "Bb") < p + n;
	return p + n + 1;
}

/* [[R][B]:]signal[@seconds] */
int parse_signal(const struct opt_context *ctx, struct error *err)
{
	struct signal_request s = { .before = SIGNAL_BEFORE };
	const char *p = take_signal_flags(ctx->value, &s);
	size_t n = strcspn(p, "@");
	char *end;

	if (n && strspn(p, "0123456789") == n)
		s.number = (uint32_t)strtoul(p, NULL, 10);
	else
		s.number = signal_by_name(p, n);
	p += n;
	if (*p == '@' && p[1]) {
		unsigned long before = strtoul(p + 1, &end, 10);

		if (*end || p[1] == '-' || before > SIGNAL_BEFORE_MAX)
			return invalid(ctx, err);
		s.before = (uint32_t)before;
	}
	if (!s.number || s.number > INT_MAX)
		return invalid(ctx, err);
	*(struct signal_request *)ctx->field = s;
	return 0;
}

/* --- checks --- */

int check_size(const struct opt_context *ctx, struct error *err)
{
	uint64_t mib;

	return size_parse_mib(ctx->value, &mib, NULL) < 0 ? invalid(ctx, err) : 0;
}

int check_number(const struct opt_context *ctx, struct error *err)
{
	uint32_t n;
	struct opt_context copy = *ctx;

	copy.field = &n;
	return opt_parse_positive(&copy, err);
}

int check_root(const struct opt_context *ctx, struct error *err)
{
	if (geteuid() == 0)
		return 0;
	return error_set(err, ERR_USAGE, "--%s only permitted by root user", ctx->row->name);
}

int check_no_kill(const struct opt_context *ctx, struct error *err)
{
	return ctx->value && strcasecmp(ctx->value, "off") ? invalid(ctx, err) : 0;
}

int check_hint(const struct opt_context *ctx, struct error *err)
{
	static const char *const values[] = { "compute_bound", "memory_bound", "multithread", "nomultithread",
					      NULL };

	if (is_one_of(ctx->value, strlen(ctx->value), values))
		return 0;
	return error_set(err, ERR_VALUE, "unrecognized --hint argument \"%s\", see --hint=help", ctx->value);
}

/* rate[-rate[:governor]] or a governor; a rate is a number of kHz or a name. */
int check_cpu_freq(const struct opt_context *ctx, struct error *err)
{
	static const char *const names[] = { "low",          "medium",    "high",        "highm1",
					     "conservative", "ondemand",  "performance", "powersave",
					     "userspace",    "schedutil", NULL };
	const char *p = ctx->value;
	size_t n;

	do {
		n = strcspn(p, "-:");
		if (!n || (strspn(p, "0123456789") != n && !is_one_of(p, n, names)))
			return error_set(
				err, ERR_USAGE,
				"unrecognized --cpu-freq argument \"%s\"\nInvalid --cpu-freq argument",
				ctx->value);
		p += n;
	} while (*p++);
	return 0;
}

int check_delay_boot(const struct opt_context *ctx, struct error *err)
{
	char *end;

	strtol(ctx->value, &end, 10);
	return end == ctx->value || *end ? invalid(ctx, err) : 0;
}

int check_gres_flags(const struct opt_context *ctx, struct error *err)
{
	static const char *const values[] = { "disable-binding", "enforce-binding", NULL };

	return is_one_of(ctx->value, strlen(ctx->value), values) ? 0 : invalid(ctx, err);
}

int check_mem_bind(const struct opt_context *ctx, struct error *err)
{
	if (*ctx->value)
		return 0;
	return error_set(err, ERR_USAGE, "unrecognized --mem-bind argument \"\"");
}
