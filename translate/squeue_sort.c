/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/squeue.h"

#include <string.h>

enum { MAX_KEYS = 64 };

struct key {
	int field;
	bool descending;
};

/* qsort has no argument for them. */
static struct key keys[MAX_KEYS];
static size_t nkeys;

static int compare_values(int field, const struct job *a, const struct job *b)
{
	struct job_view x = { .job = a }, y = { .job = b };
	cleanup_strbuf struct strbuf left = STRBUF_INIT;
	cleanup_strbuf struct strbuf right = STRBUF_INIT;

	job_field_value(field, &x, &left);
	job_field_value(field, &y, &right);
	return strcmp(left.buf, right.buf);
}

/* What the keys leave equal goes by number: the same every time. */
static int compare(const void *left, const void *right)
{
	const struct job *a = left, *b = right;

	for (size_t i = 0; i < nkeys; i++) {
		const struct job_field *f = job_field_at(keys[i].field);
		int order = f->order ? f->order(a, b) : compare_values(keys[i].field, a, b);

		if (order)
			return keys[i].descending ? -order : order;
	}
	return job_field_at(job_field_by_letter('i'))->order(a, b);
}

int squeue_sort(struct job *rows, size_t n, const char *spec, char *bad)
{
	/* Slurm reads it from its end, and complains of the first bad letter that it meets there. */
	for (size_t i = strlen(spec); i-- > 0;)
		if (!strchr(",+-", spec[i]) &&
		    (spec[i] == 's' || job_field_by_letter(spec[i]) == FORMAT_LITERAL)) {
			*bad = spec[i];
			return -1;
		}
	nkeys = 0;
	for (const char *p = spec; *p && nkeys < MAX_KEYS; p++) {
		bool descending = *p == '-';

		if ((*p == '-' || *p == '+') && p[1])
			p++;
		if (*p == ',' || *p == '-' || *p == '+')
			continue;
		keys[nkeys++] = (struct key){ job_field_by_letter(*p), descending };
	}
	if (n)
		qsort(rows, n, sizeof(*rows), compare);
	return 0;
}
