/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts of a job a step gets and which task runs where, by Slurm's rules. Pure functions; the model is checked
 * against what Slurm 22.05 did (tests/golden/layout).
 *
 * Two halves, as in Slurm: layout_settle() is srun's own (defaults, warnings, errors that come without asking
 * anybody), layout_place() the controller's (which hosts, enough room, numbering).
 */
#ifndef SOC_LAUNCHER_LAYOUT_H
#define SOC_LAUNCHER_LAYOUT_H

#include "common/argvec.h"
#include "common/error.h"
#include "ocs/stepspec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_UNSET STEPSPEC_UNSET

struct layout_request {
	uint32_t min_nodes, max_nodes; /* LAYOUT_UNSET: not given */
	uint32_t ntasks, cpus_per_task, ntasks_per_node, relative;
	uint8_t distribution; /* enum step_distribution */
	bool pack;
	uint32_t plane_size;
	char *nodelist, *exclude;
	bool overcommit;
	bool exact;   /* --exact, --exclusive, or -c: ntasks * cpus per task, else the whole of each host */
	bool overlap; /* doesn't mind other steps, and they don't mind it */
};

void layout_request_init(struct layout_request *r);
void layout_request_release(struct layout_request *r);

/* What srun knows of the job from its environment. */
struct layout_job {
	uint32_t nodes;            /* SLURM_JOB_NUM_NODES; LAYOUT_UNSET */
	const char *nodelist;      /* SLURM_JOB_NODELIST; NULL */
	const char *cpus_per_node; /* SLURM_JOB_CPUS_PER_NODE; NULL */
};

/*
 * srun's half: fills the defaults in, appends warnings (the text behind "srun: Warning: "). -1 with err: the text behind
 * "srun: error: ", one per line where Slurm has several.
 */
int layout_settle(struct layout_request *r, const struct layout_job *job, struct argvec *warnings,
		  struct error *err);

/* A host of the job as the controller sees it. */
struct layout_host {
	const char *name;
	uint32_t cpus;  /* of the job */
	uint32_t used;  /* by steps that don't share */
	uint32_t steps; /* running here, of any kind */
};

struct layout {
	uint32_t nnodes, ntasks;
	uint32_t *node;       /* index of host i of the step in the job's hosts */
	uint32_t *tasks;      /* tasks on host i */
	uint32_t **ranks;     /* their numbers, ascending by local id */
	uint32_t *cpus;       /* CPUs that the step holds on host i (SLURM_CPUS_ON_NODE) */
	uint8_t distribution; /* enum step_distribution, settled */
};

#define LAYOUT_INIT                                                                                          \
	{                                                                                                    \
		0                                                                                            \
	}
void layout_release(struct layout *l);

enum layout_verdict { LAYOUT_OK, LAYOUT_BUSY, LAYOUT_NEVER };

/* The controller's half. BUSY: later; NEVER: err->text is what stands behind "Unable to create step for job N: ". */
enum layout_verdict layout_place(const struct layout_request *r, const struct layout_host *hosts,
				 uint32_t nhosts, struct layout *out, struct error *err);
/* Counts of tasks and numbering alone: caps[i] CPUs-worth of tasks on host i. -1: not enough room. */
int layout_count(const uint32_t *caps, uint32_t n, uint32_t ntasks, uint8_t distribution, uint32_t plane,
		 bool pack, bool overcommit, uint32_t *counts);
void layout_number(struct layout *l, uint32_t plane);

#endif
