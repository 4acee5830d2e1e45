/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/request.h"

#include "common/duration.h"
#include "common/mem.h"

#include <string.h>

void request_init(struct request *r)
{
	*r = (struct request){
		.requeue = -1,
		.kill_invalid_depend = -1,
		.nodes = { REQUEST_UNSET, REQUEST_UNSET },
		.ntasks = REQUEST_UNSET,
		.ntasks_per_node = REQUEST_UNSET,
		.cpus_per_task = REQUEST_UNSET,
		.mincpus = REQUEST_UNSET,
		.time_limit = DURATION_INFINITE,
		.mem = { SIZE_UNSET, false },
		.mem_per_cpu = { SIZE_UNSET, false },
		.mem_per_gpu = { SIZE_UNSET, false },
		.tmp = { SIZE_UNSET, false },
		.cpus_per_gpu = REQUEST_UNSET,
	};
}

void request_release(struct request *r)
{
	char *strings[] = { r->account,      r->chdir,       r->clusters, r->comment,
			    r->distribution, r->export_spec, r->name,     r->partition,
			    r->qos,          r->std_in,      r->std_out,  r->std_err,
			    r->wrap,         r->nodelist,    r->exclude,  r->constraint };
	struct counted_list *lists[] = { &r->gres, &r->gpus, &r->gpus_per_node, &r->gpus_per_task,
					 &r->licenses };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		counted_list_release(lists[i]);
	free(r->dependency);
	free(r->mail_user);
	free(r->reservation);
	free(r->export_file);
	free(r->wckey);
	free(r->array.index);
	*r = (struct request){ 0 };
}

int request_conflicts(const struct request *r, struct error *err)
{
	const struct size_request *sizes[] = { &r->mem, &r->mem_per_cpu, &r->mem_per_gpu };
	int given = 0, from_env = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		given += sizes[i]->mib != SIZE_UNSET && !sizes[i]->from_env;
		from_env += sizes[i]->mib != SIZE_UNSET && sizes[i]->from_env;
	}
	if (given > 1)
		return error_set(err, ERR_VALUE,
				 "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
	if (!given && from_env > 1)
		return error_set(
			err, ERR_VALUE,
			"SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.");
	return 0;
}

/* What was said of memory on the command line or in the script replaces another kind from the environment. */
static void settle_memory(struct request *r)
{
	struct size_request *sizes[] = { &r->mem, &r->mem_per_cpu, &r->mem_per_gpu };
	bool given = false;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		given |= sizes[i]->mib != SIZE_UNSET && !sizes[i]->from_env;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (given && sizes[i]->from_env)
			sizes[i]->mib = SIZE_UNSET;
}

static uint64_t count_all(const struct counted_list *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].count;
	return n;
}

static bool has_gpus(const struct request *r)
{
	for (size_t i = 0; i < r->gres.n; i++)
		if (!strcmp(r->gres.v[i].name, "gpu"))
			return true;
	return r->gpus.n || r->gpus_per_node.n || r->gpus_per_task.n;
}

static int invalid_gres(struct error *err, const char *why)
{
	return error_set(err, ERR_VALUE, "%s\nInvalid generic resource (gres) specification", why);
}

/* GPUs on each host, where that doesn't depend on where tasks go; 0: it does. */
static uint64_t gpus_per_host(const struct request *r)
{
	uint64_t n = count_all(&r->gpus_per_node), all = count_all(&r->gpus);
	uint64_t hosts = r->nodes.min == REQUEST_UNSET ? 1 : r->nodes.min;

	for (size_t i = 0; i < r->gres.n; i++)
		if (!strcmp(r->gres.v[i].name, "gpu"))
			n += r->gres.v[i].count;
	if (n || !all)
		return n;
	if (r->nodes.min == REQUEST_UNSET ? r->ntasks != REQUEST_UNSET && r->ntasks > 1
					  : r->nodes.max != hosts)
		return 0;
	return all % hosts ? 0 : all / hosts;
}

