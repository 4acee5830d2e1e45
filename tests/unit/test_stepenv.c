/* SPDX-License-Identifier: Apache-2.0 */
/* launcher/stepenv.c against the SLURM_* of every task of every recorded step (tests/golden/env/steps.txt). */
#include "common/argvec.h"
#include "common/counts.h"
#include "common/hostlist.h"
#include "common/mem.h"
#include "launcher/stepenv.h"
#include "tests/unit/step_options.h"

#include <criterion/criterion.h>
#include <string.h>

/* Values that differ from run to run; the name must be there all the same. */
static const char *const literals[] = { "SLURM_TASK_PID", "SLURM_SRUN_COMM_PORT",
					"SLURM_STEP_LAUNCHER_PORT" };

static bool compared(const char *name)
{
	return !strncmp(name, "SLURM", 5);
}

static bool same_value(const char *name, const char *want, const char *got)
{
	for (size_t i = 0; i < ARRAY_SIZE(literals); i++)
		if (!strcmp(name, literals[i]))
			return true;
	return !strcmp(want, got);
}

/*
 * A job of hosts with different numbers of CPUs and a step with -c: Slurm's number there is smaller than what the task
 * asked for, or the whole host; we say what the task got. (Such a job can't be had here: every host has as many slots.)
 */
static bool is_quirk(const char *where, const char *name)
{
	return !strcmp(name, "SLURM_CPUS_ON_NODE") && strstr(where, "-c2\"") &&
	       (strstr(where, "\"-N2 -n4\"") || strstr(where, "\"-N2 -n5\"") || strstr(where, "\"-N4 -n9\""));
}

static void compare(const char *where, const struct env *want, const struct env *got, size_t *bad)
{
	for (size_t i = 0; i < want->vars.n; i++) {
		cleanup_free char *name = xstrndup(want->vars.v[i], strcspn(want->vars.v[i], "="));
		const char *v = env_get(got, name);
		bool ok = !compared(name) || is_quirk(where, name) ||
			  (v && same_value(name, env_get(want, name), v));

		*bad += !ok;
		cr_expect(ok, "%s: want %s, got %s", where, want->vars.v[i], v ? v : "nothing");
	}
	for (size_t i = 0; i < got->vars.n; i++) {
		cleanup_free char *name = xstrndup(got->vars.v[i], strcspn(got->vars.v[i], "="));
		bool ok = !compared(name) || env_get(want, name);

		*bad += !ok;
		cr_expect(ok, "%s: too many: %s", where, got->vars.v[i]);
	}
}

struct recorded {
	char job[256], step[256];
	struct env batch, common, task;
	char task_id[32];
	size_t steps, tasks, bad;
};

static void lay_out(const struct recorded *r, const struct hostlist *names, struct layout_request *rq,
		    struct layout *l)
{
	cleanup_argvec struct argvec warnings = ARGVEC_INIT;
	cleanup_free uint32_t *cpus = NULL;
	const char *ntasks = env_get(&r->batch, "SLURM_NTASKS");
	struct layout_job job = { .nodes = (uint32_t)names->names.n,
				  .nodelist = env_get(&r->batch, "SLURM_JOB_NODELIST"),
				  .cpus_per_node = env_get(&r->batch, "SLURM_JOB_CPUS_PER_NODE") };
	struct layout_host hosts[16] = { 0 };
	struct error err = ERROR_INIT;
	size_t n;

