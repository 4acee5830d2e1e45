/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/job_fields.h"

#include "common/duration.h"
#include "common/fd.h"
#include "common/mem.h"
#include "ocs/jobspec.h"
#include "ocs/spool.h"
#include "translate/format.h"

#include <grp.h>
#include <string.h>
#include <strings.h>

enum { MAX_JOBSPEC = 64 << 20 }; /* bytes of a job file: more than it can have */

const char job_format_all[] =
	"%a|%b|%c|%d|%e|%f|%g|%h|%i|%j|%k|%l|%m|%n|%o|%p|%q|%r|%s|%t|%u|%v|%w|%x|%y|%z|%A|%B|%C"
	"|%D|%E|%F|%G|%H|%I|%J|%K|%L|%M|%N|%O|%P|%Q|%R|%S|%T|%U|%V|%W|%X|%Y|%Z";

/* --- times --- */

static void add_relative(const struct tm *tm, time_t t, struct strbuf *out)
{
	time_t now = time(NULL);
	long days = (long)((t - now) / 86400);
	char text[64];
	struct tm today;

	localtime_r(&now, &today);
	if (tm->tm_year == today.tm_year && tm->tm_yday == today.tm_yday)
		strftime(text, sizeof(text), "%H:%M:%S", tm);
	else if (days > -7 && days < 7)
		strftime(text, sizeof(text), "%a %H:%M", tm);
	else
		strftime(text, sizeof(text), "%-d %b %H:%M", tm);
	strbuf_addstr(out, text);
}

void job_time_text(time_t t, struct strbuf *out)
{
	const char *format = getenv("SLURM_TIME_FORMAT");
	char text[256];
	struct tm tm;

	if (t == 0) {
		strbuf_addstr(out, "N/A");
		return;
	}
	localtime_r(&t, &tm);
	if (format && !strcmp(format, "relative")) {
		add_relative(&tm, t, out);
		return;
	}
	if (!format || !*format || !strcmp(format, "standard"))
		format = "%Y-%m-%dT%H:%M:%S";
		/* the format is the user's own, as it is in Slurm */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (strftime(text, sizeof(text), format, &tm) == 0)
		*text = '\0';
#pragma GCC diagnostic pop
	strbuf_addstr(out, text);
}

int64_t job_time_used(const struct job *j, time_t now)
{
	time_t end = j->ended ? j->ended : now;

	if (!j->started || end < j->started)
		return 0;
	return end - j->started;
}

static void add_duration(int64_t seconds, struct strbuf *out)
{
	cleanup_free char *text = duration_format_short(seconds);

	strbuf_addstr(out, text);
}

static void add_limit(int64_t seconds, struct strbuf *out)
{
	if (seconds < 0)
		strbuf_addstr(out, "UNLIMITED");
	else
		add_duration(seconds, out);
}

static void time_limit(const struct job_view *v, struct strbuf *out)
{
	add_limit(v->job->time_limit, out);
}

static void time_left(const struct job_view *v, struct strbuf *out)
{
	int64_t left = v->job->time_limit - job_time_used(v->job, v->now);

	if (v->job->time_limit < 0)
		strbuf_addstr(out, "UNLIMITED");
	else
		add_duration(left > 0 ? left : 0, out);
}

static void time_used(const struct job_view *v, struct strbuf *out)
{
	add_duration(job_time_used(v->job, v->now), out);
}

static void submit_time(const struct job_view *v, struct strbuf *out)
{
	job_time_text(v->job->submitted, out);
}

static void start_time(const struct job_view *v, struct strbuf *out)
{
	job_time_text(v->job->started, out);
}

static void end_time(const struct job_view *v, struct strbuf *out)
{
	const struct job *j = v->job;

	if (j->ended)
		job_time_text(j->ended, out);
	else if (j->started && j->time_limit < 0)
		strbuf_addstr(out, "NONE");
	else
		job_time_text(j->started ? j->started + j->time_limit : 0, out);
}

