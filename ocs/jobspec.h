/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sbatch leaves in the job's spool folder and the supervisor reads there: the part of the request that matters
 * on the execution host, with the settings of slurm-on-ocs.conf that the launcher needs (it has no libconfig).
 * Binary (common/pack.h), since paths and names may hold any byte. Files of the folder: "job" (this), "script",
 * "args" and "env" (NUL separated, exact).
 */
#ifndef SOC_OCS_JOBSPEC_H
#define SOC_OCS_JOBSPEC_H

#include "common/error.h"
#include "common/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

#define JOBSPEC_VERSION 1
#define JOBSPEC_UNSET UINT32_MAX

struct launch_settings {
	uint16_t port_first, port_last;
	uint32_t launch_timeout, control_timeout, ping_interval, auth_timeout; /* s */
	uint32_t race_retry, slot_retry, kill_wait;                            /* s */
	uint32_t launch_window;
	bool kill_on_bad_exit;
	char *interface;          /* NULL: all */
	char *container_runtimes; /* NULL: the preload's own list */
	char *accounting_dir;
	char *cluster_name;
};

struct jobspec {
	char *name;      /* --job-name as given */
	char *partition; /* as asked for; NULL: the engine's queue */
	char *account;   /* NULL: the engine's */
	char *qos;
	char *comment;
	char *command;     /* script path and arguments as scontrol shows them; NULL for stdin */
	char *submit_dir;  /* where sbatch ran */
	char *submit_host; /* short or as hostname says */
	char *submit_addr; /* numeric address of the submit host; NULL */
	char *work_dir;    /* --chdir, else submit_dir */
	char *std_in, *std_out, *std_err; /* patterns, not expanded; NULL: Slurm's default */
	uint8_t open_mode; /* 'a', 't', 0: Slurm's default (truncate; append after a requeue) */
	uint32_t umask;
	bool export_none_env; /* --export=NONE or a list: SLURM_EXPORT_ENV */
	char *export_env;     /* value of SLURM_EXPORT_ENV; NULL: not set */
	bool get_user_env;

	/* geometry as asked (JOBSPEC_UNSET: not given); what was granted is in PE_HOSTFILE */
	uint32_t min_nodes, max_nodes, ntasks, ntasks_per_node, cpus_per_task;
	uint32_t slots_per_host; /* k of the design: what we asked of the engine per host; 0: not fixed */
	bool overcommit, exclusive;
	char *distribution; /* --distribution as given; NULL */
	uint32_t mem_per_node_mib, mem_per_cpu_mib, mem_per_gpu_mib;
	uint32_t cpus_per_gpu;
	char *gpus, *gpus_per_node, *gpus_per_task; /* as given; NULL */
	char *gpu_maps; /* complexes, with commas, whose granted ids (RSMAP) are the job's GPUs; NULL */

	int64_t time_limit;                    /* s; DURATION_INFINITE */
	uint32_t signal_number, signal_before; /* --signal; 0: none */
	bool signal_batch_only;

	/* array: element position p = 1..count on the engine is Slurm's index[p-1] */
	uint32_t *array_index;
	uint32_t array_count; /* 0: no array */
	uint32_t array_step;  /* SLURM_ARRAY_TASK_STEP */
	bool requeue;         /* may it be started again? */
	int64_t deadline;     /* --deadline, s since the epoch; 0: none */
	int64_t time_min;     /* s; 0: not given */

	struct launch_settings launch;
};

#define JOBSPEC_INIT                                                                                         \
	{                                                                                                    \
		0                                                                                            \
	}
#define cleanup_jobspec cleanup(jobspec_release)

void jobspec_init(struct jobspec *j); /* every count unset, no time limit */
void jobspec_release(struct jobspec *j);
void jobspec_pack(const struct jobspec *j, struct strbuf *out);
int jobspec_unpack(struct jobspec *j, const void *data, size_t n, struct error *err);

#endif
