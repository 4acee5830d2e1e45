/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a rank, in layers (a later one wins): what srun hands on (filtered by --export), the step's
 * variables, the rank's, the host's. Pure; equal to what Slurm 22.05 sets (tests/golden/env).
 */
#ifndef SOC_LAUNCHER_STEPENV_H
#define SOC_LAUNCHER_STEPENV_H

#include "common/env.h"
#include "launcher/layout.h"

struct stepenv_step {
	uint32_t step_id;
	const struct layout *layout;
	const char *const *names; /* of the step's hosts */
	const char *job_nodelist, *job_cpus_per_node;
	uint64_t job_id;
	uint32_t cpus_per_task;   /* given to this srun; LAYOUT_UNSET */
	uint32_t ntasks_per_node; /* the same, as long as it can be honoured */
	uint32_t plane_size;
	bool overcommit;
	const char *name;           /* --job-name of the step; NULL */
	const char *launch_address; /* numeric, of the host that srun is on */
	uint16_t port;
	uint32_t umask;
	const char *job_gpus; /* SOO_JOB_GPUS of the job; NULL */
	int verbosity;        /* -1 quiet, 0, 1 ... */
};

/* Step variables into e. */
void stepenv_step(struct env *e, const struct stepenv_step *s);

struct stepenv_rank {
	const char *node;
	uint32_t node_index, cpus;
	const uint32_t *ranks; /* of this host */
	uint32_t nranks;
	uint32_t local; /* which of them */
};

/* SLURM_TASK_PID is put in last, with room for any pid, since only the child itself knows it: stepenv_set_pid(). */
void stepenv_rank(struct env *e, const struct stepenv_rank *r);
/* In the forked child: no allocation. */
void stepenv_set_pid(char *const *envp, int pid);
/*
 * What belongs to the host, from the environment of our own process there: TMPDIR, HOSTNAME, SGE_*, SOO_JOB_DIR and
 * the device masks of the engine; what is not set here must not be either.
 */
void stepenv_host(struct env *e, const struct env *host);

#endif
