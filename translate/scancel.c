/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/scancel.h"

#include "common/log.h"
#include "common/mem.h"
#include "translate/applet.h"
#include "translate/operands.h"

#include <signal.h>
#include <string.h>

extern char **environ;

struct work {
	const struct scancel_options *o;
	const struct conf *conf;
	struct jobs *jobs;
	const struct job_ids *ids;
	bool is_simple; /* ids alone: what isn't there is no error */
	struct engine_delete del;
	int code;
};

static void fail(struct work *w, int code)
{
	if (code > w->code)
		w->code = code;
}

/* --- what to do with one row --- */

/* stdin's answer; no answer is a no. */
static bool confirms(const struct job *j)
{
	cleanup_free char *id = job_name_of_id(j);
	char line[64];

	do {
		printf("Cancel job_id=%s name=%s partition=%s [y/n]? ", id, job_title(j), j->partition);
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return false;
	} while (!strchr("yYnN", line[0]) || line[0] == '\0' || line[0] == '\n');
	return line[0] == 'y' || line[0] == 'Y';
}

static bool tell_signal(struct work *w, const struct job *j, int number, const char *target)
{
	char text[16];
	const char *verb[] = { "signal", text, target, NULL };

	snprintf(text, sizeof(text), "%d", number);
	return supervisor_tell(w->conf, j, verb);
}

static void say(const struct work *w, const struct job *j, const char *step)
{
	cleanup_free char *id = job_name_of_id(j);
	const char *what = step ? "step" : "job", *dot = step ? "." : "";

	if (w->o->signal)
		log_verbose("Signal %d to %s %s%s%s", w->o->signal, what, id, dot, step ? step : "");
	else
		log_verbose("Terminating %s %s%s%s", what, id, dot, step ? step : "");
}

static void complain(struct work *w, const struct job *j, const char *why, int code)
{
	cleanup_free char *id = job_name_of_id(j);

	fail(w, code);
	if (!w->o->quiet)
		log_error("Kill job error on job id %s: %s", id, why);
}

/* The signal for all steps, as Slurm's scancel does without --batch and --full. */
static bool signal_steps(struct work *w, const struct job *j)
{
	const struct record_run *run = j->run;
	bool all = true;

	for (size_t i = 0; run && i < run->nsteps; i++)
		if (!run->steps[i].state && strcmp(run->steps[i].id, "batch"))
			all = tell_signal(w, j, w->o->signal, run->steps[i].id) && all;
	return all;
}

static void signal_job(struct work *w, const struct job *j)
{
	say(w, j, NULL);
	if (j->state == JOB_PENDING) {
		complain(w, j, "Job is pending execution", SCANCEL_PENDING);
	} else if (!supervisor_has(j)) {
		complain(w, j, "it is a native Grid Engine job, which can only be ended", 1);
	} else if (w->o->batch || w->o->full) {
		if (!tell_signal(w, j, w->o->signal ? w->o->signal : SIGKILL, w->o->full ? "full" : "batch"))
			complain(w, j, "its supervisor doesn't answer", 1);
	} else {
		/* A step that ends meanwhile can't be told any more: no error in Slurm either. */
		signal_steps(w, j);
	}
}

static void end_job(struct work *w, const struct job *j)
{
	char uid[24];
	const char *cancel[] = { "cancel", uid, NULL };

	say(w, j, NULL);
	if (j->state == JOB_COMPLETING)
		return;
	snprintf(uid, sizeof(uid), "%lu", (unsigned long)geteuid());
	if (j->state != JOB_PENDING && supervisor_tell(w->conf, j, cancel))
		return;
	supervisor_record_cancel(w->conf, j);
	engine_delete_add(&w->del, j);
}

static void end_step(struct work *w, const struct job *j, const char *step)
{
	say(w, j, step);
	/* As in Slurm, a step that isn't there is no error. */
	if (j->state == JOB_RUNNING && supervisor_has(j))
		tell_signal(w, j, w->o->signal ? w->o->signal : SIGKILL, step);
}

static void do_row(struct work *w, const struct job *j)
{
	bool steps_only = w->ids->n > 0;

	if (w->o->interactive && !confirms(j))
		return;
	for (size_t i = 0; i < w->ids->n; i++) {
		if (!job_has_id(j, &w->ids->v[i]))
			continue;
		if (w->ids->v[i].step)
			end_step(w, j, w->ids->v[i].step);
		else
			steps_only = false;
	}
	if (steps_only)
		return;
	if ((w->o->signal && w->o->signal != SIGKILL) || w->o->batch)
		signal_job(w, j);
	else
		end_job(w, j);
}

