/* SPDX-License-Identifier: Apache-2.0 */
/* launcher/jobenv.c against the batch environments that Slurm made (tests/golden/env/batch.txt). */
#include "common/counts.h"
#include "common/fd.h"
#include "common/hostlist.h"
#include "common/mem.h"
#include "launcher/jobenv.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Variables whose value or presence may differ; tests/golden/env/batch.tsv has the reasons. */
struct exceptions {
	char *text;
};

static char *read_text(const char *path)
{
	struct strbuf out = STRBUF_INIT;
	struct error err = ERROR_INIT;

	cr_assert(fd_read_file(AT_FDCWD, path, 8u << 20, &out, &err) == 0, "%s", err.text);
	return strbuf_steal(&out);
}

static bool is_exception(const struct exceptions *x, const char *name, const char *kind)
{
	cleanup_free char *line = xasprintf("\n%s\t%s\t", name, kind);

	return strstr(x->text, line) != NULL;
}

static bool is_given(const char *options, const char *option)
{
	const char *p = strstr(options, option);

	return p && (p == options || p[-1] == ' ');
}

/* An option's value, glued ("-N2", "--mem=1G") or apart ("-m block"), unquoted. Borrowed until the next call. */
static const char *value_of(const char *options, const char *option)
{
	static char value[128];
	const char *p = is_given(options, option) ? strstr(options, option) + strlen(option) : NULL;
	size_t n;

	if (!p)
		return NULL;
	p += strspn(p, "= \"");
	n = strcspn(p, " \"");
	if (strchr(options, '"'))
		n = strcspn(p, "\"");
	cr_assert(n < sizeof(value));
	snprintf(value, sizeof(value), "%.*s", (int)n, p);
	return value;
}

static void set_number(uint32_t *field, const char *options, const char *option)
{
	const char *v = value_of(options, option);

	if (v)
		*field = (uint32_t)strtoul(v, NULL, 10);
}

static uint32_t mebibytes(const char *v)
{
	return (uint32_t)strtoul(v, NULL, 10) * (strchr(v, 'G') ? 1024 : 1);
}

static void set_gpus(struct jobspec *job, const char *options)
{
	const char *v = value_of(options, "-G");

	if (!v)
		v = value_of(options, "--gpus=");
	job->gpus = xstrdup(v);
	job->gpus_per_node = xstrdup(value_of(options, "--gpus-per-node="));
	job->gpus_per_task = xstrdup(value_of(options, "--gpus-per-task="));
	set_number(&job->cpus_per_gpu, options, "--cpus-per-gpu");
}

/* What sbatch makes of these options. */
static void set_request(struct jobspec *job, const char *options)
{
	const char *v;

	set_number(&job->ntasks, options, "-n");
	set_number(&job->cpus_per_task, options, "-c");
	set_number(&job->ntasks_per_node, options, "--ntasks-per-node");
	job->overcommit = is_given(options, "-O");
	if ((v = value_of(options, "-m")))
		job->distribution = xstrdup(v);
	set_gpus(job, options);
	if ((v = value_of(options, "--mem-per-cpu")))
		job->mem_per_cpu_mib = mebibytes(v);
	else if ((v = value_of(options, "--mem-per-gpu")))
		job->mem_per_gpu_mib = mebibytes(v);
	else if ((v = value_of(options, "--mem")))
		job->mem_per_node_mib = mebibytes(v);
	job->get_user_env = is_given(options, "--get-user-env");
	if ((v = value_of(options, "--export")) && strcmp(v, "ALL"))
		job->export_env = xstrdup(v);
}

static void set_array(struct jobspec *job, struct alloc *a, const char *options, const struct env *want)
{
	const char *v = value_of(options, "--array");
	uint32_t first, last, index;
	char *end;

	if (!v)
		v = value_of(options, "-a");
	if (!v)
		return;
	first = (uint32_t)strtoul(v, &end, 10);
	last = *end == '-' ? (uint32_t)strtoul(end + 1, NULL, 10) : first;
	job->array_count = last - first + 1;
	job->array_index = xcalloc(job->array_count, sizeof(uint32_t));
	for (uint32_t i = 0; i < job->array_count; i++)
		job->array_index[i] = first + i;
	index = (uint32_t)strtoul(env_get(want, "SLURM_ARRAY_TASK_ID"), NULL, 10);
	a->engine_task = index - first + 1;
	a->engine_id = strtoull(env_get(want, "SLURM_ARRAY_JOB_ID"), NULL, 10);
}

/* The ids that Slurm granted, on each host the same. */
static void set_granted(struct alloc *a, const char *ids)
{
	for (size_t i = 0; ids && i < a->nhosts; i++) {
		a->hosts[i].gpus = xstrdup(ids);
		a->hosts[i].ngpus = 1;
		for (const char *p = ids; *p; p++)
			a->hosts[i].ngpus += *p == ',';
	}
}

