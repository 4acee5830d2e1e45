/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/squeue.h"

#include "common/log.h"
#include "common/mem.h"
#include "translate/applet.h"
#include "translate/operands.h"

#include <string.h>
#include <time.h>

#define DEFAULT_FORMAT "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define LONG_FORMAT "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define START_FORMAT "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
#define DEFAULT_SORT "P,t,-p"

extern char **environ;

/* --- from options to a filter --- */

static int add_ids(struct job_ids *ids, const char *text)
{
	cleanup_free char *bad = NULL;

	if (job_ids_parse(ids, text, &bad) == 0)
		return 0;
	log_error("Invalid job id: %s", bad);
	return -1;
}

/* "bob,6001"; one that isn't there is said, and matches nothing. */
static void add_users(struct job_filter *f, const char *text)
{
	cleanup_argvec struct argvec words = ARGVEC_INIT;

	f->has_users = true;
	job_filter_words(&words, text);
	for (size_t i = 0; i < words.n; i++) {
		const struct passwd *pw = getpwnam(words.v[i]);
		char *end;
		unsigned long uid = strtoul(words.v[i], &end, 10);

		if (!pw && (end == words.v[i] || *end)) {
			log_error("Invalid user: %s", words.v[i]);
			fputc('\n', stderr);
			continue;
		}
		f->users = xreallocarray(f->users, f->nusers + 1, sizeof(*f->users));
		f->users[f->nusers++] = pw ? pw->pw_uid : (uid_t)uid;
	}
}

static void add_user(struct job_filter *f, uid_t uid)
{
	f->has_users = true;
	f->users = xreallocarray(f->users, 1, sizeof(*f->users));
	f->users[0] = uid;
	f->nusers = 1;
}

static int complain_of_state(const char *state)
{
	static const enum job_state flags[] = { JOB_COMPLETING, JOB_CONFIGURING, JOB_RESIZING, JOB_REVOKED,
						JOB_SPECIAL_EXIT };
	cleanup_strbuf struct strbuf names = STRBUF_INIT;

	for (int s = 0; s < JOB_BASE_STATES; s++)
		strbuf_addf(&names, "%s%s", s ? "," : "", job_state_long(s));
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		strbuf_addf(&names, ",%s", job_state_long(flags[i]));
	log_error("Invalid job state specified: %s", state);
	log_error("Valid job states include: %s", names.buf);
	return -1;
}

static int add_states(struct job_filter *f, const char *text)
{
	cleanup_argvec struct argvec words = ARGVEC_INIT;

	job_filter_words(&words, text);
	for (size_t i = 0; i < words.n; i++) {
		enum job_state s = job_state_parse(words.v[i], strlen(words.v[i]));

		if (!strcasecmp(words.v[i], "all"))
			f->states |= (1u << JOB_STATES) - 1;
		else if (s == JOB_STATES)
			return complain_of_state(words.v[i]);
		else
			f->states |= 1u << s;
	}
	return 0;
}

/* Everything that isn't over. */
static uint32_t default_states(void)
{
	uint32_t states = 0;

	for (int s = 0; s < JOB_STATES; s++)
		if (!job_state_is_over(s))
			states |= 1u << s;
	return states;
}

static void add_words(struct argvec *words, bool *has, const char *text)
{
	if (!text)
		return;
	*has = true;
	job_filter_words(words, text);
}

static int make_filter(const struct squeue_options *o, struct job_filter *f)
{
	struct error err = ERROR_INIT;

	add_words(&f->names, &f->has_names, o->names);
	add_words(&f->partitions, &f->has_partitions, o->partitions);
	add_words(&f->accounts, &f->has_accounts, o->accounts);
	add_words(&f->qos, &f->has_qos, o->qos);
	f->nothing = o->licenses || o->reservation;
	f->has_ids = o->jobs != NULL;
	if (o->jobs && add_ids(&f->ids, o->jobs) < 0)
		return -1;
	if (o->me)
		add_user(f, geteuid());
	else if (o->users)
		add_users(f, o->users);
	if (o->states ? add_states(f, o->states) < 0 : 0)
		return -1;
	if (!f->states)
		f->states = o->start ? 1u << JOB_PENDING : default_states();
	f->has_nodes = o->nodes != NULL;
	if (o->nodes && hostlist_parse(&f->nodes, o->nodes, &err) < 0) {
		log_error("'%s' invalid entry for --nodelist", o->nodes);
		return -1;
	}
	return 0;
}