static void pending_time(const struct job_view *v, struct strbuf *out)
{
	time_t end = v->job->started ? v->job->started : v->now;

	strbuf_addf(out, "%lld", (long long)(v->job->submitted ? end - v->job->submitted : 0));
}

/* --- names and numbers --- */

static void add_or(const char *s, const char *otherwise, struct strbuf *out)
{
	strbuf_addstr(out, s ? s : otherwise);
}

#define RECORDED(member, otherwise)                                                                          \
	static void member(const struct job_view *v, struct strbuf *out)                                     \
	{                                                                                                    \
		add_or(v->job->record ? v->job->record->member : NULL, otherwise, out);                      \
	}
RECORDED(account, "(null)")
RECORDED(qos, "normal")
RECORDED(comment, "(null)")
RECORDED(work_dir, "(null)")
RECORDED(std_err, "(null)")
RECORDED(std_out, "(null)")

/* With its arguments, from the spool folder of one's own job: all may read the record, it has the script's path alone. */
static char *own_command(const struct job_view *v)
{
	const struct record_job *r = v->job->record;
	cleanup_free char *root = conf_spool_dir(v->conf, NULL);
	cleanup_free char *dir = NULL;
	cleanup_spool struct spool spool = SPOOL_INIT;
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	cleanup_jobspec struct jobspec spec = JOBSPEC_INIT;

	if (!root || !r->spool || r->uid != geteuid())
		return NULL;
	dir = xasprintf("%s/%s/%s", root, v->conf->cluster_name, r->spool);
	if (spool_open(&spool, dir, NULL) < 0 ||
	    fd_read_file(spool.fd, "job", MAX_JOBSPEC, &text, NULL) < 0 ||
	    jobspec_unpack(&spec, text.buf, text.len, NULL) < 0 || !spec.command)
		return NULL;
	return xstrdup(spec.command);
}

void job_command(const struct job_view *v, struct strbuf *out)
{
	const struct record_job *r = v->job->record;
	cleanup_free char *own = r && r->command ? own_command(v) : NULL;

	add_or(own ? own : r ? r->command : NULL, "(null)", out);
}

static void id_text(const struct job_view *v, struct strbuf *out)
{
	cleanup_free char *text = job_name_of_id(v->job);

	strbuf_addstr(out, text);
}

static void number(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%llu", (unsigned long long)job_number(v->job));
}

static void array_job(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%llu", (unsigned long long)v->job->id);
}

static void array_task(const struct job_view *v, struct strbuf *out)
{
	cleanup_free char *text = job_array_text(v->job);

	add_or(text, "N/A", out);
}

static void title(const struct job_view *v, struct strbuf *out)
{
	strbuf_addstr(out, job_title(v->job));
}

static void user(const struct job_view *v, struct strbuf *out)
{
	strbuf_addstr(out, v->job->user);
}

static void user_id(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%ld", (long)(int)v->job->uid);
}

/* (gid_t)-1: the user isn't known on this host. */
static gid_t group_of(const struct job_view *v)
{
	const struct passwd *pw = v->job->uid == (uid_t)-1 ? NULL : getpwuid(v->job->uid);

	return pw ? pw->pw_gid : (gid_t)-1;
}

static void group_id(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%ld", (long)(int)group_of(v));
}

static void group_name(const struct job_view *v, struct strbuf *out)
{
	const struct group *gr = getgrgid(group_of(v));

	add_or(gr ? gr->gr_name : NULL, "nobody", out);
}

static void partition(const struct job_view *v, struct strbuf *out)
{
	strbuf_addstr(out, v->job->partition);
}

static void cluster(const struct job_view *v, struct strbuf *out)
{
	strbuf_addstr(out, v->conf->cluster_name);
}

static void state_long(const struct job_view *v, struct strbuf *out)
{
	strbuf_addstr(out, job_state_long(v->job->state));
}

static void state_compact(const struct job_view *v, struct strbuf *out)
{
	strbuf_addstr(out, job_state_compact(v->job->state));
}

static void reason(const struct job_view *v, struct strbuf *out)
{
	strbuf_addstr(out, v->job->reason);
}

