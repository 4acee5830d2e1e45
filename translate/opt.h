/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option-row engine: one `struct opt_row` is all that we know about one option of one or more tools. From the rows
 * come the getopt_long tables (so that abbreviations, bundling, "=" or blank and the texts of errors are glibc's own,
 * as in Slurm), environment input, #SBATCH lines, --help, --usage, the manual, completion and docs/support.md.
 *
 * A tool parses in passes over one target struct, a later one wins (sbatch: directives, environment, command line).
 * The engine does no I/O but: getopt's own error lines with the "Try ..." line behind them, the text of --help,
 * --usage and --version on stdout, and warnings (log.h) for what isn't done exactly.
 */
#ifndef SOC_TRANSLATE_OPT_H
#define SOC_TRANSLATE_OPT_H

#include "common/error.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What becomes of an option: a promise to the user. */
enum fate {
	FATE_MAPPED,       /* does what it does in Slurm */
	FATE_APPROXIMATED, /* nearly; warned once a run, with row.note */
	FATE_IGNORED,      /* changes nothing in the result; warned once a run, with row.note */
	FATE_REFUSED,      /* error with row.note, nothing is submitted or run */
};

/* Rows may serve several tools; .tools is a set of these (0: every tool whose table holds the row). */
enum opt_tools {
	TOOL_SBATCH = 1 << 0,
	TOOL_SRUN = 1 << 1,
	TOOL_SALLOC = 1 << 2,
	TOOL_SCANCEL = 1 << 3,
	TOOL_SQUEUE = 1 << 4,
	TOOL_SCONTROL = 1 << 5,
	TOOL_SINFO = 1 << 6,
	TOOL_SACCT = 1 << 7,
};

enum opt_origin { OPT_FROM_DIRECTIVE, OPT_FROM_ENV, OPT_FROM_CLI };

struct opt_row;
struct opt_run;

/* What a row's parse function is told. All borrowed. */
struct opt_context {
	struct opt_run *run;
	const struct opt_row *row;
	enum opt_origin origin;
	const char *spelled; /* "--time", "-t", or the name of the environment variable */
	const char *value;   /* NULL: no argument (a flag, or an optional one left out) */
	void *target;        /* the tool's struct */
	void *field;         /* target + row.offset */
};

/*
 * Stores ctx->value in ctx->field. -1 with err: ERR_USAGE ends the tool with its usage code (255 for sbatch and srun),
 * ERR_VALUE with 1; the text is what Slurm prints behind "sbatch: error: " (several lines: each behind its own).
 */
typedef int opt_parse_fn(const struct opt_context *ctx, struct error *err);

struct opt_row {
	const char *name;   /* long name */
	char key;           /* letter, or 0 */
	unsigned char arg;  /* no_argument, required_argument, optional_argument of getopt.h */
	unsigned char fate; /* enum fate */
	bool hidden;        /* not in --help (Slurm doesn't list it there either) */
	bool early;         /* done in the early pass too (--help, --wrap, --ignore-pbs ...) */
	bool cli_only;      /* no effect in a directive (--wrap, --version) */
	unsigned tools;     /* enum opt_tools; 0: all */
	/*
	 * Input variables, blank separated, applied in this order: a name is put behind each prefix of the tool
	 * ("TIMELIMIT": SBATCH_TIMELIMIT), one that starts with '=' is taken whole ("=SRUN_CPUS_PER_TASK"). NULL: none.
	 * An empty value is given to the row like any other (an empty SBATCH_TIMELIMIT is an error, as in Slurm); a
	 * flag is set by any value, and a row whose argument is optional sees NULL for an empty one.
	 */
	const char *env;
	const char *metavar; /* name of the argument in --help; set exactly when there is one */
	const char *help;    /* one sentence, no capital, no period */
	const char *sge;  /* what it becomes, for docs ("-l h_rt=seconds"); NULL: nothing of the engine's */
	const char *note; /* APPROXIMATED, IGNORED, REFUSED: why, and what to do instead; one sentence */
	opt_parse_fn *parse; /* REFUSED, IGNORED: NULL, or one that only says what is wrong with the value */
	size_t offset;       /* of the field in the tool's struct: OPT_FIELD(struct x, member) */
	long number; /* for opt_parse_number_row: what a flag stores; else free for the row's parser */
};

#define OPT_FIELD(type, member) .offset = offsetof(type, member)

