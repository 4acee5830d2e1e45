/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/job_ids.h"

#include "common/hostlist.h"
#include "common/mem.h"

#include <string.h>

void job_ids_release(struct job_ids *ids)
{
	for (size_t i = 0; i < ids->n; i++)
		free(ids->v[i].step);
	free(ids->v);
	*ids = (struct job_ids)JOB_IDS_INIT;
}

static struct job_id *add(struct job_ids *ids, uint64_t id)
{
	ids->v = xreallocarray(ids->v, ids->n + 1, sizeof(*ids->v));
	ids->v[ids->n] = (struct job_id){ .id = id };
	return &ids->v[ids->n++];
}

/* A number; an empty one is 0, as Slurm's strtol has it ("1436_" is element 0). */
static int number(const char **p, uint64_t max, uint64_t *v)
{
	*v = 0;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		*v = *v * 10 + (uint64_t)(**p - '0');
		if (*v > max)
			return -1;
	}
	return 0;
}

/* "[0-3,7]" at *p: an element each. */
static int indices(struct job_ids *ids, uint64_t id, const char **p)
{
	const char *end = strchr(*p, ']');
	cleanup_hostlist struct hostlist list = HOSTLIST_INIT;
	cleanup_free char *text = NULL;

	if (!end || (end[1] && end[1] != ','))
		return -1;
	text = xstrndup(*p, (size_t)(end - *p) + 1);
	*p = end + 1;
	if (hostlist_parse(&list, text, NULL) < 0)
		return -1;
	for (size_t i = 0; i < list.names.n; i++) {
		const char *digits = list.names.v[i];
		struct job_id *j;
		uint64_t index;

		if (number(&digits, UINT32_MAX, &index) < 0 || *digits)
			return -1;
		j = add(ids, id);
		j->has_index = true;
		j->index = (uint32_t)index;
	}
	return 0;
}

/* One id at *p, up to its end or the comma behind it. */
static int parse_one(struct job_ids *ids, const char **p)
{
	struct job_id *j;
	uint64_t v;

	if (number(p, INT64_MAX / 10, &v) < 0 || v == 0)
		return -1;
	if ((*p)[0] == '_' && (*p)[1] == '[') {
		(*p)++;
		return indices(ids, v, p);
	}
	j = add(ids, v);
	if ((*p)[0] == '_' && (*p)[1] == '*') {
		*p += 2;
	} else if (**p == '_') {
		(*p)++;
		if (number(p, UINT32_MAX, &v) < 0)
			return -1;
		j->has_index = true;
		j->index = (uint32_t)v;
	}
	if (**p == '.') {
		size_t n = strcspn(++*p, ",");

		if (strspn(*p, "0123456789") != n && strncmp(*p, "batch", n))
			return -1;
		j->step = n ? xstrndup(*p, n) : xstrdup("0");
		*p += n;
	}
	return **p && **p != ',' ? -1 : 0;
}

int job_ids_parse(struct job_ids *ids, const char *text, char **bad)
{
	const char *p = text;

	while (*p) {
		const char *start = p;

		if (parse_one(ids, &p) < 0) {
			*bad = xstrdup(start);
			return -1;
		}
		p += *p == ',';
	}
	return 0;
}
