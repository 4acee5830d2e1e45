/* SPDX-License-Identifier: Apache-2.0 */
/* Building the list; what one row says of itself is in job.c, choosing rows in job_select.c. */
#include "translate/jobs_private.h"

#include "common/hash.h"
#include "common/mem.h"
#include "ocs/qconf.h"

#include <string.h>

enum {
	SKEW = 2,                /* s: a job submitted while the engine was asked isn't over */
	MAX_POSITIONS = 1 << 20, /* of one array */
};

#define NEVER_SATISFIED "DependencyNeverSatisfied"

struct user_entry {
	char *name;
	uid_t uid;
	UT_hash_handle hh;
};

/* An element that the engine still has: its record says nothing more. */
struct live_key {
	uint64_t id;
	uint64_t position;
};

struct live_entry {
	struct live_key key;
	UT_hash_handle hh;
};

void jobs_release_row(struct job *j)
{
	free(j->positions);
	free(j->partition);
	free(j->dependency);
}

void jobs_free(struct jobs *jobs)
{
	struct user_entry *u, *next_user;
	struct live_entry *l, *next_live;

	if (!jobs)
		return;
	for (size_t i = 0; i < jobs->n; i++)
		jobs_release_row(&jobs->rows[i]);
	free(jobs->rows);
	for (size_t i = 0; i < jobs->ncompleted; i++)
		free(jobs->completed[i]);
	free(jobs->completed);
	HASH_ITER (hh, jobs->users, u, next_user) {
		HASH_DEL(jobs->users, u);
		free(u->name);
		free(u);
	}
	HASH_ITER (hh, jobs->live, l, next_live) {
		HASH_DEL(jobs->live, l);
		free(l);
	}
	free(jobs->queues);
	qstat_release(&jobs->q);
	qstat_release(&jobs->held);
	qstat_release(&jobs->everybody);
	record_store_free(jobs->store);
	record_store_free(jobs->depend_store);
	free(jobs);
}

struct job *jobs_rows(struct jobs *jobs, size_t *n)
{
	*n = jobs->n;
	return jobs->rows;
}

time_t jobs_time(const struct jobs *jobs)
{
	return jobs->now;
}

struct job *jobs_add_row(struct jobs *jobs)
{
	if (jobs->n == jobs->alloc) {
		jobs->alloc = jobs->alloc ? 2 * jobs->alloc : 64;
		jobs->rows = xreallocarray(jobs->rows, jobs->alloc, sizeof(*jobs->rows));
	}
	memset(&jobs->rows[jobs->n], 0, sizeof(*jobs->rows));
	return &jobs->rows[jobs->n++];
}

uid_t jobs_uid(struct jobs *jobs, const char *user)
{
	struct user_entry *u;
	const struct passwd *pw;

	HASH_FIND_STR(jobs->users, user, u);
	if (u)
		return u->uid;
	pw = getpwnam(user);
	u = xcalloc(1, sizeof(*u));
	u->name = xstrdup(user);
	u->uid = pw ? pw->pw_uid : (uid_t)-1;
	HASH_ADD_KEYPTR(hh, jobs->users, u->name, strlen(u->name), u);
	return u->uid;
}

/* The record of job id, where it isn't older than Slurm's memory. */
static const struct record_job *young_record(struct jobs *jobs, uint64_t id)
{
	const struct record_job *r = NULL;
	uid_t owner;

	if (record_store_owner(jobs->store, id, &owner))
		r = record_store_job(jobs->store, owner, id, RECORD_ALL);
	return r && (time_t)r->last_time >= jobs->now - MIN_JOB_AGE ? r : NULL;
}

bool jobs_was_known(struct jobs *jobs, uint64_t id)
{
	const struct record_job *array;

	if (young_record(jobs, id))
		return true;
	array = id > ELEMENT_FACTOR ? young_record(jobs, id / ELEMENT_FACTOR) : NULL;
	return array && id % ELEMENT_FACTOR >= 1 && id % ELEMENT_FACTOR <= array->narray;
}

/* --- partitions --- */

