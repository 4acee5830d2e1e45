/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/qstat.h"

#include "common/hash.h"
#include "common/mem.h"
#include "ocs/engine.h"

#include <expat.h>
#include <string.h>

enum {
	MAX_TEXT = 64 << 10, /* bytes of one element's text */
	MAX_DEPTH = 16,      /* the answer has 4 */
};

/* Which job of the list an element belongs to: "id.tasks" of running ones. */
struct seen {
	char *key;
	size_t index;
	UT_hash_handle hh;
};

/* One <job_list> as it is read. */
struct element {
	struct qstat_job job; /* hosts unused */
	char *granted_pe;
	uint32_t granted_slots;
	bool is_slave, is_master; /* <master>; neither without -g t */
};

struct reader {
	struct qstat *q;
	XML_Parser parser;
	struct seen *seen;
	struct strbuf text;
	struct element now;
	size_t alloc;
	uint32_t *granted; /* per job of q: slots granted in all; 0: no PE */
	int depth;
	bool has_root, in_job, in_queue_info;
	char *request; /* name of the hard_request being read */
	struct error *err;
	bool failed;
};

static void job_release(struct qstat_job *j)
{
	free(j->tasks);
	free(j->name);
	free(j->owner);
	free(j->state);
	free(j->queue);
	free(j->hard_queue);
	free(j->pe);
	free(j->predecessors);
	for (size_t i = 0; i < j->nhosts; i++)
		free(j->hosts[i].name);
	free(j->hosts);
	memset(j, 0, sizeof(*j));
}

void qstat_release(struct qstat *q)
{
	for (size_t i = 0; i < q->n; i++)
		job_release(&q->jobs[i]);
	free(q->jobs);
	*q = (struct qstat)QSTAT_INIT;
}

static void fail(struct reader *r, const char *what)
{
	if (!r->failed)
		error_set(r->err, ERR_ENGINE, "qstat: line %lu: %s",
			  (unsigned long)XML_GetCurrentLineNumber(r->parser), what);
	r->failed = true;
	XML_StopParser(r->parser, XML_FALSE);
}

static uint64_t number(struct reader *r, uint64_t max)
{
	const char *s = r->text.buf;
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (*s < '0' || *s > '9' || *end || errno || v > max) {
		fail(r, "not a number");
		return 0;
	}
	return v;
}

