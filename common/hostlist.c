/* SPDX-License-Identifier: Apache-2.0 */
#include "common/hostlist.h"

#include "common/mem.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char separators[] = "\t, \n";

void hostlist_release(struct hostlist *hl)
{
	argvec_release(&hl->names);
	free(hl->numbers);
	*hl = (struct hostlist)HOSTLIST_INIT;
}

/* Says that the number of the last name begins at byte at, though digits stand before it. */
static void mark_number(struct hostlist *hl, size_t at)
{
	size_t n = hl->names.n;

	if (hl->nnumbers < n) {
		if (hl->numbers_alloc < n) {
			hl->numbers_alloc = hl->names.alloc;
			hl->numbers = xreallocarray(hl->numbers, hl->numbers_alloc, sizeof(*hl->numbers));
		}
		memset(hl->numbers + hl->nnumbers, 0, (n - hl->nnumbers) * sizeof(*hl->numbers));
		hl->nnumbers = n;
	}
	hl->numbers[n - 1] = at;
}

void hostlist_push(struct hostlist *hl, const char *name)
{
	argvec_push(&hl->names, name);
}

long hostlist_find(const struct hostlist *hl, const char *name)
{
	for (size_t i = 0; i < hl->names.n; i++)
		if (!strcmp(hl->names.v[i], name))
			return (long)i;
	return -1;
}

/* --- text to names --- */

/* One "lo-hi" of a bracket. */
struct span {
	uint64_t lo, hi;
	size_t width;
};

/* The spans of one bracket, in order. */
struct spans {
	struct span *v;
	size_t n, alloc;
};

struct parser {
	struct hostlist *hl;
	size_t bytes; /* of all names so far */
	struct error *err;
};

static void spans_release(struct spans *s)
{
	free(s->v);
}

/* Writes num with at least width digits; returns the end. */
static char *put_number(char *p, uint64_t num, size_t width)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + num % 10);
	while (num /= 10);
	for (; width > n; width--)
		*p++ = '0';
	while (n)
		*p++ = digits[--n];
	return p;
}

/* head[0..n), the number and a NUL. */
static char *make_name(const char *head, size_t n, uint64_t num, size_t width)
{
	char *name = xmalloc(n + (width > 20 ? width : 20) + 1);

	*put_number(mempcpy(name, head, n), num, width) = '\0';
	return name;
}

/* Appends a name, which it owns from now on. */
static int push_take(struct parser *ps, char *name, size_t size)
{
	ps->bytes += size;
	argvec_push_take(&ps->hl->names, name);
	if (ps->hl->names.n > HOSTLIST_MAX_NAMES || ps->bytes > HOSTLIST_MAX_BYTES)
		return error_set(ps->err, ERR_USAGE, "Too many hosts");
	return 0;
}

/* strtoull saturates as Slurm's numbers do; a sign and blanks before the digits are its own grammar, too. */
static uint64_t number(const char *s, const char **end)
{
	char *e;
	uint64_t v;

	errno = 0;
	v = strtoull(s, &e, 10);
	*end = e;
	return v;
}

/* text[0..n) is one item of a bracket: a number, or lo-hi. The width is that of the first number as written. */
static int parse_span(const char *text, size_t n, struct span *span, struct error *err)
{
	cleanup_free char *item = xstrndup(text, n);
	cleanup_free char *original = xstrdup(item);
	char *hi = strchr(item, '-');
	const char *end;

	if (hi)
		*hi++ = '\0';
	span->width = strlen(item);
	span->lo = number(item, &end);
	if (end == item || span->width > HOSTLIST_MAX_WIDTH)
		return error_set(err, ERR_USAGE, "Invalid range: `%s'", original);
	span->hi = span->lo;
	if (hi && *hi) {
		span->hi = number(hi, &end);
		if (end == hi || strchr(hi, '-'))
			return error_set(err, ERR_USAGE, "Invalid range: `%s'", original);
	}
	/* Slurm forgives what follows the first number ("1.5-2"), not what follows the last */
	if (*end || span->lo > span->hi)
		return error_set(err, ERR_USAGE, "Invalid range: `%s'", original);
	if (span->hi - span->lo >= HOSTLIST_MAX_RANGE)
		return error_set(err, ERR_USAGE, "Too many hosts in range `%s'", original);
	return 0;
}

