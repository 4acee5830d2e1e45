/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/stepenv.h"

#include "common/counts.h"
#include "common/hostlist.h"
#include "common/mem.h"
#include "launcher/jobenv.h"

#include <string.h>

static const char *const distributions[] = {
	[DIST_BLOCK] = "block",
	[DIST_CYCLIC] = "cyclic",
	[DIST_PLANE] = "plane",
	[DIST_ARBITRARY] = "arbitrary",
};

static char *step_nodelist(const struct stepenv_step *s)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;

	for (uint32_t i = 0; i < s->layout->nnodes; i++)
		hostlist_push(&hl, s->names[i]);
	return hostlist_ranged(&hl);
}

static void set_counts(struct env *e, const struct stepenv_step *s)
{
	const struct layout *l = s->layout;
	cleanup_free char *nodes = step_nodelist(s);
	cleanup_free char *tasks = counts_format(l->tasks, l->nnodes);

	env_setf(e, "SLURM_NNODES", "%u", l->nnodes);
	env_setf(e, "SLURM_NPROCS", "%u", l->ntasks);
	env_setf(e, "SLURM_NTASKS", "%u", l->ntasks);
	env_set(e, "SLURM_TASKS_PER_NODE", tasks);
	env_set(e, "SLURM_STEP_NODELIST", nodes);
	env_setf(e, "SLURM_STEP_NUM_NODES", "%u", l->nnodes);
	env_setf(e, "SLURM_STEP_NUM_TASKS", "%u", l->ntasks);
	env_set(e, "SLURM_STEP_TASKS_PER_NODE", tasks);
}

void stepenv_step(struct env *e, const struct stepenv_step *s)
{
	env_setf(e, "SLURM_STEP_ID", "%u", s->step_id);
	env_setf(e, "SLURM_STEPID", "%u", s->step_id);
	set_counts(e, s);
	env_set(e, "SLURM_DISTRIBUTION", distributions[s->layout->distribution]);
	env_set(e, "SLURM_JOB_CPUS_PER_NODE", s->job_cpus_per_node);
	env_set(e, "SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0", s->job_cpus_per_node);
	env_setf(e, "SLURM_JOB_ID", "%llu", (unsigned long long)s->job_id);
	env_setf(e, "SLURM_JOBID", "%llu", (unsigned long long)s->job_id);
	env_set(e, "SLURM_JOB_NODELIST", s->job_nodelist);
	env_set(e, "SLURM_NODELIST", s->job_nodelist);
	if (s->name)
		env_set(e, "SLURM_JOB_NAME", s->name);
	if (s->cpus_per_task != LAYOUT_UNSET)
		env_setf(e, "SLURM_CPUS_PER_TASK", "%u", s->cpus_per_task);
	if (s->ntasks_per_node != LAYOUT_UNSET)
		env_setf(e, "SLURM_NTASKS_PER_NODE", "%u", s->ntasks_per_node);
	if (s->layout->distribution == DIST_PLANE)
		env_setf(e, "SLURM_DIST_PLANESIZE", "%u", s->plane_size);
	if (s->overcommit)
		env_set(e, "SLURM_OVERCOMMIT", "1");
	env_set(e, "SLURM_LAUNCH_NODE_IPADDR", s->launch_address);
	env_set(e, "SLURM_SRUN_COMM_HOST", s->launch_address);
	env_setf(e, "SLURM_SRUN_COMM_PORT", "%u", s->port);
	env_setf(e, "SLURM_STEP_LAUNCHER_PORT", "%u", s->port);
	env_setf(e, "SLURM_UMASK", "%04o", s->umask);
	env_setf(e, "SRUN_DEBUG", "%d", 3 + s->verbosity);
	env_set(e, "SLURM_TOPOLOGY_ADDR_PATTERN", "node");
	env_set(e, "SLURM_PRIO_PROCESS", "0");
	if (s->job_gpus)
		env_set(e, "SOO_JOB_GPUS", s->job_gpus);
}

/* The number at the end of "1" and "a100:1"; 0: none. */
static uint32_t gpus_per_task(const struct env *e)
{
	const char *text = env_get(e, "SLURM_GPUS_PER_TASK");
	const char *colon = text ? strrchr(text, ':') : NULL;
	unsigned long n = text ? strtoul(colon ? colon + 1 : text, NULL, 10) : 0;

	return n > UINT16_MAX ? 0 : (uint32_t)n;
}

