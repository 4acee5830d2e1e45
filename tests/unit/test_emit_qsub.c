/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/emit_qsub.h"

#include "common/duration.h"
#include "common/login_env.h"
#include "common/mem.h"
#include "translate/export.h"
#include "translate/pe.h"
#include "translate/place.h"
#include "translate/stub.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#define COMMON "qsub -terse -@ /s/options -S /bin/sh -C '' -b n -o /dev/null -j y -wd / -w e -N "

static struct request request;

static void start(void)
{
	request_init(&request);
	request.tasks = 1;
}

static void finish(void)
{
	request_release(&request);
}

TestSuite(emit_qsub, .init = start, .fini = finish);

static void expect_words(const struct qsub_input *in, const char *want)
{
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_strbuf struct strbuf got = STRBUF_INIT;

	emit_qsub(in, &argv);
	argvec_quote(&argv, &got);
	cr_expect_str_eq(got.buf, want, "%s", got.buf);
}

Test(emit_qsub, serial)
{
	struct geometry g = { 1, 1, 1, 1, 1 };
	struct qsub_input in = { .request = &request,
				 .geometry = &g,
				 .name = "a b/c",
				 .options = "/s/options",
				 .script = "/s/stub" };

	expect_words(&in, COMMON "a_b_c -r y /s/stub");
}

Test(emit_qsub, everything)
{
	struct geometry g = { 2, 3, 3, 6, 6 };
	struct qsub_input in = { .request = &request,
				 .geometry = &g,
				 .name = "x",
				 .options = "/s/options",
				 .script = "/s/stub",
				 .queue = "all.q,b.q",
				 .pe = "p.2",
				 .h_rt = 360 };

	request.hold = true;
	request.requeue = 0;
	request.nice = 5000;
	request.account = xstrdup("me");
	cr_assert_eq(array_parse(&request.array, "0-6:2%2", NULL), 0);
	expect_words(&in, COMMON
		     "x -q all.q,b.q -h -l h_rt=360 -r n -A me -p -1023 -t 1-4 -tc 2 -pe p.2 6 /s/stub");
	request.requeue = 1;
	request.nice = -3;
	request.hold = false;
	request.array.limit = 0;
	in.h_rt = 0;
	in.queue = NULL;
	in.par = "2";
	expect_words(&in, COMMON "x -r y -A me -t 1-4 -pe p.2 6 -par 2 /s/stub");
}

Test(emit_qsub, ranges)
{
	struct geometry by_two = { 2, 2, 4, 4, 8 }, by_one = { 1, 2, 4, 2, 4 };
	struct qsub_input in = { .request = &request,
				 .geometry = &by_two,
				 .name = "x",
				 .options = "/s/options",
				 .script = "/s/stub",
				 .pe = "p" };

	expect_words(&in, COMMON "x -r y -pe p 8,6,4 /s/stub");
	in.par = "2";
	expect_words(&in, COMMON "x -r y -pe p 4-8 -par 2 /s/stub");
	in.par = NULL;
	in.geometry = &by_one;
	expect_words(&in, COMMON "x -r y -pe p 2-4 /s/stub");
}

Test(emit_qsub, verify_alone)
{
	struct geometry g = { 1, 1, 1, 1, 1 };
	struct qsub_input in = { .request = &request, .geometry = &g, .name = "x" };

	expect_words(&in,
		     "qsub -terse -S /bin/sh -C '' -b y -o /dev/null -j y -wd / -w v -N x -r y /bin/true");
}

Test(emit_qsub, names)
{
	static const struct {
		const char *name, *engine;
	} cases[] = {
		{ "train", "train" },
		{ "a.b-c_d+e=f", "a.b-c_d+e=f" },
		{ "1st", "J1st" },
		{ "-x", "J-x" },
		{ "", "J" },
		{ "a/b:c@d*e?f\\g", "a_b_c_d_e_f_g" },
		{ "a b\n", "a_b_" },
		{ "j\xc3\xb6"
		  "b",
		  "j__b" },
	};
	char longest[400];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *got = emit_job_name(cases[i].name);

		cr_expect_str_eq(got, cases[i].engine, "row %zu: %s", i, got);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	{
		cleanup_free char *got = emit_job_name(longest);

		cr_expect_eq(strlen(got), 200);
	}
}

