/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of scontrol: one row each. Its commands are in scontrol.c. */
#include "translate/scontrol.h"

#define FIELD(member) OPT_FIELD(struct scontrol_options, member)

#define ONE_CLUSTER "there is one cluster only"

static const struct opt_row rows[] = {
	{ .name = "all", .key = 'a', .env = "ALL", .help = "also what is hidden (here nothing is)",
	  .parse = opt_parse_flag, FIELD(all) },
	{ .name = "cluster", .arg = required_argument, .hidden = true, .number = 1, .metavar = "name",
	  .help = "cluster to talk to; this one only", .parse = opt_parse_string, FIELD(clusters) },
	{ .name = "clusters", .key = 'M', .arg = required_argument, .env = "=SLURM_CLUSTERS", .metavar = "name",
	  .help = "cluster to talk to; this one only", .parse = opt_parse_string, FIELD(clusters) },
	{ .name = "details", .key = 'd', .help = "more of each job", .parse = opt_parse_flag, FIELD(details) },
	{ .name = "federation", .fate = FATE_IGNORED, .env = "FEDERATION", .help = "jobs of the whole federation",
	  .note = ONE_CLUSTER },
	{ .name = "future", .key = 'F', .fate = FATE_IGNORED, .env = "FUTURE", .help = "also hosts yet to come",
	  .note = "the engine has no hosts that are yet to come" },
	{ .name = "help", .key = 'h', .help = "show this help", .parse = opt_parse_help },
	{ .name = "hide", .help = "nothing that is hidden (here nothing is)", .parse = opt_parse_flag,
	  FIELD(unchanged) },
	{ .name = "local", .fate = FATE_IGNORED, .env = "LOCAL", .help = "jobs of this cluster only",
	  .note = ONE_CLUSTER },
	{ .name = "oneliner", .key = 'o', .help = "one line a record", .parse = opt_parse_flag, FIELD(oneliner) },
	{ .name = "quiet", .key = 'Q', .help = "no messages but errors", .parse = opt_parse_flag, FIELD(quiet) },
	{ .name = "sibling", .fate = FATE_IGNORED, .env = "SIB SIBLING",
	  .help = "the jobs' siblings in the federation", .note = ONE_CLUSTER },
	{ .name = "uid", .key = 'u', .arg = required_argument, .fate = FATE_REFUSED, .metavar = "uid",
	  .help = "change the job in the name of another user",
	  .note = "the engine decides who may change a job; run the command as that user" },
	{ .name = "usage", .hidden = true, .help = "show a short help", .parse = opt_parse_help },
	{ .name = "verbose", .key = 'v', .help = "more messages", .parse = opt_parse_counter, FIELD(verbose) },
	{ .name = "version", .key = 'V', .help = "show the version", .parse = opt_parse_version },
};

static const char *const prefixes[] = { "SCONTROL_", NULL };

const struct opt_tool scontrol_options = {
	.name = "scontrol",
	.bit = TOOL_SCONTROL,
	.rows = rows,
	.nrows = ARRAY_SIZE(rows),
	.prefixes = prefixes,
	.synopsis = "[OPTIONS...] command [words...]",
	.usage_code = 1,
};