/* --- ids that no row of ours has --- */

static bool has_row(struct jobs *jobs, const struct job_id *id)
{
	size_t n;
	const struct job *rows = jobs_rows(jobs, &n);

	for (size_t i = 0; i < n; i++)
		if (job_has_id(&rows[i], id))
			return true;
	return false;
}

/* It may be another user's (the engine knows whether we may), over, or never was. */
static void do_missing(struct work *w, const struct job_id *id)
{
	struct job j = { .id = id->id };

	if (id->step || !w->is_simple) {
		fail(w, 1);
		if (!w->o->quiet && id->step)
			log_error("Kill job error on job step id %llu.%s: Invalid job id specified",
				  (unsigned long long)id->id, id->step);
		else if (!w->o->quiet)
			log_error("Kill job error on job id %llu: Invalid job id specified",
				  (unsigned long long)id->id);
		return;
	}
	/* Only the engine knows whether it is another user's; of its elements we don't know the order. */
	if (!id->has_index && id->id <= UINT32_MAX)
		engine_delete_add(&w->del, &j);
}

/* --- command line --- */

static int check_user(const struct scancel_options *o, struct job_filter *f)
{
	const char *name = o->user;
	const struct passwd *pw;
	char *end;
	unsigned long uid;

	if (!name && !o->me)
		return 0;
	pw = o->me ? NULL : getpwnam(name);
	uid = o->me ? geteuid() : strtoul(name, &end, 10);
	if (!pw && !o->me && (end == name || *end)) {
		log_error("Invalid user name: %s", name);
		return -1;
	}
	f->has_users = true;
	f->users = xreallocarray(NULL, 1, sizeof(*f->users));
	f->users[0] = pw ? pw->pw_uid : (uid_t)uid;
	f->nusers = 1;
	return 0;
}

static void add_word(struct argvec *words, bool *has, const char *word)
{
	if (!word)
		return;
	*has = true;
	argvec_push(words, word);
}

static int make_filter(const struct scancel_options *o, struct job_filter *f)
{
	uint32_t live = 1u << JOB_PENDING | 1u << JOB_RUNNING | 1u << JOB_SUSPENDED;

	if (check_user(o, f) < 0)
		return -1;
	add_word(&f->accounts, &f->has_accounts, o->account);
	add_word(&f->names, &f->has_names, o->name);
	add_word(&f->partitions, &f->has_partitions, o->partition);
	add_word(&f->qos, &f->has_qos, o->qos);
	f->nothing = o->reservation || o->wckey;
	f->states = o->state == JOB_STATES ? live | 1u << JOB_COMPLETING : 1u << o->state;
	f->has_nodes = o->nodes != NULL;
	if (o->nodes && hostlist_parse(&f->nodes, o->nodes, NULL) < 0) {
		log_error("Invalid hostlist: %s", o->nodes);
		return -1;
	}
	return 0;
}

static bool has_filter(const struct job_filter *f, const struct scancel_options *o)
{
	return f->has_users || f->has_accounts || f->has_names || f->has_partitions || f->has_qos ||
	       f->has_nodes || f->nothing || o->state != JOB_STATES;
}

/* "job_name=x user_name=y ", as Slurm lists them. */
static void say_none_matches(const struct scancel_options *o)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const struct {
		const char *name, *value;
	} filters[] = { { "account", o->account }, { "job_name", o->name },
			{ "nodelist", o->nodes },  { "partition", o->partition },
			{ "qos", o->qos },         { "reservation", o->reservation },
			{ "user_name", o->user },  { "wckey", o->wckey } };

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		if (filters[i].value)
			strbuf_addf(&text, "%s=%s ", filters[i].name, filters[i].value);
	if (o->state != JOB_STATES)
		strbuf_addf(&text, "state=%s ", job_state_long(o->state));
	log_error("No active jobs match ALL job filters, including: %s", text.buf);
}

