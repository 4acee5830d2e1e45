/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing rows of the list, and taking groups of array elements apart. */
#include "common/mem.h"
#include "translate/jobs_private.h"

#include <string.h>

/* A row for one element of a group, or (element 0) of the whole of another row. */
static struct job split_row(const struct job *from, uint32_t position)
{
	struct job j = *from;

	j.partition = xstrdup(from->partition);
	j.dependency = xstrdup(from->dependency);
	j.positions = NULL;
	j.npositions = 0;
	j.is_group = false;
	jobs_add_position(&j, position);
	if (j.record)
		j.run = record_last_run(j.record, position);
	return j;
}

void jobs_expand(struct jobs *jobs)
{
	struct job *old = jobs->rows;
	size_t n = jobs->n;

	jobs->rows = NULL;
	jobs->n = jobs->alloc = 0;
	for (size_t i = 0; i < n; i++) {
		if (!old[i].is_group) {
			*jobs_add_row(jobs) = old[i];
			continue;
		}
		for (size_t k = 0; k < old[i].npositions; k++)
			*jobs_add_row(jobs) = split_row(&old[i], old[i].positions[k]);
		jobs_release_row(&old[i]);
	}
	free(old);
}

/* Is row named by one of the ids; *whole: all of it? */
static bool is_asked_for(const struct job *j, const struct job_ids *ids, bool *whole)
{
	bool any = false;

	*whole = false;
	for (size_t i = 0; i < ids->n; i++) {
		const struct job_id *id = &ids->v[i];

		if (!job_has_id(j, id))
			continue;
		any = true;
		if (!j->is_group || (id->id == j->id && !id->has_index))
			*whole = true;
	}
	return any;
}

static void keep_parts(struct jobs *jobs, struct job *group, const struct job_ids *ids)
{
	for (size_t k = 0; k < group->npositions; k++) {
		struct job one = split_row(group, group->positions[k]);
		bool whole;

		if (is_asked_for(&one, ids, &whole))
			*jobs_add_row(jobs) = one;
		else
			jobs_release_row(&one);
	}
	jobs_release_row(group);
}

static bool has_word(const struct argvec *words, const char *word)
{
	for (size_t i = 0; word && i < words->n; i++)
		if (!strcmp(words->v[i], word))
			return true;
	return false;
}

/* A pending job may be in several partitions. */
static bool has_partition(const struct argvec *words, const char *list)
{
	cleanup_argvec struct argvec partitions = ARGVEC_INIT;

	job_filter_words(&partitions, list);
	for (size_t i = 0; i < partitions.n; i++)
		if (has_word(words, partitions.v[i]))
			return true;
	return false;
}

static bool has_host(const struct job *j, const struct hostlist *nodes)
{
	cleanup_hostlist struct hostlist hosts = HOSTLIST_INIT;

	job_hosts(j, &hosts);
	for (size_t i = 0; i < hosts.names.n; i++)
		if (hostlist_find(nodes, hosts.names.v[i]) >= 0)
			return true;
	return false;
}

static bool has_user(const struct job_filter *f, uid_t uid)
{
	for (size_t i = 0; i < f->nusers; i++)
		if (f->users[i] == uid)
			return true;
	return false;
}

static bool matches(const struct job *j, const struct job_filter *f)
{
	const struct record_job *r = j->record;

	return !f->nothing && (!f->states || (f->states & 1u << j->state)) &&
	       (!f->has_users || has_user(f, j->uid)) &&
	       (!f->has_names || has_word(&f->names, job_title(j))) &&
	       (!f->has_partitions || has_partition(&f->partitions, j->partition)) &&
	       (!f->has_accounts || has_word(&f->accounts, r ? r->account : NULL)) &&
	       (!f->has_qos || has_word(&f->qos, r && r->qos ? r->qos : "normal")) &&
	       (!f->has_nodes || has_host(j, &f->nodes));
}

void jobs_select(struct jobs *jobs, const struct job_filter *f)
{
	struct job *old = jobs->rows;
	size_t n = jobs->n;

	jobs->rows = NULL;
	jobs->n = jobs->alloc = 0;
	for (size_t i = 0; i < n; i++) {
		bool whole = true;

		if (!matches(&old[i], f) || (f->has_ids && !is_asked_for(&old[i], &f->ids, &whole)))
			jobs_release_row(&old[i]);
		else if (whole)
			*jobs_add_row(jobs) = old[i];
		else
			keep_parts(jobs, &old[i], &f->ids);
	}
	free(old);
}

void job_filter_release(struct job_filter *f)
{
	job_ids_release(&f->ids);
	argvec_release(&f->names);
	argvec_release(&f->partitions);
	argvec_release(&f->accounts);
	argvec_release(&f->qos);
	hostlist_release(&f->nodes);
	free(f->users);
	memset(f, 0, sizeof(*f));
}

void job_filter_words(struct argvec *out, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ",");

		if (n)
			argvec_push_take(out, xstrndup(text, n));
		text += n + (text[n] == ',');
	}
}