/* --- printing --- */

static void invalid_format(const char *what)
{
	log_error("Invalid job format specification: %s", what);
}

static void print_line(const struct format *f, const struct job_view *v)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;
	cleanup_strbuf struct strbuf value = STRBUF_INIT;

	strbuf_addstr(&line, f->prefix);
	for (size_t i = 0; i < f->n; i++) {
		const struct format_field *field = &f->fields[i];

		strbuf_reset(&value);
		if (field->field != FORMAT_LITERAL && v)
			job_field_value(field->field, v, &value);
		else if (field->field != FORMAT_LITERAL)
			strbuf_addstr(&value, job_field_at(field->field)->header);
		format_add(field, value.buf, &line);
	}
	puts(line.buf);
}

static void choose_format(const struct squeue_options *o, struct format *f)
{
	const char *text = o->format;

	if (o->names_format) {
		format_parse_names(f, o->names_format, job_field_by_name, invalid_format);
		return;
	}
	if (!text && o->long_list)
		text = LONG_FORMAT;
	if (!text && o->start)
		text = START_FORMAT;
	if (!text && !o->env_format && o->env_names_format) {
		format_parse_names(f, o->env_names_format, job_field_by_name, invalid_format);
		return;
	}
	if (!text)
		text = o->env_format ? o->env_format : DEFAULT_FORMAT;
	if (!strcasecmp(text, "%all"))
		text = job_format_all;
	format_parse(f, text, job_field_by_letter, invalid_format);
}

static void print_date(void)
{
	time_t now = time(NULL);
	char text[64];
	struct tm tm;

	strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", localtime_r(&now, &tm));
	puts(text);
}

/* --- one look --- */

/* Names for the engine, so that it sends no more than is asked for; NULL: everybody's. */
static char *engine_users(const struct job_filter *f)
{
	struct strbuf out = STRBUF_INIT;

	if (!f->has_users || !f->nusers)
		return NULL;
	for (size_t i = 0; i < f->nusers; i++) {
		const struct passwd *pw = getpwuid(f->users[i]);

		if (pw)
			strbuf_addf(&out, "%s%s", out.len ? "," : "", pw->pw_name);
	}
	if (out.len)
		return strbuf_steal(&out);
	return NULL;
}

/* Slurm knows a job until MIN_JOB_AGE after its end; one unknown id alone is an error. */
static bool is_unknown(struct jobs *jobs, const struct job_filter *f)
{
	const struct job_id *id = f->ids.v;
	size_t n;
	const struct job *rows = jobs_rows(jobs, &n);

	if (!f->has_ids || f->ids.n != 1)
		return false;
	for (size_t i = 0; i < n; i++)
		if (rows[i].id == id->id || job_has_id(&rows[i], id))
			return false;
	return !jobs_was_known(jobs, id->id);
}

static int print_rows(struct jobs *jobs, const struct squeue_options *o, const struct job_ids *steps)
{
	struct job_view v = { .conf = applet_conf(), .now = jobs_time(jobs) };
	cleanup_format struct format f = FORMAT_INIT;
	const char *sort = o->sort ? o->sort : o->start ? "S" : DEFAULT_SORT;
	char bad;
	size_t n;
	struct job *rows = jobs_rows(jobs, &n);

	if (o->step_flag) {
		squeue_sort(rows, n, "i", &bad);
		squeue_print_steps(rows, n, o, steps, v.now);
		return 0;
	}
	choose_format(o, &f);
	if (!o->noheader)
		print_line(&f, NULL);
	if (squeue_sort(rows, n, sort, &bad) < 0) {
		log_error("Invalid sort specification: %c", bad);
		return 1;
	}
	for (size_t i = 0; i < n; i++) {
		v.job = &rows[i];
		print_line(&f, &v);
	}
	return 0;
}