/* Names, ids and paths are the recorded ones; hosts and CPUs too, the rest must follow. */
static void set_job(struct jobspec *job, struct alloc *a, const char *options, const struct env *want)
{
	struct hostlist hosts = HOSTLIST_INIT;
	uint32_t *cpus = NULL;
	size_t n = 0;

	jobspec_init(job);
	set_request(job, options);
	replace_str(&job->name, env_get(want, "SLURM_JOB_NAME"));
	replace_str(&job->account, env_get(want, "SLURM_JOB_ACCOUNT"));
	replace_str(&job->partition, env_get(want, "SLURM_JOB_PARTITION"));
	replace_str(&job->submit_dir, env_get(want, "SLURM_SUBMIT_DIR"));
	replace_str(&job->submit_host, env_get(want, "SLURM_SUBMIT_HOST"));
	replace_str(&job->launch.cluster_name, env_get(want, "SLURM_CLUSTER_NAME"));
	replace_str(&a->user, env_get(want, "SLURM_JOB_USER"));
	a->job_id = a->engine_id = strtoull(env_get(want, "SLURM_JOB_ID"), NULL, 10);
	set_array(job, a, options, want);
	cr_assert(hostlist_parse(&hosts, env_get(want, "SLURM_JOB_NODELIST"), NULL) == 0);
	cr_assert(counts_parse(env_get(want, "SLURM_JOB_CPUS_PER_NODE"), 1000, &cpus, &n, NULL) == 0);
	cr_assert(n == hosts.names.n);
	a->hosts = xcalloc(n, sizeof(*a->hosts));
	for (a->nhosts = 0; a->nhosts < n; a->nhosts++)
		a->hosts[a->nhosts] = (struct alloc_host){ .engine_name = xstrdup(hosts.names.v[a->nhosts]),
							   .node_name = xstrdup(hosts.names.v[a->nhosts]),
							   .slots = cpus[a->nhosts] };
	if (!is_given(options, "--exclusive"))
		set_granted(a, env_get(want, "SLURM_JOB_GPUS"));
	alloc_set_tasks(a, job);
	free(cpus);
	hostlist_release(&hosts);
}

static void compare(const char *options, const struct env *want, const struct env *got,
		    const struct exceptions *x)
{
	for (size_t i = 0; i < want->vars.n; i++) {
		cleanup_free char *name = xstrndup(want->vars.v[i], strcspn(want->vars.v[i], "="));
		const char *v = env_get(got, name);
		bool asked = !strcmp(name, "SLURM_MEM_PER_CPU") && is_given(options, "--mem-per-cpu");

		if (!v && !asked && is_exception(x, name, "none"))
			continue;
		cr_expect(v && (!strcmp(v, env_get(want, name)) || is_exception(x, name, "any")),
			  "\"%s\": want %s, got %s", options, want->vars.v[i], v ? v : "nothing");
	}
	for (size_t i = 0; i < got->vars.n; i++) {
		cleanup_free char *name = xstrndup(got->vars.v[i], strcspn(got->vars.v[i], "="));

		cr_expect(env_get(want, name), "\"%s\": too many: %s", options, got->vars.v[i]);
	}
}

static void check(const char *options, const struct env *want, const struct exceptions *x)
{
	struct jobspec job;
	struct alloc a = ALLOC_INIT;
	struct env got = ENV_INIT;

	set_job(&job, &a, options, want);
	jobenv_fill(&got, &a, &job);
	/* ours alone: for the job's steps */
	cr_expect_eq(!env_get(&got, "SOO_JOB_GPUS"), !a.hosts[0].gpus, "%s", options);
	env_unset(&got, "SOO_JOB_GPUS");
	compare(options, want, &got, x);
	env_release(&got);
	alloc_release(&a);
	jobspec_release(&job);
}

static size_t check_file(const char *path)
{
	cleanup_free char *text = read_text(path);
	cleanup_free char *reasons = read_text("tests/golden/env/batch.tsv");
	struct exceptions x = { reasons };
	struct env want = ENV_INIT;
	char *options = NULL;
	size_t jobs = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strncmp(line, "B\t", 2))
			argvec_push(&want.vars, line + 2);
		if (strncmp(line, "JOB\t", 4))
			continue;
		if (options)
			check(options, &want, &x);
		env_release(&want);
		options = line + 4;
		jobs++;
	}
	check(options, &want, &x);
	env_release(&want);
	return jobs;
}

Test(jobenv, golden, .timeout = 60)
{
	cr_expect_geq(check_file("tests/golden/env/batch.txt"), 50);
}

Test(jobenv, golden_gpus, .timeout = 60)
{
	cr_expect_geq(check_file("tests/golden/env/batch_gpu.txt"), 25);
}