/* Cuts ids down to n of them behind the first skip. */
static char *cut_ids(char *ids, uint32_t skip, uint32_t n)
{
	char *end;

	while (skip--)
		ids += strcspn(ids, ",") + 1;
	for (end = ids; n; n--)
		end += strcspn(end, ",") + (n > 1);
	*end = '\0';
	return ids;
}

/* A rank's GPUs, of those of its host (SOO_JOB_GPUS): with --gpus-per-task its own, else all. */
static void set_gpus(struct env *e, const struct stepenv_rank *r)
{
	const char *all = env_get(e, "SOO_JOB_GPUS");
	cleanup_free char *copy = xstrdup(all);
	uint32_t each = gpus_per_task(e);
	char *save = NULL;

	for (char *item = copy ? strtok_r(copy, ";", &save) : NULL; item; item = strtok_r(NULL, ";", &save)) {
		char *count = strchr(item, '=');
		char *ids = count ? strchr(count + 1, '=') : NULL;
		unsigned long have = count ? strtoul(count + 1, NULL, 10) : 0;

		if (!ids)
			continue;
		*count++ = *ids++ = '\0';
		if (strcmp(item, r->node))
			continue;
		if (each && (uint64_t)each * r->nranks <= have) {
			ids = cut_ids(ids, each * r->local, each);
			have = (unsigned long)each * r->nranks;
		}
		env_setf(e, "SLURM_GPUS_ON_NODE", "%lu", have);
		env_set(e, "SLURM_STEP_GPUS", ids);
		jobenv_gpu_masks(e, ids);
	}
}

void stepenv_rank(struct env *e, const struct stepenv_rank *r)
{
	cleanup_strbuf struct strbuf ids = STRBUF_INIT;

	for (uint32_t i = 0; i < r->nranks; i++)
		strbuf_addf(&ids, "%s%u", i ? "," : "", r->ranks[i]);
	env_setf(e, "SLURM_PROCID", "%u", r->ranks[r->local]);
	env_setf(e, "SLURM_LOCALID", "%u", r->local);
	env_setf(e, "SLURM_NODEID", "%u", r->node_index);
	env_set(e, "SLURM_GTIDS", ids.buf);
	env_setf(e, "SLURM_CPUS_ON_NODE", "%u", r->cpus);
	env_set(e, "SLURMD_NODENAME", r->node);
	env_set(e, "SLURM_TOPOLOGY_ADDR", r->node);
	set_gpus(e, r);
	env_unset(e, "SLURM_TASK_PID");
	env_set(e, "SLURM_TASK_PID", "0000000000");
}

void stepenv_set_pid(char *const *envp, int pid)
{
	static const char name[] = "SLURM_TASK_PID=";
	char digits[12];
	size_t n = 0;
	char *p;

	while (*envp && strncmp(*envp, name, sizeof(name) - 1))
		envp++;
	if (!*envp)
		return;
	p = *envp + sizeof(name) - 1;
	do
		digits[n++] = (char)('0' + pid % 10);
	while ((pid /= 10) > 0 && n < 10);
	while (n)
		*p++ = digits[--n];
	*p = '\0';
}

static const char *const host_names[] = { "TMPDIR", "TMP", "HOSTNAME", "SOO_JOB_DIR" };

/* Belongs to the engine's task on a host, not to the job. */
static bool is_of_host(const char *pair)
{
	for (size_t i = 0; i < ARRAY_SIZE(host_names); i++) {
		size_t n = strlen(host_names[i]);

		if (!strncmp(pair, host_names[i], n) && pair[n] == '=')
			return true;
	}
	/* what the engine's clients need is the same everywhere, and SGE_O_* is the submission's */
	return !strncmp(pair, "SGE_", 4) && strncmp(pair, "SGE_O_", 6) != 0;
}

void stepenv_host(struct env *e, const struct env *host)
{
	for (size_t i = e->vars.n; i-- > 0;) {
		if (is_of_host(e->vars.v[i])) {
			cleanup_free char *name = xstrndup(e->vars.v[i], strcspn(e->vars.v[i], "="));

			env_unset(e, name);
		}
	}
	for (size_t i = 0; i < host->vars.n; i++) {
		cleanup_free char *name = NULL;

		if (!is_of_host(host->vars.v[i]))
			continue;
		name = xstrndup(host->vars.v[i], strcspn(host->vars.v[i], "="));
		env_set(e, name, host->vars.v[i] + strlen(name) + 1);
	}
}