static void node_list(const struct job_view *v, struct strbuf *out)
{
	cleanup_hostlist struct hostlist hosts = HOSTLIST_INIT;
	cleanup_free char *text = NULL;

	job_hosts(v->job, &hosts);
	text = hostlist_ranged(&hosts);
	strbuf_addstr(out, text);
}

/* Why it isn't running, or where it is. */
static void reason_list(const struct job_view *v, struct strbuf *out)
{
	enum job_state s = v->job->state;

	if (s == JOB_PENDING || s == JOB_TIMEOUT || s == JOB_OUT_OF_MEMORY || s == JOB_DEADLINE ||
	    s == JOB_FAILED)
		strbuf_addf(out, "(%s)", v->job->reason);
	else
		node_list(v, out);
}

static void batch_host(const struct job_view *v, struct strbuf *out)
{
	cleanup_hostlist struct hostlist hosts = HOSTLIST_INIT;

	job_hosts(v->job, &hosts);
	strbuf_addstr(out, hosts.names.n ? hosts.names.v[0] : "n/a");
}

static void cpus(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%u", v->job->cpus);
}

static void nodes(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%u", v->job->nodes);
}

static void tasks(const struct job_view *v, struct strbuf *out)
{
	const struct record_job *r = v->job->record;

	strbuf_addf(out, "%lld", (long long)(r && r->ntasks > 0 ? r->ntasks : v->job->cpus));
}

static void cpus_per_task(const struct job_view *v, struct strbuf *out)
{
	const struct record_job *r = v->job->record;

	strbuf_addf(out, "%lld", (long long)(r && r->cpus_per_task > 0 ? r->cpus_per_task : 1));
}

static void tres(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "cpu=%u,node=%u,billing=%u", v->job->cpus, v->job->nodes, v->job->cpus);
}

/* A held job has none, as in Slurm. */
static double priority_of(const struct job *j)
{
	bool is_held = j->engine && j->state == JOB_PENDING && strchr(j->engine->state, 'h');

	return j->engine && !is_held ? j->engine->priority : 0;
}

static void priority(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%.14f", priority_of(v->job));
}

/* The engine's is a share of one; Slurm's two forms differ by UINT32_MAX. */
static void priority_long(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%.0f", priority_of(v->job) * UINT32_MAX);
}

/* "afterany:7(unfulfilled)": the engine's -hold_jid waits for any end. */
static void dependency(const struct job_view *v, struct strbuf *out)
{
	const char *p = v->job->engine ? v->job->engine->predecessors : NULL;

	if (v->job->dependency || !p) {
		strbuf_addstr(out, v->job->dependency ? v->job->dependency : "(null)");
		return;
	}
	for (const char *sep = ""; *p; sep = ",") {
		size_t n = strcspn(p, ",");

		strbuf_addf(out, "%safterany:%.*s(unfulfilled)", sep, (int)n, p);
		p += n + (p[n] == ',');
	}
}

static void eligible_time(const struct job_view *v, struct strbuf *out)
{
	job_time_text(job_eligible(v->job), out);
}

static void deadline(const struct job_view *v, struct strbuf *out)
{
	job_time_text(v->job->record ? (time_t)v->job->record->deadline : 0, out);
}

static void restarts(const struct job_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%u", job_restarts(v->job));
}

/* A wait status, as Slurm has it. */
static void exit_code(const struct job_view *v, struct strbuf *out)
{
	const struct record_run *run = v->job->run;

	strbuf_addf(out, "%lld", run && run->state ? (long long)(run->code << 8 | run->signal) : 0);
}

/* --- orders --- */

#define ORDER(name, expression)                                                                              \
	static int order_##name(const struct job *a, const struct job *b)                                    \
	{                                                                                                    \
		return (a->expression) < (b->expression) ? -1 : (a->expression) > (b->expression);           \
	}
ORDER(cpus, cpus)
ORDER(nodes, nodes)
ORDER(started, started)
ORDER(submitted, submitted)
ORDER(time_limit, time_limit)
ORDER(uid, uid)

