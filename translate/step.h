/* SPDX-License-Identifier: Apache-2.0 */
/* What srun's options say: the step's request, filled by rows_srun.c, and the few words that srun.c itself acts on. */
#ifndef SOC_TRANSLATE_STEP_H
#define SOC_TRANSLATE_STEP_H

#include "ocs/stepspec.h"
#include "translate/opt.h"

struct srun {
	struct stepspec spec; /* all but argv, env, cwd and umask, which srun.c adds */
	char *const *envp;
	int verbose, quiet;
	char *job_id;      /* --jobid, SLURM_JOB_ID */
	char *export_spec; /* NULL: everything */
	char *mpi;
	bool whole; /* --whole takes back what -c implies */
	bool begin; /* --begin was given: Slurm says that it does nothing */
};

extern const struct opt_tool srun_tool;

void srun_init(struct srun *s, char *const *envp);
void srun_release(struct srun *s);
/*
 * What the options say together: -c makes a step exact, SLURM_HOSTFILE, verbosity. Reads a file of hosts where one
 * is named. -1 with err.
 */
int srun_settle(struct srun *s, struct error *err);
/*
 * srun --export: spec NULL or "ALL" gives all of envp; "NONE", "NIL" and lists only SLURM_*, and what is listed
 * (NAME, NAME=value). ALL in a list: all, and NAME=value only where NAME isn't set already, as in Slurm.
 */
void srun_environment(const char *spec, char *const *envp, struct env *out);
/* "--mpi=list" on stdout. */
void srun_list_mpi(void);

/* --- parsers of rows_srun.c (value_step.c) --- */
int parse_step_nodes(const struct opt_context *ctx, struct error *err);        /* spec.min_nodes, max_nodes */
int parse_step_distribution(const struct opt_context *ctx, struct error *err); /* spec.distribution ... */
int parse_step_flag(const struct opt_context *ctx, struct error *err); /* bool; variables say yes, no, 1, 0 */
int parse_step_quiet(const struct opt_context *ctx, struct error *err);     /* int */
int parse_step_kill(const struct opt_context *ctx, struct error *err);      /* int8_t */
int parse_step_no_kill(const struct opt_context *ctx, struct error *err);   /* bool */
int parse_step_immediate(const struct opt_context *ctx, struct error *err); /* bool */
int parse_step_exclusive(const struct opt_context *ctx, struct error *err); /* bool */
int parse_step_hosts(const struct opt_context *ctx, struct error *err);     /* char *: a list, or a file's */
int parse_step_host_file(const struct opt_context *ctx, struct error *err); /* char *: a file's list */
int parse_step_chdir(const struct opt_context *ctx, struct error *err);     /* char *, made absolute */
int parse_step_mpi(const struct opt_context *ctx, struct error *err);       /* char * */
int parse_step_cpu_bind(const struct opt_context *ctx, struct error *err);  /* no field */
int parse_step_memory(const struct opt_context *ctx, struct error *err);    /* no field */
int parse_step_gres(const struct opt_context *ctx, struct error *err);      /* no field: none only */
int parse_step_version(const struct opt_context *ctx, struct error *err);   /* no field */
/* An option of an allocation: in a job Slurm's srun takes it and does nothing. No field. */
int parse_allocation(const struct opt_context *ctx, struct error *err);
int check_propagate(const struct opt_context *ctx, struct error *err);
int check_step_time(const struct opt_context *ctx, struct error *err);

#endif
