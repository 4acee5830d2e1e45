/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine granted to this job: hosts and slots from PE_HOSTFILE (or one host), ids from the environment. */
#ifndef SOC_LAUNCHER_ALLOC_H
#define SOC_LAUNCHER_ALLOC_H

#include "common/env.h"
#include "common/error.h"
#include "common/strbuf.h"
#include "ocs/jobspec.h"

#include <stddef.h>
#include <stdint.h>

struct alloc_host {
	char *engine_name; /* as the engine spells it (qrsh needs this) */
	char *node_name; /* as Slurm shows it: the short name, the full one where two hosts would share it */
	uint32_t slots;  /* granted here = CPUs */
	uint32_t tasks;  /* the job's tasks here by the request (SLURM_TASKS_PER_NODE) */
	char *gpus;      /* ids of the job's GPUs here, with commas; NULL: none, or nobody knows which */
	uint32_t ngpus;
};

struct alloc {
	struct alloc_host *hosts; /* master first, in the engine's order; repeated hosts merged */
	size_t nhosts;
	uint64_t engine_id;   /* JOB_ID */
	uint32_t engine_task; /* SGE_TASK_ID; 0: no array */
	uint64_t job_id;  /* SLURM_JOB_ID: engine_id, or engine_id * 100000 + engine_task for an element */
	uint32_t restart; /* RESTARTED */
	uint32_t ntasks;  /* the job's tasks (asked for, or one per host) */
	char *queue;      /* QUEUE */
	char *user;       /* LOGNAME / USER */
	char *account;    /* SGE_ACCOUNT */
};

#define ALLOC_INIT                                                                                           \
	{                                                                                                    \
		0                                                                                            \
	}
#define cleanup_alloc cleanup(alloc_release)
void alloc_release(struct alloc *a);
/* From the job's environment (PE_HOSTFILE is read; without it one host of NSLOTS slots). */
int alloc_load(struct alloc *a, const struct jobspec *job, const struct env *env, struct error *err);
/* The parser of a PE_HOSTFILE ("host slots queue@host processors" lines) alone; tasks stay 0. */
int alloc_parse_hostfile(struct alloc *a, const char *text, struct error *err);
/* ntasks and each host's tasks by the request: round robin, no host above its slots / cpus_per_task before all are
 * full (what is more goes on round robin: --overcommit); without a task count as many as fit. */
void alloc_set_tasks(struct alloc *a, const struct jobspec *job);
/* The ids of the job's GPUs, from what `qstat -j` says. -1: on no host. */
int alloc_set_gpus(struct alloc *a, const struct jobspec *job, const char *text);
/* Packed form, for agents and step clients. */
void alloc_pack(const struct alloc *a, struct strbuf *out);
int alloc_unpack(struct alloc *a, const void *data, size_t n, struct error *err);

#endif
