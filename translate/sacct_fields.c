/* SPDX-License-Identifier: Apache-2.0 */
/* What sacct can say of a job, its batch step and its steps: every name of Slurm 22.05, one row each. */
#include "common/duration.h"
#include "common/hostlist.h"
#include "common/mem.h"
#include "translate/job_fields.h"
#include "translate/sacct.h"

#include <grp.h>
#include <string.h>
#include <strings.h>

static bool is_job(const struct sacct_row *r)
{
	return !r->is_batch && !r->step;
}

/* --- times --- */

static time_t start_of(const struct sacct_row *r)
{
	return r->step ? (time_t)r->step->start : r->job->started;
}

static time_t end_of(const struct sacct_row *r)
{
	if (r->step && r->step->end > 0)
		return (time_t)r->step->end;
	return job_state_is_over(sacct_state(r)) ? r->job->ended : 0;
}

static int64_t seconds_of(const struct sacct_row *r)
{
	time_t end = end_of(r) ? end_of(r) : r->now;

	return start_of(r) && end > start_of(r) ? end - start_of(r) : 0;
}

static void add_time(time_t t, const char *otherwise, struct strbuf *out)
{
	if (t)
		job_time_text(t, out);
	else
		strbuf_addstr(out, otherwise);
}

static void start(const struct sacct_row *r, struct strbuf *out)
{
	add_time(start_of(r), job_state_is_over(sacct_state(r)) ? "None" : "Unknown", out);
}

static void end(const struct sacct_row *r, struct strbuf *out)
{
	add_time(end_of(r), "Unknown", out);
}

static void submitted(const struct sacct_row *r, struct strbuf *out)
{
	add_time(is_job(r) ? r->job->submitted : start_of(r), "Unknown", out);
}

/* D-HH:MM:SS */
static void add_seconds(int64_t s, struct strbuf *out)
{
	if (s >= 86400)
		strbuf_addf(out, "%lld-", (long long)(s / 86400));
	strbuf_addf(out, "%02d:%02d:%02d", (int)(s / 3600 % 24), (int)(s / 60 % 60), (int)(s % 60));
}

static void elapsed(const struct sacct_row *r, struct strbuf *out)
{
	add_seconds(seconds_of(r), out);
}

static void elapsed_raw(const struct sacct_row *r, struct strbuf *out)
{
	strbuf_addf(out, "%lld", (long long)seconds_of(r));
}

static void reserved(const struct sacct_row *r, struct strbuf *out)
{
	const struct job *j = r->job;
	time_t until = j->started ? j->started : j->ended ? j->ended : r->now;

	if (is_job(r))
		add_seconds(j->submitted && until > j->submitted ? until - j->submitted : 0, out);
}

static void time_limit(const struct sacct_row *r, struct strbuf *out)
{
	if (!is_job(r))
		return;
	if (r->job->time_limit < 0)
		strbuf_addstr(out, "UNLIMITED");
	else
		add_seconds(r->job->time_limit, out);
}

static void time_limit_raw(const struct sacct_row *r, struct strbuf *out)
{
	if (is_job(r) && r->job->time_limit >= 0)
		strbuf_addf(out, "%lld", (long long)(r->job->time_limit / 60));
}

static void zero_time(const struct sacct_row *r, struct strbuf *out)
{
	(void)r;
	strbuf_addstr(out, "00:00:00");
}

/* --- processor time and memory: what the steps' ranks used --- */

static void add_processor_time(double s, struct strbuf *out)
{
	int64_t whole = (int64_t)s;

	if (s < 0.001)
		strbuf_addstr(out, "00:00:00");
	else if (whole >= 3600)
		add_seconds(whole, out);
	else
		strbuf_addf(out, "%02d:%02d.%03d", (int)(whole / 60), (int)(whole % 60),
			    (int)((s - (double)whole) * 1000));
}

enum part { USER = 1, SYSTEM = 2 };