Test(emit_qsub, h_rt_is_later_than_the_limit)
{
	cr_expect_eq(emit_h_rt(DURATION_INFINITE, 30), 0);
	cr_expect_eq(emit_h_rt(600, 30), 660);
	cr_expect_eq(emit_h_rt(600, 31), 720);
	cr_expect_eq(emit_h_rt(60, 0), 120);
}

Test(emit_qsub, base64url)
{
	static const struct {
		const char *data;
		size_t n;
		const char *text;
	} cases[] = {
		{ "", 0, "" },
		{ "f", 1, "Zg" },
		{ "fo", 2, "Zm8" },
		{ "foo", 3, "Zm9v" },
		{ "foob", 4, "Zm9vYg" },
		{ "\xff\xfe\xfb", 3, "__77" },
		{ "\xfb\xef\xbe", 3, "----" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_strbuf struct strbuf out = STRBUF_INIT;

		emit_base64url(&out, cases[i].data, cases[i].n);
		cr_expect_str_eq(out.buf, cases[i].text, "row %zu: %s", i, out.buf);
	}
}

/* Decodes base64url and JSON; the caller owns it. */
static json_t *decode(const char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	cleanup_strbuf struct strbuf json = STRBUF_INIT;
	uint32_t bits = 0;
	int have = 0;

	for (; *text; text++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, *text) - digits);
		have += 6;
		if (have >= 8)
			strbuf_addch(&json, (char)(bits >> (have -= 8)));
	}
	return json_loads(json.buf, 0, NULL);
}

Test(emit_qsub, context)
{
	cleanup_free char *text = NULL;
	json_t *o;

	request.nodes = (struct node_range){ 2, 4 };
	request.tasks = 2;
	request.time_limit = 600;
	request.comment = xstrdup("say \"x\" \xff");
	text = emit_context(&request, "my, job", "the-uuid");
	cr_expect_eq(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
		     strlen(text));
	o = decode(text);
	cr_assert_not_null(o);
	cr_expect_str_eq(json_string_value(json_object_get(o, "name")), "my, job");
	cr_expect_str_eq(json_string_value(json_object_get(o, "nodes")), "2-4");
	cr_expect_str_eq(json_string_value(json_object_get(o, "comment")), "say \"x\" ?");
	cr_expect_str_eq(json_string_value(json_object_get(o, "spool")), "the-uuid");
	cr_expect_eq(json_integer_value(json_object_get(o, "ntasks")), 2);
	cr_expect_eq(json_integer_value(json_object_get(o, "time_limit")), 600);
	cr_expect_null(json_object_get(o, "cpus_per_task"));
	cr_expect_null(json_object_get(o, "array"));
	json_decref(o);
}

/* --- PEs --- */

static void add_pe(struct pe_list *l, const char *name, const char *rule, bool control)
{
	pe_list_add(l, name, "soo");
	if (rule) {
		replace_str(&l->v[l->n - 1].rule, rule);
		l->v[l->n - 1].control = control;
	}
}