/* A tool: its rows in Slurm's order of listing (getopt's list of possibilities comes in it). */
struct opt_tool {
	const char *name;
	unsigned bit; /* enum opt_tools */
	const struct opt_row *rows;
	size_t nrows;
	const char *const *prefixes; /* of environment input, NULL terminated; NULL: none */
	const char *usage;           /* text of --usage, with its newline; NULL: made from the rows */
	const char *synopsis;        /* "[OPTIONS...] script [args...]" */
	int usage_code;              /* exit code of a usage error: 255 sbatch, srun, salloc; 1 the others */
	bool no_hint;                /* no `Try "x --help" ...` line behind getopt's (sacct) */
};

/* What was asked for that ends the run at once. */
enum opt_show { OPT_SHOW_NOTHING, OPT_SHOW_HELP, OPT_SHOW_USAGE, OPT_SHOW_VERSION };

/* One run of a tool. */
struct opt_run {
	const struct opt_tool *tool;
	void *target;
	const char *version; /* what --version prints behind "slurm " */
	bool no_warnings;    /* a first look, whose target is thrown away */
	enum opt_show show;  /* set by parse functions; the engine prints it, and returns OPT_DONE */
	bool *warned;        /* per row */
	bool *given;         /* per row: in any pass */
	uint8_t *origin;     /* per row: enum opt_origin of the last time */
};

#define cleanup_opt_run cleanup(opt_run_release)

/* version is borrowed; NULL: the compiled default. */
void opt_run_init(struct opt_run *run, const struct opt_tool *tool, void *target, const char *version);
void opt_run_release(struct opt_run *run);

#define OPT_DONE 1 /* help, usage or version was printed: exit 0 */

/*
 * Command line. Stops at the first word that is no option, or behind "--"; *first is its index in argv. early: only
 * rows with .early take effect (unknown and ambiguous options are errors in both passes).
 * 0, OPT_DONE, or -1 with err; err->text is empty where getopt has already printed the lines.
 */
int opt_parse_cli(struct opt_run *run, int argc, char **argv, bool early, int *first, struct error *err);
/* Words of one directive line, argv[0] being the tool's name; a left-over word is *extra (borrowed; NULL: none). */
int opt_parse_directive(struct opt_run *run, int argc, char **argv, const char **extra, struct error *err);
/* Input variables of the tool found in envp. */
int opt_parse_env(struct opt_run *run, char *const *envp, struct error *err);
/* Prints err as "<tool>: error: ...", a line for each of its lines (Slurm sometimes has two); nothing when empty. */
void opt_log_error(const struct error *err);
/* opt_log_error(), and the exit code. */
int opt_fail(const struct opt_run *run, const struct error *err);
/* Was the option given, and where last? */
bool opt_given(const struct opt_run *run, const char *name, enum opt_origin *origin);

/* Each row that the tool has, in order. */
typedef void opt_walk_fn(const struct opt_row *row, void *arg);
void opt_walk(const struct opt_tool *tool, opt_walk_fn *fn, void *arg);
const struct opt_row *opt_find(const struct opt_tool *tool, const char *name);
const char *opt_fate_name(int fate);

void opt_print_help(const struct opt_tool *tool, FILE *out);
void opt_print_usage(const struct opt_tool *tool, FILE *out);
/* One line per row, tab separated: tool, name, letter, arg, variables, metavar, fate, sge, help, note, "hidden". */
void opt_print_rows(const struct opt_tool *tool, FILE *out);

/* --- shared parsers; the comment says the type of the field --- */
int opt_parse_help(const struct opt_context *ctx, struct error *err);       /* no field */
int opt_parse_usage(const struct opt_context *ctx, struct error *err);      /* no field */
int opt_parse_version(const struct opt_context *ctx, struct error *err);    /* no field */
int opt_parse_flag(const struct opt_context *ctx, struct error *err);       /* bool: true */
int opt_parse_number_row(const struct opt_context *ctx, struct error *err); /* int: row.number */
int opt_parse_counter(const struct opt_context *ctx,
		      struct error *err); /* int: + 1; a variable's value is added */
int opt_parse_string(const struct opt_context *ctx,
		     struct error *err); /* char *: a copy, the old one freed */
/* uint32_t > 0. ERR_VALUE `Invalid numeric value "abc" for --ntasks.` */
int opt_parse_positive(const struct opt_context *ctx, struct error *err);
/* uint32_t >= 0, the same text. */
int opt_parse_unsigned(const struct opt_context *ctx, struct error *err);
int opt_parse_duration(const struct opt_context *ctx,
		       struct error *err); /* int64_t s. "Invalid --time specification" */

#endif
