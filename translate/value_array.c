/* SPDX-License-Identifier: Apache-2.0 */
/* --array: "0-9", "1-10:3", "1,4,7", "[1-3]", each with "%limit" behind the first item that has one. */
#include "translate/request.h"

#include "common/mem.h"
#include "common/strbuf.h"

#include <ctype.h>
#include <string.h>

/* What Slurm allows at most for MaxArraySize; a site's own limit is conf's max_array_size, see sbatch.c. */
#define MAX_INDEX 4000000

/* One item: first, last and step. */
struct item {
	unsigned long first, last, step;
};

static int invalid(struct error *err)
{
	return error_set(err, ERR_VALUE, "Batch job submission failed: Invalid job array specification");
}

/* Digits at *p, moved behind them; -1 where there are none or too many. */
static int take_number(const char **p, unsigned long *n)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return -1;
	errno = 0;
	*n = strtoul(*p, &end, 10);
	*p = end;
	return errno || *n > MAX_INDEX ? -1 : 0;
}

static int take_item(const char **p, struct item *item)
{
	item->step = 1;
	if (take_number(p, &item->first) < 0)
		return -1;
	item->last = item->first;
	if (**p == '-') {
		++*p;
		if (take_number(p, &item->last) < 0)
			return -1;
	}
	if (**p == ':') {
		++*p;
		if (take_number(p, &item->step) < 0)
			return -1;
	}
	return item->step == 0 || item->first > item->last ? -1 : 0;
}

/* Slurm reads "%x" and "%-1" as no limit, and nothing behind the first "%". */
static uint32_t read_limit(const char *text)
{
	long n = strtol(text, NULL, 10);

	return n > 0 && n <= MAX_INDEX ? (uint32_t)n : 0;
}

static void collect(struct array_request *a, const bool *wanted, unsigned long last)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i <= last; i++)
		n += wanted[i];
	a->index = xreallocarray(NULL, n ? n : 1, sizeof(*a->index));
	a->count = 0;
	for (uint32_t i = 0; i <= last; i++)
		if (wanted[i])
			a->index[a->count++] = i;
}

int array_parse(struct array_request *a, const char *text, struct error *err)
{
	cleanup_free bool *wanted = xcalloc(MAX_INDEX + 1, sizeof(*wanted));
	const char *percent = strchr(text, '%');
	cleanup_free char *list = percent ? xstrndup(text, percent - text) : xstrdup(text);
	const char *p = list;
	unsigned long last = 0;
	unsigned items = 0;
	struct item item;

	a->step = 1;
	a->limit = percent ? read_limit(percent + 1) : 0;
	if (*p == '[')
		p++;
	for (;;) {
		p += strspn(p, " ,");
		if (!*p || !strcmp(p, "]"))
			break;
		if (take_item(&p, &item) < 0 || (*p && *p != ',' && strcmp(p, "]")))
			return invalid(err);
		for (unsigned long i = item.first; i <= item.last; i += item.step)
			wanted[i] = true;
		if (item.last > last)
			last = item.last;
		a->step = ++items == 1 ? (uint32_t)item.step : 1;
	}
	/* "%2" alone is one element, 0. */
	if (!items && percent)
		wanted[0] = true;
	else if (!items)
		return invalid(err);
	free(a->index);
	collect(a, wanted, last);
	return 0;
}

int parse_array(const struct opt_context *ctx, struct error *err)
{
	struct array_request *a = ctx->field;

	if (*ctx->value)
		return array_parse(a, ctx->value, err);
	free(a->index);
	*a = (struct array_request){ 0 };
	return 0;
}

char *array_format(const struct array_request *a)
{
	struct strbuf out = STRBUF_INIT;

	for (uint32_t i = 0; i < a->count;) {
		uint32_t last = i;

		while (last + 1 < a->count && a->index[last + 1] == a->index[last] + 1)
			last++;
		strbuf_addf(&out, i ? ",%u" : "%u", a->index[i]);
		if (last > i)
			strbuf_addf(&out, "-%u", a->index[last]);
		i = last + 1;
	}
	if (a->limit)
		strbuf_addf(&out, "%%%u", a->limit);
	return strbuf_steal(&out);
}