	cr_assert_eq(counts_parse(job.cpus_per_node, 16, &cpus, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		hosts[i] = (struct layout_host){ .name = names->names.v[i], .cpus = cpus[i] };
	layout_request_init(rq);
	parse_options(rq, r->job, true);
	rq->exact = false;
	if (ntasks)
		rq->ntasks = (uint32_t)strtoul(ntasks, NULL, 10);
	parse_options(rq, r->step, false);
	cr_assert_eq(layout_settle(rq, &job, &warnings, &err), 0, "%s | %s: %s", r->job, r->step, err.text);
	cr_assert_eq(layout_place(rq, hosts, (uint32_t)n, l, &err), LAYOUT_OK, "%s | %s: %s", r->job, r->step,
		     err.text);
}

static uint32_t given_cpus(const char *step)
{
	const char *c = strstr(step, "-c");

	return c ? (uint32_t)strtoul(c + 2, NULL, 10) : LAYOUT_UNSET;
}

static void rank_environment(const struct recorded *r, struct env *e)
{
	cleanup_hostlist struct hostlist names = HOSTLIST_INIT;
	struct layout l = LAYOUT_INIT;
	struct layout_request rq;
	const char *step_names[16];
	uint32_t id = (uint32_t)strtoul(r->task_id, NULL, 10);
	struct stepenv_step s = {
		.step_id = (uint32_t)strtoul(env_get(&r->common, "SLURM_STEP_ID"), NULL, 10),
		.layout = &l,
		.names = step_names,
		.job_nodelist = env_get(&r->batch, "SLURM_JOB_NODELIST"),
		.job_cpus_per_node = env_get(&r->batch, "SLURM_JOB_CPUS_PER_NODE"),
		.job_id = strtoull(env_get(&r->batch, "SLURM_JOB_ID"), NULL, 10),
		.cpus_per_task = given_cpus(r->step),
		.launch_address = env_get(&r->common, "SLURM_LAUNCH_NODE_IPADDR"),
		.port = 61000,
		.umask = 022,
	};

	cr_assert_eq(hostlist_parse(&names, s.job_nodelist, NULL), 0);
	lay_out(r, &names, &rq, &l);
	s.ntasks_per_node = rq.ntasks_per_node;
	s.plane_size = rq.plane_size;
	s.overcommit = rq.overcommit;
	for (uint32_t i = 0; i < l.nnodes; i++)
		step_names[i] = names.names.v[l.node[i]];
	env_merge(e, &r->batch);
	stepenv_step(e, &s);
	for (uint32_t i = 0; i < l.nnodes; i++) {
		for (uint32_t k = 0; k < l.tasks[i]; k++) {
			struct stepenv_rank rank = { .node = step_names[i],
						     .node_index = i,
						     .cpus = l.cpus[i],
						     .ranks = l.ranks[i],
						     .nranks = l.tasks[i],
						     .local = k };

			if (l.ranks[i][k] == id)
				stepenv_rank(e, &rank);
		}
	}
	layout_release(&l);
	layout_request_release(&rq);
}

static void finish_task(struct recorded *r)
{
	cleanup_env struct env want = ENV_INIT;
	cleanup_env struct env got = ENV_INIT;
	char where[640];

	if (!r->task_id[0])
		return;
	env_merge(&want, &r->common);
	env_merge(&want, &r->task);
	rank_environment(r, &got);
	snprintf(where, sizeof(where), "job \"%s\" step \"%s\" task %s", r->job, r->step, r->task_id);
	compare(where, &want, &got, &r->bad);
	r->tasks++;
	r->task_id[0] = '\0';
	env_release(&r->task);
}

static void take_line(struct recorded *r, char *kind, const char *value)
{
	if (!strcmp(kind, "JOB")) {
		finish_task(r);
		env_release(&r->batch);
		snprintf(r->job, sizeof(r->job), "%s", value);
	} else if (!strcmp(kind, "STEP")) {
		finish_task(r);
		env_release(&r->common);
		r->steps++;
		snprintf(r->step, sizeof(r->step), "%s", value);
	} else if (!strcmp(kind, "TASK")) {
		finish_task(r);
		snprintf(r->task_id, sizeof(r->task_id), "%s", value);
	} else {
		argvec_push(kind[0] == 'B'   ? &r->batch.vars
			    : kind[0] == 'C' ? &r->common.vars
					     : &r->task.vars,
			    value);
	}
}

Test(stepenv, recorded_steps)
{
	FILE *in = fopen("tests/golden/env/steps.txt", "r");
	struct recorded r = { .batch = ENV_INIT, .common = ENV_INIT, .task = ENV_INIT };
	char line[4096];

	cr_assert(in);
	while (fgets(line, sizeof(line), in) && r.bad < 40) {
		char *value = strchr(line, '\t');

		line[strcspn(line, "\n")] = '\0';
		cr_assert(value);
		*value++ = '\0';
		take_line(&r, line, value);
	}
	finish_task(&r);
	env_release(&r.common);
	env_release(&r.batch);
	fclose(in);
	cr_expect_geq(r.steps, 200);
	cr_expect_geq(r.tasks, 700);
}

Test(stepenv, pid_is_written_in_place)
{
	cleanup_env struct env e = ENV_INIT;
	static const uint32_t ranks[] = { 4, 9 };
	struct stepenv_rank rank = {
		.node = "n2", .node_index = 1, .cpus = 2, .ranks = ranks, .nranks = 2, .local = 1
	};

	env_set(&e, "SLURM_TASK_PID", "7");
	stepenv_rank(&e, &rank);
	stepenv_set_pid(e.vars.v, 4194304);
	cr_expect_str_eq(env_get(&e, "SLURM_TASK_PID"), "4194304");
	stepenv_set_pid(e.vars.v, 1);
	cr_expect_str_eq(env_get(&e, "SLURM_TASK_PID"), "1");
	cr_expect_str_eq(env_get(&e, "SLURM_GTIDS"), "4,9");
	cr_expect_str_eq(env_get(&e, "SLURM_PROCID"), "9");
}

Test(stepenv, what_is_the_hosts_own)
{
	cleanup_env struct env e = ENV_INIT;
	cleanup_env struct env host = ENV_INIT;

	env_set(&e, "TMPDIR", "/tmp/1.1.all.q");
	env_set(&e, "SGE_HGR_gpu", "0 1");
	env_set(&e, "SGE_O_WORKDIR", "/home/a");
	env_set(&e, "SOO_JOB_DIR", "/tmp/1.1.all.q/slurm-on-ocs");
	env_set(&e, "PATH", "/usr/bin");
	env_set(&host, "TMPDIR", "/scratch/1.1.all.q");
	env_set(&host, "SGE_TASK_ID", "undefined");
	env_set(&host, "SGE_O_WORKDIR", "/elsewhere");
	env_set(&host, "PATH", "/bin");
	stepenv_host(&e, &host);
	cr_expect_str_eq(env_get(&e, "TMPDIR"), "/scratch/1.1.all.q");
	cr_expect_str_eq(env_get(&e, "SGE_TASK_ID"), "undefined");
	cr_expect_null(env_get(&e, "SGE_HGR_gpu"));
	cr_expect_null(env_get(&e, "SOO_JOB_DIR"));
	cr_expect_str_eq(env_get(&e, "SGE_O_WORKDIR"), "/home/a");
	cr_expect_str_eq(env_get(&e, "PATH"), "/usr/bin");
}

/* The masks of a rank, of what the job has on each host. */
Test(stepenv, gpus)
{
	static const uint32_t ranks[] = { 2, 3, 4 };
	static const struct {
		const char *all, *per_task, *node;
		uint32_t nranks, local;
		const char *ids, *on_node; /* NULL: not set */
	} rows[] = {
		{ "c1=2=0,1;c2=3=1,2,GPU-x", NULL, "c1", 2, 0, "0,1", "2" },
		{ "c1=2=0,1;c2=3=1,2,GPU-x", NULL, "c2", 2, 1, "1,2,GPU-x", "3" },
		{ "c1=2=0,1;c2=3=1,2,GPU-x", NULL, "c3", 1, 0, NULL, NULL },
		{ "c1=2=0,1;c2=3=1,2,GPU-x", NULL, "c", 1, 0, NULL, NULL },
		{ "c1=4=0,1,2,3", "1", "c1", 3, 0, "0", "3" },
		{ "c1=4=0,1,2,3", "1", "c1", 3, 2, "2", "3" },
		{ "c1=4=0,1,2,3", "a100:2", "c1", 2, 1, "2,3", "4" },
		{ "c1=4=0,1,2,3", "4", "c1", 1, 0, "0,1,2,3", "4" },
		{ "c1=4=0,1,2,3", "3", "c1", 2, 1, "0,1,2,3", "4" }, /* too few: all see all */
		{ "c1=4=0,1,2,3", "x", "c1", 2, 1, "0,1,2,3", "4" },
		{ "c1", NULL, "c1", 1, 0, NULL, NULL },
		{ "c1=2", NULL, "c1", 1, 0, NULL, NULL },
		{ NULL, NULL, "c1", 1, 0, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stepenv_rank r = {
			.node = rows[i].node, .ranks = ranks, .nranks = rows[i].nranks, .local = rows[i].local
		};
		struct env e = ENV_INIT;

		if (rows[i].all)
			env_set(&e, "SOO_JOB_GPUS", rows[i].all);
		if (rows[i].per_task)
			env_set(&e, "SLURM_GPUS_PER_TASK", rows[i].per_task);
		stepenv_rank(&e, &r);
		if (!rows[i].ids) {
			cr_expect(!env_get(&e, "CUDA_VISIBLE_DEVICES") && !env_get(&e, "SLURM_STEP_GPUS"),
				  "row %zu", i);
		} else {
			cr_expect_str_eq(env_get(&e, "CUDA_VISIBLE_DEVICES"), rows[i].ids, "row %zu", i);
			cr_expect_str_eq(env_get(&e, "SLURM_STEP_GPUS"), rows[i].ids, "row %zu", i);
			cr_expect_str_eq(env_get(&e, "SLURM_GPUS_ON_NODE"), rows[i].on_node, "row %zu", i);
		}
		env_release(&e);
	}
}