/* Slurm's name of an engine's queue. */
static const char *partition_of_queue(const struct conf *conf, const char *queue)
{
	for (size_t i = 0; i < conf->npartitions; i++)
		if (!strcmp(conf->partitions[i].queue ? conf->partitions[i].queue : conf->partitions[i].name,
			    queue))
			return conf->partitions[i].name;
	return queue;
}

/* "a.q@c1,b.q": the partitions' names. */
static char *partitions_of_list(const struct conf *conf, const char *list)
{
	struct strbuf out = STRBUF_INIT;

	while (*list) {
		size_t n = strcspn(list, ",");
		size_t queue = strcspn(list, "@,");
		cleanup_free char *name = xstrndup(list, queue ? queue : n);

		strbuf_addf(&out, "%s%s", out.len ? "," : "", partition_of_queue(conf, name));
		list += n + (list[n] == ',');
	}
	return strbuf_steal(&out);
}

/* A job that asked for no queue may go to any: as one that Slurm was given several partitions for. */
static const char *all_queues(struct jobs *jobs)
{
	cleanup_argvec struct argvec list = ARGVEC_INIT;
	struct strbuf out = STRBUF_INIT;

	if (jobs->queues)
		return jobs->queues;
	if (jobs->query.partitions && qconf_list("-sql", &list, NULL) == 0)
		for (size_t i = 0; i < list.n; i++)
			strbuf_addf(&out, "%s%s", i ? "," : "", partition_of_queue(jobs->conf, list.v[i]));
	jobs->queues = strbuf_steal(&out);
	return jobs->queues;
}

static char *partition_of(struct jobs *jobs, const struct job *j)
{
	const char *queue = j->engine ? j->engine->queue : j->run ? j->run->queue : NULL;

	if (j->record && j->record->partition)
		return xstrdup(j->record->partition);
	if (queue)
		return xstrdup(partition_of_queue(jobs->conf, queue));
	if (j->engine && j->engine->hard_queue)
		return partitions_of_list(jobs->conf, j->engine->hard_queue);
	if (jobs->conf->default_partition)
		return xstrdup(jobs->conf->default_partition);
	return xstrdup(all_queues(jobs));
}

/* --- rows of the engine's jobs --- */

static enum job_state state_of_engine(const char *s)
{
	if (strchr(s, 'd'))
		return JOB_COMPLETING;
	if (strpbrk(s, "qE") && !strchr(s, 'r'))
		return JOB_PENDING;
	return strpbrk(s, "sST") ? JOB_SUSPENDED : JOB_RUNNING;
}

/* What is the same for a job and for all elements of an array. */
static void fill_common(struct jobs *jobs, struct job *j)
{
	const struct qstat_job *e = j->engine;
	const struct record_job *r = j->record;

	j->submitted = r && r->has_submit ? (time_t)r->submit_time : e ? e->submitted : 0;
	j->time_limit = r && r->has_submit ? r->time_limit : e ? e->time_limit : -1;
	j->cpus = e ? e->slots : 1;
	j->nodes = 1;
	if (e && e->nhosts)
		j->nodes = (uint32_t)e->nhosts;
	else if (r && r->nodes > 0)
		j->nodes = (uint32_t)r->nodes;
	j->partition = partition_of(jobs, j);
}

static void mark_live(struct jobs *jobs, uint64_t id, uint32_t position)
{
	struct live_key key = { id, position };
	struct live_entry *l;

	HASH_FIND(hh, jobs->live, &key, sizeof(key), l);
	if (l)
		return;
	l = xcalloc(1, sizeof(*l));
	l->key = key;
	HASH_ADD(hh, jobs->live, key, sizeof(l->key), l);
}

static bool is_live(const struct jobs *jobs, uint64_t id, uint32_t position)
{
	struct live_key key = { id, position };
	struct live_entry *l;

	HASH_FIND(hh, jobs->live, &key, sizeof(key), l);
	return l != NULL;
}

/* The script has ended, and the engine is still tidying up: up to some seconds. */
static void complete_if_ended(struct job *j)
{
	if (!j->run || !j->run->state || !j->started || j->run->end < (double)j->started)
		return;
	j->state = JOB_COMPLETING;
	j->ended = (time_t)j->run->end;
}

