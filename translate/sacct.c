/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sacct: jobs with their batch step and steps, from our records, and for those that aren't over from the engine's list.
 * Native jobs that are over have no record and aren't shown.
 */
#include "translate/sacct.h"

#include "common/hostlist.h"
#include "common/log.h"
#include "common/mem.h"
#include "translate/applet.h"
#include "translate/operands.h"

#include <string.h>
#include <time.h>

#define DEFAULT_FIELDS "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
#define BRIEF_FIELDS "JobID,State,ExitCode"
#define LONG_FIELDS                                                                                                 \
	"JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,"       \
	"MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks," \
	"AllocCPUS,Elapsed,State,ExitCode,AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ReqMem,"             \
	"ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,"     \
	"MaxDiskWriteTask,AveDiskWrite,ReqTRES,AllocTRES,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,"         \
	"TRESUsageInMaxTask,TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutMax,"   \
	"TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutAve,TRESUsageOutTot"
enum { MAX_WIDTH = 1 << 20 };

extern char **environ;

/* --- columns --- */

struct column {
	const struct sacct_field *field;
	int width;
};

struct columns {
	struct column *v;
	size_t n;
};

static void add_column(struct columns *c, const struct sacct_field *field, int width)
{
	c->v = xreallocarray(c->v, c->n + 1, sizeof(*c->v));
	c->v[c->n++] = (struct column){ field, width };
}

/* "jobid", "state%30", "jobname%-20", "ALL" */
static int parse_column(struct columns *c, char *word)
{
	char *percent = strchr(word, '%');
	const struct sacct_field *field;
	long width = 0;

	if (percent) {
		*percent = '\0';
		width = strtol(percent + 1, NULL, 10);
		width = width > MAX_WIDTH ? MAX_WIDTH : width < -MAX_WIDTH ? -MAX_WIDTH : width;
	}
	if (!strcasecmp(word, "ALL")) {
		for (size_t i = 0; i < sacct_nfields; i++)
			add_column(c, &sacct_fields[i], sacct_fields[i].width);
		return 0;
	}
	field = sacct_field_by_name(word);
	if (!field) {
		log_error("Invalid field requested: \"%s\"", word);
		return -1;
	}
	add_column(c, field, percent ? (int)width : field->width);
	return 0;
}

static int parse_columns(struct columns *c, const struct sacct_options *o)
{
	cleanup_argvec struct argvec words = ARGVEC_INIT;

	job_filter_words(&words, o->brief       ? BRIEF_FIELDS
				 : o->long_list ? LONG_FIELDS
				 : o->format    ? o->format
						: DEFAULT_FIELDS);
	for (size_t i = 0; i < words.n; i++)
		if (parse_column(c, words.v[i]) < 0)
			return -1;
	return 0;
}

/* --- printing --- */

/* A value in its column; what is too long ends with a '+'. */
static void print_value(const struct column *c, const char *value, bool is_header)
{
	size_t width = (size_t)(c->width < 0 ? -c->width : c->width);
	size_t n = strlen(value);
	bool cut = n > width && width && !is_header;

	printf(c->width < 0 ? "%-*.*s%s " : "%*.*s%s ", (int)(cut ? width - 1 : width),
	       (int)(cut ? width - 1 : width), value, cut ? "+" : "");
}

static void print_field(const struct sacct_options *o, const struct columns *c, size_t i, const char *value,
			bool is_header)
{
	const char *delimiter = o->delimiter ? o->delimiter : "|";

	if (!o->parsable)
		print_value(&c->v[i], value, is_header);
	else
		printf("%s%s", value, o->parsable == 1 || i + 1 < c->n ? delimiter : "");
}

static void print_header(const struct sacct_options *o, const struct columns *c)
{
	for (size_t i = 0; i < c->n; i++)
		print_field(o, c, i, c->v[i].field->name, true);
	puts("");
	for (size_t i = 0; !o->parsable && i < c->n; i++) {
		for (int k = abs(c->v[i].width); k > 0; k--)
			putchar('-');
		putchar(' ');
	}
	if (!o->parsable)
		puts("");
}

static void print_row(const struct sacct_options *o, const struct columns *c, const struct sacct_row *r)
{
	cleanup_strbuf struct strbuf value = STRBUF_INIT;

	for (size_t i = 0; i < c->n; i++) {
		strbuf_reset(&value);
		if (c->v[i].field->value)
			c->v[i].field->value(r, &value);
		print_field(o, c, i, value.buf, false);
	}
	puts("");
}