static void add_used(const struct sacct_row *r, int parts, struct strbuf *out)
{
	const struct record_run *run = r->job->run;
	double s = 0;

	for (size_t i = 0; !r->is_batch && run && i < run->nsteps; i++) {
		const struct record_step *step = &run->steps[i];

		if (r->step && r->step != step)
			continue;
		s += parts & USER ? step->utime : 0;
		s += parts & SYSTEM ? step->stime : 0;
	}
	add_processor_time(s, out);
}

static void user_cpu(const struct sacct_row *r, struct strbuf *out)
{
	add_used(r, USER, out);
}

static void system_cpu(const struct sacct_row *r, struct strbuf *out)
{
	add_used(r, SYSTEM, out);
}

static void total_cpu(const struct sacct_row *r, struct strbuf *out)
{
	add_used(r, USER | SYSTEM, out);
}

static void max_rss(const struct sacct_row *r, struct strbuf *out)
{
	if (r->step && r->step->maxrss > 0)
		strbuf_addf(out, "%lldK", (long long)r->step->maxrss);
}

/* --- states and codes --- */

/* The script's own end, whatever became of the job. */
static enum job_state state_of_batch(const struct sacct_row *r)
{
	const struct record_run *run = r->job->run;

	if (!run || !run->state)
		return job_state_is_over(r->job->state) ? JOB_CANCELLED : r->job->state;
	return run->signal ? JOB_CANCELLED : run->code ? JOB_FAILED : JOB_COMPLETED;
}

static enum job_state state_of_step(const struct sacct_row *r)
{
	enum job_state s;

	if (!r->step->state)
		return job_state_is_over(r->job->state) ? JOB_CANCELLED : JOB_RUNNING;
	s = job_state_parse(r->step->state, strlen(r->step->state));
	if (s == JOB_STATES || s == JOB_FAILED)
		return r->step->signal ? JOB_CANCELLED : JOB_FAILED;
	return s;
}

enum job_state sacct_state(const struct sacct_row *r)
{
	const struct record_run *run = r->job->run;
	enum job_state s = r->job->state;

	/* the engine still tidies up: Slurm's accounting has the end already, where the script's is known */
	if (s == JOB_COMPLETING && run && run->state)
		s = job_state_of_run(r->job->record, run);
	else if (s == JOB_COMPLETING)
		s = JOB_RUNNING;
	if (r->step)
		return state_of_step(r);
	return r->is_batch ? state_of_batch(r) : s;
}

static int64_t cancelled_by(const struct job *j)
{
	const struct record_cancel *c;

	if (j->run && j->run->by != RECORD_UNSET)
		return j->run->by;
	c = j->record ? record_cancel_of(j->record, j->is_array && j->npositions ? j->positions[0] : 0)
		      : NULL;
	return c ? c->by : RECORD_UNSET;
}

static void state(const struct sacct_row *r, struct strbuf *out)
{
	enum job_state s = sacct_state(r);

	strbuf_addstr(out, job_state_long(s));
	if (s == JOB_CANCELLED && is_job(r) && cancelled_by(r->job) != RECORD_UNSET)
		strbuf_addf(out, " by %lld", (long long)cancelled_by(r->job));
}

/* As Slurm's accounting has them: seven bits. */
static void add_code(int64_t code, int64_t sig, struct strbuf *out)
{
	strbuf_addf(out, "%d:%d", (int)(code & 127), (int)(sig & 127));
}

static void exit_code(const struct sacct_row *r, struct strbuf *out)
{
	const struct record_run *run = r->job->run;
	enum job_state s = sacct_state(r);

	if (r->step)
		add_code(r->step->state ? r->step->code : 0, r->step->state ? r->step->signal : 0, out);
	else if (!run || !run->state || (is_job(r) && s != JOB_FAILED && s != JOB_COMPLETED))
		add_code(0, 0, out);
	else
		add_code(run->code, run->signal, out);
}