/* Whose jobs to ask for: mine, all for root, or those of --user. Caller frees; NULL: all. */
static char *engine_users(const struct job_filter *f)
{
	uid_t uid = f->has_users ? f->users[0] : geteuid();
	const struct passwd *pw = getpwuid(uid);

	return (uid == 0 && !f->has_users) || !pw ? NULL : xstrdup(pw->pw_name);
}

static int cancel(struct work *w, struct job_filter *f)
{
	cleanup_free char *users = engine_users(f);
	struct job_query query = { .users = users, .steps = true, .partitions = f->has_partitions };
	struct error err = ERROR_INIT;
	struct job *rows;
	size_t n;

	w->jobs = jobs_load(w->conf, &query, &err);
	if (!w->jobs) {
		log_error("%s", err.text);
		log_bare("slurm_load_jobs error: Unable to contact slurm controller (connect failure)");
		return 1;
	}
	for (size_t i = 0; i < w->ids->n; i++)
		if (!has_row(w->jobs, &w->ids->v[i]))
			do_missing(w, &w->ids->v[i]);
	f->ids = *w->ids;
	f->has_ids = w->ids->n > 0;
	jobs_select(w->jobs, f);
	f->ids = (struct job_ids)JOB_IDS_INIT; /* the words' owner frees them */
	rows = jobs_rows(w->jobs, &n);
	if (n == 0 && !w->ids->n && w->o->verbose > 0)
		say_none_matches(w->o);
	for (size_t i = 0; i < n; i++)
		do_row(w, &rows[i]);
	fail(w, engine_delete_run(&w->del, w->conf->engine_timeout, !w->is_simple, w->o->quiet));
	jobs_free(w->jobs);
	return w->code;
}

static int check_cluster(const struct scancel_options *o, const struct conf *conf)
{
	if (!o->clusters || !*o->clusters || !strcmp(o->clusters, conf->cluster_name) ||
	    !strcmp(o->clusters, "all"))
		return 0;
	log_error("No cluster '%s' known by database.", o->clusters);
	log_error(
		"'%s' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to "
		"see available clusters.",
		o->clusters);
	return -1;
}

/* Slurm's scancel knows steps by number only. */
static int parse_ids(struct job_ids *ids, const struct argvec *words)
{
	for (size_t i = 0; i < words->n; i++) {
		cleanup_free char *bad = NULL;
		size_t first = ids->n;
		int rc = *words->v[i] ? job_ids_parse(ids, words->v[i], &bad) : -1;

		for (size_t k = first; rc == 0 && k < ids->n; k++)
			if (ids->v[k].step && !strcmp(ids->v[k].step, "batch"))
				rc = -1;
		if (rc < 0) {
			log_error("Invalid job id %s", bad ? bad : words->v[i]);
			return -1;
		}
	}
	return 0;
}

static int run_options(const struct scancel_options *o, const struct argvec *words)
{
	cleanup_job_filter struct job_filter f = { 0 };
	cleanup_job_ids struct job_ids ids = JOB_IDS_INIT;
	struct work w = { .o = o, .conf = applet_conf(), .ids = &ids };

	if (check_cluster(o, w.conf) < 0 || parse_ids(&ids, words) < 0 || make_filter(o, &f) < 0)
		return 1;
	if (!ids.n && !has_filter(&f, o)) {
		log_error("No job identification provided");
		return 1;
	}
	w.is_simple = !has_filter(&f, o) && !o->signal && !o->batch && !o->interactive;
	return cancel(&w, &f);
}

static int run(int argc, char **argv)
{
	struct scancel_options o = { .state = JOB_STATES };
	cleanup_opt_run struct opt_run run_ = { 0 };
	cleanup_argvec struct argvec words = ARGVEC_INIT;
	struct error err = ERROR_INIT;
	int rc;

	opt_run_init(&run_, &scancel_options, &o, applet_conf()->slurm_version);
	rc = opt_parse_env(&run_, environ, &err);
	if (rc == 0)
		rc = operands_parse(&run_, argc, argv, &words, &err);
	log_set_level(o.verbose > 0 ? LOG_NORMAL + o.verbose : LOG_NORMAL);
	if (rc < 0)
		rc = opt_fail(&run_, &err);
	else if (rc == OPT_DONE)
		rc = 0;
	else
		rc = run_options(&o, &words);
	scancel_options_release(&o);
	return rc;
}

const struct applet scancel_applet = { .name = "scancel", .run = run, .options = &scancel_options };
