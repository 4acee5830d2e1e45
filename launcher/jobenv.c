/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/jobenv.h"

#include "common/counts.h"
#include "common/hostlist.h"
#include "common/mem.h"
#include "common/path.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static void set_u32(struct env *e, const char *name, uint32_t v)
{
	env_setf(e, name, "%" PRIu32, v);
}

/* As set_u32, where the option was given. */
static void set_given(struct env *e, const char *name, uint32_t v)
{
	if (v != JOBSPEC_UNSET)
		set_u32(e, name, v);
}

/* Per-host counts in Slurm's form, "2(x3),1". */
static void set_counts(struct env *e, const char *name, const struct alloc *a, bool tasks)
{
	cleanup_free uint32_t *v = xcalloc(a->nhosts, sizeof(*v));
	cleanup_free char *text = NULL;

	for (size_t i = 0; i < a->nhosts; i++)
		v[i] = tasks ? a->hosts[i].tasks : a->hosts[i].slots;
	text = counts_format(v, a->nhosts);
	env_set(e, name, text);
}

static void set_nodes(struct env *e, const struct alloc *a)
{
	cleanup_hostlist struct hostlist hosts = HOSTLIST_INIT;
	cleanup_free char *list = NULL;

	for (size_t i = 0; i < a->nhosts; i++)
		hostlist_push(&hosts, a->hosts[i].node_name);
	list = hostlist_ranged(&hosts);
	env_set(e, "SLURM_JOB_NODELIST", list);
	env_set(e, "SLURM_NODELIST", list);
	env_setf(e, "SLURM_JOB_NUM_NODES", "%zu", a->nhosts);
	env_setf(e, "SLURM_NNODES", "%zu", a->nhosts);
	set_counts(e, "SLURM_JOB_CPUS_PER_NODE", a, false);
	set_counts(e, "SLURM_TASKS_PER_NODE", a, true);
	/* clouds rename nodes by this one; everywhere else it is the text "(null)" */
	env_set(e, "SLURM_NODE_ALIASES", "(null)");
}

static void set_identity(struct env *e, const struct alloc *a, const struct jobspec *job)
{
	const char *account = job->account ? job->account : a->account;
	const char *partition = job->partition ? job->partition : a->queue;

	env_setf(e, "SLURM_JOB_ID", "%" PRIu64, a->job_id);
	env_setf(e, "SLURM_JOBID", "%" PRIu64, a->job_id);
	env_set(e, "SLURM_JOB_NAME", job->name ? job->name : "sbatch");
	env_set(e, "SLURM_JOB_USER", a->user);
	env_setf(e, "SLURM_JOB_UID", "%u", (unsigned)getuid());
	env_setf(e, "SLURM_JOB_GID", "%u", (unsigned)getgid());
	env_set(e, "SLURM_JOB_QOS", job->qos ? job->qos : "normal");
	if (account)
		env_set(e, "SLURM_JOB_ACCOUNT", account);
	if (partition)
		env_set(e, "SLURM_JOB_PARTITION", partition);
	if (job->launch.cluster_name)
		env_set(e, "SLURM_CLUSTER_NAME", job->launch.cluster_name);
	if (job->submit_dir)
		env_set(e, "SLURM_SUBMIT_DIR", job->submit_dir);
	if (job->submit_host)
		env_set(e, "SLURM_SUBMIT_HOST", job->submit_host);
	if (a->restart)
		set_u32(e, "SLURM_RESTART_COUNT", a->restart);
}