static void derived_exit_code(const struct sacct_row *r, struct strbuf *out)
{
	const struct record_run *run = r->job->run;
	int64_t code = 0, sig = 0;

	if (!is_job(r))
		return;
	for (size_t i = 0; run && i < run->nsteps; i++) {
		const struct record_step *step = &run->steps[i];

		if (!step->state || step->code < code || (step->code == code && step->signal <= sig))
			continue;
		code = step->code;
		sig = step->signal;
	}
	add_code(code, sig, out);
}

static void reason(const struct sacct_row *r, struct strbuf *out)
{
	if (is_job(r))
		strbuf_addstr(out, r->job->reason ? r->job->reason : "None");
}

/* --- names --- */

static void add_part(const struct sacct_row *r, struct strbuf *out)
{
	if (r->is_batch)
		strbuf_addstr(out, ".batch");
	else if (r->step)
		strbuf_addf(out, ".%s", r->step->id);
}

static void job_id(const struct sacct_row *r, struct strbuf *out)
{
	cleanup_free char *id = job_name_of_id(r->job);

	strbuf_addstr(out, id);
	add_part(r, out);
}

static void job_id_raw(const struct sacct_row *r, struct strbuf *out)
{
	strbuf_addf(out, "%llu", (unsigned long long)job_number(r->job));
	add_part(r, out);
}

static void job_name(const struct sacct_row *r, struct strbuf *out)
{
	if (r->is_batch)
		strbuf_addstr(out, "batch");
	else if (r->step)
		strbuf_addstr(out, r->step->name ? r->step->name : "");
	else
		strbuf_addstr(out, job_title(r->job));
}

static void partition(const struct sacct_row *r, struct strbuf *out)
{
	if (is_job(r) && r->job->partition)
		strbuf_addstr(out, r->job->partition);
}

static void account(const struct sacct_row *r, struct strbuf *out)
{
	if (r->job->record && r->job->record->account)
		strbuf_addstr(out, r->job->record->account);
}

static void qos(const struct sacct_row *r, struct strbuf *out)
{
	const struct record_job *record = r->job->record;

	if (is_job(r))
		strbuf_addstr(out, record && record->qos ? record->qos : "normal");
}

static void comment(const struct sacct_row *r, struct strbuf *out)
{
	if (is_job(r) && r->job->record && r->job->record->comment)
		strbuf_addstr(out, r->job->record->comment);
}

static void work_dir(const struct sacct_row *r, struct strbuf *out)
{
	if (is_job(r) && r->job->record && r->job->record->work_dir)
		strbuf_addstr(out, r->job->record->work_dir);
}

static void cluster(const struct sacct_row *r, struct strbuf *out)
{
	strbuf_addstr(out, r->conf->cluster_name);
}

static void user(const struct sacct_row *r, struct strbuf *out)
{
	if (is_job(r))
		strbuf_addstr(out, r->job->user);
}

static void uid(const struct sacct_row *r, struct strbuf *out)
{
	if (is_job(r))
		strbuf_addf(out, "%lld", (long long)(int)r->job->uid);
}

static void add_group(const struct sacct_row *r, bool number, struct strbuf *out)
{
	const struct passwd *pw = is_job(r) ? getpwuid(r->job->uid) : NULL;
	const struct group *gr;

	if (!pw)
		return;
	gr = number ? NULL : getgrgid(pw->pw_gid);
	if (gr)
		strbuf_addstr(out, gr->gr_name);
	else
		strbuf_addf(out, "%u", (unsigned)pw->pw_gid);
}

static void group(const struct sacct_row *r, struct strbuf *out)
{
	add_group(r, false, out);
}

static void gid(const struct sacct_row *r, struct strbuf *out)
{
	add_group(r, true, out);
}

/* --- places --- */

static void nodes_of(const struct sacct_row *r, struct hostlist *hosts)
{
	if (r->step)
		for (size_t i = 0; i < r->step->nodes.n; i++)
			hostlist_push(hosts, r->step->nodes.v[i]);
	else
		job_hosts(r->job, hosts);
}

