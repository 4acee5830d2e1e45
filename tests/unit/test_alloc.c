/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/alloc.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

/* "engine=node:slots:tasks ..." */
static char *describe(const struct alloc *a)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < a->nhosts; i++)
		strbuf_addf(&out, "%s%s=%s:%u:%u", i ? " " : "", a->hosts[i].engine_name,
			    a->hosts[i].node_name, a->hosts[i].slots, a->hosts[i].tasks);
	return strbuf_steal(&out);
}

Test(alloc, hostfile)
{
	static const struct {
		const char *text, *hosts; /* NULL: refused */
	} rows[] = {
		{ "c1 2 all.q@c1 UNDEFINED\n", "c1=c1:2:0" },
		{ "c1 2 all.q@c1 UNDEFINED\nc2 1 all.q@c2 UNDEFINED", "c1=c1:2:0 c2=c2:1:0" },
		{ "c1 2 a.q@c1 x\nc2 1 a.q@c2 x\nc1 3 b.q@c1 x\n", "c1=c1:5:0 c2=c2:1:0" },
		{ "c1\t2\ta.q@c1\tx\n\nc2 4\n", "c1=c1:2:0 c2=c2:4:0" },
		{ "n1.a.org 1 q@n1 x\nn2.a.org 1 q@n2 x\n", "n1.a.org=n1:1:0 n2.a.org=n2:1:0" },
		{ "n1.a.org 1 q x\nn1.b.org 1 q x\nn2.a.org 1 q x\n",
		  "n1.a.org=n1.a.org:1:0 n1.b.org=n1.b.org:1:0 n2.a.org=n2:1:0" },
		{ "10.1.2.3 1 q x\n", "10.1.2.3=10.1.2.3:1:0" },
		{ "c1 2 all.q@c1 <nullptr>\n", "c1=c1:2:0" },
		{ "", NULL },
		{ "\n\n", NULL },
		{ "c1\n", NULL },
		{ "c1 0 q x\n", NULL },
		{ "c1 two q x\n", NULL },
		{ "c1 -1 q x\n", NULL },
		{ "c1 99999999999999999999 q x\n", NULL },
		{ " 1 q x\n", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct alloc a = ALLOC_INIT;
		struct error err = ERROR_INIT;
		int rc = alloc_parse_hostfile(&a, rows[i].text, &err);
		char *hosts = describe(&a);

		if (!rows[i].hosts)
			cr_expect(rc == -1 && strstr(err.text, "PE_HOSTFILE"), "row %zu: %d \"%s\"", i, rc,
				  err.text);
		else
			cr_expect(rc == 0 && !strcmp(hosts, rows[i].hosts), "row %zu: %d %s (%s)", i, rc,
				  hosts, err.text);
		free(hosts);
		alloc_release(&a);
	}
}

#define NONE JOBSPEC_UNSET

Test(alloc, tasks)
{
	static const struct {
		const char *text;
		uint32_t ntasks, per_node, cpus;
		uint32_t total;
		const char *hosts;
	} rows[] = {
		{ "a 2\nb 2\n", 4, NONE, NONE, 4, "a=a:2:2 b=b:2:2" },
		{ "a 2\nb 2\n", 3, NONE, NONE, 3, "a=a:2:2 b=b:2:1" },
		{ "a 8\nb 8\n", 3, NONE, NONE, 3, "a=a:8:2 b=b:8:1" },
		{ "a 8\nb 8\nc 4\n", 20, NONE, NONE, 20, "a=a:8:8 b=b:8:8 c=c:4:4" },
		{ "a 6\nb 1\nc 1\nd 1\n", 9, NONE, NONE, 9, "a=a:6:6 b=b:1:1 c=c:1:1 d=d:1:1" },
		{ "a 6\nb 6\n", 4, NONE, 3, 4, "a=a:6:2 b=b:6:2" },
		{ "a 4\n", NONE, NONE, 4, 1, "a=a:4:1" },
		{ "a 1\nb 1\n", NONE, NONE, NONE, 2, "a=a:1:1 b=b:1:1" },
		{ "a 8\nb 8\n", NONE, NONE, NONE, 2, "a=a:8:8 b=b:8:8" },
		{ "a 2\nb 2\n", NONE, 2, NONE, 4, "a=a:2:2 b=b:2:2" },
		{ "a 4\nb 4\n", 4, 2, NONE, 4, "a=a:4:2 b=b:4:2" },
		{ "a 1\nb 1\n", 20, NONE, NONE, 20, "a=a:1:10 b=b:1:10" }, /* --overcommit */
		{ "a 2\n", 1, NONE, 4, 1, "a=a:2:1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct alloc a = ALLOC_INIT;
		struct jobspec job;
		char *hosts;

		jobspec_init(&job);
		job.ntasks = rows[i].ntasks;
		job.ntasks_per_node = rows[i].per_node;
		job.cpus_per_task = rows[i].cpus;
		cr_assert(alloc_parse_hostfile(&a, rows[i].text, NULL) == 0);
		alloc_set_tasks(&a, &job);
		hosts = describe(&a);
		cr_expect(a.ntasks == rows[i].total && !strcmp(hosts, rows[i].hosts), "row %zu: %u %s", i,
			  a.ntasks, hosts);
		free(hosts);
		alloc_release(&a);
	}
}

static int load(struct alloc *a, const char *variables, struct error *err)
{
	struct jobspec job;
	struct env env = ENV_INIT;
	char *text = strdup(variables);
	int rc;

	jobspec_init(&job);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argvec_push(&env.vars, word);
	rc = alloc_load(a, &job, &env, err);
	env_release(&env);
	free(text);
	return rc;
}

Test(alloc, environment)
{
	static const struct {
		const char *variables;
		uint64_t job_id, engine_id;
		uint32_t task, restart;
		const char *hosts;
	} rows[] = {
		{ "JOB_ID=7 HOSTNAME=c1.x.org NSLOTS=3", 7, 7, 0, 0, "c1.x.org=c1:3:3" },
		{ "JOB_ID=7 SGE_TASK_ID=undefined HOSTNAME=c1", 7, 7, 0, 0, "c1=c1:1:1" },
		{ "JOB_ID=7 SGE_TASK_ID=12 HOSTNAME=c1 RESTARTED=1", 700012, 7, 12, 1, "c1=c1:1:1" },
		{ "JOB_ID=4294967295 SGE_TASK_ID=1 HOSTNAME=c1", 429496729500001, 4294967295, 1, 0,
		  "c1=c1:1:1" },
	};
	static const char *const refused[] = { "", "JOB_ID=", "JOB_ID=x", "JOB_ID=7 SGE_TASK_ID=-1",
					       "JOB_ID=7 PE_HOSTFILE=/nonexistent" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct alloc a = ALLOC_INIT;
		struct error err = ERROR_INIT;
		int rc = load(&a, rows[i].variables, &err);
		char *hosts = describe(&a);

		cr_expect(rc == 0 && a.job_id == rows[i].job_id && a.engine_id == rows[i].engine_id &&
				  a.engine_task == rows[i].task && a.restart == rows[i].restart &&
				  !strcmp(hosts, rows[i].hosts),
			  "row %zu: %d %s %s", i, rc, err.text, hosts);
		free(hosts);
		alloc_release(&a);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct alloc a = ALLOC_INIT;
		struct error err = ERROR_INIT;

		cr_expect(load(&a, refused[i], &err) == -1 && err.text[0], "refused %zu", i);
		alloc_release(&a);
	}
}

Test(alloc, packed)
{
	struct alloc a = ALLOC_INIT, b = ALLOC_INIT;
	struct strbuf out = STRBUF_INIT;
	struct error err = ERROR_INIT;
	char *one, *other;

	cr_assert(load(&a,
		       "JOB_ID=7 SGE_TASK_ID=2 HOSTNAME=c1.x NSLOTS=4 QUEUE=all.q LOGNAME=u SGE_ACCOUNT=acc",
		       &err) == 0);
	alloc_pack(&a, &out);
	cr_assert(alloc_unpack(&b, out.buf, out.len, &err) == 0, "%s", err.text);
	one = describe(&a);
	other = describe(&b);
	cr_expect_str_eq(one, other);
	cr_expect(b.job_id == 700002 && b.ntasks == 1 && !strcmp(b.queue, "all.q") && !strcmp(b.user, "u") &&
		  !strcmp(b.account, "acc"));
	free(one);
	free(other);
	alloc_release(&b);
	for (size_t n = 0; n < out.len; n++) {
		struct alloc c = ALLOC_INIT;

		cr_expect(alloc_unpack(&c, out.buf, n, &err) == -1, "%zu bytes are taken for an allocation",
			  n);
		alloc_release(&c);
	}
	alloc_release(&a);
	strbuf_release(&out);
}