/* text[0..n) is what stands between two brackets. */
static int parse_spans(const char *text, size_t n, struct spans *spans, struct error *err)
{
	const char *end = text + n;

	for (;;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma ? comma : end;

		if (spans->n == spans->alloc) {
			spans->alloc = spans->alloc ? spans->alloc * 2 : 8;
			spans->v = xreallocarray(spans->v, spans->alloc, sizeof(*spans->v));
		}
		if (parse_span(text, (size_t)(stop - text), &spans->v[spans->n], err) < 0)
			return -1;
		spans->n++;
		if (!comma)
			return 0;
		text = comma + 1;
	}
}

static int push_spans(struct parser *ps, const char *prefix, const struct spans *last)
{
	size_t len = strlen(prefix);
	bool digit = len && isdigit((unsigned char)prefix[len - 1]);

	for (size_t i = 0; i < last->n; i++) {
		const struct span *s = &last->v[i];

		/* counts, because hi may be the largest number there is */
		for (uint64_t k = 0; k <= s->hi - s->lo; k++) {
			if (push_take(ps, make_name(prefix, len, s->lo + k, s->width), len + s->width) < 0)
				return -1;
			if (digit)
				mark_number(ps->hl, len);
		}
	}
	return 0;
}

/*
 * Names of prefix, which may hold further brackets, followed by each number of last. The last bracket of the prefix
 * is the slowest: that gives Slurm's odd order with three brackets and more (last fastest, then first, second ...).
 */
static int expand(struct parser *ps, const char *prefix, const struct spans *last)
{
	const char *open = strrchr(prefix, '[');
	const char *shut = open ? strrchr(open, ']') : NULL;
	cleanup(spans_release) struct spans mine = { NULL, 0, 0 };

	if (!shut)
		return push_spans(ps, prefix, last);
	if (parse_spans(open + 1, (size_t)(shut - open - 1), &mine, ps->err) < 0)
		return -1;
	for (size_t i = 0; i < mine.n; i++) {
		const struct span *s = &mine.v[i];
		size_t room = strlen(prefix) + (s->width > 20 ? s->width : 20) + 1;

		for (uint64_t k = 0; k <= s->hi - s->lo; k++) {
			cleanup_free char *inner = xmalloc(room);
			char *p = mempcpy(inner, prefix, (size_t)(open - prefix));

			p = put_number(p, s->lo + k, s->width);
			memcpy(p, shut + 1, strlen(shut + 1) + 1);
			if (expand(ps, inner, last) < 0)
				return -1;
		}
	}
	return 0;
}

/* Where the digits at the end of name[0..n) begin. */
static size_t digits_at(const char *name, size_t n)
{
	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	return n;
}

/* A name without brackets; a number too long for 64 bits saturates and keeps its width, as in Slurm. */
static int push_plain(struct parser *ps, const char *name, size_t n)
{
	size_t at = digits_at(name, n);
	const char *end;

	if (n - at < 20)
		return push_take(ps, xstrndup(name, n), n);
	return push_take(ps, make_name(name, at, number(name + at, &end), n - at), n);
}

/* One item of the list, name[0..n), of which the caller knows that no separator outside brackets is in it. */
static int push_item(struct parser *ps, const char *text, size_t n)
{
	cleanup_free char *item = NULL;
	cleanup(spans_release) struct spans last = { NULL, 0, 0 };
	char *open, *shut;

	if (!memchr(text, '[', n))
		return push_plain(ps, text, n);
	item = xstrndup(text, n);
	open = strrchr(item, '[');
	*open = '\0';
	shut = strchr(open + 1, ']');
	if (!shut) {
		/* Slurm takes "n[1-4" for the one name "n]" */
		*open = ']';
		return push_plain(ps, item, (size_t)(open - item) + 1);
	}
	if (shut[1])
		return error_set(ps->err, ERR_USAGE, "%s", ""); /* a suffix: invalid without another word */
	if (parse_spans(open + 1, (size_t)(shut - open - 1), &last, ps->err) < 0)
		return -1;
	return expand(ps, item, &last);
}

/* Length of the item at s: up to a separator outside brackets. */
static size_t item_length(const char *s)
{
	int level = 0;
	size_t n = 0;

	for (; s[n] && (level || !strchr(separators, s[n])); n++) {
		if (s[n] == '[')
			level++;
		else if (s[n] == ']')
			level--;
	}
	return n;
}

