/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/submit_private.h"

#include "common/duration.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "ocs/jobspec.h"
#include "ocs/qstat.h"
#include "ocs/record.h"
#include "translate/emit_qsub.h"
#include "translate/reservation.h"
#include "translate/stub.h"

#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SWEEP_INTERVAL (60 * 60) /* s */
#define SWEEP_AGE (24 * 60 * 60) /* s without a change in the folder */
/*
 * No fsync: close-to-open is what other hosts need, and sbatch's own death can't undo what it wrote. Seven waits for a
 * disk would be most of sbatch's time; a machine that loses its page cache loses at worst a job that waits there, which
 * then says that its job file is malformed (Slurm's controller saves jobs every few seconds, too).
 */
#define SYNC false

static void attempt_release(struct attempt *a)
{
	place_release(&a->place);
	depend_submission_release(&a->depend);
	spool_release(&a->spool);
	strbuf_release(&a->reasons);
	free(a->root);
	free(a->cluster);
	free(a->reservation);
	free(a->options);
	free(a->stub);
	free(a->work_dir);
}

#define cleanup_attempt cleanup(attempt_release)

/* --- the job file --- */

static void fill_launch(struct launch_settings *l, const struct conf *c)
{
	l->port_first = (uint16_t)c->port_first;
	l->port_last = (uint16_t)c->port_last;
	l->launch_timeout = seconds(c->launch_timeout);
	l->control_timeout = seconds(c->control_timeout);
	l->ping_interval = seconds(c->ping_interval);
	l->auth_timeout = seconds(c->auth_timeout);
	l->race_retry = seconds(c->race_retry);
	l->slot_retry = seconds(c->slot_retry);
	l->kill_wait = seconds(c->kill_wait);
	l->launch_window = seconds(c->launch_window);
	l->kill_on_bad_exit = c->kill_on_bad_exit;
	l->interface = xstrdup(c->interface);
	l->container_runtimes = xstrdup(c->container_runtimes);
	l->accounting_dir = xstrdup(c->accounting_dir);
	l->cluster_name = xstrdup(c->cluster_name);
}

static mode_t current_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

static void fill_strings(struct jobspec *j, const struct attempt *a)
{
	const struct request *r = a->s->request;
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	j->name = xstrdup(a->s->name);
	j->partition = xstrdup(r->partition ? r->partition : a->s->conf->default_partition);
	j->account = xstrdup(r->account);
	j->qos = xstrdup(r->qos);
	j->comment = xstrdup(r->comment);
	j->command = xstrdup(a->s->command);
	j->submit_dir = xstrdup(a->s->cwd);
	j->submit_host = xstrdup(host);
	j->work_dir = xstrdup(a->work_dir);
	j->std_in = xstrdup(r->std_in);
	j->std_out = xstrdup(r->std_out);
	j->std_err = xstrdup(r->std_err);
	j->distribution = xstrdup(r->distribution);
}

static uint32_t mebibytes(const struct size_request *size)
{
	if (size->mib == SIZE_UNSET)
		return JOBSPEC_UNSET;
	return size->mib < JOBSPEC_UNSET ? (uint32_t)size->mib : JOBSPEC_UNSET - 1;
}

static void fill_resources(struct jobspec *j, const struct attempt *a)
{
	const struct request *r = a->s->request;

	j->exclusive = r->exclusive;
	j->mem_per_node_mib = mebibytes(&r->mem);
	j->mem_per_cpu_mib = mebibytes(&r->mem_per_cpu);
	j->mem_per_gpu_mib = mebibytes(&r->mem_per_gpu);
	j->cpus_per_gpu = r->cpus_per_gpu;
	j->gpu_maps = a->place.resources.gpu_maps.len ? xstrdup(a->place.resources.gpu_maps.buf) : NULL;
	j->gpus = xstrdup(r->gpus.text);
	j->gpus_per_node = xstrdup(r->gpus_per_node.text);
	j->gpus_per_task = xstrdup(r->gpus_per_task.text);
}