static void print_fields(void)
{
	for (size_t i = 0; i < sacct_nfields; i++)
		printf("%-19s%s", sacct_fields[i].name, i % 4 == 3 || i + 1 == sacct_nfields ? "\n" : " ");
}

/* --- which rows --- */

/* Was this part of the job asked for? NULL: the job itself. */
static bool is_wanted(const struct job *j, const struct job_ids *ids, const char *part)
{
	for (size_t i = 0; i < ids->n; i++) {
		const struct job_id *id = &ids->v[i];

		if (job_has_id(j, id) && (!id->step || (part && !strcmp(id->step, part))))
			return true;
	}
	return ids->n == 0;
}

static void print_job(const struct sacct_options *o, const struct columns *c, const struct job *j,
		      const struct job_ids *ids, time_t now)
{
	struct sacct_row r = { .conf = applet_conf(), .job = j, .now = now };

	if (is_wanted(j, ids, NULL))
		print_row(o, c, &r);
	if (o->allocations || !j->run || j->is_group)
		return;
	/* Its dependency could never be met: there was no batch step. */
	if (j->state == JOB_CANCELLED && !j->run->start && !j->run->nsteps)
		return;
	r.is_batch = true;
	if (is_wanted(j, ids, "batch"))
		print_row(o, c, &r);
	r.is_batch = false;
	for (size_t i = 0; i < j->run->nsteps; i++) {
		r.step = &j->run->steps[i];
		if (is_wanted(j, ids, r.step->id))
			print_row(o, c, &r);
	}
}

/* By number; what of an array waits comes behind its elements. */
static int compare_jobs(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->is_group != y->is_group)
		return x->is_group ? 1 : -1;
	return x->npositions && y->npositions
		       ? (x->positions[0] > y->positions[0]) - (x->positions[0] < y->positions[0])
		       : 0;
}

