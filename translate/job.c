/* SPDX-License-Identifier: Apache-2.0 */
/* What one row of translate/jobs.h says of itself. */
#include "common/mem.h"
#include "translate/jobs.h"

#include <string.h>
#include <strings.h>

static const struct {
	const char *name, *compact;
} states[JOB_STATES] = {
	[JOB_PENDING] = { "PENDING", "PD" },
	[JOB_RUNNING] = { "RUNNING", "R" },
	[JOB_SUSPENDED] = { "SUSPENDED", "S" },
	[JOB_COMPLETED] = { "COMPLETED", "CD" },
	[JOB_CANCELLED] = { "CANCELLED", "CA" },
	[JOB_FAILED] = { "FAILED", "F" },
	[JOB_TIMEOUT] = { "TIMEOUT", "TO" },
	[JOB_NODE_FAIL] = { "NODE_FAIL", "NF" },
	[JOB_PREEMPTED] = { "PREEMPTED", "PR" },
	[JOB_BOOT_FAIL] = { "BOOT_FAIL", "BF" },
	[JOB_DEADLINE] = { "DEADLINE", "DL" },
	[JOB_OUT_OF_MEMORY] = { "OUT_OF_MEMORY", "OOM" },
	[JOB_COMPLETING] = { "COMPLETING", "CG" },
	[JOB_CONFIGURING] = { "CONFIGURING", "CF" },
	[JOB_RESIZING] = { "RESIZING", "RS" },
	[JOB_REVOKED] = { "REVOKED", "RV" },
	[JOB_SPECIAL_EXIT] = { "SPECIAL_EXIT", "SE" },
	[JOB_REQUEUED] = { "REQUEUED", "RQ" },
	[JOB_REQUEUE_FED] = { "REQUEUE_FED", "RF" },
	[JOB_REQUEUE_HOLD] = { "REQUEUE_HOLD", "RH" },
	[JOB_RESV_DEL_HOLD] = { "RESV_DEL_HOLD", "RD" },
	[JOB_SIGNALING] = { "SIGNALING", "SI" },
	[JOB_STAGE_OUT] = { "STAGE_OUT", "SO" },
	[JOB_STOPPED] = { "STOPPED", "ST" },
};

const char *job_state_long(enum job_state s)
{
	return states[s].name;
}

const char *job_state_compact(enum job_state s)
{
	return states[s].compact;
}

static bool is_word(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !strncasecmp(text, word, n);
}

enum job_state job_state_parse(const char *text, size_t n)
{
	for (int s = 0; s < JOB_STATES; s++)
		if (is_word(text, n, states[s].name) || is_word(text, n, states[s].compact))
			return s;
	return JOB_STATES;
}

bool job_state_is_over(enum job_state s)
{
	return s >= JOB_COMPLETED && s < JOB_BASE_STATES;
}

uint32_t job_index(const struct job *j)
{
	return record_array_index(j->record, j->positions[0]);
}

time_t job_eligible(const struct job *j)
{
	time_t begin = j->record ? (time_t)j->record->begin : 0;

	return begin > j->submitted ? begin : j->submitted;
}

uint32_t job_restarts(const struct job *j)
{
	if (!j->run)
		return 0;
	return j->run->restart + (j->state == JOB_PENDING);
}

uint64_t job_number(const struct job *j)
{
	return j->is_array && !j->is_group ? j->id * ELEMENT_FACTOR + j->positions[0] : j->id;
}

/* --- arrays --- */