Test(emit_qsub, pe_choice)
{
	static const struct geometry two = { 2, 3, 3, 6, 6 }, fill = { 0, 1, 9, 9, 9 },
				     one_host = { 5, 1, 1, 5, 5 };
	static const struct {
		const struct geometry *g;
		const char *forced;
		bool par;
		const char *name, *argument;
	} cases[] = {
		{ &two, NULL, false, "soo.2", "" },         { &fill, NULL, false, "soo.fill", "" },
		{ &one_host, NULL, false, "smp", "" },      { &two, NULL, true, "soo.2", "2" },
		{ &fill, NULL, true, "soo.2", "$fill_up" }, { &two, "mpi2", false, "mpi2", "" },
		{ &two, "make", true, "make", "2" },        { &two, "make", false, NULL, "" },
		{ &two, "loose", true, NULL, "" },          { &two, "unknown", true, NULL, "" },
	};
	cleanup_pe_list struct pe_list l = PE_LIST_INIT;
	cleanup_argvec struct argvec none = ARGVEC_INIT, unattached = ARGVEC_INIT;

	add_pe(&l, "make", "$round_robin", true);
	add_pe(&l, "smp", "$pe_slots", true);
	add_pe(&l, "mpi2", "2", true);
	add_pe(&l, "loose", "2", false);
	add_pe(&l, "unknown", NULL, false);
	add_pe(&l, "soo.2", NULL, false);
	add_pe(&l, "soo.fill", NULL, false);
	add_pe(&l, "soo.x", NULL, false);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pe_choice choice = { NULL, "" };
		int rc = pe_choose(&l, cases[i].g, cases[i].forced, cases[i].par, &none, &choice);

		cr_expect_eq(rc, cases[i].name ? 0 : -1, "row %zu", i);
		if (rc < 0 || !cases[i].name)
			continue;
		cr_expect_str_eq(choice.name, cases[i].name, "row %zu: %s", i, choice.name);
		cr_expect_str_eq(choice.par, cases[i].argument, "row %zu: %s", i, choice.par);
	}
	{
		cleanup_pe_list struct pe_list one = PE_LIST_INIT;
		struct pe_choice choice = { NULL, "" };

		add_pe(&one, "make", "$round_robin", true);
		add_pe(&one, "soo", NULL, false);
		cr_assert_eq(pe_choose(&one, &two, NULL, true, &none, &choice), 0);
		cr_expect_str_eq(choice.name, "soo");
	}
	cr_expect(pe_can_fill(&l, NULL, false, &none));
	argvec_pushl(&unattached, "soo.fill", "soo.2", NULL);
	cr_expect_not(pe_can_fill(&l, NULL, false, &unattached));
	{
		struct pe_choice choice = { NULL, "" };

		cr_assert_eq(pe_choose(&l, &two, NULL, false, &unattached, &choice), 0);
		cr_expect_str_eq(choice.name, "mpi2", "a PE that no queue offers is passed over");
	}
	cr_expect_not(pe_can_fill(&l, "mpi2", false, &none));
}

