/* SPDX-License-Identifier: Apache-2.0 */
/* `scontrol show job`: Slurm's block of lines with what we know. */
#include "common/duration.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "translate/applet.h"
#include "translate/scontrol.h"

#include <grp.h>
#include <inttypes.h>
#include <string.h>

/* A line of the block ends, or with -o a blank stands there. */
static void next_line(const struct scontrol_options *o, struct strbuf *out)
{
	strbuf_addstr(out, o->oneliner ? " " : "\n   ");
}

static void add_time(const char *key, time_t t, struct strbuf *out)
{
	strbuf_addf(out, "%s=", key);
	if (t)
		job_time_text(t, out);
	else
		strbuf_addstr(out, "Unknown");
}

static const char *or_null(const char *s)
{
	return s ? s : "(null)";
}

/* The value of a field that squeue knows by this letter. */
static void add_field(const struct job_view *v, char letter, struct strbuf *out)
{
	job_field_value(job_field_by_letter(letter), v, out);
}

/* --- parts of the block --- */

static void add_ids(const struct job_view *v, struct strbuf *out)
{
	const struct job *j = v->job;
	cleanup_free char *tasks = job_array_text(j);

	strbuf_addf(out, "JobId=%" PRIu64, job_number(j));
	if (tasks)
		strbuf_addf(out, " ArrayJobId=%" PRIu64 " ArrayTaskId=%s", j->id, tasks);
	if (tasks && j->record && j->record->array_limit)
		strbuf_addf(out, " ArrayTaskThrottle=%u", j->record->array_limit);
	strbuf_addf(out, " JobName=%s", job_title(j));
}

static void add_owner(const struct job_view *v, const struct scontrol_options *o, struct strbuf *out)
{
	const struct job *j = v->job;
	const struct passwd *pw = j->uid == (uid_t)-1 ? NULL : getpwuid(j->uid);
	const struct group *gr = pw ? getgrgid(pw->pw_gid) : NULL;

	strbuf_addf(out, "UserId=%s(%ld) GroupId=%s(%ld) MCS_label=N/A", j->user, (long)(int)j->uid,
		    gr ? gr->gr_name : "nobody", pw ? (long)pw->pw_gid : -1L);
	next_line(o, out);
	strbuf_addstr(out, "Priority=");
	add_field(v, 'Q', out);
	strbuf_addf(out, " Nice=%" PRId64 " Account=", j->record ? j->record->nice : 0);
	add_field(v, 'a', out);
	strbuf_addstr(out, " QOS=");
	add_field(v, 'q', out);
}

/* Blanks of a reason are underlines here. */
static void add_reason(const char *reason, struct strbuf *out)
{
	for (; *reason; reason++)
		strbuf_addch(out, *reason == ' ' ? '_' : *reason);
}

static void add_state(const struct job_view *v, const struct scontrol_options *o, struct strbuf *out)
{
	const struct record_run *run = v->job->run;
	bool ended = run && run->state && v->job->state != JOB_PENDING;

	strbuf_addf(out, "JobState=%s Reason=", job_state_long(v->job->state));
	add_reason(v->job->reason, out);
	strbuf_addstr(out, " Dependency=");
	add_field(v, 'E', out);
	next_line(o, out);
	strbuf_addf(out, "Requeue=%d Restarts=%u BatchFlag=1 Reboot=0 ExitCode=%" PRId64 ":%" PRId64,
		    v->job->record && v->job->record->requeue, job_restarts(v->job), ended ? run->code : 0,
		    ended ? run->signal : 0);
	if (o->details) {
		next_line(o, out);
		strbuf_addstr(out, "DerivedExitCode=0:0");
	}
}

static time_t end_of(const struct job *j)
{
	if (j->ended)
		return j->ended;
	return j->started && j->time_limit > 0 ? j->started + j->time_limit : 0;
}

