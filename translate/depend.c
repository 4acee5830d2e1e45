/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/depend.h"

#include "common/mem.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

static const char *const names[DEPEND_TYPES] = {
	[DEPEND_AFTER] = "after",         [DEPEND_ANY] = "afterany",
	[DEPEND_OK] = "afterok",          [DEPEND_NOT_OK] = "afternotok",
	[DEPEND_CORR] = "aftercorr",      [DEPEND_BURST_BUFFER] = "afterburstbuffer",
	[DEPEND_SINGLETON] = "singleton",
};

void depend_release(struct depend *d)
{
	free(d->terms);
	*d = (struct depend)DEPEND_INIT;
}

bool depend_has(const struct depend *d, enum depend_type type)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->terms[i].type == type)
			return true;
	return false;
}

enum depend_verdict depend_reopen(struct depend *d)
{
	enum depend_verdict verdict = DEPEND_OPEN;

	for (size_t i = 0; i < d->n; i++) {
		if (d->terms[i].type == DEPEND_CORR)
			d->terms[i].verdict = DEPEND_OPEN;
		else if (d->terms[i].verdict == DEPEND_NEVER && !d->any)
			verdict = DEPEND_NEVER;
	}
	return verdict;
}

/* --- text --- */

static int problem(struct error *err)
{
	return error_set(err, ERR_VALUE, "Batch job submission failed: Job dependency problem");
}

static bool is_same(const struct depend_term *a, const struct depend_term *b)
{
	return a->type == b->type && a->job == b->job && a->has_index == b->has_index && a->index == b->index;
}

static void add(struct depend *d, const struct depend_term *t)
{
	for (size_t i = 0; i < d->n; i++)
		if (is_same(&d->terms[i], t))
			return;
	d->terms = xreallocarray(d->terms, d->n + 1, sizeof(*d->terms));
	d->terms[d->n++] = *t;
}

/* A number at *p; digits and nothing else, at most max. */
static int take_number(const char **p, uint64_t max, uint64_t *n)
{
	const char *start = *p;

	*n = 0;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		*n = *n * 10 + (uint64_t)(**p - '0');
		if (*n > max)
			return -1;
	}
	return *p == start ? -1 : 0;
}

/* A job's number; Slurm reads "-1" as a large one. */
static int take_job(const char **p, uint64_t *n)
{
	bool minus = **p == '-';

	*p += minus;
	if (take_number(p, INT64_MAX / 10, n) < 0)
		return -1;
	if (minus)
		*n = (uint32_t) - *n;
	return *n ? 0 : -1;
}

/* "7", "7_3", "7_*", "7+10" at *p. */
static int take_id(const char **p, struct depend_term *t)
{
	uint64_t v;

	if (take_job(p, &t->job) < 0)
		return -1;
	t->has_index = false;
	t->index = t->minutes = 0;
	if ((*p)[0] == '_' && (*p)[1] == '*') {
		*p += 2;
	} else if (**p == '_') {
		++*p;
		if (take_number(p, UINT32_MAX, &v) < 0)
			return -1;
		t->has_index = true;
		t->index = (uint32_t)v;
	}
	if (**p == '+' && t->type == DEPEND_AFTER) {
		++*p;
		if (take_number(p, UINT32_MAX / 60, &v) < 0)
			return -1;
		t->minutes = (uint32_t)v;
	}
	return 0;
}

static enum depend_type find_type(const char *name, size_t n)
{
	int t = 0;

	while (t < DEPEND_TYPES && (strlen(names[t]) != n || strncasecmp(names[t], name, n)))
		t++;
	return t;
}