static void fill_jobspec(struct jobspec *j, const struct attempt *a)
{
	const struct request *r = a->s->request;

	jobspec_init(j);
	fill_strings(j, a);
	j->open_mode = r->open_mode;
	j->umask = current_umask();
	if (r->export_spec && strcmp(r->export_spec, "ALL")) {
		j->export_none_env = true;
		j->export_env = xstrdup(r->export_spec);
	}
	j->get_user_env = r->get_user_env || j->export_none_env;
	j->min_nodes = r->nodes.min;
	j->max_nodes = r->nodes.max;
	j->ntasks = r->ntasks;
	j->ntasks_per_node = r->ntasks_per_node;
	j->cpus_per_task = r->cpus_per_task;
	j->slots_per_host = a->place.geometry.per_host;
	j->overcommit = r->overcommit;
	j->time_limit = r->time_limit;
	j->signal_number = r->signal.number;
	j->signal_before = r->signal.before;
	j->signal_batch_only = r->signal.batch_only;
	j->requeue = r->requeue != 0;
	j->deadline = r->deadline;
	j->time_min = r->time_min;
	fill_resources(j, a);
	if (r->array.count) {
		j->array_index = xmemdup(r->array.index, r->array.count * sizeof(*r->array.index));
		j->array_count = r->array.count;
		j->array_step = r->array.step;
	}
	fill_launch(&j->launch, a->s->conf);
}

/* --- the spool folder --- */

static void pack_args(struct strbuf *out, const struct argvec *args)
{
	for (size_t i = 0; i < args->n; i++)
		strbuf_add(out, args->v[i], strlen(args->v[i]) + 1);
}

static int write_stub(struct attempt *a, struct error *err)
{
	cleanup_free char *minder = path_sibling("minder", err);
	cleanup_free char *launch = minder ? path_sibling("shim-launch", err) : NULL;
	cleanup_strbuf struct strbuf stub = STRBUF_INIT;

	if (!launch)
		return -1;
	stub_write(&stub, minder, launch, a->spool.dir, a->work_dir);
	a->stub = path_join(a->spool.dir, "stub");
	return path_write_newat(a->spool.fd, "stub", 0700, stub.buf, stub.len, SYNC, err);
}

/* The context goes by a file: what is on qsub's command line stays in the engine's accounting for ever. */
static int write_options(struct attempt *a, struct error *err)
{
	cleanup_free char *context = emit_context(a->s->request, a->s->name, a->spool.uuid);
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "-ac soo=%s\n", context);
	a->options = path_join(a->spool.dir, "options");
	return path_write_newat(a->spool.fd, "options", 0600, text.buf, text.len, SYNC, err);
}

static int write_files(struct attempt *a, struct error *err)
{
	cleanup_jobspec struct jobspec job;
	cleanup_strbuf struct strbuf packed = STRBUF_INIT, args = STRBUF_INIT, env = STRBUF_INIT;
	int fd = a->spool.fd;

	fill_jobspec(&job, a);
	jobspec_pack(&job, &packed);
	pack_args(&args, &a->s->args);
	env_pack(&a->s->env, &env);
	if (path_write_newat(fd, "job", 0600, packed.buf, packed.len, SYNC, err) < 0 ||
	    path_write_newat(fd, "script", 0700, a->s->script, a->s->script_len, SYNC, err) < 0 ||
	    path_write_newat(fd, "args", 0600, args.buf, args.len, SYNC, err) < 0 ||
	    path_write_newat(fd, "env", 0600, env.buf, env.len, SYNC, err) < 0 || write_options(a, err) < 0 ||
	    depend_submission_write(&a->depend, fd, err) < 0 || write_stub(a, err) < 0)
		return error_wrap(err, "spool folder %s", a->spool.dir);
	return 0;
}

/* --- afterwards --- */