static int add_engine_job(struct jobs *jobs, const struct qstat_job *e, struct error *err)
{
	enum record_detail detail = jobs->query.steps && e->is_running ? RECORD_ALL : RECORD_SUBMIT;
	uint32_t *positions = NULL;
	size_t npositions = 0;
	struct job *j;

	if (*e->tasks && qstat_tasks(e->tasks, MAX_POSITIONS, &positions, &npositions, err) < 0)
		return -1;
	j = jobs_add_row(jobs);
	j->id = e->id;
	j->engine = e;
	j->positions = positions;
	j->npositions = npositions;
	j->is_array = npositions > 0;
	j->is_group = j->is_array && !e->is_running;
	j->user = e->owner;
	j->uid = jobs_uid(jobs, e->owner);
	if (j->uid != (uid_t)-1)
		j->record = record_store_job(jobs->store, j->uid, e->id, detail);
	j->state = state_of_engine(e->state);
	j->started = e->is_running ? e->started : 0;
	if (j->record && !j->is_group)
		j->run = record_last_run(j->record, npositions ? positions[0] : 0);
	complete_if_ended(j);
	fill_common(jobs, j);
	for (size_t i = 0; i < npositions; i++)
		mark_live(jobs, e->id, positions[i]);
	if (!npositions)
		mark_live(jobs, e->id, 0);
	return 0;
}

/* --- reasons --- */

static bool has_user_hold(const struct jobs *jobs, uint64_t id)
{
	for (size_t i = 0; i < jobs->held.n; i++)
		if (jobs->held.jobs[i].id == id)
			return true;
	return false;
}

static const char *reason_of_hold(const struct jobs *jobs, const struct job *j)
{
	if (has_user_hold(jobs, j->id))
		return "JobHeldUser";
	return j->engine->predecessors || j->dependency ? "Dependency" : "JobHeldAdmin";
}

/* Which pending jobs are held by their users; asked only where some job is held at all. */
static int load_holds(struct jobs *jobs, const char *users, struct error *err)
{
	for (size_t i = 0; i < jobs->q.n; i++)
		if (strchr(jobs->q.jobs[i].state, 'h'))
			return qstat_list(&jobs->held, users, "hu", jobs->conf->engine_timeout, err);
	return 0;
}

/* Does the array run as many elements as it may? */
static bool is_at_limit(const struct jobs *jobs, const struct job *j)
{
	uint32_t limit = j->is_array && j->record ? j->record->array_limit : 0, n = 0;

	for (size_t i = 0; limit && i < jobs->n; i++)
		n += jobs->rows[i].id == j->id && jobs->rows[i].engine && jobs->rows[i].engine->is_running;
	return limit && n >= limit;
}

static bool is_before(const struct job *a, const struct job *b)
{
	if (a->engine->priority != b->engine->priority)
		return a->engine->priority > b->engine->priority;
	return a->id < b->id;
}

/* The first in line of its partition waits for resources, the others for it. */
static void name_waiting(struct jobs *jobs)
{
	static const char waiting[] = "Priority";

	for (size_t i = 0; i < jobs->n; i++) {
		struct job *first = &jobs->rows[i];

		if (first->reason != NULL || first->state != JOB_PENDING)
			continue;
		for (size_t k = i; k < jobs->n; k++) {
			struct job *j = &jobs->rows[k];

			if (j->reason || j->state != JOB_PENDING ||
			    strcmp(j->partition, jobs->rows[i].partition))
				continue;
			j->reason = waiting;
			if (is_before(j, first))
				first = j;
		}
		first->reason = "Resources";
	}
}

static void name_reasons(struct jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++) {
		struct job *j = &jobs->rows[i];
		enum depend_verdict verdict;

		if (j->reason)
			continue;
		verdict = j->state == JOB_PENDING ? jobs_dependency(jobs, j) : DEPEND_MET;
		if (j->state != JOB_PENDING)
			j->reason = "None";
		else if (verdict == DEPEND_NEVER)
			j->reason = NEVER_SATISFIED;
		else if (strchr(j->engine->state, 'E'))
			j->reason = "launch failed requeued held";
		else if (strchr(j->engine->state, 'h'))
			j->reason = reason_of_hold(jobs, j);
		else if (verdict == DEPEND_OPEN)
			j->reason = "Dependency"; /* on a time */
		else if (j->record && j->record->begin > jobs->now)
			j->reason = "BeginTime";
		else if (is_at_limit(jobs, j))
			j->reason = "JobArrayTaskLimit";
		else if (j->engine->priority == 0)
			j->reason = "None"; /* the scheduler hasn't seen it yet */
	}
	name_waiting(jobs);
}