static int look(const struct squeue_options *o, const struct job_filter *f, const struct job_ids *steps)
{
	cleanup_free char *users = engine_users(f);
	uint32_t over = ~default_states() & ((1u << JOB_STATES) - 1);
	struct job_query query = {
		.users = users, .over = f->states & over, .steps = o->step_flag, .partitions = true
	};
	struct error err = ERROR_INIT;
	struct jobs *jobs;
	int rc = 1;

	jobs = jobs_load(applet_conf(), &query, &err);
	if (!jobs) {
		log_error("%s", err.text);
		log_bare("slurm_load_jobs error: Unable to contact slurm controller (connect failure)");
		return 1;
	}
	if (is_unknown(jobs, f)) {
		log_bare("slurm_load_jobs error: Invalid job id specified");
	} else {
		jobs_select(jobs, f);
		if (o->array)
			jobs_expand(jobs);
		rc = print_rows(jobs, o, steps);
	}
	jobs_free(jobs);
	return rc;
}

/* --- command line --- */

static int check_cluster(const struct squeue_options *o)
{
	const char *mine = applet_conf()->cluster_name;

	if (!o->clusters || !*o->clusters || !strcmp(o->clusters, mine) || !strcmp(o->clusters, "all"))
		return 0;
	log_error("No cluster '%s' known by database.", o->clusters);
	log_error(
		"'%s' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to "
		"see available clusters.",
		o->clusters);
	return -1;
}

/* Words without an option: the value of -j or -s; another is nobody's. */
static int take_words(struct squeue_options *o, const struct argvec *words)
{
	size_t i = 0;

	if (words->n && o->job_flag)
		replace_str(&o->jobs, words->v[i++]);
	else if (words->n && o->step_flag)
		replace_str(&o->steps, words->v[i++]);
	if (i == words->n)
		return 0;
	log_error("Unrecognized option: %s", words->v[i]);
	opt_print_usage(&squeue_options, stdout);
	return -1;
}

static int check_options(struct squeue_options *o, const struct argvec *words)
{
	if (o->long_list && o->format) {
		log_fatal(
			"Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.");
		return -1;
	}
	if (take_words(o, words) < 0 || check_cluster(o) < 0)
		return -1;
	if (o->job_flag && o->step_flag && !o->jobs) {
		log_error("Incompatible options --jobs and --steps");
		return -1;
	}
	return 0;
}

static int run_options(struct squeue_options *o)
{
	struct job_filter f = { 0 };
	cleanup_job_ids struct job_ids steps = JOB_IDS_INIT;
	int rc = 1;

	if (make_filter(o, &f) == 0 && (!o->steps || add_ids(&steps, o->steps) == 0)) {
		for (;;) {
			if (o->clusters && *o->clusters)
				printf("CLUSTER: %s\n", applet_conf()->cluster_name);
			if (!o->noheader && (o->iterate || o->long_list || o->verbose))
				print_date();
			rc = look(o, &f, &steps);
			if (!o->iterate)
				break;
			puts("");
			fflush(stdout);
			sleep((unsigned)o->iterate);
		}
	}
	job_filter_release(&f);
	return rc;
}

static int run(int argc, char **argv)
{
	struct squeue_options o = { 0 };
	cleanup_opt_run struct opt_run run_ = { 0 };
	cleanup_argvec struct argvec words = ARGVEC_INIT;
	struct error err = ERROR_INIT;
	int rc;

	opt_run_init(&run_, &squeue_options, &o, applet_conf()->slurm_version);
	rc = opt_parse_env(&run_, environ, &err);
	if (rc == 0)
		rc = operands_parse(&run_, argc, argv, &words, &err);
	log_set_level(o.verbose ? LOG_NORMAL + o.verbose : LOG_NORMAL);
	if (rc < 0)
		rc = opt_fail(&run_, &err);
	else if (rc == OPT_DONE)
		rc = 0;
	else
		rc = check_options(&o, &words) < 0 ? 1 : run_options(&o);
	squeue_options_release(&o);
	return rc;
}

const struct applet squeue_applet = { .name = "squeue", .run = run, .options = &squeue_options };
