/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration: slurm-on-ocs.conf by libconfig. Every key is one row in conf/keys.c (name, type, default, limits,
 * text); everything has a default that needs no file. Looked for in $SLURM_ON_OCS_CONF, then
 * $SGE_ROOT/$SGE_CELL/common/slurm-on-ocs.conf, then <sysconfdir>/slurm-on-ocs/slurm-on-ocs.conf.
 */
#ifndef SOC_CONF_CONF_H
#define SOC_CONF_CONF_H

#include "common/argvec.h"
#include "common/error.h"

#include <stdbool.h>

/* A partition that isn't simply the queue of the same name. */
struct conf_partition {
	char *name;
	char *queue; /* Grid Engine queue (default: name) */
	char *pe;    /* a PE to use for it; NULL: found */
};

/* What a word of Slurm's (a feature, a generic resource) is in the cell. */
struct conf_map {
	char *name;    /* "intel"; "gpu:a100" */
	char *complex; /* NULL: of the row's name */
	char *request; /* more of -l: "cpu_model=intel*"; NULL */
};

struct conf_maps {
	struct conf_map *v;
	size_t n;
};

struct conf {
	char *file; /* where it was read from; NULL: defaults only */

	/* site */
	char *cluster_name;      /* SLURM_CLUSTER_NAME; default $SGE_CLUSTER_NAME, else the cell's name */
	char *slurm_version;     /* what --version prints: "22.05.8" */
	char *default_partition; /* NULL: the engine chooses among its queues */
	struct conf_partition *partitions;
	size_t npartitions;
	char *pe_family;      /* prefix of the installer's PEs: "slurm-on-ocs" (".<k>", ".fill" behind it) */
	char *spool_dir;      /* "~/.slurm-on-ocs"; a leading ~ is the user's home */
	char *accounting_dir; /* default $SGE_ROOT/$SGE_CELL/common/slurm-on-ocs/acct */
	char *memory_complex; /* NULL: found; "none": memory isn't asked for */
	char *exclusive_complex, *tmp_complex; /* NULL: found */
	char *gpu_complex;                     /* "gpu" */
	struct conf_maps features, gres;
	struct argvec native_pes; /* PEs whose native jobs get SLURM_* too (besides ours) */
	char *container_runtimes; /* ':'-separated names at whose exec the preload takes itself out; NULL: compiled in */
	int engine_timeout; /* s for one engine command: 60 */

	/* steps and the control plane; all times in seconds */
	int port_first, port_last; /* 61000-61439 */
	char *interface;     /* the only network interface to use between hosts; NULL: every one that is up */
	int launch_timeout;  /* 60: from launch to the last host's READY */
	int control_timeout; /* 60: silence on a control connection */
	int ping_interval;   /* 10 */
	int auth_timeout;    /* 10: for a peer to prove itself */
	int race_retry;      /* 10: how long a refusal of a job that execd doesn't know yet is retried */
	int slot_retry;      /* 300: how long a refusal for want of slots is retried */
	int launch_window;   /* 64: agents started at a time */
	int kill_wait;       /* 30: TERM to KILL */
	bool kill_on_bad_exit;    /* false, as in Slurm */
	bool kill_invalid_depend; /* true */
	int max_array_size;       /* 4000001: Slurm's MaxArraySize, the largest index plus one */
};

#define CONF_INIT                                                                                            \
	{                                                                                                    \
		0                                                                                            \
	}
#define cleanup_conf cleanup(conf_release)

/* Fills c from the file, or from the defaults alone. Errors carry file and line; unknown keys are errors with a
 * "did you mean". */
int conf_load(struct conf *c, struct error *err);
int conf_load_file(struct conf *c, const char *file, struct error *err); /* file NULL: defaults */
/* The same from text; name is what errors call it. */
int conf_load_text(struct conf *c, const char *name, const char *text, struct error *err);
void conf_release(struct conf *c);
/* The row of a partition, or NULL. */
const struct conf_partition *conf_partition(const struct conf *c, const char *name);
/* The row named name[:type] (type NULL: name alone), or NULL. */
const struct conf_map *conf_map(const struct conf_maps *m, const char *name, const char *type);
/* spool_dir with its leading ~ replaced by the user's home ($HOME, else the passwd entry). Caller frees. */
char *conf_spool_dir(const struct conf *c, struct error *err);

/* Every key with default and text: as the sample file / as the list of keys in slurm-on-ocs.conf(5), scdoc. Caller
 * frees. */
char *conf_sample(void);
char *conf_manual(void);

#endif