Test(jobenv, gpus_of_all_hosts)
{
	struct jobspec job;
	struct alloc a = ALLOC_INIT;
	struct env e = ENV_INIT;

	jobspec_init(&job);
	job.gpu_maps = xstrdup("gpu,ga");
	cr_assert(alloc_parse_hostfile(&a, "c1.x 2 q x\nc2.x 2 q x\nc3.x 1 q x\n", NULL) == 0);
	cr_expect_eq(alloc_set_gpus(&a, &job, "resource_map 2: gpu=c1.x=(9)\n"), -1);
	cr_assert_eq(alloc_set_gpus(&a, &job, "resource_map 1: gpu=c2.x=(0 3),gpu=c1.x=(1),ga=c1.x=(b)\n"),
		     0);
	jobenv_fill(&e, &a, &job);
	cr_expect_str_eq(env_get(&e, "SOO_JOB_GPUS"), "c1=2=1,b;c2=2=0,3");
	cr_expect_str_eq(env_get(&e, "SLURM_JOB_GPUS"), "1,b");
	cr_expect_str_eq(env_get(&e, "SLURM_GPUS_ON_NODE"), "2");
	env_release(&e);
	alloc_release(&a);
	jobspec_release(&job);
}

/* What has no recording: a requeued job, --open-mode, names that the engine gives. */
Test(jobenv, without_recording)
{
	struct jobspec job;
	struct alloc a = ALLOC_INIT;
	struct env e = ENV_INIT;

	jobspec_init(&job);
	job.open_mode = 'a';
	cr_assert(alloc_parse_hostfile(&a, "c1 2 q x\nc2 2 q x\n", NULL) == 0);
	alloc_set_tasks(&a, &job);
	a.restart = 1;
	a.user = xstrdup("u");
	a.queue = xstrdup("all.q");
	a.account = xstrdup("sge");
	jobenv_fill(&e, &a, &job);
	cr_expect_str_eq(env_get(&e, "SLURM_RESTART_COUNT"), "1");
	cr_expect_str_eq(env_get(&e, "SLURM_OPEN_MODE"), "a");
	cr_expect_str_eq(env_get(&e, "SLURM_JOB_PARTITION"), "all.q");
	cr_expect_str_eq(env_get(&e, "SLURM_JOB_ACCOUNT"), "sge");
	cr_expect_str_eq(env_get(&e, "SLURM_JOB_NAME"), "sbatch");
	cr_expect(!env_get(&e, "SLURM_NTASKS") && !env_get(&e, "SLURM_CLUSTER_NAME"));
	env_release(&e);
	alloc_release(&a);
}

Test(jobenv, reach)
{
	char dir[] = "/tmp/soc-jobenv.XXXXXX";
	cleanup_free char *libexec = NULL, *lib = NULL, *library = NULL, *path = NULL, *link = NULL;
	struct env e = ENV_INIT;

	cr_assert(mkdtemp(dir));
	libexec = xasprintf("%s/libexec/slurm-on-ocs", dir);
	lib = xasprintf("%s/lib/slurm-on-ocs", dir);
	library = xasprintf("%s/libslurm_on_ocs.so", lib);
	path = xasprintf("mkdir -p %s %s", libexec, lib);
	cr_assert(system(path) == 0);
	/* no library: no LD_PRELOAD, ld.so would complain at every exec */
	jobenv_reach(&e, libexec);
	cr_expect(!env_get(&e, "LD_PRELOAD"));
	cr_expect(strstr(env_get(&e, "PATH"), "/libexec/slurm-on-ocs/bin:") &&
		  strstr(env_get(&e, "PATH"), ":/usr/bin"));
	close(open(library, O_CREAT | O_WRONLY, 0644));
	env_set(&e, "PATH", "/a:/b");
	for (int i = 0; i < 2; i++) { /* twice is once */
		cleanup_free char *want = xasprintf("%s/bin:/a:/b", libexec);

		jobenv_reach(&e, libexec);
		cr_expect_str_eq(env_get(&e, "PATH"), want);
		cr_expect_str_eq(env_get(&e, "LD_PRELOAD"), library);
	}
	/* behind what the user has; the link of make install wins, and no ".." is shown */
	env_set(&e, "LD_PRELOAD", "/user.so");
	link = xasprintf("%s/libdir", libexec);
	cr_assert(symlink("../../lib/slurm-on-ocs", link) == 0);
	jobenv_reach(&e, libexec);
	cr_expect(!strncmp(env_get(&e, "LD_PRELOAD"), "/user.so:", 9) &&
			  !strcmp(env_get(&e, "LD_PRELOAD") + 9, library),
		  "%s", env_get(&e, "LD_PRELOAD"));
	env_release(&e);
}
