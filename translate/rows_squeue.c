/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of squeue: one row each. A new option is one row here and one case in tests/golden/squeue. */
#include "common/mem.h"
#include "translate/squeue.h"

#include <string.h>

#define FIELD(member) OPT_FIELD(struct squeue_options, member)

#define ONE_CLUSTER "there is one cluster only"

/* -j and -s: the value is optional, and may be the next word (squeue.c takes it). */
static int parse_jobs(const struct opt_context *ctx, struct error *err)
{
	struct squeue_options *o = ctx->target;

	(void)err;
	o->job_flag = true;
	if (ctx->value)
		replace_str(&o->jobs, ctx->value);
	return 0;
}

static int parse_steps(const struct opt_context *ctx, struct error *err)
{
	struct squeue_options *o = ctx->target;

	(void)err;
	o->step_flag = true;
	if (ctx->value)
		replace_str(&o->steps, ctx->value);
	return 0;
}

/* A variable's format gives way to every option that chooses one. */
static int parse_format(const struct opt_context *ctx, struct error *err)
{
	struct squeue_options *o = ctx->target;

	if (ctx->origin == OPT_FROM_ENV) {
		replace_str(&o->env_format, ctx->value);
		return 0;
	}
	if (o->names_format)
		return error_set(err, ERR_VALUE, "-o (--format) is incompatible with -O (--Format)");
	replace_str(&o->format, ctx->value);
	return 0;
}

static int parse_names_format(const struct opt_context *ctx, struct error *err)
{
	struct squeue_options *o = ctx->target;

	if (ctx->origin == OPT_FROM_ENV) {
		replace_str(&o->env_names_format, ctx->value);
		return 0;
	}
	if (o->format)
		return error_set(err, ERR_VALUE, "-O (--Format) is incompatible with -o (--format)");
	replace_str(&o->names_format, ctx->value);
	return 0;
}

static int parse_iterate(const struct opt_context *ctx, struct error *err)
{
	int *seconds = ctx->field;
	char *end;
	long v = strtol(ctx->value, &end, 10);

	if (end == ctx->value || *end || v <= 0 || v > 1000000)
		return error_set(err, ERR_VALUE, "--iterate=%s", ctx->value);
	*seconds = (int)v;
	return 0;
}

