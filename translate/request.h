/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user asks of sbatch, in Slurm's words and free of the engine's: filled by the rows of rows_submit.c, made
 * consistent by request_finish(), read by the emitters. No I/O here.
 */
#ifndef SOC_TRANSLATE_REQUEST_H
#define SOC_TRANSLATE_REQUEST_H

#include "common/error.h"
#include "translate/opt.h"

#include <stdbool.h>
#include <stdint.h>

#define REQUEST_UNSET UINT32_MAX

/* --array: the elements' indexes, sorted, each once. */
struct array_request {
	uint32_t *index; /* NULL: no array */
	uint32_t count;
	uint32_t step;  /* SLURM_ARRAY_TASK_STEP: as written in a:b:step, else 1 */
	uint32_t limit; /* %n; 0: none */
};

struct node_range {
	uint32_t min, max; /* REQUEST_UNSET: not given */
};

/* --signal; number 0: none. */
struct signal_request {
	uint32_t number, before; /* s before the time limit */
	bool batch_only;
};

/* Memory and disk space, MiB. */
#define SIZE_UNSET UINT64_MAX

struct size_request {
	uint64_t mib;
	bool from_env; /* as against the command line and the script, which Slurm takes for one */
};

/* One of "gpu:a100:2,fpga". Licenses have no type. */
struct counted {
	char *name, *type; /* type NULL: any */
	uint32_t count;
};

struct counted_list {
	char *text; /* as given; NULL: not given */
	struct counted *v;
	size_t n;
};

/* --mail-type */
enum mail_event {
	MAIL_BEGIN = 1 << 0,
	MAIL_END = 1 << 1,
	MAIL_FAIL = 1 << 2,
	MAIL_REQUEUE = 1 << 3,
	MAIL_ARRAY_TASKS = 1 << 4, /* the engine tells of each element anyway */
	MAIL_TIME_LIMIT = 1 << 5,
};

struct request {
	char *account, *chdir, *clusters, *comment, *distribution, *export_spec, *name, *partition, *qos;
	char *std_in, *std_out, *std_err; /* patterns, as given; NULL: not given */
	char *dependency;                 /* --dependency, known to be good; NULL or "": none */
	char *wrap;
	uint8_t open_mode; /* 'a', 't', 0 */
	bool hold, ignore_pbs, overcommit, parsable, quiet, test_only, get_user_env;
	int verbose;
	int requeue;             /* 1, 0; -1: not given */
	int kill_invalid_depend; /* the same */
	int nice;                /* > 0: lower priority */
	struct node_range nodes;
	uint32_t ntasks, ntasks_per_node, cpus_per_task, mincpus; /* REQUEST_UNSET: not given */
	int64_t time_limit;                                       /* s; DURATION_INFINITE */
	struct array_request array;
	struct signal_request signal;
	struct size_request mem, mem_per_cpu, mem_per_gpu, tmp;
	struct counted_list gres, gpus, gpus_per_node, gpus_per_task, licenses;
	uint32_t cpus_per_gpu; /* REQUEST_UNSET: not given */
	char *nodelist, *exclude, *constraint;
	bool exclusive;
	int64_t begin, deadline; /* s since the epoch; 0: none */
	int64_t time_min;        /* s; 0: not given */
	unsigned mail;           /* enum mail_event */
	char *mail_user, *reservation, *export_file, *wckey;
	bool wait;

	/* by request_finish(): what --nodes and the others come to */
	uint32_t tasks;  /* in all, as scontrol's NumTasks */
	uint32_t listed; /* hosts of nodelist: the least that the job has */
};

#define cleanup_request cleanup(request_release)

void request_init(struct request *r);
void request_release(struct request *r);

/*
 * Applies Slurm's rules between options once all are read: -N4 -n3 becomes 3 nodes, with *warning (caller frees; NULL:
 * none) being what Slurm says then. -1 where Slurm refuses.
 */
int request_finish(struct request *r, char **warning, struct error *err);

/* Options of which Slurm takes only one; the text stands behind "sbatch: fatal: ". */
int request_conflicts(const struct request *r, struct error *err);

/* --deadline, --begin, --time and --time-min together, at the time now (s since the epoch). -1 with Slurm's words. */
int request_check_times(const struct request *r, int64_t now, struct error *err);

extern const struct opt_tool sbatch_options;

/* --- value parsers of rows_submit.c; value_submit.c, value_array.c --- */
int parse_nodes(const struct opt_context *ctx, struct error *err);        /* struct node_range */
int parse_array(const struct opt_context *ctx, struct error *err);        /* struct array_request */
int parse_dependency(const struct opt_context *ctx, struct error *err);   /* char * */
int parse_yes_no(const struct opt_context *ctx, struct error *err);       /* int */
int parse_open_mode(const struct opt_context *ctx, struct error *err);    /* uint8_t */
int parse_nice(const struct opt_context *ctx, struct error *err);         /* int */
int parse_distribution(const struct opt_context *ctx, struct error *err); /* char * */
int parse_signal(const struct opt_context *ctx, struct error *err);       /* struct signal_request */
/* --- the same, of value_resource.c --- */
int parse_size(const struct opt_context *ctx, struct error *err); /* struct size_request */
int parse_gres(const struct opt_context *ctx, struct error *err); /* struct counted_list */
int parse_gpus(const struct opt_context *ctx, struct error *err); /* struct counted_list, all named "gpu" */
int parse_licenses(const struct opt_context *ctx, struct error *err);  /* struct counted_list */
int parse_exclusive(const struct opt_context *ctx, struct error *err); /* bool */
int parse_nodelist(const struct opt_context *ctx, struct error *err);  /* char *: host names with commas */
int parse_nodefile(const struct opt_context *ctx, struct error *err);  /* the same */
void counted_list_release(struct counted_list *l);
/* --- the same, of value_timing.c --- */
int parse_when(const struct opt_context *ctx, struct error *err);      /* int64_t: s since the epoch */
int parse_time_min(const struct opt_context *ctx, struct error *err);  /* int64_t */
int parse_mail_type(const struct opt_context *ctx, struct error *err); /* unsigned: enum mail_event */
int check_priority(const struct opt_context *ctx, struct error *err);
/* Checks alone, for values that are refused or ignored. */
int check_size(const struct opt_context *ctx, struct error *err);
int check_number(const struct opt_context *ctx, struct error *err);
int check_root(const struct opt_context *ctx, struct error *err);
int check_no_kill(const struct opt_context *ctx, struct error *err);
int check_exclusive(const struct opt_context *ctx, struct error *err);
int check_hint(const struct opt_context *ctx, struct error *err);
int check_cpu_freq(const struct opt_context *ctx, struct error *err);
int check_delay_boot(const struct opt_context *ctx, struct error *err);
int check_gres_flags(const struct opt_context *ctx, struct error *err);
int check_mem_bind(const struct opt_context *ctx, struct error *err);

/* The parser behind parse_array: text as --array has it. -1 where Slurm says "Invalid job array specification". */
int array_parse(struct array_request *a, const char *text, struct error *err);
/* The indexes as scontrol's ArrayTaskId shows them: "0-9", "1,4,7", with "%limit". Caller frees. */
char *array_format(const struct array_request *a);

#endif