static void add_times(const struct job_view *v, const struct scontrol_options *o, struct strbuf *out)
{
	const struct job *j = v->job;
	int64_t used = job_time_used(j, v->now);
	cleanup_free char *run = used ? duration_format(used) : xstrdup("00:00:00");
	cleanup_free char *limit = duration_format(j->time_limit < 0 ? DURATION_INFINITE : j->time_limit);
	cleanup_free char *least =
		j->record && j->record->time_min ? duration_format(j->record->time_min) : NULL;

	strbuf_addf(out, "RunTime=%s TimeLimit=%s TimeMin=%s", run, limit, least ? least : "N/A");
	next_line(o, out);
	add_time("SubmitTime", j->submitted, out);
	add_time(" EligibleTime", job_eligible(j), out);
	next_line(o, out);
	add_time("AccrueTime", job_eligible(j), out);
	next_line(o, out);
	add_time("StartTime", j->started, out);
	add_time(" EndTime", end_of(j), out);
	strbuf_addstr(out, " Deadline=");
	job_time_text(j->record ? (time_t)j->record->deadline : 0, out);
	next_line(o, out);
	strbuf_addstr(out, "SuspendTime=None SecsPreSuspend=0");
	add_time(" LastSchedEval", j->started ? j->started : j->submitted, out);
	strbuf_addstr(out, " Scheduler=Main");
}

static void add_place(const struct job_view *v, const struct scontrol_options *o, struct strbuf *out)
{
	const struct job *j = v->job;
	cleanup_hostlist struct hostlist hosts = HOSTLIST_INIT;

	job_hosts(j, &hosts);
	strbuf_addf(out, "Partition=%s AllocNode:Sid=(null):0", j->partition);
	next_line(o, out);
	strbuf_addstr(out, "ReqNodeList=(null) ExcNodeList=(null)");
	next_line(o, out);
	strbuf_addstr(out, "NodeList=");
	add_field(v, 'N', out);
	if (hosts.names.n) {
		next_line(o, out);
		strbuf_addf(out, "BatchHost=%s", hosts.names.v[0]);
	}
	next_line(o, out);
	strbuf_addf(out, "NumNodes=%u NumCPUs=%u NumTasks=", j->nodes, j->cpus);
	job_field_value(job_field_by_name("NumTasks"), v, out);
	strbuf_addstr(out, " CPUs/Task=");
	add_field(v, 'c', out);
	strbuf_addstr(out, " ReqB:S:C:T=0:0:*:*");
	next_line(o, out);
	strbuf_addf(out, "TRES=cpu=%u,node=%u,billing=%u", j->cpus, j->nodes, j->cpus);
	next_line(o, out);
	strbuf_addstr(out, "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*");
	next_line(o, out);
	strbuf_addstr(out, "MinCPUsNode=");
	add_field(v, 'c', out);
	strbuf_addstr(out, " MinMemoryNode=0 MinTmpDiskNode=0");
	next_line(o, out);
	strbuf_addstr(out, "Features=(null) DelayBoot=00:00:00");
	next_line(o, out);
	strbuf_addstr(out, "OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)");
}

/* One conversion of an output pattern: "%5j". The letters whose value doesn't depend on the host. */
static const char *expand_one(const struct job *j, const char *p, struct strbuf *out)
{
	int width = 0;
	const char *start = p++;

	for (; *p >= '0' && *p <= '9'; p++)
		width = width < 10 ? width * 10 + (*p - '0') : width;
	width = width > 10 ? 10 : width;
	switch (*p) {
	case 'A':
		strbuf_addf(out, "%0*" PRIu64, width, j->id);
		break;
	case 'a':
		strbuf_addf(out, "%0*u", width, j->is_array && !j->is_group ? job_index(j) : UINT32_MAX - 1);
		break;
	case 'j':
	case 'J':
		strbuf_addf(out, "%0*" PRIu64, width, job_number(j));
		break;
	case 'u':
		strbuf_addstr(out, j->user);
		break;
	case 'x':
		strbuf_addstr(out, job_title(j));
		break;
	default:
		strbuf_add(out, start, (size_t)(p - start));
		return p;
	}
	return p + 1;
}

/* A path as Slurm shows it: relative to the working directory, expanded. A backslash anywhere keeps it as it is. */
static void add_output(const struct job *j, const char *pattern, struct strbuf *out)
{
	const char *dir = j->record->work_dir ? j->record->work_dir : "";
	cleanup_free char *path = NULL;

	if (!pattern)
		pattern = j->is_array ? "slurm-%A_%a.out" : "slurm-%j.out";
	path = path_join(dir, pattern);
	if (strchr(path, '\\')) {
		strbuf_addstr(out, path);
		return;
	}
	for (const char *p = path; *p;) {
		if (*p == '%')
			p = expand_one(j, p, out);
		else
			strbuf_addch(out, *p++);
	}
}