/* --- jobs that are over --- */

/*
 * The supervisor can't tell a qdel from h_rt or a reschedule (KILLED_BY_ENGINE), and where the engine kills it together
 * with the job it writes no end at all. Past its limit the job ran into it; else somebody deleted it.
 */
static enum job_state state_of_kill(const struct record_job *r, const struct record_run *run)
{
	double end = run->end > 0 ? run->end : r->last_time;

	if (!record_cancel_of(r, run->task) && r->time_limit > 0 && run->start > 0 &&
	    end - run->start >= (double)r->time_limit)
		return JOB_TIMEOUT;
	return JOB_CANCELLED;
}

enum job_state job_state_of_run(const struct record_job *r, const struct record_run *run)
{
	enum job_state s;

	if (!run)
		return JOB_CANCELLED;
	if (!run->state || !strcmp(run->state, "KILLED_BY_ENGINE"))
		return state_of_kill(r, run);
	/* deleted while it waited for its next run */
	if (!strcmp(run->state, "REQUEUED"))
		return JOB_CANCELLED;
	s = job_state_parse(run->state, strlen(run->state));
	return s == JOB_STATES ? JOB_FAILED : s;
}

static const char *reason_of_end(const struct job *j)
{
	if (j->state == JOB_TIMEOUT)
		return "TimeLimit";
	if (j->state == JOB_DEADLINE)
		return "DeadLine";
	const struct record_run *run = j->run ? j->run : record_last_run(j->record, 0);

	if (j->state == JOB_CANCELLED && run && run->reason)
		return run->reason;
	if (j->state != JOB_FAILED || !j->run)
		return "None";
	if (j->run->reason)
		return j->run->reason;
	return j->run->signal ? "JobLaunchFailure" : "NonZeroExitCode";
}

/* The name in a record is what its owner wrote there. */
static const char *owner_of(struct jobs *jobs, const struct record_job *r)
{
	return r->user && jobs_uid(jobs, r->user) == r->uid ? r->user : "nobody";
}

void jobs_set_end(struct job *j)
{
	j->state = job_state_of_run(j->record, j->run);
	j->reason = reason_of_end(j);
	j->ended = j->run && j->run->end > 0 ? (time_t)j->run->end : (time_t)j->record->last_time;
}

static struct job *add_over(struct jobs *jobs, const struct record_job *r, const struct record_run *run)
{
	struct job *j = jobs_add_row(jobs);

	j->id = r->id;
	j->record = r;
	j->run = run;
	j->user = owner_of(jobs, r);
	j->uid = r->uid;
	j->started = run ? (time_t)run->start : 0;
	jobs_set_end(j);
	fill_common(jobs, j);
	if (!strcmp(j->reason, NEVER_SATISFIED))
		jobs_dependency(jobs, j);
	if (!run)
		return j;
	if (run->nodes.n)
		j->nodes = (uint32_t)run->nodes.n;
	j->cpus = 0;
	for (size_t i = 0; i < run->nslots; i++)
		j->cpus += run->slots[i];
	j->cpus += !run->nslots;
	return j;
}

void jobs_add_position(struct job *j, uint32_t position)
{
	j->positions = xreallocarray(j->positions, j->npositions + 1, sizeof(*j->positions));
	j->positions[j->npositions++] = position;
}

/* Without an end, and perhaps submitted after the engine was asked: nobody knows yet. */
static bool is_too_new(const struct jobs *jobs, const struct record_job *r, const struct record_run *run,
		       uint32_t task)
{
	return !(run && run->state) && !record_cancel_of(r, task) &&
	       (time_t)r->submit_time >= jobs->now - SKEW;
}