static time_t midnight(time_t now)
{
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

/* What was asked for, checked. */
struct question {
	struct job_filter filter;
	uint32_t states; /* 0: all */
	time_t since, until;
};

static int print_jobs(const struct sacct_options *o, struct question *q)
{
	struct columns columns = { NULL, 0 };
	struct error err = ERROR_INIT;
	struct job_query query = { .over = true,
				   .steps = !o->allocations,
				   .partitions = true,
				   .over_since = q->since,
				   .over_ids = q->filter.has_ids ? &q->filter.ids : NULL };
	struct job *rows;
	struct jobs *jobs;
	size_t n;

	if (parse_columns(&columns, o) < 0) {
		free(columns.v);
		return 1;
	}
	jobs = jobs_load(applet_conf(), &query, &err);
	if (!jobs) {
		log_error("%s", err.text);
		log_bare("slurm_load_jobs error: Unable to contact slurm controller (connect failure)");
		free(columns.v);
		return 1;
	}
	jobs_select(jobs, &q->filter);
	jobs_complete(jobs);
	rows = jobs_rows(jobs, &n);
	if (n)
		qsort(rows, n, sizeof(*rows), compare_jobs);
	if (!o->noheader)
		print_header(o, &columns);
	for (size_t i = 0; i < n; i++) {
		struct sacct_row r = { .job = &rows[i] };

		if ((q->states && !(q->states & 1u << sacct_state(&r))) || rows[i].submitted > q->until ||
		    (job_state_is_over(sacct_state(&r)) && rows[i].ended && rows[i].ended < q->since))
			continue;
		print_job(o, &columns, &rows[i], &q->filter.ids, jobs_time(jobs));
	}
	free(columns.v);
	jobs_free(jobs);
	return 0;
}

/* --- from options to a question --- */

static void add_user(struct job_filter *f, uid_t uid)
{
	f->has_users = true;
	f->users = xreallocarray(f->users, f->nusers + 1, sizeof(*f->users));
	f->users[f->nusers++] = uid;
}

static int add_users(struct job_filter *f, const char *text)
{
	cleanup_argvec struct argvec words = ARGVEC_INIT;

	job_filter_words(&words, text);
	for (size_t i = 0; i < words.n; i++) {
		const struct passwd *pw = getpwnam(words.v[i]);
		char *end;
		unsigned long uid = strtoul(words.v[i], &end, 10);

		if (!pw && (end == words.v[i] || *end)) {
			log_error("Invalid user id: %s", words.v[i]);
			return -1;
		}
		add_user(f, pw ? pw->pw_uid : (uid_t)uid);
	}
	return 0;
}

static int add_states(struct question *q, const char *text)
{
	cleanup_argvec struct argvec words = ARGVEC_INIT;

	job_filter_words(&words, text);
	for (size_t i = 0; i < words.n; i++) {
		enum job_state s = job_state_parse(words.v[i], strlen(words.v[i]));

		if (s == JOB_STATES) {
			log_fatal("unrecognized job state value: %s", words.v[i]);
			return -1;
		}
		q->states |= 1u << s;
	}
	return 0;
}

static void add_words(struct argvec *words, bool *has, const char *text)
{
	if (!text)
		return;
	*has = true;
	job_filter_words(words, text);
}

static int add_ids(struct job_filter *f, const char *text)
{
	cleanup_free char *bad = NULL;

	if (job_ids_parse(&f->ids, text, &bad) < 0) {
		log_fatal("Bad job/step specified: %s", bad);
		return -1;
	}
	f->has_ids = f->ids.n > 0;
	return 0;
}

static int make_question(const struct sacct_options *o, struct question *q)
{
	struct job_filter *f = &q->filter;
	struct error err = ERROR_INIT;
	time_t now = time(NULL);

	add_words(&f->names, &f->has_names, o->names);
	add_words(&f->partitions, &f->has_partitions, o->partitions);
	add_words(&f->accounts, &f->has_accounts, o->accounts);
	add_words(&f->qos, &f->has_qos, o->qos);
	f->nothing = o->clusters && *o->clusters && strcmp(o->clusters, applet_conf()->cluster_name) &&
		     strcmp(o->clusters, "all");
	if ((o->jobs && add_ids(f, o->jobs) < 0) || (o->states && add_states(q, o->states) < 0) ||
	    (o->users && add_users(f, o->users) < 0))
		return -1;
	f->has_nodes = o->nodes != NULL;
	if (o->nodes && hostlist_parse(&f->nodes, o->nodes, &err) < 0) {
		log_error("Invalid node list: %s", o->nodes);
		return -1;
	}
	/* one's own jobs, where nothing else is said; root's are everybody's */
	if (!o->users && !o->all_users && !f->has_ids && geteuid() != 0)
		add_user(f, geteuid());
	q->since = f->has_ids ? 0 : midnight(now);
	q->until = now + 1;
	if (o->start_text)
		sacct_parse_time(o->start_text, now, &q->since);
	if (o->end_text)
		sacct_parse_time(o->end_text, now, &q->until);
	if (q->until < q->since) {
		log_error("Start time (%s) requested is after end time (%s).",
			  o->start_text ? o->start_text : "today", o->end_text ? o->end_text : "now");
		return -1;
	}
	return 0;
}

static int answer(const struct sacct_options *o)
{
	struct question q = { 0 };
	int rc = 1;

	if (o->helpformat) {
		print_fields();
		return 0;
	}
	if (make_question(o, &q) == 0)
		rc = print_jobs(o, &q);
	job_filter_release(&q.filter);
	return rc;
}

static int refuse_words(const struct argvec *words)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (!words->n)
		return 0;
	for (size_t i = 0; i < words->n; i++)
		strbuf_addf(&text, " %s", words->v[i]);
	log_bare("Error: Unknown arguments:%s", text.buf);
	return -1;
}

static int run(int argc, char **argv)
{
	struct sacct_options o = { 0 };
	cleanup_opt_run struct opt_run run_ = { 0 };
	cleanup_argvec struct argvec words = ARGVEC_INIT;
	struct error err = ERROR_INIT;
	int rc;

	opt_run_init(&run_, &sacct_options, &o, applet_conf()->slurm_version);
	rc = opt_parse_env(&run_, environ, &err);
	if (rc == 0)
		rc = operands_parse(&run_, argc, argv, &words, &err);
	log_set_level(o.verbose ? LOG_NORMAL + o.verbose : LOG_NORMAL);
	if (rc < 0)
		rc = opt_fail(&run_, &err);
	else if (rc == OPT_DONE)
		rc = 0;
	else
		rc = refuse_words(&words) < 0 ? 1 : answer(&o);
	sacct_options_release(&o);
	return rc;
}

const struct applet sacct_applet = { .name = "sacct", .run = run, .options = &sacct_options };