static void add_files(const struct job_view *v, const struct scontrol_options *o, struct strbuf *out)
{
	const struct job *j = v->job;
	const struct record_job *r = j->record;

	strbuf_addstr(out, "Command=");
	job_command(v, out);
	next_line(o, out);
	strbuf_addf(out, "WorkDir=%s", or_null(r ? r->work_dir : NULL));
	if (r && r->comment) {
		next_line(o, out);
		strbuf_addf(out, "Comment=%s ", r->comment);
	}
	if (r && r->has_submit) {
		next_line(o, out);
		strbuf_addstr(out, "StdErr=");
		add_output(j, r->std_err ? r->std_err : r->std_out, out);
		next_line(o, out);
		strbuf_addstr(out, "StdIn=/dev/null");
		next_line(o, out);
		strbuf_addstr(out, "StdOut=");
		add_output(j, r->std_out, out);
	}
	next_line(o, out);
	strbuf_addstr(out, "Power=");
	next_line(o, out);
	strbuf_addstr(out, o->oneliner ? "\n" : "\n\n");
}

void scontrol_format_job(const struct job_view *v, const struct scontrol_options *o, struct strbuf *out)
{
	add_ids(v, out);
	next_line(o, out);
	add_owner(v, o, out);
	next_line(o, out);
	add_state(v, o, out);
	next_line(o, out);
	add_times(v, o, out);
	next_line(o, out);
	add_place(v, o, out);
	next_line(o, out);
	add_files(v, o, out);
}

/* --- the command --- */

static int print_jobs(struct jobs *jobs, const struct scontrol_options *o)
{
	struct job_view v = { .conf = applet_conf(), .now = jobs_time(jobs) };
	size_t n;
	const struct job *rows = jobs_rows(jobs, &n);

	for (size_t i = 0; i < n; i++) {
		cleanup_strbuf struct strbuf out = STRBUF_INIT;

		v.job = &rows[i];
		scontrol_format_job(&v, o, &out);
		fputs(out.buf, stdout);
	}
	return 0;
}

static int print_selected(struct jobs *jobs, const struct scontrol_options *o, struct job_ids *ids,
			  const char *id)
{
	struct job_filter f = { .has_ids = true, .ids = *ids };
	size_t before, n;

	jobs_rows(jobs, &before);
	jobs_select(jobs, &f);
	jobs_complete(jobs);
	jobs_rows(jobs, &n);
	if (n)
		return print_jobs(jobs, o);
	if (ids->v[0].has_index)
		printf("Job %s not found\n", id);
	else
		log_bare("slurm_load_jobs error: Invalid job id specified");
	return 1;
}

int scontrol_show_job(const struct scontrol_options *o, const char *id)
{
	cleanup_job_ids struct job_ids ids = JOB_IDS_INIT;
	cleanup_free char *bad = NULL;
	struct job_query query = { .over = true, .steps = true, .partitions = true };
	struct error err = ERROR_INIT;
	bool is_all = !id || !strcmp(id, "0"); /* job 0 is all, in Slurm too */
	struct jobs *jobs;
	size_t n;
	int rc;

	if (!is_all && (job_ids_parse(&ids, id, &bad) < 0 || ids.n == 0)) {
		log_bare("scontrol_print_job error: Invalid job id specified");
		return 1;
	}
	jobs = jobs_load(applet_conf(), &query, &err);
	if (!jobs) {
		log_error("%s", err.text);
		log_bare("slurm_load_jobs error: Unable to contact slurm controller (connect failure)");
		return 1;
	}
	jobs_rows(jobs, &n);
	if (!is_all)
		rc = print_selected(jobs, o, &ids, id);
	else {
		jobs_complete(jobs);
		rc = print_jobs(jobs, o);
	}
	if (is_all && !n && !o->quiet)
		puts("No jobs in the system");
	jobs_free(jobs);
	return rc;
}
