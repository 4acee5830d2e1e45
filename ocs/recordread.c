/* SPDX-License-Identifier: Apache-2.0 */
/* One job's records: JSON lines into structs. The files are found by recordstore.c. */
#include "ocs/recordread.h"

#include "common/mem.h"

#include <jansson.h>
#include <string.h>

enum {
	MAX_ARRAY = 1 << 20, /* elements of a map: over every engine's max_aj_tasks */
	MAX_NODES = 1 << 16,
	MAX_RUNS = 1 << 17,
	MAX_STEPS = 1 << 17,
	CLOCK_SKEW = 5, /* s between hosts */
};

static void step_release(struct record_step *s)
{
	free(s->id);
	free(s->name);
	free(s->command);
	argvec_release(&s->nodes);
	free(s->state);
}

static void run_release(struct record_run *r)
{
	free(r->host);
	free(r->queue);
	argvec_release(&r->nodes);
	free(r->slots);
	free(r->state);
	free(r->reason);
	for (size_t i = 0; i < r->nsteps; i++)
		step_release(&r->steps[i]);
	free(r->steps);
}

static void forget_strings(struct record_job *j)
{
	char **const strings[] = { &j->name,    &j->partition, &j->account,  &j->qos,
				   &j->comment, &j->user,      &j->work_dir, &j->command,
				   &j->std_out, &j->std_err,   &j->spool,    &j->dependency };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		free(*strings[i]);
		*strings[i] = NULL;
	}
}

void record_job_release(struct record_job *j)
{
	forget_strings(j);
	free(j->array);
	for (size_t i = 0; i < j->nruns; i++)
		run_release(&j->runs[i]);
	free(j->runs);
	free(j->cancels);
	memset(j, 0, sizeof(*j));
}

/* --- members of a line --- */

static void get_str(json_t *o, const char *key, char **field)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (s)
		replace_str(field, s);
}