int hostlist_parse(struct hostlist *hl, const char *text, struct error *err)
{
	struct parser ps = { hl, 0, err };

	for (;;) {
		size_t n;

		text += strspn(text, separators);
		if (!*text)
			return 0;
		n = item_length(text);
		if (push_item(&ps, text, n) < 0)
			return -1;
		text += n;
	}
}

/* --- names to text --- */

/* A run of names with one prefix and consecutive numbers; single: a name that doesn't end in digits. */
struct run {
	const char *prefix; /* borrowed from a name */
	size_t len;
	uint64_t lo, hi;
	size_t width;
	bool single;
};

struct runs {
	struct run *v;
	size_t n, alloc;
};

static void runs_release(struct runs *rs)
{
	free(rs->v);
}

/* How many zeros num gets in width digits. */
static size_t zeros(uint64_t num, size_t width)
{
	size_t n = 1;

	while (num /= 10)
		n++;
	return width > n ? width - n : 0;
}

/* Can a and b stand in one run? Then they get the same width (9 and 10, 09 and 10; not 9 and 010). */
static bool combine_widths(struct run *a, struct run *b)
{
	bool a_differs, b_differs;

	if (a->width == b->width)
		return true;
	a_differs = zeros(a->lo, a->width) != zeros(a->lo, b->width);
	b_differs = zeros(b->lo, b->width) != zeros(b->lo, a->width);
	if (a_differs && b_differs)
		return false;
	if (a_differs)
		b->width = a->width;
	else
		a->width = b->width;
	return true;
}

static bool same_prefix(const struct run *a, const struct run *b)
{
	return a->len == b->len && !memcmp(a->prefix, b->prefix, a->len);
}

/* Appends r, to the last run if it goes on there. */
static void push_run(struct runs *rs, struct run r)
{
	struct run *last = rs->n ? &rs->v[rs->n - 1] : NULL;

	if (last && !r.single && !last->single && last->hi + 1 == r.lo && r.lo && same_prefix(last, &r) &&
	    combine_widths(last, &r)) {
		last->hi = r.hi;
		return;
	}
	if (rs->n == rs->alloc) {
		rs->alloc = rs->alloc ? rs->alloc * 2 : 64;
		rs->v = xreallocarray(rs->v, rs->alloc, sizeof(*rs->v));
	}
	rs->v[rs->n++] = r;
}

static void push_runs(struct runs *rs, const struct hostlist *hl)
{
	for (size_t i = 0; i < hl->names.n; i++) {
		const char *name = hl->names.v[i];
		size_t n = strlen(name);
		size_t marked = i < hl->nnumbers ? hl->numbers[i] : 0;
		size_t at = marked ? marked : digits_at(name, n);
		const char *end;
		struct run r = { .prefix = name, .len = at, .width = n - at, .single = at == n };

		if (!r.single)
			r.lo = r.hi = number(name + at, &end);
		push_run(rs, r);
	}
}

/* "7" or "3-5" into out. */
static void put_span(struct strbuf *out, const struct run *r)
{
	char *p;

	strbuf_reserve(out, 2 * (r->width > 20 ? r->width : 20) + 1);
	p = put_number(out->buf + out->len, r->lo, r->width);
	if (r->hi > r->lo) {
		*p++ = '-';
		p = put_number(p, r->hi, r->width);
	}
	*p = '\0';
	out->len = (size_t)(p - out->buf);
}

char *hostlist_ranged(const struct hostlist *hl)
{
	cleanup(runs_release) struct runs rs = { NULL, 0, 0 };
	struct strbuf out = STRBUF_INIT;

	push_runs(&rs, hl);
	for (size_t i = 0, next; i < rs.n; i = next) {
		const struct run *r = &rs.v[i];
		bool bracket;

		/* neighbours with the same prefix share a bracket, whatever their order and widths */
		for (next = i + 1;
		     next < rs.n && !r->single && !rs.v[next].single && same_prefix(r, &rs.v[next]);)
			next++;
		bracket = next > i + 1 || r->hi > r->lo;
		if (i)
			strbuf_addch(&out, ',');
		strbuf_add(&out, r->prefix, r->len);
		if (bracket)
			strbuf_addch(&out, '[');
		for (size_t k = i; k < next && !r->single; k++) {
			if (k > i)
				strbuf_addch(&out, ',');
			put_span(&out, &rs.v[k]);
		}
		if (bracket)
			strbuf_addch(&out, ']');
	}
	return strbuf_steal(&out);
}