static const struct opt_row rows[] = {
	{ .name = "accounts",
	  .key = 'A',
	  .arg = required_argument,
	  .env = "ACCOUNT",
	  .metavar = "names",
	  .help = "jobs of these accounts",
	  .parse = opt_parse_string,
	  FIELD(accounts) },
	{ .name = "all",
	  .key = 'a',
	  .env = "ALL",
	  .help = "jobs of hidden partitions, too (here no partition is hidden)",
	  .parse = opt_parse_flag,
	  FIELD(unchanged) },
	{ .name = "array",
	  .key = 'r',
	  .env = "ARRAY",
	  .help = "one line per element of a job array",
	  .parse = opt_parse_flag,
	  FIELD(array) },
	{ .name = "array-unique",
	  .env = "ARRAY_UNIQUE",
	  .number = 3,
	  .help = "pending elements of an array once (they are, without --array)",
	  .parse = opt_parse_flag,
	  FIELD(unchanged) },
	{ .name = "cluster",
	  .arg = required_argument,
	  .hidden = true,
	  .number = 1,
	  .metavar = "name",
	  .help = "cluster to ask; this one only",
	  .parse = opt_parse_string,
	  FIELD(clusters) },
	{ .name = "clusters",
	  .key = 'M',
	  .arg = required_argument,
	  .env = "=SLURM_CLUSTERS",
	  .metavar = "names",
	  .help = "clusters to ask; this one only",
	  .parse = opt_parse_string,
	  FIELD(clusters) },
	{ .name = "federation",
	  .fate = FATE_IGNORED,
	  .env = "FEDERATION",
	  .help = "jobs of the whole federation",
	  .note = ONE_CLUSTER },
	{ .name = "Format",
	  .key = 'O',
	  .arg = required_argument,
	  .env = "FORMAT2",
	  .metavar = "fields",
	  .help = "fields to print, by name: type[:[.][size][suffix]],...",
	  .parse = parse_names_format },
	{ .name = "format",
	  .key = 'o',
	  .arg = required_argument,
	  .env = "FORMAT",
	  .metavar = "format",
	  .help = "fields to print, by letter: %[[.]size]type[suffix]...",
	  .parse = parse_format },
	{ .name = "help", .help = "show this help", .parse = opt_parse_help },
	{ .name = "hide",
	  .help = "no jobs of hidden partitions (here no partition is hidden)",
	  .number = 1,
	  .parse = opt_parse_flag,
	  FIELD(unchanged) },
	{ .name = "iterate",
	  .key = 'i',
	  .arg = required_argument,
	  .metavar = "seconds",
	  .help = "print again and again, this far apart",
	  .parse = parse_iterate,
	  FIELD(iterate) },
	{ .name = "jobs",
	  .key = 'j',
	  .arg = optional_argument,
	  .metavar = "ids",
	  .help = "these jobs: N, N_k, N_[a-b], comma separated",
	  .parse = parse_jobs },
	{ .name = "json",
	  .fate = FATE_REFUSED,
	  .help = "print JSON",
	  .note = "this version prints no JSON; choose the fields with --Format or --format" },
	{ .name = "licenses",
	  .key = 'L',
	  .arg = required_argument,
	  .env = "LICENSES",
	  .metavar = "names",
	  .help = "jobs that use these licences (no job here has any)",
	  .parse = opt_parse_string,
	  FIELD(licenses) },
	{ .name = "local",
	  .fate = FATE_IGNORED,
	  .env = "LOCAL",
	  .help = "jobs of this cluster only",
	  .note = ONE_CLUSTER },
	{ .name = "long", .key = 'l', .help = "more fields", .parse = opt_parse_flag, FIELD(long_list) },
	{ .name = "me", .help = "my jobs", .parse = opt_parse_flag, FIELD(me) },
	{ .name = "name",
	  .key = 'n',
	  .arg = required_argument,
	  .env = "NAMES",
	  .metavar = "names",
	  .help = "jobs of these names",
	  .parse = opt_parse_string,
	  FIELD(names) },
	{ .name = "noconvert",
	  .help = "sizes in their original units",
	  .number = 2,
	  .parse = opt_parse_flag,
	  FIELD(unchanged) },
	{ .name = "node",
	  .arg = required_argument,
	  .hidden = true,
	  .number = 1,
	  .metavar = "hostlist",
	  .help = "jobs on these hosts",
	  .parse = opt_parse_string,
	  FIELD(nodes) },
	{ .name = "nodelist",
	  .key = 'w',
	  .arg = required_argument,
	  .metavar = "hostlist",
	  .help = "jobs on these hosts",
	  .parse = opt_parse_string,
	  FIELD(nodes) },
	{ .name = "nodes",
	  .arg = required_argument,
	  .hidden = true,
	  .number = 2,
	  .metavar = "hostlist",
	  .help = "jobs on these hosts",
	  .parse = opt_parse_string,
	  FIELD(nodes) },
	{ .name = "noheader", .key = 'h', .help = "no header", .parse = opt_parse_flag, FIELD(noheader) },
	{ .name = "partitions",
	  .key = 'p',
	  .arg = required_argument,
	  .env = "PARTITION",
	  .metavar = "names",
	  .help = "jobs in these partitions",
	  .parse = opt_parse_string,
	  FIELD(partitions) },
	{ .name = "priority",
	  .key = 'P',
	  .fate = FATE_IGNORED,
	  .env = "PRIORITY",
	  .help = "a job once per partition that it was submitted to",
	  .note = "a job of several partitions is listed once, with all of them" },
	{ .name = "qos",
	  .key = 'q',
	  .arg = required_argument,
	  .env = "QOS",
	  .metavar = "names",
	  .help = "jobs of these qualities of service",
	  .parse = opt_parse_string,
	  FIELD(qos) },
	{ .name = "reservation",
	  .key = 'R',
	  .arg = required_argument,
	  .metavar = "name",
	  .help = "jobs of a reservation (no job here has one)",
	  .parse = opt_parse_string,
	  FIELD(reservation) },
	{ .name = "sib",
	  .fate = FATE_IGNORED,
	  .hidden = true,
	  .help = "the jobs' siblings in the federation",
	  .note = ONE_CLUSTER },
	{ .name = "sibling",
	  .fate = FATE_IGNORED,
	  .env = "SIB SIBLING",
	  .help = "the jobs' siblings in the federation",
	  .note = ONE_CLUSTER },
	{ .name = "sort",
	  .key = 'S',
	  .arg = required_argument,
	  .env = "SORT",
	  .metavar = "fields",
	  .help = "order, by letters of --format, '-' before one for descending",
	  .parse = opt_parse_string,
	  FIELD(sort) },
	{ .name = "start",
	  .fate = FATE_APPROXIMATED,
	  .help = "expected start of pending jobs",
	  .note = "the engine doesn't tell when a job will start: START_TIME is N/A",
	  .parse = opt_parse_flag,
	  FIELD(start) },
	{ .name = "states",
	  .key = 't',
	  .arg = required_argument,
	  .env = "STATES",
	  .metavar = "states",
	  .help = "jobs in these states, or all",
	  .parse = opt_parse_string,
	  FIELD(states) },
	{ .name = "steps",
	  .key = 's',
	  .arg = optional_argument,
	  .metavar = "steps",
	  .help = "job steps instead of jobs: N.k, comma separated",
	  .parse = parse_steps },
	{ .name = "usage", .help = "show a short help", .parse = opt_parse_usage },
	{ .name = "user",
	  .arg = required_argument,
	  .hidden = true,
	  .number = 1,
	  .metavar = "names",
	  .help = "jobs of these users",
	  .parse = opt_parse_string,
	  FIELD(users) },
	{ .name = "users",
	  .key = 'u',
	  .arg = required_argument,
	  .env = "USERS",
	  .metavar = "names",
	  .help = "jobs of these users, by name or number",
	  .parse = opt_parse_string,
	  FIELD(users) },
	{ .name = "verbose",
	  .key = 'v',
	  .help = "more messages",
	  .parse = opt_parse_counter,
	  FIELD(verbose) },
	{ .name = "version", .key = 'V', .help = "show the version", .parse = opt_parse_version },
	{ .name = "yaml",
	  .fate = FATE_REFUSED,
	  .help = "print YAML",
	  .note = "this version prints no YAML; choose the fields with --Format or --format" },
};

static const char *const prefixes[] = { "SQUEUE_", NULL };

static const char usage[] = "Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]\n"
			    "              [-n name] [-o format] [-p partitions] [--qos qos]\n"
			    "              [--reservation reservation] [--sort fields] [--start]\n"
			    "              [--step step_id] [-t states] [-u user_name] [--usage]\n"
			    "              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]\n"
			    "\t      [-ahjlrsv]\n";

const struct opt_tool squeue_options = {
	.name = "squeue",
	.bit = TOOL_SQUEUE,
	.rows = rows,
	.nrows = ARRAY_SIZE(rows),
	.prefixes = prefixes,
	.usage = usage,
	.synopsis = "[OPTIONS...]",
	.usage_code = 1,
};

void squeue_options_release(struct squeue_options *o)
{
	char *const owned[] = { o->jobs,         o->steps,       o->users,
				o->names,        o->states,      o->partitions,
				o->accounts,     o->qos,         o->nodes,
				o->licenses,     o->reservation, o->format,
				o->names_format, o->env_format,  o->env_names_format,
				o->sort,         o->clusters };

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		free(owned[i]);
	memset(o, 0, sizeof(*o));
}
