/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/request.h"

#include "common/duration.h"
#include "common/mem.h"

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
	};
}

void request_release(struct request *r)
{
	char *strings[] = { r->account,     r->chdir,   r->clusters,  r->comment, r->distribution,
			    r->export_spec, r->name,    r->partition, r->qos,     r->std_in,
			    r->std_out,     r->std_err, r->wrap };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
	free(r->dependency);
	free(r->array.index);
	*r = (struct request){ 0 };
}

/* NumTasks of scontrol: -n, else what --ntasks-per-node makes of the nodes, else one per node. */
static uint64_t count_tasks(const struct request *r)
{
	uint64_t nodes = r->nodes.min == REQUEST_UNSET ? 1 : r->nodes.min;

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
	if (r->ntasks != REQUEST_UNSET && r->nodes.min != REQUEST_UNSET && r->nodes.min > r->ntasks) {
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
