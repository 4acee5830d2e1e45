/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of scancel: one row each. A new option is one row here and one case in tests/golden/scancel. */
#include "common/log.h"
#include "common/mem.h"
#include "translate/scancel.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

#define FIELD(member) OPT_FIELD(struct scancel_options, member)

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT }, { "ABRT", SIGABRT },
	{ "KILL", SIGKILL }, { "ALRM", SIGALRM }, { "TERM", SIGTERM }, { "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 }, { "URG", SIGURG },   { "CONT", SIGCONT }, { "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP }, { "TTIN", SIGTTIN }, { "TTOU", SIGTTOU },
};

/* A number, or a name with or without SIG, any case; 0: there is none. */
static int signal_number(const char *text)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (*text && !*end)
		return v > 0 && v < NSIG ? (int)v : 0;
	if (!strncasecmp(text, "SIG", 3))
		text += 3;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (!strcasecmp(text, signals[i].name))
			return signals[i].number;
	return 0;
}

/* Slurm's lines here have no prefix, so the text is printed and the error is empty. */
static int parse_signal(const struct opt_context *ctx, struct error *err)
{
	int *number = ctx->field;

	*number = signal_number(ctx->value);
	if (*number)
		return 0;
	log_bare("Unknown job signal: %s", ctx->value);
	return error_set(err, ERR_VALUE, "%s", "");
}

static int parse_state(const struct opt_context *ctx, struct error *err)
{
	enum job_state *state = ctx->field;

	*state = job_state_parse(ctx->value, strlen(ctx->value));
	if (*state != JOB_STATES)
		return 0;
	if (ctx->origin == OPT_FROM_ENV)
		log_bare("Unrecognized SCANCEL_STATE value: %s", ctx->value);
	else
		log_bare("Invalid job state specified: %s", ctx->value);
	log_bare("Valid job states are PENDING, RUNNING, and SUSPENDED");
	return error_set(err, ERR_VALUE, "%s", "");
}

/* A variable says "true", "T", "false" or "F"; another value is said and changes nothing. */
static int parse_switch(const struct opt_context *ctx, struct error *err)
{
	bool *on = ctx->field;

	(void)err;
	if (ctx->origin != OPT_FROM_ENV || !strcasecmp(ctx->value, "true") || !strcasecmp(ctx->value, "T"))
		*on = true;
	else if (!strcasecmp(ctx->value, "false") || !strcasecmp(ctx->value, "F"))
		*on = false;
	else
		log_error("Unrecognized %s value: %s", ctx->spelled, ctx->value);
	return 0;
}

static int parse_verbose(const struct opt_context *ctx, struct error *err)
{
	int *level = ctx->field;
	struct opt_context as_switch = *ctx;
	bool on = *level > 0;

	if (ctx->origin != OPT_FROM_ENV) {
		++*level;
		return 0;
	}
	as_switch.field = &on;
	parse_switch(&as_switch, err);
	*level = on;
	return 0;
}