/* Slots of a host by --cpus-per-gpu. */
static int settle_cpus(struct request *r, struct error *err)
{
	uint64_t per_task = count_all(&r->gpus_per_task);
	uint64_t gpus = per_task ? per_task : gpus_per_host(r);
	uint64_t cpus = gpus * r->cpus_per_gpu;

	if (r->cpus_per_gpu == REQUEST_UNSET)
		return 0;
	if (!has_gpus(r))
		return invalid_gres(err, "--cpus-per-gpu was given without GPUs");
	if (r->cpus_per_task != REQUEST_UNSET)
		return error_set(err, ERR_VALUE, "--cpus-per-gpu and --cpus-per-task are mutually exclusive");
	if (!gpus)
		return invalid_gres(
			err, "--cpus-per-gpu needs --gpus-per-node or --gpus-per-task here: how many GPUs "
			     "a host has must not depend on where tasks go");
	if (cpus > INT32_MAX)
		return invalid_gres(err, "--cpus-per-gpu is too large");
	if (per_task)
		r->cpus_per_task = (uint32_t)cpus;
	else if (r->mincpus == REQUEST_UNSET || r->mincpus < cpus)
		r->mincpus = (uint32_t)cpus;
	return 0;
}

/* Tasks from GPUs, and the CPUs that these bring along. */
static int settle_gpus(struct request *r, struct error *err)
{
	uint64_t all = count_all(&r->gpus), per_task = count_all(&r->gpus_per_task);

	if (per_task && !all && r->ntasks == REQUEST_UNSET)
		return invalid_gres(
			err, "Failed to validate job spec. --gpus-per-task used without either --gpus or "
			     "-n/--ntasks is not allowed.");
	if (per_task && r->ntasks == REQUEST_UNSET) {
		if (all % per_task)
			return invalid_gres(err, "--gpus is no multiple of --gpus-per-task");
		r->ntasks = (uint32_t)(all / per_task);
	}
	if (r->mem_per_gpu.mib != SIZE_UNSET && !has_gpus(r))
		return error_set(err, ERR_VALUE,
				 "Requested mem_per_tres=gres:gpu:%llu but did not request any GPU.\n"
				 "Invalid generic resource (gres) specification",
				 (unsigned long long)r->mem_per_gpu.mib);
	return settle_cpus(r, err);
}

/* Cuts the list of hosts after the first n. */
static void cut_list(char *list, uint32_t n)
{
	while (n-- && *list) {
		list += strcspn(list, ",");
		if (!n)
			*list = '\0';
		else if (*list)
			list++;
	}
}

/* How many hosts the list makes, and what of it goes where there are fewer tasks. */
static int settle_list(struct request *r, char **warning, struct error *err)
{
	uint32_t n = r->nodelist && *r->nodelist ? 1 : 0;

	for (const char *p = n ? r->nodelist : ""; *p; p++)
		n += *p == ',';
	r->listed = n;
	if (!n)
		return 0;
	if (r->nodes.min != REQUEST_UNSET && r->nodes.max < n)
		return error_set(err, ERR_VALUE, "invalid number of nodes (-N %u-%u)", n, r->nodes.max);
	if (r->ntasks != REQUEST_UNSET && r->ntasks < n) {
		*warning = xasprintf("Warning: can't run %u processes on %u nodes, setting nnodes to %u",
				     r->ntasks, n, r->ntasks);
		r->nodes = (struct node_range){ r->ntasks, r->ntasks };
		cut_list(r->nodelist, r->ntasks);
		r->listed = r->ntasks;
	} else if (r->nodes.min != REQUEST_UNSET && r->nodes.min < n) {
		r->nodes.min = r->nodes.max = n;
	}
	return 0;
}

/* NumTasks of scontrol: -n, else what --ntasks-per-node makes of the nodes, else one per node. */
static uint64_t count_tasks(const struct request *r)
{
	uint64_t nodes = r->nodes.min != REQUEST_UNSET ? r->nodes.min : r->listed ? r->listed : 1;

	if (r->ntasks != REQUEST_UNSET)
		return r->ntasks;
	if (r->ntasks_per_node != REQUEST_UNSET)
		return nodes * r->ntasks_per_node;
	return nodes;
}

int request_finish(struct request *r, char **warning, struct error *err)
{
	uint64_t tasks;

	*warning = NULL;
	settle_memory(r);
	if (settle_gpus(r, err) < 0 || settle_list(r, warning, err) < 0)
		return -1;
	if (r->ntasks != REQUEST_UNSET && r->nodes.min != REQUEST_UNSET && r->nodes.min > r->ntasks) {
		free(*warning);
		*warning = xasprintf("Warning: can't run %u processes on %u nodes, setting nnodes to %u",
				     r->ntasks, r->nodes.min, r->ntasks);
		r->nodes.min = r->ntasks;
		if (r->nodes.max > r->ntasks)
			r->nodes.max = r->ntasks;
	}
	tasks = count_tasks(r);
	if (tasks > INT32_MAX)
		return error_set(
			err, ERR_VALUE,
			"Batch job submission failed: Requested node configuration is not available");
	r->tasks = (uint32_t)tasks;
	return 0;
}