static void add_indexes(struct record *rec, const struct array_request *array)
{
	if (!array->count)
		return;
	strbuf_addstr(&rec->json, ",\"array\":[");
	for (uint32_t i = 0; i < array->count; i++)
		strbuf_addf(&rec->json, i ? ",%u" : "%u", array->index[i]);
	strbuf_addch(&rec->json, ']');
	if (array->limit)
		record_int(rec, "array_limit", array->limit);
}

static void add_given(struct record *rec, const char *key, uint32_t n)
{
	if (n != REQUEST_UNSET)
		record_int(rec, key, n);
}

static void add_dependency(struct record *rec, const struct depend *list)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	depend_format(list, &text);
	if (text.len)
		record_str(rec, "dependency", text.buf);
}

/* What scontrol shows of when and how often it may run. */
static void add_times(struct record *rec, const struct request *r)
{
	if (r->time_min)
		record_int(rec, "time_min", r->time_min);
	if (r->begin)
		record_int(rec, "begin", r->begin);
	if (r->deadline)
		record_int(rec, "deadline", r->deadline);
	if (r->nice)
		record_int(rec, "nice", r->nice);
	record_int(rec, "requeue", r->requeue != 0);
	if (r->wckey)
		record_str(rec, "wckey", r->wckey);
}

static void write_record(struct attempt *a, uint64_t job_id)
{
	const struct request *r = a->s->request;
	const struct passwd *pw = getpwuid(getuid());
	char host[HOST_NAME_MAX + 1] = "";
	struct error err = ERROR_INIT;
	struct record rec;
	cleanup_fd int fd = record_open_dir(a->s->conf->accounting_dir, a->spool.dir, &err);

	gethostname(host, sizeof(host) - 1);
	record_begin(&rec, "submit", job_id, 0, 0);
	record_str(&rec, "name", a->s->name);
	record_str(&rec, "partition", r->partition ? r->partition : a->s->conf->default_partition);
	record_str(&rec, "account", r->account);
	record_str(&rec, "qos", r->qos);
	record_str(&rec, "comment", r->comment);
	record_str(&rec, "user", pw ? pw->pw_name : NULL);
	record_int(&rec, "uid", getuid());
	add_given(&rec, "nodes", r->nodes.min);
	record_int(&rec, "ntasks", r->tasks);
	add_given(&rec, "cpus_per_task", r->cpus_per_task);
	record_int(&rec, "time_limit", r->time_limit);
	add_times(&rec, r);
	record_str(&rec, "work_dir", a->work_dir);
	record_str(&rec, "command", a->s->path);
	record_str(&rec, "std_out", r->std_out);
	record_str(&rec, "std_err", r->std_err);
	add_indexes(&rec, &r->array);
	add_dependency(&rec, &a->depend.job.list);
	record_str(&rec, "spool", a->spool.uuid);
	if (fd < 0 || record_append(&rec, fd, job_id, 0, host, &err) < 0)
		log_verbose("job %" PRIu64 ": no record of its submission: %s", job_id, err.text);
	record_release(&rec);
}

static void open_folders(struct attempt *a, struct submission *s)
{
	const char *chdir = s->request->chdir;

	*a = (struct attempt){ .s = s, .place = PLACE_INIT, .spool = SPOOL_INIT, .reasons = STRBUF_INIT };
	a->work_dir = chdir ? path_join(s->cwd, chdir) : xstrdup(s->cwd);
}

static int choose_place(struct attempt *a, struct error *err)
{
	const char *reservation = a->s->request->reservation;

	a->cluster = path_join(a->root, a->s->conf->cluster_name);
	if (reservation)
		a->reservation = reservation_find(reservation, a->s->conf->engine_timeout, err);
	if ((reservation && !a->reservation) ||
	    place_choose(&a->place, a->s->conf, a->s->request, a->cluster, err) < 0)
		return -1;
	for (size_t i = 0; i < a->place.resources.warnings.n; i++)
		log_info("Warning: %s", a->place.resources.warnings.v[i]);
	return 0;
}