/* --- order --- */

/* Compares two runs of digits as fractions: character by character. Moves *i past them when they are equal. */
static int compare_fractions(const struct run *a, const struct run *b, size_t i)
{
	for (;; i++) {
		bool da = i < a->len && isdigit((unsigned char)a->prefix[i]);
		bool db = i < b->len && isdigit((unsigned char)b->prefix[i]);

		if (!da || !db)
			return (int)da - (int)db;
		if (a->prefix[i] != b->prefix[i])
			return a->prefix[i] < b->prefix[i] ? -1 : 1;
	}
}

/* Compares two runs of digits as numbers: the longer is the larger, else the first difference decides. */
static int compare_numbers(const struct run *a, const struct run *b, size_t i)
{
	int bias = 0;

	for (;; i++) {
		bool da = i < a->len && isdigit((unsigned char)a->prefix[i]);
		bool db = i < b->len && isdigit((unsigned char)b->prefix[i]);

		if (da != db)
			return (int)da - (int)db;
		if (!da)
			return bias;
		if (!bias && a->prefix[i] != b->prefix[i])
			bias = a->prefix[i] < b->prefix[i] ? -1 : 1;
	}
}

/* Natural order: n68c before n107c. Digits that begin with a zero are a fraction. */
static int compare_prefixes(const struct run *a, const struct run *b)
{
	for (size_t i = 0;; i++) {
		unsigned char ca = i < a->len ? (unsigned char)a->prefix[i] : 0;
		unsigned char cb = i < b->len ? (unsigned char)b->prefix[i] : 0;

		if (isdigit(ca) && isdigit(cb)) {
			int rc = ca == '0' || cb == '0' ? compare_fractions(a, b, i)
							: compare_numbers(a, b, i);

			if (rc)
				return rc;
		}
		if (!ca && !cb)
			return 0;
		if (ca != cb)
			return ca < cb ? -1 : 1;
	}
}

static int compare_runs(const void *pa, const void *pb)
{
	struct run *a = *(struct run *const *)pa, *b = *(struct run *const *)pb;
	int rc = same_prefix(a, b) ? 0 : compare_prefixes(a, b);

	if (!rc && a->single != b->single)
		rc = a->single ? -1 : 1;
	if (rc || a->single)
		return rc;
	if (!combine_widths(a, b))
		return a->width < b->width ? -1 : 1;
	return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The numbers of v[0..n), which differ only in number, in order; doubles stay. */
static void push_sorted_numbers(struct hostlist *hl, struct run *const *v, size_t n)
{
	uint64_t *all;
	size_t total = 0, k = 0;

	for (size_t i = 0; i < n; i++)
		total += v[i]->hi - v[i]->lo + 1;
	all = xreallocarray(NULL, total, sizeof(*all));
	for (size_t i = 0; i < n; i++)
		for (uint64_t j = 0; j <= v[i]->hi - v[i]->lo; j++)
			all[k++] = v[i]->lo + j;
	qsort(all, total, sizeof(*all), compare_u64);
	for (size_t i = 0; i < total; i++) {
		argvec_push_take(&hl->names, make_name(v[0]->prefix, v[0]->len, all[i], v[0]->width));
		if (v[0]->len && isdigit((unsigned char)v[0]->prefix[v[0]->len - 1]))
			mark_number(hl, v[0]->len);
	}
	free(all);
}

void hostlist_sort(struct hostlist *hl)
{
	cleanup(runs_release) struct runs rs = { NULL, 0, 0 };
	struct hostlist sorted = HOSTLIST_INIT;
	struct run **v;

	push_runs(&rs, hl);
	v = xreallocarray(NULL, rs.n, sizeof(*v));
	for (size_t i = 0; i < rs.n; i++)
		v[i] = &rs.v[i];
	qsort(v, rs.n, sizeof(*v), compare_runs);
	for (size_t i = 0, next; i < rs.n; i = next) {
		next = i + 1;
		if (v[i]->single) {
			argvec_push_take(&sorted.names, xstrndup(v[i]->prefix, v[i]->len));
			continue;
		}
		while (next < rs.n && !v[next]->single && same_prefix(v[i], v[next]) &&
		       combine_widths(v[i], v[next]))
			next++;
		push_sorted_numbers(&sorted, v + i, next - i);
	}
	free(v);
	hostlist_release(hl);
	*hl = sorted;
}