/* "2026-11-29T15:15:29" with an optional fraction (OCS), in local time. */
static time_t local_time(struct reader *r)
{
	struct tm tm = { .tm_isdst = -1 };
	int n = 0;

	if (sscanf(r->text.buf, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 6 ||
	    (r->text.buf[n] && r->text.buf[n] != '.')) {
		fail(r, "not a time");
		return 0;
	}
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return mktime(&tm);
}

/* 8.1.9 writes "%lt;" for "<": a slip in its own escaping. */
static char *job_name(const char *text)
{
	char *name = xstrdup(text);

	for (char *p = name; (p = strstr(p, "%lt;")); p++) {
		*p = '<';
		memmove(p + 1, p + 4, strlen(p + 4) + 1);
	}
	return name;
}

/* "600", or as it was asked for: "0:10:0". */
static int64_t time_limit(const char *text)
{
	int64_t total = 0, part = 0;

	for (const char *p = text; *p; p++) {
		if (*p == ':') {
			total = (total + part) * 60;
			part = 0;
		} else if (*p >= '0' && *p <= '9' && total < INT32_MAX && part < INT32_MAX) {
			part = part * 10 + (*p - '0');
		} else {
			return -1;
		}
	}
	return total + part;
}

static void take(char **field, const char *text)
{
	free(*field);
	*field = *text ? xstrdup(text) : NULL;
}

static void add_predecessor(struct qstat_job *j, const char *text)
{
	char *all;

	if (!*text)
		return;
	all = j->predecessors ? xasprintf("%s,%s", j->predecessors, text) : xstrdup(text);
	free(j->predecessors);
	j->predecessors = all;
}

/* The text of one member of <job_list>. Unknown members are nothing to us. */
static void end_member(struct reader *r, const char *name)
{
	struct element *e = &r->now;
	struct qstat_job *j = &e->job;
	const char *text = r->text.buf;

	if (!strcmp(name, "JB_job_number"))
		j->id = number(r, UINT32_MAX);
	else if (!strcmp(name, "JAT_prio"))
		j->priority = strtod(text, NULL);
	else if (!strcmp(name, "JB_name") || !strcmp(name, "full_job_name")) {
		free(j->name);
		j->name = job_name(text);
	} else if (!strcmp(name, "JB_owner"))
		replace_str(&j->owner, text);
	else if (!strcmp(name, "state"))
		replace_str(&j->state, text);
	else if (!strcmp(name, "JAT_start_time"))
		j->started = local_time(r);
	else if (!strcmp(name, "JB_submission_time") || !strcmp(name, "JAT_submission_time"))
		j->submitted = local_time(r);
	else if (!strcmp(name, "queue_name"))
		take(&j->queue, text);
	else if (!strcmp(name, "hard_req_queue"))
		take(&j->hard_queue, text);
	else if (!strcmp(name, "slots"))
		j->slots = (uint32_t)number(r, UINT32_MAX);
	else if (!strcmp(name, "tasks"))
		replace_str(&j->tasks, text);
	else if (!strcmp(name, "master")) {
		e->is_master = !strcmp(text, "MASTER");
		e->is_slave = !strcmp(text, "SLAVE");
	} else if (!strcmp(name, "granted_pe"))
		e->granted_slots = (uint32_t)number(r, UINT32_MAX);
	else if (!strcmp(name, "predecessor_jobs"))
		add_predecessor(j, text);
	else if (!strcmp(name, "hard_request") && r->request && !strcmp(r->request, "h_rt"))
		j->time_limit = time_limit(text);
}

/* queue@host: the host, borrowed; the queue's name stays in the text. NULL while pending. */
static char *split_queue(struct qstat_job *j)
{
	char *at = j->queue ? strchr(j->queue, '@') : NULL;

	if (!at)
		return NULL;
	*at = '\0';
	return at + 1;
}

static struct qstat_host *host_of(struct qstat_job *j, const char *name)
{
	/* One job's elements of one host come one behind the other. */
	for (size_t i = j->nhosts; i-- > 0;)
		if (!strcmp(j->hosts[i].name, name))
			return &j->hosts[i];
	j->hosts = xreallocarray(j->hosts, j->nhosts + 1, sizeof(*j->hosts));
	j->hosts[j->nhosts] = (struct qstat_host){ .name = xstrdup(name) };
	return &j->hosts[j->nhosts++];
}

/* The job of the list that this element belongs to; NULL: a new one. */
static struct qstat_job *find_job(struct reader *r, const char *key)
{
	struct seen *s;

	HASH_FIND_STR(r->seen, key, s);
	return s ? &r->q->jobs[s->index] : NULL;
}

static struct qstat_job *add_job(struct reader *r, struct qstat_job *j, char *key)
{
	struct qstat *q = r->q;

	if (!q->jobs || q->n == r->alloc) {
		r->alloc = r->alloc ? 2 * r->alloc : 64;
		q->jobs = xreallocarray(q->jobs, r->alloc, sizeof(*q->jobs));
		r->granted = xreallocarray(r->granted, r->alloc, sizeof(*r->granted));
	}
	if (key) {
		struct seen *s = xcalloc(1, sizeof(*s));

		s->key = key;
		s->index = q->n;
		HASH_ADD_KEYPTR(hh, r->seen, s->key, strlen(s->key), s);
	}
	r->granted[q->n] = r->now.granted_slots;
	q->jobs[q->n] = *j;
	memset(j, 0, sizeof(*j));
	return &q->jobs[q->n++];
}

/* Counts a running element's slots for its host. */
static void add_slots(struct qstat_job *j, const struct element *e, const char *name, uint32_t slots)
{
	struct qstat_host *h = host_of(j, name);

	if (e->is_master)
		h->is_master = true;
	/* Without -g t one element stands for the whole job; with it the master's is one more than the slots. */
	if (!e->is_master)
		h->slots += slots;
}

static void end_job(struct reader *r)
{
	struct element *e = &r->now;
	struct qstat_job *j = &e->job;
	cleanup_free char *host = xstrdup(split_queue(j));
	uint32_t slots = j->slots;
	struct qstat_job *known;
	char *key;

	if (!j->id || !j->state || !j->owner || !j->name) {
		fail(r, "a job without number, name, owner or state");
		return;
	}
	if (!j->tasks)
		j->tasks = xstrdup("");
	j->is_running = r->in_queue_info && host;
	if (e->granted_pe) {
		free(j->pe);
		j->pe = steal_ptr(&e->granted_pe);
	}
	if (!j->is_running) {
		add_job(r, j, NULL);
		return;
	}
	key = xasprintf("%llu.%s", (unsigned long long)j->id, j->tasks);
	known = find_job(r, key);
	if (!known) {
		known = add_job(r, j, key);
	} else {
		free(key);
		if (e->is_master && j->queue)
			replace_str(&known->queue, j->queue);
	}
	add_slots(known, e, host, slots);
}

/* Granted totals, and the master host first. */
static void finish_job(struct qstat_job *j, uint32_t granted)
{
	uint32_t total = 0;
	size_t master = 0;

	for (size_t i = 0; i < j->nhosts; i++) {
		total += j->hosts[i].slots;
		if (j->hosts[i].is_master)
			master = i;
	}
	if (!j->nhosts)
		return;
	/*
	 * A serial job has the master's element alone; where job_is_first_task is TRUE, the master's element is one of
	 * the slots.
	 */
	if (total == 0 || total < granted) {
		uint32_t more = total == 0 && granted == 0 ? 1 : granted - total;

		j->hosts[master].slots += more;
		total += more;
	}
	j->slots = total;
	j->hosts[master].is_master = true;
	if (master) {
		struct qstat_host h = j->hosts[master];

		memmove(j->hosts + 1, j->hosts, master * sizeof(*j->hosts));
		j->hosts[0] = h;
	}
}

static const char *attribute(const XML_Char **atts, const char *name)
{
	for (; *atts; atts += 2)
		if (!strcmp(atts[0], name))
			return atts[1];
	return NULL;
}

static void element_reset(struct reader *r)
{
	job_release(&r->now.job);
	free(r->now.granted_pe);
	memset(&r->now, 0, sizeof(r->now));
	r->now.job.time_limit = -1;
}

static void XMLCALL on_start(void *arg, const XML_Char *name, const XML_Char **atts)
{
	struct reader *r = arg;

	if (r->depth++ == 0) {
		r->has_root = !strcmp(name, "job_info");
		if (!r->has_root)
			fail(r, "not a job list");
	}
	if (r->depth > MAX_DEPTH)
		fail(r, "nested too deeply");
	strbuf_reset(&r->text);
	if (!strcmp(name, "queue_info")) {
		r->in_queue_info = true;
	} else if (!strcmp(name, "job_list")) {
		r->in_job = true;
		element_reset(r);
	} else if (!strcmp(name, "granted_pe")) {
		replace_str(&r->now.granted_pe, attribute(atts, "name"));
	} else if (!strcmp(name, "requested_pe")) {
		replace_str(&r->now.job.pe, attribute(atts, "name"));
	} else if (!strcmp(name, "hard_request")) {
		replace_str(&r->request, attribute(atts, "name"));
	}
}

static void XMLCALL on_end(void *arg, const XML_Char *name)
{
	struct reader *r = arg;

	r->depth--;
	if (!strcmp(name, "job_list")) {
		if (r->in_job)
			end_job(r);
		r->in_job = false;
	} else if (!strcmp(name, "queue_info")) {
		r->in_queue_info = false;
	} else if (r->in_job) {
		end_member(r, name);
	}
	strbuf_reset(&r->text);
}

static void XMLCALL on_text(void *arg, const XML_Char *s, int n)
{
	struct reader *r = arg;

	if (r->text.len + (size_t)n > MAX_TEXT)
		fail(r, "a text is too long");
	else
		strbuf_add(&r->text, s, (size_t)n);
}

/* The engine declares no entities: whoever does wants to blow us up. */
static void XMLCALL on_entity(void *arg, const XML_Char *name, int is_parameter, const XML_Char *value, int n,
			      const XML_Char *base, const XML_Char *system, const XML_Char *public,
			      const XML_Char *notation)
{
	(void)name, (void)is_parameter, (void)value, (void)n, (void)base, (void)system, (void)public,
		(void)notation;
	fail(arg, "an entity declaration");
}

static void reader_release(struct reader *r)
{
	struct seen *s, *next;

	HASH_ITER (hh, r->seen, s, next) {
		HASH_DEL(r->seen, s);
		free(s->key);
		free(s);
	}
	element_reset(r);
	free(r->request);
	free(r->granted);
	strbuf_release(&r->text);
	XML_ParserFree(r->parser);
}

/* In pieces: expat's lengths are ints. */
static int feed(struct reader *r, const char *xml, size_t n)
{
	enum { PIECE = 1 << 20 };

	do {
		size_t k = n < PIECE ? n : PIECE;

		if (XML_Parse(r->parser, xml, (int)k, k == n) != XML_STATUS_OK) {
			if (!r->failed)
				error_set(r->err, ERR_ENGINE, "qstat: line %lu: %s",
					  (unsigned long)XML_GetCurrentLineNumber(r->parser),
					  XML_ErrorString(XML_GetErrorCode(r->parser)));
			return -1;
		}
		xml += k;
		n -= k;
	} while (n);
	return r->failed ? -1 : 0;
}

int qstat_parse(struct qstat *q, const char *xml, size_t n, struct error *err)
{
	struct reader r = { .q = q, .err = err, .text = STRBUF_INIT };
	int rc;

	r.parser = XML_ParserCreate(NULL);
	if (!r.parser)
		return error_set(err, ERR_SYSTEM, "expat: out of memory");
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, on_start, on_end);
	XML_SetCharacterDataHandler(r.parser, on_text);
	XML_SetEntityDeclHandler(r.parser, on_entity);
	rc = feed(&r, xml, n);
	for (size_t i = 0; rc == 0 && i < q->n; i++)
		finish_job(&q->jobs[i], r.granted[i]);
	reader_release(&r);
	if (rc < 0)
		qstat_release(q);
	return rc;
}