/* Elements that ran, each for itself; those that were deleted before as one. */
static void add_array_over(struct jobs *jobs, const struct record_job *r, time_t since)
{
	struct job *unborn = NULL;
	size_t at = 0;

	for (size_t i = 0; i < r->narray; i++) {
		uint32_t p = (uint32_t)i + 1;
		const struct record_run *run = record_last_run(r, p);
		struct job *j;

		if (is_live(jobs, r->id, p) || is_too_new(jobs, r, run, p) ||
		    (run && run->end > 0 && (time_t)run->end < since))
			continue;
		if (!run && unborn) {
			jobs_add_position(&jobs->rows[at], p);
			continue;
		}
		j = add_over(jobs, r, run);
		j->is_array = true;
		j->is_group = !run;
		jobs_add_position(j, p);
		if (!run) {
			unborn = j;
			at = jobs->n - 1;
		}
	}
}

/* Job id of uid, where its records say that it is over. */
static void add_over_job(struct jobs *jobs, uid_t uid, uint64_t id, time_t since)
{
	const struct record_job *r = record_store_job(jobs->store, uid, id, RECORD_ALL);

	if (!r || !r->has_submit || (time_t)r->last_time < since)
		return;
	if (r->narray)
		add_array_over(jobs, r, since);
	else if (!is_live(jobs, r->id, 0) && !is_too_new(jobs, r, record_last_run(r, 0), 0))
		add_over(jobs, r, record_last_run(r, 0));
}

static void add_over_of_user(struct jobs *jobs, uid_t uid)
{
	time_t since = jobs->query.over_since ? jobs->query.over_since : jobs->now - MIN_JOB_AGE;
	uint64_t *ids;
	size_t n;

	record_store_recent(jobs->store, uid, since, &ids, &n);
	for (size_t i = 0; i < n; i++)
		add_over_job(jobs, uid, ids[i], since);
	free(ids);
}

static bool is_named_before(const struct job_ids *ids, size_t i, uint64_t id)
{
	for (size_t k = 0; k < i; k++)
		if (ids->v[k].id == id || ids->v[k].id / ELEMENT_FACTOR == id)
			return true;
	return false;
}

/* An id may be an element's number, too. */
static void add_over_ids(struct jobs *jobs, const struct job_ids *ids)
{
	for (size_t i = 0; i < ids->n; i++) {
		uint64_t id = ids->v[i].id;
		uid_t owner;

		if (!record_store_owner(jobs->store, id, &owner)) {
			id /= ELEMENT_FACTOR;
			if (!id || !record_store_owner(jobs->store, id, &owner))
				continue;
		}
		if (!is_named_before(ids, i, id))
			add_over_job(jobs, owner, id, 0);
	}
}

static void add_over_jobs(struct jobs *jobs)
{
	uid_t *users;
	size_t n;

	if (jobs->query.over_ids) {
		add_over_ids(jobs, jobs->query.over_ids);
		return;
	}
	record_store_users(jobs->store, &users, &n);
	for (size_t i = 0; i < n; i++)
		add_over_of_user(jobs, users[i]);
	free(users);
}

struct jobs *jobs_load(const struct conf *conf, const struct job_query *query, struct error *err)
{
	struct jobs *jobs = xcalloc(1, sizeof(*jobs));
	const char *users = query->users ? query->users : "*";
	cleanup_free char *spool = conf_spool_dir(conf, NULL);

	jobs->conf = conf;
	jobs->query = *query;
	jobs->store = record_store_new(conf->accounting_dir, spool, conf->cluster_name);
	jobs->now = time(NULL);
	/* The engine first: an end is recorded before the engine forgets the job. */
	if (qstat_list(&jobs->q, users, NULL, conf->engine_timeout, err) < 0 ||
	    load_holds(jobs, users, err) < 0)
		goto fail;
	for (size_t i = 0; i < jobs->q.n; i++)
		if (add_engine_job(jobs, &jobs->q.jobs[i], err) < 0)
			goto fail;
	if (query->over)
		add_over_jobs(jobs);
	name_reasons(jobs);
	return jobs;
fail:
	jobs_free(jobs);
	return NULL;
}
