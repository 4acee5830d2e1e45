/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/depend_job.h"

#include "common/fd.h"
#include "common/mem.h"
#include "translate/job_ids.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#define MAX_FILE (1 << 20)

void depend_job_release(struct depend_job *j)
{
	depend_release(&j->list);
	free(j->name);
	free(j->alive);
	*j = (struct depend_job)DEPEND_JOB_INIT;
}

/* --- the file: a word and its value a line --- */

void depend_job_write(const struct depend_job *j, struct strbuf *out)
{
	strbuf_addstr(out, "list ");
	depend_format(&j->list, out);
	strbuf_addf(out, "\nkill %d\nbegin %lld\nname %s\n", j->kill, (long long)j->begin, j->name);
	for (size_t i = 0; i < j->nalive; i++)
		strbuf_addf(out, "alive %" PRIu64 "\n", j->alive[i]);
}

static void add_alive(struct depend_job *j, uint64_t id)
{
	for (size_t i = 0; i < j->nalive; i++)
		if (j->alive[i] == id)
			return;
	j->alive = xreallocarray(j->alive, j->nalive + 1, sizeof(*j->alive));
	j->alive[j->nalive++] = id;
}

static int parse_line(struct depend_job *j, const char *key, const char *value, struct error *err)
{
	if (!strcmp(key, "list"))
		return depend_parse(&j->list, value, err);
	if (!strcmp(key, "kill"))
		j->kill = *value == '1';
	else if (!strcmp(key, "begin"))
		j->begin = (time_t)strtoll(value, NULL, 10);
	else if (!strcmp(key, "name"))
		replace_str(&j->name, value);
	else if (!strcmp(key, "alive"))
		add_alive(j, strtoull(value, NULL, 10));
	return 0; /* a later version's words aren't ours to judge */
}

int depend_job_parse(struct depend_job *j, const char *text, struct error *err)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		cleanup_free char *line = xstrndup(text, n);
		char *value = strchr(line, ' ');

		if (value) {
			*value++ = '\0';
			if (parse_line(j, line, value, err) < 0)
				return error_set(err, ERR_PROTOCOL, "dependency: malformed");
		}
		text += n + (text[n] == '\n');
	}
	return j->list.n ? 0 : error_set(err, ERR_PROTOCOL, "dependency: malformed");
}