static int64_t get_int(json_t *o, const char *key, int64_t otherwise)
{
	json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

static uint32_t get_u32(json_t *o, const char *key)
{
	int64_t v = get_int(o, key, 0);

	return v < 0 || v > UINT32_MAX ? 0 : (uint32_t)v;
}

/* A count or time that may be absent, null, or "unset" in its own way. */
static int64_t get_count(json_t *o, const char *key)
{
	int64_t v = get_int(o, key, RECORD_UNSET);

	return v < 0 || v >= UINT32_MAX ? RECORD_UNSET : v;
}

static double get_real(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : 0;
}

static void get_strings(json_t *o, const char *key, struct argvec *out)
{
	json_t *list = json_object_get(o, key);
	size_t n = json_is_array(list) ? json_array_size(list) : 0;

	argvec_release(out);
	for (size_t i = 0; i < n && i < MAX_NODES; i++)
		if (json_string_value(json_array_get(list, i)))
			argvec_push(out, json_string_value(json_array_get(list, i)));
}

static void get_numbers(json_t *o, const char *key, size_t max, uint32_t **v, size_t *n)
{
	json_t *list = json_object_get(o, key);
	size_t count = json_is_array(list) ? json_array_size(list) : 0;

	free(*v);
	*v = NULL;
	*n = 0;
	if (count == 0 || count > max)
		return;
	*v = xcalloc(count, sizeof(**v));
	for (; *n < count; (*n)++) {
		json_t *e = json_array_get(list, *n);

		/* record_strings() writes numbers as strings */
		if (json_is_integer(e))
			(*v)[*n] = (uint32_t)json_integer_value(e);
		else if (json_is_string(e))
			(*v)[*n] = (uint32_t)strtoul(json_string_value(e), NULL, 10);
	}
}

/* --- events --- */

static struct record_run *run_of(struct record_job *j, uint32_t task, uint32_t restart)
{
	size_t at = j->nruns;

	for (size_t i = j->nruns; i-- > 0;) {
		struct record_run *r = &j->runs[i];

		if (r->task == task && r->restart == restart)
			return r;
		if (r->task > task || (r->task == task && r->restart > restart))
			at = i;
		else
			break;
	}
	if (j->nruns >= MAX_RUNS)
		return NULL;
	if ((j->nruns & (j->nruns - 1)) == 0)
		j->runs = xreallocarray(j->runs, j->nruns ? 2 * j->nruns : 1, sizeof(*j->runs));
	memmove(&j->runs[at + 1], &j->runs[at], (j->nruns++ - at) * sizeof(*j->runs));
	j->runs[at] = (struct record_run){ .task = task, .restart = restart, .by = RECORD_UNSET };
	return &j->runs[at];
}

static struct record_step *step_of(struct record_run *r, const char *id)
{
	for (size_t i = r->nsteps; i-- > 0;)
		if (!strcmp(r->steps[i].id, id))
			return &r->steps[i];
	if (r->nsteps >= MAX_STEPS)
		return NULL;
	if ((r->nsteps & (r->nsteps - 1)) == 0)
		r->steps = xreallocarray(r->steps, r->nsteps ? 2 * r->nsteps : 1, sizeof(*r->steps));
	r->steps[r->nsteps] = (struct record_step){ .id = xstrdup(id), .ntasks = RECORD_UNSET };
	return &r->steps[r->nsteps++];
}

static void on_submit(struct record_job *j, json_t *o, double now)
{
	int64_t limit = get_int(o, "time_limit", RECORD_UNSET);

	if (j->has_submit && now < j->submit_time)
		return;
	forget_strings(j);
	j->has_submit = true;
	j->submit_time = now;
	get_str(o, "name", &j->name);
	get_str(o, "partition", &j->partition);
	get_str(o, "account", &j->account);
	get_str(o, "qos", &j->qos);
	get_str(o, "comment", &j->comment);
	get_str(o, "user", &j->user);
	get_str(o, "work_dir", &j->work_dir);
	get_str(o, "command", &j->command);
	get_str(o, "std_out", &j->std_out);
	get_str(o, "std_err", &j->std_err);
	get_str(o, "spool", &j->spool);
	get_str(o, "dependency", &j->dependency);
	j->nodes = get_count(o, "nodes");
	j->ntasks = get_count(o, "ntasks");
	j->cpus_per_task = get_count(o, "cpus_per_task");
	j->time_limit = limit <= 0 || limit == INT64_MAX ? RECORD_UNSET : limit;
	j->time_min = get_int(o, "time_min", 0);
	j->begin = get_int(o, "begin", 0);
	j->deadline = get_int(o, "deadline", 0);
	j->nice = get_int(o, "nice", 0);
	j->requeue = get_int(o, "requeue", 1) != 0;
	get_numbers(o, "array", MAX_ARRAY, &j->array, &j->narray);
	j->array_limit = get_u32(o, "array_limit");
}

static void on_start(struct record_run *r, json_t *o, double now)
{
	/* the same run of a later job */
	if (r->start > 0) {
		run_release(r);
		*r = (struct record_run){ .task = r->task, .restart = r->restart, .by = RECORD_UNSET };
	}
	r->start = now;
	get_str(o, "host", &r->host);
	get_str(o, "queue", &r->queue);
	get_strings(o, "nodes", &r->nodes);
	get_numbers(o, "slots", MAX_NODES, &r->slots, &r->nslots);
	r->pid = get_int(o, "pid", 0);
}

static void on_end(struct record_run *r, json_t *o, double now)
{
	r->end = now;
	get_str(o, "state", &r->state);
	if (!r->state)
		r->state = xstrdup("COMPLETED");
	r->code = get_int(o, "code", 0);
	r->signal = get_int(o, "signal", 0);
	r->by = get_int(o, "by", RECORD_UNSET);
	get_str(o, "reason", &r->reason);
}

static void on_step(struct record_run *r, json_t *o, bool is_start, double now)
{
	json_t *id = json_object_get(o, "step");
	char number[32];
	struct record_step *s;

	snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(id));
	s = step_of(r, json_is_string(id) ? json_string_value(id) : number);
	if (!s)
		return;
	if (is_start) {
		s->start = now;
		get_str(o, "name", &s->name);
		get_str(o, "command", &s->command);
		get_strings(o, "nodes", &s->nodes);
		s->ntasks = get_count(o, "ntasks");
		return;
	}
	s->end = now;
	get_str(o, "state", &s->state);
	if (!s->state)
		s->state = xstrdup("COMPLETED");
	s->code = get_int(o, "code", 0);
	s->signal = get_int(o, "signal", 0);
	s->utime = get_real(o, "utime");
	s->stime = get_real(o, "stime");
	s->maxrss = get_int(o, "maxrss", 0);
}