static void node_list(const struct sacct_row *r, struct strbuf *out)
{
	cleanup_hostlist struct hostlist hosts = HOSTLIST_INIT;
	cleanup_free char *text = NULL;

	nodes_of(r, &hosts);
	if (!hosts.names.n) {
		strbuf_addstr(out, "None assigned");
		return;
	}
	text = r->is_batch ? xstrdup(hosts.names.v[0]) : hostlist_ranged(&hosts);
	strbuf_addstr(out, text);
}

static size_t count_nodes(const struct sacct_row *r)
{
	return r->is_batch ? 1 : r->step ? r->step->nodes.n : r->job->nodes;
}

static void nnodes(const struct sacct_row *r, struct strbuf *out)
{
	strbuf_addf(out, "%zu", count_nodes(r));
}

/* A step has its nodes' CPUs, as under Slurm without --exact. */
static uint32_t count_cpus(const struct sacct_row *r)
{
	const struct record_run *run = r->job->run;
	uint32_t n = 0;

	if (is_job(r) || !run || !run->nslots)
		return r->job->cpus;
	if (r->is_batch)
		return run->slots[0];
	for (size_t i = 0; i < run->nslots && i < run->nodes.n; i++)
		for (size_t k = 0; k < r->step->nodes.n; k++)
			if (!strcmp(run->nodes.v[i], r->step->nodes.v[k]))
				n += run->slots[i];
	return n;
}

static void ncpus(const struct sacct_row *r, struct strbuf *out)
{
	strbuf_addf(out, "%u", count_cpus(r));
}

static void cpu_time(const struct sacct_row *r, struct strbuf *out)
{
	add_seconds(seconds_of(r) * count_cpus(r), out);
}

static void cpu_time_raw(const struct sacct_row *r, struct strbuf *out)
{
	strbuf_addf(out, "%lld", (long long)seconds_of(r) * count_cpus(r));
}

static void ntasks(const struct sacct_row *r, struct strbuf *out)
{
	if (r->is_batch)
		strbuf_addstr(out, "1");
	else if (r->step && r->step->ntasks >= 0)
		strbuf_addf(out, "%lld", (long long)r->step->ntasks);
}

static void tres(const struct sacct_row *r, struct strbuf *out)
{
	if (start_of(r))
		strbuf_addf(out, "cpu=%u,node=%zu", count_cpus(r), count_nodes(r));
}

/* --- the table, in the order of --helpformat --- */