int depend_job_read(struct depend_job *j, int spool_fd, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (faccessat(spool_fd, "dependency", F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	if (fd_read_file(spool_fd, "dependency", MAX_FILE, &text, err) < 0 ||
	    depend_job_parse(j, text.buf, err) < 0)
		return -1;
	return 1;
}

/* --- the world --- */

int depend_view_open(struct depend_view *v, const struct conf *conf, struct error *err)
{
	const struct passwd *pw = getpwuid(geteuid());

	*v = (struct depend_view){ .conf = conf, .jobs = QSTAT_INIT };
	if (!pw)
		return error_set(err, ERR_SYSTEM, "user %lu is unknown", (unsigned long)geteuid());
	v->user = xstrdup(pw->pw_name);
	v->root = conf_spool_dir(conf, err);
	if (!v->root || qstat_list(&v->jobs, v->user, NULL, conf->engine_timeout, err) < 0)
		return -1;
	v->store = record_store_new(conf->accounting_dir, v->root, conf->cluster_name);
	return 0;
}

void depend_view_release(struct depend_view *v)
{
	qstat_release(&v->jobs);
	record_store_free(v->store);
	free(v->root);
	free(v->user);
	*v = (struct depend_view){ 0 };
}

void depend_view_forget(struct depend_view *v, uint64_t id)
{
	for (size_t i = 0; i < v->jobs.n; i++)
		if (v->jobs.jobs[i].id == id)
			v->jobs.jobs[i].id = 0;
	record_store_free(v->store);
	v->store = record_store_new(v->conf->accounting_dir, v->root, v->conf->cluster_name);
}

/* Is every predecessor one of the caller's own? */
static bool are_own(struct depend_view *v, const struct depend_job *j, struct depend_world *w)
{
	for (size_t i = 0; i < j->list.n; i++) {
		const struct depend_term *t = &j->list.terms[i];
		const struct record_job *r;

		if (t->type == DEPEND_SINGLETON || depend_is_alive(w, t->job))
			continue;
		r = record_store_job(v->store, w->uid, t->job, RECORD_SUBMIT);
		if (!r && t->job > ELEMENT_FACTOR)
			r = record_store_job(v->store, w->uid, t->job / ELEMENT_FACTOR, RECORD_SUBMIT);
		if (!r)
			return false;
	}
	return true;
}

int depend_view_world(struct depend_view *v, const struct depend_job *j, uint64_t self,
		      struct depend_world *w, struct error *err)
{
	*w = (struct depend_world){ .engine = &v->jobs,
				    .store = v->store,
				    .engine_timeout = v->conf->engine_timeout,
				    .self = self,
				    .uid = geteuid(),
				    .user = v->user,
				    .name = j->name,
				    .alive = j->alive,
				    .nalive = j->nalive };
	if (v->everybody || are_own(v, j, w))
		return 0;
	qstat_release(&v->jobs);
	v->jobs = (struct qstat)QSTAT_INIT;
	v->everybody = true;
	return qstat_list(&v->jobs, "*", NULL, v->conf->engine_timeout, err);
}

/* --- qsub's holds --- */

void depend_holds_release(struct depend_holds *h)
{
	free(h->jobs);
	free(h->arrays);
	*h = (struct depend_holds){ 0 };
}

/* -hold_jid_ad holds element by element, and takes arrays of the same length only. */
static bool holds_by_element(const struct depend_term *t, struct depend_world *w, const uint32_t *array,
			     size_t n)
{
	const struct record_job *r =
		t->type == DEPEND_CORR && !t->has_index ? depend_record(w, t->job) : NULL;

	return r && n && r->narray == n && !memcmp(r->array, array, n * sizeof(*array));
}

static void add_id(struct strbuf *out, uint64_t id)
{
	strbuf_addf(out, "%s%" PRIu64, out->len ? "," : "", id);
}

void depend_hold(const struct depend_job *j, struct depend_world *w, const uint32_t *array, size_t n,
		 struct depend_holds *h)
{
	struct strbuf jobs = STRBUF_INIT, arrays = STRBUF_INIT;

	for (size_t i = 0; i < j->nalive; i++) {
		bool whole = false, by_element = false;

		for (size_t k = 0; k < j->list.n; k++) {
			const struct depend_term *t = &j->list.terms[k];

			if (t->type == DEPEND_SINGLETON || t->job != j->alive[i])
				continue;
			if (holds_by_element(t, w, array, n))
				by_element = true;
			else if (t->verdict != DEPEND_MET && !t->until)
				whole = true;
		}
		if (whole)
			add_id(&jobs, j->alive[i]);
		else if (by_element)
			add_id(&arrays, j->alive[i]);
	}
	/* By the name, which the engine looks up at the very moment at which it takes the job in. */
	if (depend_has(&j->list, DEPEND_SINGLETON))
		strbuf_addf(&jobs, "%s%s", jobs.len ? "," : "", j->name);
	h->jobs = jobs.len ? strbuf_steal(&jobs) : NULL;
	h->arrays = arrays.len ? strbuf_steal(&arrays) : NULL;
	strbuf_release(&jobs);
	strbuf_release(&arrays);
}

/* --- who waits for whom --- */

static void append_line(const struct spool *s, const char *file, uint64_t id)
{
	cleanup_free char *line = xasprintf("%" PRIu64 "\n", id);
	cleanup_fd int fd = openat(s->fd, file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	/* Without it the job starts later, not wrongly. */
	if (fd >= 0 && fd_write_all(fd, line, strlen(line)) < 0)
		return;
}

void depend_register(const struct depend_view *v, const struct depend_job *j, uint64_t id)
{
	for (size_t i = 0; i < j->nalive; i++) {
		cleanup_spool struct spool spool = SPOOL_INIT;
		bool start = false, end = false;

		for (size_t k = 0; k < j->list.n; k++) {
			const struct depend_term *t = &j->list.terms[k];

			if (t->type == DEPEND_SINGLETON || t->job != j->alive[i])
				continue;
			start = start || t->type == DEPEND_AFTER;
			end = end || t->type != DEPEND_AFTER;
		}
		if (spool_open_job(&spool, v->root, v->conf->cluster_name, j->alive[i], NULL) < 0)
			continue;
		if (start)
			append_line(&spool, "dependents.start", id);
		if (end)
			append_line(&spool, "dependents", id);
	}
}