/* "type:id[:id...]", "singleton", or an id alone, which is afterany. */
static int take_term(struct depend *d, const char **p)
{
	size_t n = strspn(*p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	struct depend_term t = { .type = n ? find_type(*p, n) : DEPEND_ANY };

	if (t.type == DEPEND_TYPES)
		return -1;
	*p += n;
	if (t.type == DEPEND_SINGLETON) {
		add(d, &t);
		return 0;
	}
	if (n && *(*p)++ != ':')
		return -1;
	for (;;) {
		if (take_id(p, &t) < 0)
			return -1;
		add(d, &t);
		if (!n || **p != ':')
			return 0;
		++*p;
	}
}

int depend_parse(struct depend *d, const char *text, struct error *err)
{
	const char *p = text;
	char separator = 0;

	while (*p) {
		if (take_term(d, &p) < 0)
			return problem(err);
		if (!*p)
			break;
		if ((*p != ',' && *p != '?') || (separator && *p != separator) || !p[1])
			return problem(err);
		separator = *p++;
	}
	d->any = separator == '?';
	return 0;
}

static void format_term(const struct depend_term *t, struct strbuf *out)
{
	strbuf_addstr(out, names[t->type]);
	if (t->type == DEPEND_SINGLETON)
		return;
	strbuf_addf(out, ":%" PRIu64, t->job);
	if (t->has_index)
		strbuf_addf(out, "_%" PRIu32, t->index);
	if (t->minutes)
		strbuf_addf(out, "+%" PRIu32, t->minutes);
}

void depend_format(const struct depend *d, struct strbuf *out)
{
	for (size_t i = 0; i < d->n; i++) {
		if (i)
			strbuf_addch(out, d->any ? '?' : ',');
		format_term(&d->terms[i], out);
	}
}

void depend_show(const struct depend *d, struct strbuf *out)
{
	const char *separator = "";

	for (size_t i = 0; i < d->n; i++) {
		const struct depend_term *t = &d->terms[i];

		if (t->verdict == DEPEND_MET)
			continue;
		strbuf_addstr(out, separator);
		format_term(t, out);
		strbuf_addstr(out, t->verdict == DEPEND_NEVER ? "(failed)" : "(unfulfilled)");
		separator = d->any ? "?" : ",";
	}
	if (!*separator)
		strbuf_addstr(out, "(null)");
}

/* --- verdict --- */

static void judge_after(struct depend_term *t, const struct depend_facts *f, time_t now)
{
	time_t since = f->start ? f->start : f->end;

	if (!f->started && !f->over)
		return;
	if (t->minutes && since && since + (time_t)t->minutes * 60 > now)
		t->until = since + (time_t)t->minutes * 60;
	else
		t->verdict = DEPEND_MET;
}

static void judge_term(struct depend_term *t, const struct depend_facts *f, time_t now)
{
	t->verdict = DEPEND_OPEN;
	t->until = 0;
	if (!f->known)
		t->verdict = DEPEND_MET;
	else if (t->type == DEPEND_AFTER)
		judge_after(t, f, now);
	else if (!f->over)
		return;
	else if (t->type != DEPEND_OK && t->type != DEPEND_CORR && t->type != DEPEND_NOT_OK)
		t->verdict = DEPEND_MET;
	else if (!f->is_unsure)
		t->verdict = f->ok == (t->type != DEPEND_NOT_OK) ? DEPEND_MET : DEPEND_NEVER;
}

/* When the time has come for which alone terms are open: for all of them, or the first; 0: others are open. */
static time_t time_of_terms(const struct depend *d)
{
	time_t until = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct depend_term *t = &d->terms[i];

		if (t->verdict != DEPEND_OPEN)
			continue;
		if (!t->until && !d->any)
			return 0;
		if (t->until && (!until || (t->until > until) == !d->any))
			until = t->until;
	}
	return until;
}

enum depend_verdict depend_judge(struct depend *d, depend_lookup_fn *lookup, void *arg, time_t now,
				 time_t *until)
{
	size_t met = 0, never = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct depend_facts facts = { 0 };

		lookup(&d->terms[i], &facts, arg);
		judge_term(&d->terms[i], &facts, now);
		met += d->terms[i].verdict == DEPEND_MET;
		never += d->terms[i].verdict == DEPEND_NEVER;
	}
	if (until)
		*until = 0;
	if (d->any ? met > 0 || !d->n : met == d->n)
		return DEPEND_MET;
	if (d->any ? never == d->n : never > 0)
		return DEPEND_NEVER;
	if (until)
		*until = time_of_terms(d);
	return DEPEND_OPEN;
}