const struct sacct_field sacct_fields[] = {
	{ "Account", 10, account },
	{ "AdminComment", 19, NULL },
	{ "AllocCPUS", 10, ncpus },
	{ "AllocNodes", 10, nnodes },
	{ "AllocTRES", 10, tres },
	{ "AssocID", 7, NULL },
	{ "AveCPU", 10, NULL },
	{ "AveCPUFreq", 10, NULL },
	{ "AveDiskRead", 14, NULL },
	{ "AveDiskWrite", 14, NULL },
	{ "AvePages", 10, NULL },
	{ "AveRSS", 10, NULL },
	{ "AveVMSize", 10, NULL },
	{ "BlockID", 16, NULL },
	{ "Cluster", 10, cluster },
	{ "Comment", 14, comment },
	{ "Constraints", 19, NULL },
	{ "ConsumedEnergy", 14, NULL },
	{ "ConsumedEnergyRaw", 17, NULL },
	{ "Container", 13, NULL },
	{ "CPUTime", 10, cpu_time },
	{ "CPUTimeRAW", 10, cpu_time_raw },
	{ "DBIndex", 10, NULL },
	{ "DerivedExitCode", 15, derived_exit_code },
	{ "Elapsed", 10, elapsed },
	{ "ElapsedRaw", 10, elapsed_raw },
	{ "Eligible", 19, submitted },
	{ "End", 19, end },
	{ "ExitCode", 8, exit_code },
	{ "Flags", 17, NULL },
	{ "GID", 6, gid },
	{ "Group", 9, group },
	{ "JobID", -12, job_id },
	{ "JobIDRaw", -12, job_id_raw },
	{ "JobName", 10, job_name },
	{ "Layout", 9, NULL },
	{ "MaxDiskRead", 12, NULL },
	{ "MaxDiskReadNode", 15, NULL },
	{ "MaxDiskReadTask", 15, NULL },
	{ "MaxDiskWrite", 12, NULL },
	{ "MaxDiskWriteNode", 16, NULL },
	{ "MaxDiskWriteTask", 16, NULL },
	{ "MaxPages", 8, NULL },
	{ "MaxPagesNode", 12, NULL },
	{ "MaxPagesTask", 14, NULL },
	{ "MaxRSS", 10, max_rss },
	{ "MaxRSSNode", 10, NULL },
	{ "MaxRSSTask", 10, NULL },
	{ "MaxVMSize", 10, NULL },
	{ "MaxVMSizeNode", 14, NULL },
	{ "MaxVMSizeTask", 14, NULL },
	{ "McsLabel", 9, NULL },
	{ "MinCPU", 10, NULL },
	{ "MinCPUNode", 10, NULL },
	{ "MinCPUTask", 10, NULL },
	{ "NCPUS", 10, ncpus },
	{ "NNodes", 8, nnodes },
	{ "NodeList", 15, node_list },
	{ "NTasks", 8, ntasks },
	{ "Partition", 10, partition },
	{ "Priority", 10, NULL },
	{ "QOS", 10, qos },
	{ "QOSRAW", 10, NULL },
	{ "Reason", 22, reason },
	{ "ReqCPUFreq", 10, NULL },
	{ "ReqCPUFreqGov", 13, NULL },
	{ "ReqCPUFreqMax", 13, NULL },
	{ "ReqCPUFreqMin", 13, NULL },
	{ "ReqCPUS", 8, ncpus },
	{ "ReqMem", 10, NULL },
	{ "ReqNodes", 8, nnodes },
	{ "ReqTRES", 10, NULL },
	{ "Reservation", 20, NULL },
	{ "ReservationId", 13, NULL },
	{ "Reserved", 10, reserved },
	{ "ResvCPU", 10, NULL },
	{ "ResvCPURAW", 10, NULL },
	{ "Start", 19, start },
	{ "State", 10, state },
	{ "Submit", 19, submitted },
	{ "SubmitLine", 20, NULL },
	{ "Suspended", 10, zero_time },
	{ "SystemComment", 19, NULL },
	{ "SystemCPU", 10, system_cpu },
	{ "Timelimit", 10, time_limit },
	{ "TimelimitRaw", 12, time_limit_raw },
	{ "TotalCPU", 10, total_cpu },
	{ "TRESUsageInAve", 14, NULL },
	{ "TRESUsageInMax", 14, NULL },
	{ "TRESUsageInMaxNode", 18, NULL },
	{ "TRESUsageInMaxTask", 18, NULL },
	{ "TRESUsageInMin", 14, NULL },
	{ "TRESUsageInMinNode", 18, NULL },
	{ "TRESUsageInMinTask", 18, NULL },
	{ "TRESUsageInTot", 14, NULL },
	{ "TRESUsageOutAve", 15, NULL },
	{ "TRESUsageOutMax", 15, NULL },
	{ "TRESUsageOutMaxNode", 19, NULL },
	{ "TRESUsageOutMaxTask", 19, NULL },
	{ "TRESUsageOutMin", 15, NULL },
	{ "TRESUsageOutMinNode", 19, NULL },
	{ "TRESUsageOutMinTask", 19, NULL },
	{ "TRESUsageOutTot", 15, NULL },
	{ "UID", 6, uid },
	{ "User", 9, user },
	{ "UserCPU", 10, user_cpu },
	{ "WCKey", 10, NULL },
	{ "WCKeyID", 8, NULL },
	{ "WorkDir", 20, work_dir },
};
const size_t sacct_nfields = ARRAY_SIZE(sacct_fields);

const struct sacct_field *sacct_field_by_name(const char *name)
{
	for (size_t i = 0; i < sacct_nfields; i++)
		if (!strcasecmp(sacct_fields[i].name, name))
			return &sacct_fields[i];
	return NULL;
}
