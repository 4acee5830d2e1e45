/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/native.h"

#include "common/env.h"
#include "common/fd.h"
#include "common/hostlist.h"
#include "common/path.h"
#include "launcher/alloc.h"
#include "launcher/jobenv.h"

#include <fcntl.h>
#include <string.h>

extern char **environ;

#define OUR_PE "slurm-on-ocs"   /* prefix of the PEs that our installer makes */
#define NATIVE_PES "native-pes" /* file beside us with the names of further PEs */

static bool is_native_pe(const char *libexec, const char *pe)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;
	cleanup_fd int dir = -1, fd = -1;
	size_t n = strlen(pe);

	if (!strncmp(pe, OUR_PE, strlen(OUR_PE)))
		return true;
	dir = open(libexec, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = dir < 0 ? -1 : path_open_ownedat(dir, NATIVE_PES, 0, NULL);
	if (fd < 0 || !n || fd_read_to_eof(fd, 65536, &names) < 0)
		return false;
	for (const char *p = names.buf; (p = strstr(p, pe)); p += n)
		if ((p == names.buf || p[-1] == '\n') && (!p[n] || p[n] == '\n'))
			return true;
	return false;
}

/* The stub of sbatch (with script_from_stdin it is on stdin) or an agent: those make their environment themselves. */
static bool is_ours(char **words)
{
	cleanup_fd int fd = -1;
	char text[2048];
	ssize_t n;

	if (!strcmp(path_basename(words[0]), "minder"))
		return true;
	fd = strcmp(words[0], "-s") ? open(words[0], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
				    : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, "/minder") && strstr(text, "/shim-launch");
}

static uint32_t number_of(const struct env *e, const char *name, uint32_t otherwise)
{
	const char *text = env_get(e, name);
	char *end;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	return text && *text && !*end && v < UINT32_MAX ? (uint32_t)v : otherwise;
}

/* A native array's task ids are its indices. */
static void add_array(struct env *slurm, const struct alloc *a, const struct env *e)
{
	uint32_t first = number_of(e, "SGE_TASK_FIRST", 0), last = number_of(e, "SGE_TASK_LAST", 0);
	uint32_t step = number_of(e, "SGE_TASK_STEPSIZE", 0);

	if (!a->engine_task || !first || last < first || !step)
		return;
	env_setf(slurm, "SLURM_ARRAY_JOB_ID", "%llu", (unsigned long long)a->engine_id);
	env_setf(slurm, "SLURM_ARRAY_TASK_ID", "%u", a->engine_task);
	env_setf(slurm, "SLURM_ARRAY_TASK_COUNT", "%u", (last - first) / step + 1);
	env_setf(slurm, "SLURM_ARRAY_TASK_MIN", "%u", first);
	env_setf(slurm, "SLURM_ARRAY_TASK_MAX", "%u", last);
	env_setf(slurm, "SLURM_ARRAY_TASK_STEP", "%u", step);
}

/* On a slave host PE_HOSTFILE is missing, and NSLOTS and NHOSTS are this host's own. */
static void keep_to_this_host(struct env *slurm, const struct alloc *a, const struct env *e)
{
	static const char *const of_the_job[] = {
		"SLURM_JOB_NODELIST",      "SLURM_NODELIST",       "SLURM_JOB_NUM_NODES", "SLURM_NNODES",
		"SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS",        "SLURM_NPROCS",
		"SLURM_JOB_NAME", /* the engine calls a task's job "petask" */
		"SLURM_SUBMIT_HOST",       "SLURM_PROCID",         "SLURM_LOCALID",       "SLURM_NODEID",
	};
	const char *list = env_get(e, "SLURM_JOB_NODELIST");
	cleanup_hostlist struct hostlist hosts = HOSTLIST_INIT;
	long id;

	for (size_t i = 0; i < ARRAY_SIZE(of_the_job); i++)
		env_unset(slurm, of_the_job[i]);
	if (!list || hostlist_parse(&hosts, list, NULL) < 0)
		return;
	id = hostlist_find(&hosts, a->hosts[0].node_name);
	if (id >= 0)
		env_setf(slurm, "SLURM_NODEID", "%ld", id);
}

static int add_native(struct env *e, const char *libexec)
{
	cleanup_alloc struct alloc a = ALLOC_INIT;
	cleanup_env struct env slurm = ENV_INIT;
	/* borrows all its strings: not to be released */
	struct jobspec job;

	jobspec_init(&job);
	job.ntasks = number_of(e, "NSLOTS", 1);
	if (alloc_load(&a, &job, e, NULL) < 0)
		return -1;
	job.name = (char *)env_get(e, "JOB_NAME");
	job.submit_dir = (char *)env_get(e, "SGE_O_WORKDIR");
	job.submit_host = (char *)env_get(e, "SGE_O_HOST");
	job.launch.cluster_name = (char *)env_get(e, "SGE_CLUSTER_NAME");
	jobenv_fill(&slurm, &a, &job);
	add_array(&slurm, &a, e);
	/* a native job is no step: it has no task of its own */
	env_unset(&slurm, "SLURM_TASK_PID");
	env_unset(&slurm, "SLURM_GTIDS");
	if (!env_get(e, "PE_HOSTFILE"))
		keep_to_this_host(&slurm, &a, e);
	env_set(&slurm, "SLURM_ON_OCS_NATIVE", "1");
	env_merge(e, &slurm);
	jobenv_reach(e, libexec);
	return 0;
}

void native_enter(char **words)
{
	cleanup_free char *libexec = path_self_dir(NULL);
	const char *pe = getenv("PE");
	struct env env = ENV_INIT;

	if (!libexec || !pe || !is_native_pe(libexec, pe) || is_ours(words))
		return;
	env_add_all(&env, environ);
	if (add_native(&env, libexec) == 0)
		environ = env.vars.v; /* for the exec that follows: never freed */
	else
		env_release(&env);
}