Test(emit_qsub, the_widest_host)
{
	static const struct {
		const char *text;
		uint32_t widest, narrowest;
	} cases[] = {
		{ "queuename qtype resv/used/tot. load_avg arch states\n"
		  "-----\n"
		  "all.q@c1                       BIP   0/3/4          4.30     lx-amd64      \n"
		  "    5 0.5 x alice r 11/29/2026 15:30:32     1 16/16\n"
		  "big.q@c2.site.org              BP    0/0/64         -NA-     lx-amd64      au\n"
		  "old@c3                         BIP   1/8            0.01     lx-amd64\n",
		  64, 4 },
		{ "a@c1 BIP 0/0/0 0.1 lx\na@c2 BIP 0/0/2 0.1 lx\n", 2, 2 },
		{ "", 0, 0 },
		{ "error: can't reach qmaster@head 1/2/3\n", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t widest, narrowest;

		place_widths_parse(cases[i].text, &widest, &narrowest);
		cr_expect_eq(widest, cases[i].widest, "row %zu: %u", i, widest);
		cr_expect_eq(narrowest, cases[i].narrowest, "row %zu: %u", i, narrowest);
	}
}

/* --- environment and stub --- */

static void expect_export(const char *spec, const char *want)
{
	char *envp[] = { (char *)"A=1", (char *)"B=x y", (char *)"SLURM_FOO=z", (char *)"SOO_JOB_DIR=/j",
			 NULL };
	cleanup_env struct env out = ENV_INIT;
	cleanup_strbuf struct strbuf got = STRBUF_INIT;

	export_environment(spec, envp, &out);
	for (size_t i = 0; i < out.vars.n; i++)
		strbuf_addf(&got, "%s%s", i ? "|" : "", out.vars.v[i]);
	cr_expect_str_eq(got.buf, want, "%s: %s", spec ? spec : "(none)", got.buf);
}

Test(emit_qsub, exported_environment)
{
	expect_export(NULL, "A=1|B=x y|SLURM_FOO=z");
	expect_export("ALL", "A=1|B=x y|SLURM_FOO=z");
	expect_export("all", "A=1|B=x y|SLURM_FOO=z");
	expect_export("NONE", "SLURM_FOO=z");
	expect_export("NIL", "SLURM_FOO=z");
	expect_export("A", "SLURM_FOO=z|A=1");
	expect_export("A,C=3,NOSUCH", "SLURM_FOO=z|A=1|C=3");
	expect_export("ALL,A=2", "SLURM_FOO=z|A=2|B=x y");
	expect_export("A=2,ALL", "SLURM_FOO=z|A=1|B=x y");
	expect_export("X='a,b',Y=c", "SLURM_FOO=z|X='a,b'|Y=c");
	expect_export("X=\"a,b\",", "SLURM_FOO=z|X=\"a,b\"");
	expect_export("=1,X=", "SLURM_FOO=z|X=");
}

Test(emit_qsub, an_enclosing_jobs_variables_stay_behind)
{
	char *in_job[] = { (char *)"JOB_ID=3",
			   (char *)"SGE_TASK_ID=undefined",
			   (char *)"PE_HOSTFILE=/x",
			   (char *)"TMPDIR=/tmp/3",
			   (char *)"SLURM_JOB_ID=3",
			   (char *)"A=1",
			   NULL };
	char *outside[] = { (char *)"JOB_ID=mine", (char *)"TMPDIR=/scratch", NULL };
	cleanup_env struct env a = ENV_INIT, b = ENV_INIT;

	export_environment(NULL, in_job, &a);
	cr_expect_null(env_get(&a, "JOB_ID"));
	cr_expect_null(env_get(&a, "PE_HOSTFILE"));
	cr_expect_null(env_get(&a, "TMPDIR"));
	cr_expect_str_eq(env_get(&a, "A"), "1");
	export_environment(NULL, outside, &b);
	cr_expect_str_eq(env_get(&b, "JOB_ID"), "mine");
	cr_expect_str_eq(env_get(&b, "TMPDIR"), "/scratch");
}

Test(emit_qsub, paths_in_the_stub_are_quoted)
{
	cleanup_strbuf struct strbuf stub = STRBUF_INIT;

	stub_write(&stub, "/o p/minder", "/o/shim-launch", "/home/it's/s", "/w");
	cr_expect(!strncmp(stub.buf, "#!/bin/sh\n", 10));
	cr_expect_not_null(strstr(stub.buf, "\nminder='/o p/minder'\n"), "%s", stub.buf);
	cr_expect_not_null(strstr(stub.buf, "it'\\''s"), "%s", stub.buf);
}

Test(emit_qsub, login_environment)
{
#define HEAD "Welcome!\n\0the login environment follows\0"
	static const char good[] = HEAD "A=1\0PWD=/\0B=x\ny\0_=/usr/bin/env",
			  none[] = "This account is not available.\n";
	cleanup_env struct env env = ENV_INIT, empty = ENV_INIT;
	struct error err = ERROR_INIT;

	cr_assert_eq(login_environment_parse(&env, good, sizeof(good), &err), 0, "%s", err.text);
	cr_expect_eq(env.vars.n, 2);
	cr_expect_str_eq(env_get(&env, "B"), "x\ny");
	cr_expect_eq(login_environment_parse(&empty, none, sizeof(none), &err), -1);
	cr_expect_str_eq(err.text, "the login shell printed no environment");
}
