/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/export.h"

#include "common/mem.h"

#include <string.h>
#include <strings.h>

/*
 * Variables that belong to the job in which sbatch runs, not to the one that it submits: the engine sets its own again,
 * but not all of them for every kind of job (PE_HOSTFILE only with a PE).
 */
static const char *const engine_job_variables[] = {
	"ARC",
	"JOB_ID",
	"JOB_NAME",
	"JOB_SCRIPT",
	"NHOSTS",
	"NQUEUES",
	"NSLOTS",
	"PE",
	"PE_HOSTFILE",
	"QUEUE",
	"REQNAME",
	"REQUEST",
	"RESTARTED",
	"SGE_TASK_ID",
	"SGE_TASK_FIRST",
	"SGE_TASK_LAST",
	"SGE_TASK_STEPSIZE",
	"SGE_JOB_SPOOL_DIR",
	"SGE_CWD_PATH",
	"SGE_STDIN_PATH",
	"SGE_STDOUT_PATH",
	"SGE_STDERR_PATH",
	"SGE_RSH_COMMAND",
	"SGE_ACCOUNT",
	"ENVIRONMENT",
	"TMPDIR",
	"TMP",
};
static const char *const own_variables[] = {
	"SOO_JOB_DIR",     "SOO_JOB_GPUS",        "SOO_CONTAINER_RUNTIMES",
	"SOO_NATIVE_RANK", "SLURM_ON_OCS_NATIVE", "SLURM_ON_OCS_TRACE"
};

bool export_is_all(const char *spec)
{
	return !spec || !strcasecmp(spec, "ALL");
}

static bool is_none(const char *spec)
{
	return !strcasecmp(spec, "NONE") || !strcasecmp(spec, "NIL");
}

/* Length of the item at p: to the next comma outside quotes. */
static size_t item_length(const char *p)
{
	char quote = '\0';
	size_t n;

	for (n = 0; p[n] && (quote || p[n] != ','); n++) {
		if (quote)
			quote = p[n] == quote ? '\0' : quote;
		else if (p[n] == '\'' || p[n] == '"')
			quote = p[n];
	}
	return n;
}

static void add_item(struct env *out, const struct env *from, const char *item)
{
	const char *eq = strchr(item, '=');
	cleanup_free char *name = eq ? xstrndup(item, eq - item) : xstrdup(item);
	const char *value = eq ? eq + 1 : env_get(from, name);

	if (!strcasecmp(item, "ALL"))
		env_merge(out, from);
	else if (*name && value)
		env_set(out, name, value);
}

void export_environment(const char *spec, char *const *envp, struct env *out)
{
	cleanup_env struct env from = ENV_INIT;

	env_add_all(&from, envp);
	if (env_get(&from, "JOB_ID") && env_get(&from, "SGE_TASK_ID"))
		for (size_t i = 0; i < ARRAY_SIZE(engine_job_variables); i++)
			env_unset(&from, engine_job_variables[i]);
	for (size_t i = 0; i < ARRAY_SIZE(own_variables); i++)
		env_unset(&from, own_variables[i]);
	if (export_is_all(spec)) {
		env_add_all(out, from.vars.v);
		return;
	}
	for (size_t i = 0; i < from.vars.n; i++)
		if (!strncmp(from.vars.v[i], "SLURM_", 6))
			argvec_push(&out->vars, from.vars.v[i]);
	if (is_none(spec))
		return;
	while (*spec) {
		size_t n = item_length(spec);
		cleanup_free char *item = xstrndup(spec, n);

		add_item(out, &from, item);
		spec += n + (spec[n] == ',');
	}
}