static void on_cancel(struct record_job *j, json_t *o, uint32_t task, double now)
{
	if (j->ncancels >= MAX_RUNS)
		return;
	j->cancels = xreallocarray(j->cancels, j->ncancels + 1, sizeof(*j->cancels));
	j->cancels[j->ncancels++] =
		(struct record_cancel){ .task = task, .by = get_int(o, "by", RECORD_UNSET), .time = now };
}

static int take_event(struct record_job *j, json_t *o)
{
	const char *event = json_string_value(json_object_get(o, "event"));
	double now = get_real(o, "time");
	uint32_t task = get_u32(o, "task");
	struct record_run *r = NULL;

	if (get_int(o, "v", 0) != 1 || !event || get_int(o, "job", -1) != (int64_t)j->id || now <= 0)
		return -1;
	if (!strcmp(event, "submit")) {
		on_submit(j, o, now);
	} else if (!strcmp(event, "cancel")) {
		on_cancel(j, o, task, now);
	} else {
		r = run_of(j, task, get_u32(o, "restart"));
		if (!r)
			return -1;
		if (now < r->start)
			return 0; /* an earlier job's, see record_forget_earlier() */
		if (!strcmp(event, "start"))
			on_start(r, o, now);
		else if (!strcmp(event, "end"))
			on_end(r, o, now);
		else if (!strcmp(event, "step_start") || !strcmp(event, "step_end"))
			on_step(r, o, event[5] == 's', now);
	}
	if (now > j->last_time)
		j->last_time = now;
	return 0;
}

int record_parse_line(struct record_job *j, const char *line, size_t n)
{
	json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
	int rc = json_is_object(o) ? take_event(j, o) : -1;

	json_decref(o);
	return rc;
}

void record_forget_earlier(struct record_job *j)
{
	double since = j->submit_time - CLOCK_SKEW;
	size_t n = 0;

	if (!j->has_submit)
		return;
	for (size_t i = 0; i < j->nruns; i++) {
		struct record_run *r = &j->runs[i];

		if (r->start > 0 ? r->start < since : r->end > 0 && r->end < since)
			run_release(r);
		else
			j->runs[n++] = *r;
	}
	j->nruns = n;
	n = 0;
	for (size_t i = 0; i < j->ncancels; i++)
		if (j->cancels[i].time >= since)
			j->cancels[n++] = j->cancels[i];
	j->ncancels = n;
}

/* --- questions --- */

const struct record_run *record_last_run(const struct record_job *j, uint32_t task)
{
	for (size_t i = j->nruns; i-- > 0;)
		if (j->runs[i].task == task)
			return &j->runs[i];
	return NULL;
}

const struct record_cancel *record_cancel_of(const struct record_job *j, uint32_t task)
{
	for (size_t i = j->ncancels; i-- > 0;)
		if (j->cancels[i].task == task || j->cancels[i].task == 0)
			return &j->cancels[i];
	return NULL;
}

uint32_t record_array_index(const struct record_job *j, uint32_t p)
{
	return j && p >= 1 && p <= j->narray ? j->array[p - 1] : p;
}

uint32_t record_array_task(const struct record_job *j, uint32_t index)
{
	if (!j || !j->narray)
		return index;
	for (size_t i = 0; i < j->narray; i++)
		if (j->array[i] == index)
			return (uint32_t)i + 1;
	return 0;
}
