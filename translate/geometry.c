/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/geometry.h"

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static uint32_t cpus_per_task(const struct request *r)
{
	return r->cpus_per_task == REQUEST_UNSET ? 1 : r->cpus_per_task;
}

/* The slots that one host must have for the request to make sense: Slurm's MinCPUsNode. */
static uint64_t least_slots(const struct request *r)
{
	uint64_t tasks = r->ntasks_per_node == REQUEST_UNSET || r->overcommit ? 1 : r->ntasks_per_node;
	uint64_t slots = tasks * cpus_per_task(r);

	return r->mincpus != REQUEST_UNSET && r->mincpus > slots ? r->mincpus : slots;
}

int geometry_refuse(const struct request *r, uint32_t widest, struct error *err)
{
	bool per_node = widest && least_slots(r) > widest;

	return error_set(err, ERR_VALUE,
			 "%sBatch job submission failed: Requested node configuration is not available",
			 per_node ? "CPU count per node can not be satisfied\n" : "");
}

static bool is_range(const struct request *r)
{
	return r->nodes.min != REQUEST_UNSET && r->nodes.max > r->nodes.min;
}

/* Tasks alone, each of one slot: the engine may put them where it likes. */
static bool is_fill(const struct request *r)
{
	return r->nodes.min == REQUEST_UNSET && !r->listed && r->ntasks_per_node == REQUEST_UNSET &&
	       least_slots(r) == 1 && !r->overcommit && r->tasks > 1;
}

bool geometry_needs_width(const struct request *r, bool may_fill)
{
	if (r->exclusive)
		return true;
	if (r->overcommit || r->ntasks_per_node != REQUEST_UNSET || r->ntasks == REQUEST_UNSET)
		return false;
	if (is_range(r))
		return true;
	return r->nodes.min == REQUEST_UNSET && r->ntasks > 1 && !(may_fill && is_fill(r));
}

/* Slots on a host that has so many tasks. */
static uint64_t slots_for(const struct request *r, uint64_t tasks)
{
	uint64_t slots = (r->overcommit ? 1 : tasks) * cpus_per_task(r);

	return r->mincpus != REQUEST_UNSET && r->mincpus > slots ? r->mincpus : slots;
}

/* Hosts for r->ntasks tasks, within [min, max] (0: no end): the fewest that the widest host allows. */
static uint64_t choose_hosts(const struct request *r, uint32_t widest, uint64_t min, uint64_t max)
{
	uint32_t cpus = cpus_per_task(r);
	uint64_t per_host, hosts;

	if (r->overcommit)
		return min;
	if (r->ntasks_per_node != REQUEST_UNSET)
		per_host = r->ntasks_per_node;
	else if (widest)
		per_host = cpus && widest > cpus ? widest / cpus : 1;
	else
		per_host = max ? divide_up(r->ntasks, max) : 1;
	hosts = divide_up(r->ntasks, per_host);
	if (hosts < min)
		hosts = min;
	return max && hosts > max ? max : hosts;
}

static int set_plan(struct geometry *g, const struct request *r, uint64_t tasks, uint64_t min, uint64_t max,
		    struct error *err)
{
	uint64_t k = slots_for(r, tasks);

	/* Beyond what any cell has, and within what the arithmetic of the callers holds. */
	if (k > INT32_MAX || max * k > INT32_MAX)
		return geometry_refuse(r, 0, err);
	*g = (struct geometry){ (uint32_t)k, (uint32_t)min, (uint32_t)max, min * k, max * k };
	return 0;
}

int geometry_plan(const struct request *r, uint32_t widest, bool may_fill, struct geometry *g,
		  struct error *err)
{
	bool has_nodes = r->nodes.min != REQUEST_UNSET || r->listed;
	uint64_t least = r->nodes.min != REQUEST_UNSET ? r->nodes.min : r->listed ? r->listed : 1;
	uint64_t most = r->nodes.min != REQUEST_UNSET ? r->nodes.max : 0;
	uint64_t hosts, tasks;

	if (is_fill(r) && may_fill) {
		*g = (struct geometry){ 0, 1, r->tasks, r->tasks, r->tasks };
		return 0;
	}
	if (is_range(r) && widest && slots_for(r, 1) > widest)
		return geometry_refuse(r, widest, err);
	if (is_range(r) && r->ntasks == REQUEST_UNSET)
		return set_plan(g, r, r->ntasks_per_node == REQUEST_UNSET ? 1 : r->ntasks_per_node,
				r->nodes.min, r->nodes.max, err);
	if (r->ntasks == REQUEST_UNSET)
		hosts = least;
	else
		hosts = choose_hosts(r, widest, least, most);
	tasks = divide_up(r->tasks, hosts);
	/* -n6 --ntasks-per-node=4 is 4 and 2 in Slurm: the first host must have room for all of its. */
	if (!has_nodes && r->ntasks_per_node != REQUEST_UNSET)
		tasks = r->tasks < r->ntasks_per_node ? r->tasks : r->ntasks_per_node;
	if (r->ntasks_per_node != REQUEST_UNSET && tasks > r->ntasks_per_node)
		return geometry_refuse(r, 0, err);
	if (widest && slots_for(r, tasks) > widest)
		return geometry_refuse(r, widest, err);
	return set_plan(g, r, tasks, hosts, hosts, err);
}

bool geometry_is_serial(const struct geometry *g)
{
	return g->per_host == 1 && g->max_hosts == 1;
}