static int order_id(const struct job *a, const struct job *b)
{
	uint32_t x = a->is_array ? job_index(a) : 0, y = b->is_array ? job_index(b) : 0;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int order_priority(const struct job *a, const struct job *b)
{
	double x = priority_of(a), y = priority_of(b);

	return x < y ? -1 : x > y;
}

static int order_used(const struct job *a, const struct job *b)
{
	time_t now = time(NULL);
	int64_t x = job_time_used(a, now), y = job_time_used(b, now);

	return x < y ? -1 : x > y;
}

/* --- the table --- */

static const struct job_field fields[] = {
	{ 'a', "Account", "ACCOUNT", account },
	{ 'A', "JobID", "JOBID", number, order_id },
	{ 'b', "tres-per-node", "TRES_PER_NODE", .constant = "N/A" },
	{ 'B', "BatchHost", "EXEC_HOST", batch_host },
	{ 'c', "MinCpus", "MIN_CPUS", cpus_per_task },
	{ 'C', "NumCPUs", "CPUS", cpus, order_cpus },
	{ 'd', "MinTmpDisk", "MIN_TMP_DISK", .constant = "0" },
	{ 'D', "NumNodes", "NODES", nodes, order_nodes },
	{ 'e', "EndTime", "END_TIME", end_time },
	{ 'E', "Dependency", "DEPENDENCY", dependency },
	{ 'f', "Feature", "FEATURES", .constant = "(null)" },
	{ 'F', "ArrayJobID", "ARRAY_JOB_ID", array_job, order_id },
	{ 'g', "GroupName", "GROUP", group_name },
	{ 'G', "GroupID", "GROUP", group_id },
	{ 'h', "OverSubscribe", "OVER_SUBSCRIBE", .constant = "OK" },
	{ 'H', "Sockets", "SOCKETS_PER_NODE", .constant = "*" },
	{ 'i', "JobArrayID", "JOBID", id_text, order_id },
	{ 'I', "Cores", "CORES_PER_SOCKET", .constant = "*" },
	{ 'j', "Name", "NAME", title },
	{ 'J', "Threads", "THREADS_PER_CORE", .constant = "*" },
	{ 'k', "Comment", "COMMENT", comment },
	{ 'K', "ArrayTaskID", "ARRAY_TASK_ID", array_task, order_id },
	{ 'l', "TimeLimit", "TIME_LIMIT", time_limit, order_time_limit },
	{ 'L', "TimeLeft", "TIME_LEFT", time_left },
	{ 'm', "MinMemory", "MIN_MEMORY", .constant = "0" },
	{ 'M', "TimeUsed", "TIME", time_used, order_used },
	{ 'n', "ReqNodes", "REQ_NODES", .constant = "" },
	{ 'N', "NodeList", "NODELIST", node_list },
	{ 'o', "Command", "COMMAND", job_command },
	{ 'O', "Contiguous", "CONTIGUOUS", .constant = "0" },
	{ 'p', "Priority", "PRIORITY", priority, order_priority },
	{ 'P', "Partition", "PARTITION", partition },
	{ 'q', "QOS", "QOS", qos },
	{ 'Q', "PriorityLong", "PRIORITY", priority_long, order_priority },
	{ 'r', "Reason", "REASON", reason },
	{ 'R', "ReasonList", "NODELIST(REASON)", reason_list },
	{ 's', "SelectJobInfo", "", .constant = "" },
	{ 'S', "StartTime", "START_TIME", start_time, order_started },
	{ 't', "StateCompact", "ST", state_compact },
	{ 'T', "State", "STATE", state_long },
	{ 'u', "UserName", "USER", user },
	{ 'U', "UserID", "UID", user_id, order_uid },
	{ 'v', "Reservation", "RESERVATION", .constant = "(null)" },
	{ 'V', "SubmitTime", "SUBMIT_TIME", submit_time, order_submitted },
	{ 'w', "WCKey", "WCKEY", .constant = "(null)" },
	{ 'W', "Licenses", "LICENSES", .constant = "(null)" },
	{ 'x', "ExcNodes", "EXC_NODES", .constant = "" },
	{ 'X', "CoreSpec", "CORE_SPEC", .constant = "N/A" },
	{ 'y', "Nice", "NICE", .constant = "0" },
	{ 'Y', "SchedNodes", "SCHEDNODES", .constant = "(null)" },
	{ 'z', "sct", "S:C:T", .constant = "*:*:*" },
	{ 'Z', "WorkDir", "WORK_DIR", work_dir },
	{ 0, "AccrueTime", "ACCRUE_TIME", submit_time },
	{ 0, "admin_comment", "ADMIN_COMMENT", .constant = "(null)" },
	{ 0, "BatchFlag", "BATCH_FLAG", .constant = "1" },
	{ 0, "Cluster", "CLUSTER", cluster },
	{ 0, "Container", "CONTAINER", .constant = "(null)" },
	{ 0, "cpus-per-task", "CPUS_PER_TASK", cpus_per_task },
	{ 0, "cpus-per-tres", "CPUS_PER_TRES", .constant = "N/A" },
	{ 0, "Deadline", "DEADLINE", deadline },
	{ 0, "DelayBoot", "DELAY_BOOT", .constant = "0:00" },
	{ 0, "DerivedEC", "DERIVED_EC", .constant = "0" },
	{ 0, "EligibleTime", "ELIGIBLE_TIME", eligible_time },
	{ 0, "exit_code", "EXIT_CODE", exit_code },
	{ 0, "HetJobID", "HET_JOB_ID", .constant = "N/A" },
	{ 0, "HetJobOffset", "HET_JOB_OFFSET", .constant = "N/A" },
	{ 0, "MaxCPUs", "MAX_CPUS", cpus },
	{ 0, "MaxNodes", "MAX_NODES", nodes },
	{ 0, "mem-per-tres", "MEM_PER_TRES", .constant = "N/A" },
	{ 0, "MinTime", "TIME_MIN", .constant = "0:00" },
	{ 0, "Network", "NETWORK", .constant = "(null)" },
	{ 0, "NTPerNode", "NTASKS_PER_NODE", .constant = "0" },
	{ 0, "NTPerCore", "NTASKS_PER_CORE", .constant = "N/A" },
	{ 0, "NTPerSocket", "NTASKS_PER_SOCKET", .constant = "N/A" },
	{ 0, "NumTasks", "TASKS", tasks },
	{ 0, "PendingTime", "PENDING_TIME", pending_time },
	{ 0, "PreemptTime", "PREEMPT_TIME", .constant = "N/A" },
	{ 0, "Reboot", "REBOOT", .constant = "0" },
	{ 0, "RestartCnt", "RESTART_COUNT", restarts },
	{ 0, "STDERR", "STDERR", std_err },
	{ 0, "STDIN", "STDIN", .constant = "/dev/null" },
	{ 0, "STDOUT", "STDOUT", std_out },
	{ 0, "system_comment", "SYSTEM_COMMENT", .constant = "(null)" },
	{ 0, "tres-alloc", "TRES_ALLOC", tres },
	{ 0, "tres-bind", "TRES_BIND", .constant = "N/A" },
	{ 0, "tres-freq", "TRES_FREQ", .constant = "N/A" },
	{ 0, "tres-per-job", "TRES_PER_JOB", .constant = "N/A" },
	{ 0, "tres-per-socket", "TRES_PER_SOCKET", .constant = "N/A" },
	{ 0, "tres-per-task", "TRES_PER_TASK", .constant = "N/A" },
};

const struct job_field *job_field_at(int field)
{
	return &fields[field];
}

int job_field_by_letter(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].letter && fields[i].letter == letter)
			return (int)i;
	return FORMAT_LITERAL;
}

int job_field_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!strcasecmp(fields[i].name, name))
			return (int)i;
	return FORMAT_LITERAL;
}

void job_field_value(int field, const struct job_view *v, struct strbuf *out)
{
	if (fields[field].value)
		fields[field].value(v, out);
	else
		strbuf_addstr(out, fields[field].constant);
}