static const struct opt_row rows[] = {
	{ .name = "account",
	  .key = 'A',
	  .arg = required_argument,
	  .env = "ACCOUNT",
	  .metavar = "name",
	  .help = "jobs of this account",
	  .parse = opt_parse_string,
	  FIELD(account) },
	{ .name = "batch",
	  .key = 'b',
	  .env = "BATCH",
	  .help = "signal the batch script only",
	  .parse = parse_switch,
	  FIELD(batch) },
	{ .name = "cluster",
	  .arg = required_argument,
	  .hidden = true,
	  .number = 1,
	  .metavar = "name",
	  .help = "cluster of the jobs; this one only",
	  .parse = opt_parse_string,
	  FIELD(clusters) },
	{ .name = "clusters",
	  .key = 'M',
	  .arg = required_argument,
	  .env = "=SLURM_CLUSTERS",
	  .metavar = "names",
	  .help = "clusters of the jobs; this one only",
	  .parse = opt_parse_string,
	  FIELD(clusters) },
	{ .name = "ctld",
	  .env = "CTLD",
	  .hidden = true,
	  .help = "send the request by way of the controller",
	  .parse = opt_parse_flag,
	  FIELD(unchanged) },
	{ .name = "full",
	  .key = 'f',
	  .env = "FULL",
	  .help = "signal the batch script, all its children and all steps",
	  .sge = "(told to the supervisor)",
	  .parse = parse_switch,
	  FIELD(full) },
	{ .name = "help", .help = "show this help", .parse = opt_parse_help },
	{ .name = "hurry",
	  .key = 'H',
	  .env = "HURRY",
	  .number = 1,
	  .help = "without staging out burst buffers (there are none)",
	  .parse = opt_parse_flag,
	  FIELD(unchanged) },
	{ .name = "interactive",
	  .key = 'i',
	  .env = "INTERACTIVE",
	  .help = "ask before each job",
	  .parse = parse_switch,
	  FIELD(interactive) },
	{ .name = "jobname",
	  .arg = required_argument,
	  .hidden = true,
	  .number = 1,
	  .metavar = "name",
	  .help = "jobs of this name",
	  .parse = opt_parse_string,
	  FIELD(name) },
	{ .name = "me", .help = "my jobs", .parse = opt_parse_flag, FIELD(me) },
	{ .name = "name",
	  .key = 'n',
	  .arg = required_argument,
	  .env = "NAME",
	  .metavar = "name",
	  .help = "jobs of this name",
	  .parse = opt_parse_string,
	  FIELD(name) },
	{ .name = "nodelist",
	  .key = 'w',
	  .arg = required_argument,
	  .metavar = "hostlist",
	  .help = "jobs on these hosts",
	  .parse = opt_parse_string,
	  FIELD(nodes) },
	{ .name = "partition",
	  .key = 'p',
	  .arg = required_argument,
	  .env = "PARTITION",
	  .metavar = "name",
	  .help = "jobs in this partition",
	  .parse = opt_parse_string,
	  FIELD(partition) },
	{ .name = "qos",
	  .key = 'q',
	  .arg = required_argument,
	  .env = "QOS",
	  .metavar = "name",
	  .help = "jobs of this quality of service",
	  .parse = opt_parse_string,
	  FIELD(qos) },
	{ .name = "quiet", .key = 'Q', .help = "no error messages", .parse = opt_parse_flag, FIELD(quiet) },
	{ .name = "reservation",
	  .key = 'R',
	  .arg = required_argument,
	  .metavar = "name",
	  .help = "jobs of a reservation (no job here has one)",
	  .parse = opt_parse_string,
	  FIELD(reservation) },
	{ .name = "sibling",
	  .arg = required_argument,
	  .fate = FATE_REFUSED,
	  .metavar = "name",
	  .help = "remove a sibling of a federated job",
	  .note = "there is one cluster only; leave it out" },
	{ .name = "signal",
	  .key = 's',
	  .arg = required_argument,
	  .metavar = "name",
	  .help = "send this signal to the steps instead of ending the job",
	  .sge = "(told to the supervisor)",
	  .parse = parse_signal,
	  FIELD(signal) },
	{ .name = "state",
	  .key = 't',
	  .arg = required_argument,
	  .env = "STATE",
	  .metavar = "state",
	  .help = "jobs in this state",
	  .parse = parse_state,
	  FIELD(state) },
	{ .name = "usage", .help = "show a short help", .parse = opt_parse_usage },
	{ .name = "user",
	  .key = 'u',
	  .arg = required_argument,
	  .env = "USER",
	  .metavar = "name",
	  .help = "jobs of this user",
	  .parse = opt_parse_string,
	  FIELD(user) },
	{ .name = "verbose",
	  .key = 'v',
	  .env = "VERBOSE",
	  .help = "say what is done",
	  .parse = parse_verbose,
	  FIELD(verbose) },
	{ .name = "version", .key = 'V', .help = "show the version", .parse = opt_parse_version },
	{ .name = "wckey",
	  .arg = required_argument,
	  .env = "WCKEY",
	  .metavar = "key",
	  .help = "jobs of a workload key (no job here has one)",
	  .parse = opt_parse_string,
	  FIELD(wckey) },
};

static const char *const prefixes[] = { "SCANCEL_", NULL };

static const char usage[] =
	"Usage: scancel [-A account] [--batch] [--full] [--interactive] [-n job_name]\n"
	"               [-p partition] [-Q] [-q qos] [-R reservation] [-s signal | integer]\n"
	"               [-t PENDING | RUNNING | SUSPENDED] [--usage] [-u user_name]\n"
	"               [--hurry] [-V] [-v] [-w hosts...] [--wckey=wckey]\n"
	"               [job_id[_array_id][.step_id]]\n";

const struct opt_tool scancel_options = {
	.name = "scancel",
	.bit = TOOL_SCANCEL,
	.rows = rows,
	.nrows = ARRAY_SIZE(rows),
	.prefixes = prefixes,
	.usage = usage,
	.synopsis = "[OPTIONS...] [job[_task][.step]...]",
	.usage_code = 1,
};

void scancel_options_release(struct scancel_options *o)
{
	char *const owned[] = { o->account,     o->name, o->nodes, o->partition, o->qos,
				o->reservation, o->user, o->wckey, o->clusters };

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		free(owned[i]);
	memset(o, 0, sizeof(*o));
}