int submit_job(struct submission *s, uint64_t *job_id, struct error *err)
{
	cleanup_attempt struct attempt a;
	struct error later = ERROR_INIT;
	int rc = -1;

	open_folders(&a, s);
	a.root = conf_spool_dir(s->conf, err);
	if (!a.root || spool_create(&a.spool, a.root, s->conf->cluster_name, err) < 0)
		return a.root ? error_wrap(err, "Batch job submission failed") : -1;
	if (choose_place(&a, err) == 0) {
		if (depend_submission_prepare(&a.depend, s->conf, s->request, s->name, err) < 0 ||
		    write_files(&a, err) < 0)
			error_wrap(err, "Batch job submission failed");
		else
			rc = submit_spooled(&a, job_id, err);
	}
	if (rc == -1)
		spool_remove(&a.spool, &later);
	if (rc < 0)
		return -1;
	/* The supervisor links and records as well, so that a failure here loses nothing for good. */
	if (spool_link_job(&a.spool, *job_id, &later) < 0)
		log_error("job %" PRIu64 ": %s", *job_id, later.text);
	write_record(&a, *job_id);
	depend_submission_finish(&a.depend, *job_id);
	return 0;
}

/* Slurm's line. The engine says that the job could run, not when and where; and it gave it no number. */
static char *describe_test(const struct attempt *a)
{
	const struct request *r = a->s->request;
	const char *partition = r->partition ? r->partition : a->s->conf->default_partition;
	time_t begin = (time_t)r->begin;
	char when[32] = "N/A";
	struct tm tm;

	if (begin && localtime_r(&begin, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	return xasprintf("Job 0 to start at %s using %" PRIu64 " processors on nodes N/A in partition %s",
			 when, a->place.geometry.min_slots, partition ? partition : "N/A");
}

int submit_test(struct submission *s, char **answer, struct error *err)
{
	cleanup_attempt struct attempt a;
	cleanup_engine_answer struct engine_answer reply = ENGINE_ANSWER_INIT;

	open_folders(&a, s);
	a.root = conf_spool_dir(s->conf, err);
	if (!a.root)
		return -1;
	if (choose_place(&a, err) < 0 || submit_ask(&a, &reply, err) < 0)
		return -1;
	if (reply.code != 0 && !a.unverified)
		return submit_explain(&a, &reply, err);
	*answer = describe_test(&a);
	return 0;
}

/* --- housekeeping --- */

struct known {
	const struct conf *conf;
	const char *root;
	struct qstat jobs;
	bool asked, failed;
};

/* Is there a job of this user without a link, to which a folder without one could belong? */
static bool has_unlinked_job(const struct known *k)
{
	for (size_t i = 0; i < k->jobs.n; i++) {
		cleanup_spool struct spool s = SPOOL_INIT;

		if (spool_open_job(&s, k->root, k->conf->cluster_name, k->jobs.jobs[i].id, NULL) < 0)
			return true;
	}
	return false;
}

static bool is_known(uint64_t job_id, void *arg)
{
	struct known *k = arg;
	const struct passwd *pw = getpwuid(getuid());

	if (!k->asked) {
		k->asked = true;
		k->failed = !pw || qstat_list(&k->jobs, pw->pw_name, NULL, k->conf->engine_timeout, NULL) < 0;
	}
	if (k->failed)
		return true;
	if (!job_id)
		return has_unlinked_job(k);
	for (size_t i = 0; i < k->jobs.n; i++)
		if (k->jobs.jobs[i].id == job_id)
			return true;
	return false;
}

void submit_sweep(const struct conf *conf)
{
	cleanup_free char *root = conf_spool_dir(conf, NULL);
	struct known k = { .conf = conf, .root = root, .jobs = QSTAT_INIT };

	if (root)
		spool_sweep(root, conf->cluster_name, SWEEP_INTERVAL, SWEEP_AGE, is_known, &k);
	qstat_release(&k.jobs);
}