static void set_array(struct env *e, const struct alloc *a, const struct jobspec *job)
{
	uint32_t min = UINT32_MAX, max = 0;

	if (!job->array_count || !a->engine_task || a->engine_task > job->array_count)
		return;
	for (uint32_t i = 0; i < job->array_count; i++) {
		min = job->array_index[i] < min ? job->array_index[i] : min;
		max = job->array_index[i] > max ? job->array_index[i] : max;
	}
	env_setf(e, "SLURM_ARRAY_JOB_ID", "%" PRIu64, a->engine_id);
	set_u32(e, "SLURM_ARRAY_TASK_ID", job->array_index[a->engine_task - 1]);
	set_u32(e, "SLURM_ARRAY_TASK_COUNT", job->array_count);
	set_u32(e, "SLURM_ARRAY_TASK_MIN", min);
	set_u32(e, "SLURM_ARRAY_TASK_MAX", max);
	set_u32(e, "SLURM_ARRAY_TASK_STEP", job->array_step ? job->array_step : 1);
}

/* Slurm shows its own spelling: lower case, "plane" with the size apart, "*" as the default it stands for. */
static void set_distribution(struct env *e, const char *given)
{
	cleanup_free char *text = xstrdup(given);
	char *size = strchr(text, '=');

	for (char *p = text; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (size && !strncmp(text, "plane=", 6)) {
		*size = '\0';
		env_setf(e, "SLURM_DIST_PLANESIZE", "%.*s", (int)strspn(size + 1, "0123456789"), size + 1);
	}
	env_setf(e, "SLURM_DISTRIBUTION", "%s%s", text[0] == '*' ? "block" : "",
		 text[0] == '*' ? text + 1 : text);
}

/* What exists only because an option was given. */
static void set_options(struct env *e, const struct alloc *a, const struct jobspec *job)
{
	if (job->ntasks != JOBSPEC_UNSET || job->ntasks_per_node != JOBSPEC_UNSET) {
		set_u32(e, "SLURM_NTASKS", a->ntasks);
		set_u32(e, "SLURM_NPROCS", a->ntasks);
	}
	set_given(e, "SLURM_NTASKS_PER_NODE", job->ntasks_per_node);
	set_given(e, "SLURM_CPUS_PER_TASK", job->cpus_per_task);
	/* --mem=0, the whole node's memory, sets no variable */
	if (job->mem_per_node_mib)
		set_given(e, "SLURM_MEM_PER_NODE", job->mem_per_node_mib);
	if (job->mem_per_cpu_mib)
		set_given(e, "SLURM_MEM_PER_CPU", job->mem_per_cpu_mib);
	if (job->mem_per_gpu_mib)
		set_given(e, "SLURM_MEM_PER_GPU", job->mem_per_gpu_mib);
	set_given(e, "SLURM_CPUS_PER_GPU", job->cpus_per_gpu);
	if (job->gpus)
		env_set(e, "SLURM_GPUS", job->gpus);
	if (job->gpus_per_node)
		env_set(e, "SLURM_GPUS_PER_NODE", job->gpus_per_node);
	if (job->gpus_per_task)
		env_set(e, "SLURM_GPUS_PER_TASK", job->gpus_per_task);
	if (job->distribution)
		set_distribution(e, job->distribution);
	if (job->overcommit)
		env_set(e, "SLURM_OVERCOMMIT", "1");
	if (job->open_mode)
		env_setf(e, "SLURM_OPEN_MODE", "%c", job->open_mode);
	if (job->export_env)
		env_set(e, "SLURM_EXPORT_ENV", job->export_env);
	if (job->get_user_env || job->export_env)
		env_set(e, "SLURM_GET_USER_ENV", "1");
}

void jobenv_gpu_masks(struct env *e, const char *ids)
{
	static const char *const names[] = { "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
					     "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		env_set(e, names[i], ids);
}

/*
 * The script's own GPUs, and all of the job for its steps: SOO_JOB_GPUS is "node=count=ids;...", since no variable of
 * Slurm's says what other hosts have.
 */
static void set_gpus(struct env *e, const struct alloc *a)
{
	cleanup_strbuf struct strbuf all = STRBUF_INIT;

	for (size_t i = 0; i < a->nhosts; i++)
		if (a->hosts[i].gpus)
			strbuf_addf(&all, "%s%s=%u=%s", all.len ? ";" : "", a->hosts[i].node_name,
				    a->hosts[i].ngpus, a->hosts[i].gpus);
	if (all.len)
		env_set(e, "SOO_JOB_GPUS", all.buf);
	if (!a->hosts[0].gpus)
		return;
	env_set(e, "SLURM_JOB_GPUS", a->hosts[0].gpus);
	set_u32(e, "SLURM_GPUS_ON_NODE", a->hosts[0].ngpus);
	jobenv_gpu_masks(e, a->hosts[0].gpus);
}

/* The batch step: one task, on the first host. */
static void set_batch_step(struct env *e, const struct alloc *a)
{
	set_u32(e, "SLURM_CPUS_ON_NODE", a->hosts[0].slots);
	env_set(e, "SLURMD_NODENAME", a->hosts[0].node_name);
	env_set(e, "SLURM_TOPOLOGY_ADDR", a->hosts[0].node_name);
	env_set(e, "SLURM_TOPOLOGY_ADDR_PATTERN", "node");
	env_set(e, "SLURM_NODEID", "0");
	env_set(e, "SLURM_PROCID", "0");
	env_set(e, "SLURM_LOCALID", "0");
	env_set(e, "SLURM_GTIDS", "0");
	env_set(e, "SLURM_PRIO_PROCESS", "0");
	env_set(e, "SLURM_TASK_PID", "0");
}

void jobenv_fill(struct env *e, const struct alloc *a, const struct jobspec *job)
{
	set_identity(e, a, job);
	set_nodes(e, a);
	set_array(e, a, job);
	set_options(e, a, job);
	set_gpus(e, a);
	set_batch_step(e, a);
}

static bool list_has(const char *list, const char *item, const char *separators)
{
	size_t n = strlen(item);

	while (*list) {
		size_t k = strcspn(list, separators);

		if (k == n && !memcmp(list, item, n))
			return true;
		list += k + (list[k] != '\0');
	}
	return false;
}

/* The folder that a link in libexec to target names; leading ".." are taken off both, since users see the result. */
static char *folder_of(const char *libexec, const char *target)
{
	size_t len = strlen(libexec);

	if (*target == '/')
		return xstrdup(target);
	while (!strncmp(target, "../", 3) && len) {
		while (len && libexec[--len] != '/')
			continue;
		target += 3;
	}
	return xasprintf("%.*s/%s", (int)len, libexec, target);
}

/*
 * Where the preload library is: where the link <libexec>/libdir points, else ../../lib/slurm-on-ocs beside libexec.
 * NULL where it can't be read: ld.so would say so at every exec.
 */
static char *library_path(const char *libexec)
{
	cleanup_free char *link = path_join(libexec, "libdir");
	cleanup_free char *dir = NULL;
	char target[4096];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	char *path;

	target[n > 0 ? n : 0] = '\0';
	dir = folder_of(libexec, n > 0 ? target : "../../lib/slurm-on-ocs");
	path = path_join(dir, "libslurm_on_ocs.so");
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

void jobenv_reach(struct env *e, const char *libexec)
{
	cleanup_free char *bin = path_join(libexec, "bin");
	cleanup_free char *library = library_path(libexec);
	const char *path = env_get(e, "PATH");
	const char *preload = env_get(e, "LD_PRELOAD");

	if (!path || !*path)
		env_setf(e, "PATH", "%s:/usr/local/bin:/usr/bin:/bin", bin);
	else if (strncmp(path, bin, strlen(bin)) || (path[strlen(bin)] && path[strlen(bin)] != ':'))
		env_setf(e, "PATH", "%s:%s", bin, path);
	if (!library)
		return;
	if (!preload || !*preload)
		env_set(e, "LD_PRELOAD", library);
	else if (!list_has(preload, library, ": "))
		env_setf(e, "LD_PRELOAD", "%s:%s", preload, library);
}