static int compare_u32(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* More than ten apart and evenly spaced is written with its step, as Slurm does. */
static uint32_t even_step(const uint32_t *v, size_t n)
{
	uint32_t step = n > 1 ? v[1] - v[0] : 1;

	if (step == 1 || v[n - 1] - v[0] <= 10)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (v[i] - v[i - 1] != step)
			return 0;
	return step;
}

static char *format_indices(const uint32_t *v, size_t n)
{
	struct strbuf out = STRBUF_INIT;
	uint32_t step = even_step(v, n);

	if (step) {
		strbuf_addf(&out, "%u-%u:%u", v[0], v[n - 1], step);
		return strbuf_steal(&out);
	}
	for (size_t i = 0; i < n;) {
		size_t last = i;

		while (last + 1 < n && v[last + 1] == v[last] + 1)
			last++;
		strbuf_addf(&out, "%s%u", i ? "," : "", v[i]);
		if (last > i)
			strbuf_addf(&out, "-%u", v[last]);
		i = last + 1;
	}
	return strbuf_steal(&out);
}

/* SLURM_BITSTR_LEN: size of Slurm's buffer for an array's list; 0: all is shown. */
static size_t list_length(void)
{
	const char *s = getenv("SLURM_BITSTR_LEN");

	if (!s || *s < '0' || *s > '9')
		return 64;
	return strtoul(s, NULL, 10);
}

char *job_array_text(const struct job *j)
{
	cleanup_free uint32_t *v = NULL;
	size_t max = list_length();
	char *text;

	if (!j->is_array)
		return NULL;
	v = xcalloc(j->npositions, sizeof(*v));
	for (size_t i = 0; i < j->npositions; i++)
		v[i] = record_array_index(j->record, j->positions[i]);
	qsort(v, j->npositions, sizeof(*v), compare_u32);
	text = format_indices(v, j->npositions);
	if (!j->is_group)
		return text;
	/* As Slurm cuts it: three dots and the end of the string must fit in. */
	if (max > 4 && strlen(text) + 3 > max)
		memcpy(text + max - 4, "...", 4);
	if (j->state == JOB_PENDING && j->record && j->record->array_limit) {
		char *limited = xasprintf("%s%%%u", text, j->record->array_limit);

		free(text);
		text = limited;
	}
	return text;
}

char *job_name_of_id(const struct job *j)
{
	cleanup_free char *list = job_array_text(j);

	if (!list)
		return xasprintf("%llu", (unsigned long long)j->id);
	return xasprintf(j->is_group ? "%llu_[%s]" : "%llu_%s", (unsigned long long)j->id, list);
}

bool job_has_id(const struct job *j, const struct job_id *id)
{
	if (id->id == j->id && !id->has_index)
		return true;
	for (size_t i = 0; i < j->npositions; i++) {
		if (id->has_index) {
			if (id->id == j->id && record_array_index(j->record, j->positions[i]) == id->index)
				return true;
		} else if (id->id == j->id * ELEMENT_FACTOR + j->positions[i]) {
			return true;
		}
	}
	return false;
}

/* --- hosts --- */

static bool is_short_unique(const struct qstat_job *e, size_t which)
{
	const char *name = e->hosts[which].name;
	size_t n = strcspn(name, ".");

	for (size_t i = 0; i < e->nhosts; i++)
		if (i != which && strcspn(e->hosts[i].name, ".") == n && !strncmp(e->hosts[i].name, name, n))
			return false;
	return true;
}

void job_hosts(const struct job *j, struct hostlist *out)
{
	const struct qstat_job *e = j->engine;

	/* The supervisor's list has the order of the job's own SLURM_JOB_NODELIST. */
	if (j->run && j->run->nodes.n && (!e || e->is_running)) {
		for (size_t i = 0; i < j->run->nodes.n; i++)
			hostlist_push(out, j->run->nodes.v[i]);
		return;
	}
	for (size_t i = 0; e && i < e->nhosts; i++) {
		const char *name = e->hosts[i].name;
		cleanup_free char *shown =
			xstrndup(name, is_short_unique(e, i) ? strcspn(name, ".") : strlen(name));

		hostlist_push(out, shown);
	}
}

const char *job_title(const struct job *j)
{
	if (j->record && j->record->name)
		return j->record->name;
	return j->engine ? j->engine->name : "";
}