int qstat_list(struct qstat *q, const char *users, const char *states, int timeout, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	argvec_pushl(&argv, "qstat", "-u", users, "-xml", "-r", "-g", "t", NULL);
	if (states)
		argvec_pushl(&argv, "-s", states, NULL);
	if (engine_ask(&argv, timeout, &answer, err) < 0)
		return -1;
	return qstat_parse(q, answer.out.buf, answer.out.len, err);
}

/* One of a list's ranges, "a", "a-b" or "a-b:s"; the rest of the text, or NULL. */
static const char *parse_range(const char *p, unsigned long range[3])
{
	char *end = (char *)p;

	range[2] = 1;
	for (int i = 0; i < 3; i++) {
		if (*p < '0' || *p > '9')
			return NULL;
		errno = 0;
		range[i] = strtoul(p, &end, 10);
		if (errno || range[i] == 0 || range[i] > INT32_MAX)
			return NULL;
		if (i == 0)
			range[1] = range[0];
		if (*end != "-:"[i])
			return end;
		p = end + 1;
	}
	return end;
}

int qstat_tasks(const char *text, size_t max, uint32_t **tasks, size_t *n, struct error *err)
{
	const char *p = text;

	*tasks = NULL;
	*n = 0;
	while (p) {
		unsigned long range[3];

		p = parse_range(p, range);
		if (!p || (*p && *p != ',') || range[1] < range[0] ||
		    (range[1] - range[0]) / range[2] + 1 > max - *n) {
			free(*tasks);
			*tasks = NULL;
			*n = 0;
			return error_set(err, ERR_ENGINE, "qstat: bad task list \"%s\"", text);
		}
		*tasks = xreallocarray(*tasks, *n + (range[1] - range[0]) / range[2] + 1, sizeof(**tasks));
		for (unsigned long t = range[0]; t <= range[1]; t += range[2])
			(*tasks)[(*n)++] = (uint32_t)t;
		p = *p ? p + 1 : NULL;
	}
	return 0;
}
