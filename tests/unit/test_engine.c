/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "ocs/engine.h"
#include "ocs/qconf.h"
#include "ocs/qstat.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A Grid Engine of shell scripts in a folder of the test's own. */
struct fake {
	char root[64];
};

static void fake_client(const struct fake *f, const char *name, const char *script)
{
	cleanup_free char *path = xasprintf("%s/bin/lx-test/%s", f->root, name);
	FILE *out = fopen(path, "w");

	cr_assert(out, "%s", path);
	fprintf(out, "#!/bin/sh\n%s\n", script);
	fchmod(fileno(out), 0755);
	fclose(out);
}

static void fake_open(struct fake *f)
{
	cleanup_free char *bin = NULL;
	cleanup_free char *arch = NULL;

	strcpy(f->root, "/tmp/test_engine.XXXXXX");
	cr_assert(mkdtemp(f->root));
	bin = xasprintf("%s/bin", f->root);
	arch = xasprintf("%s/lx-test", bin);
	cr_assert(mkdir(bin, 0755) == 0 && mkdir(arch, 0755) == 0);
	unsetenv("SGE_BINARY_PATH");
	unsetenv("SGE_ARCH");
	unsetenv("ARC");
	setenv("SGE_ROOT", f->root, 1);
	setenv("SLURM_ON_OCS_CONF", "/dev/null", 1);
	setenv("HOME", f->root, 1);
}

static void fake_close(struct fake *f)
{
	cleanup_free char *command = xasprintf("rm -rf %s", f->root);
	FILE *p = popen(command, "r");

	cr_assert(p && pclose(p) == 0);
}

Test(engine, finds_clients_without_arch)
{
	struct fake f;
	struct error err = ERROR_INIT;
	cleanup_free char *found = NULL;
	cleanup_free char *want = NULL;
	cleanup_free char *other = NULL;

	fake_open(&f);
	fake_client(&f, "qdemo", "exit 0");
	found = engine_client("qdemo", &err);
	want = xasprintf("%s/bin/lx-test/qdemo", f.root);
	cr_assert(found, "%s", err.text);
	cr_expect_str_eq(found, want);
	setenv("PATH", "/usr/bin:/bin", 1);
	cr_expect_null(engine_client("qnosuch", &err));
	cr_expect_str_eq(err.text, "qnosuch: not found; set SGE_ROOT to the Grid Engine installation");
	setenv("SGE_BINARY_PATH", "/bin", 1);
	other = engine_client("sh", &err);
	cr_expect_str_eq(other, "/bin/sh");
	fake_close(&f);
}

Test(engine, says_what_the_engine_said)
{
	static const struct {
		const char *out, *err, *text;
	} rows[] = {
		{ "",
		  "Unable to run job: job rejected: the requested parallel environment \"nosuch\" does not exist.\nExiting.\n",
		  "job rejected: the requested parallel environment \"nosuch\" does not exist" },
		{ "",
		  "error: commlib error: got select error (Connection refused)\nerror: unable to send message\n",
		  "commlib error: got select error (Connection refused)" },
		{ "denied: job \"9999\" does not exist\n", "", "denied: job \"9999\" does not exist" },
		{ "", "\ncritical error: Please set the environment variable SGE_ROOT.\n",
		  "Please set the environment variable SGE_ROOT" },
		{ "", "", "the engine gave no reason (exit code 1)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct engine_answer a = { { (char *)rows[i].out, strlen(rows[i].out), 0 },
					   { (char *)rows[i].err, strlen(rows[i].err), 0 },
					   1 };
		struct error err = ERROR_INIT;

		cr_expect(engine_refusal(&a, &err) == -1);
		cr_expect_str_eq(err.text, rows[i].text, "row %zu: %s", i, err.text);
		cr_expect_eq(engine_is_down(&a), i == 1, "row %zu", i);
	}
}

Test(engine, knows_its_kind)
{
	static const struct {
		const char *help;
		int rc;
		bool has_par, has_rsmap;
	} rows[] = {
		{ "SGE 8.1.9\nusage: qsub [options]\n   [-pe pe-name slot_range]\n", 0, false, false },
		{ "OCS 9.1.5prealpha\nusage: qsub [options]\n   [-par allocation_rule]\n", 0, true, true },
		{ "OCS 9.0.3\nusage: qsub [options]\n   [-pe pe-name slot_range]\n", 0, false, true },
		{ "", -1, false, false },
		{ "Segmentation fault\n", -1, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct engine_kind kind;
		struct error err = ERROR_INIT;

		cr_expect_eq(engine_kind_parse(rows[i].help, &kind, &err), rows[i].rc, "row %zu", i);
		if (rows[i].rc == 0) {
			cr_expect_eq(kind.has_par, rows[i].has_par, "row %zu", i);
			cr_expect_eq(kind.has_rsmap, rows[i].has_rsmap, "row %zu", i);
		}
	}
}

Test(engine, kind_is_cached_by_the_client)
{
	struct fake f;
	struct engine_kind kind;
	struct error err = ERROR_INIT;
	cleanup_free char *cache = NULL;
	struct stat st;

	fake_open(&f);
	fake_client(&f, "qsub",
		    "echo OCS 9.1.5; echo usage: qsub; echo '[-par x]'; echo run >>$SGE_ROOT/runs");
	cr_assert(engine_kind(&kind, &err) == 0, "%s", err.text);
	cr_expect_str_eq(kind.version, "OCS 9.1.5");
	cr_expect(kind.has_par && kind.has_rsmap);
	cache = xasprintf("%s/.slurm-on-ocs/engine", f.root);
	cr_assert(stat(cache, &st) == 0, "no cache");
	cr_expect_eq(st.st_mode & 07777, 0600);
	fake_close(&f);
}

/* Garbage, truncation, a dead qmaster and silence: an error, never an empty success. */
Test(engine, bad_answers_are_errors)
{
	static const struct {
		const char *script, *text;
	} rows[] = {
		{ "echo 'error: commlib error: got select error' >&2; exit 1",
		  "qstat: commlib error: got select error" },
		{ "echo \"<?xml version='1.0'?><job_info><queue_info>\"", "qstat: line 2: no element found" },
		{ "exit 0", "qstat: line 1: no element found" },
		{ "head -c 3000 /dev/zero", "qstat: line 1: not well-formed (invalid token)" },
		{ "kill -9 $$", "qstat: the engine gave no reason (exit code 137)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake f;
		cleanup_qstat struct qstat q = QSTAT_INIT;
		struct error err = ERROR_INIT;

		fake_open(&f);
		fake_client(&f, "qstat", rows[i].script);
		cr_expect(qstat_list(&q, "*", NULL, 5, &err) == -1, "row %zu", i);
		cr_expect_str_eq(err.text, rows[i].text, "row %zu: %s", i, err.text);
		fake_close(&f);
	}
}

Test(engine, silence_is_an_error_in_time)
{
	struct fake f;
	cleanup_qstat struct qstat q = QSTAT_INIT;
	struct error err = ERROR_INIT;
	time_t start = time(NULL);

	fake_open(&f);
	fake_client(&f, "qstat", "exec sleep 60");
	cr_expect(qstat_list(&q, "*", NULL, 1, &err) == -1);
	cr_expect(strstr(err.text, "no answer within 1 s"), "%s", err.text);
	cr_expect(time(NULL) - start < 10);
	fake_close(&f);
}

Test(engine, clients_get_the_root_that_debian_has)
{
	struct fake f;
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	struct error err = ERROR_INIT;

	fake_open(&f);
	fake_client(&f, "qecho", "echo \"$SGE_ROOT $SGE_CELL $A\"");
	unsetenv("SGE_CELL");
	argvec_push(&argv, "qecho");
	cr_assert(engine_run(&argv, (char *[]){ (char[]){ "A=1" }, NULL }, 5, &answer, &err) == 0, "%s",
		  err.text);
	cr_expect(strstr(answer.out.buf, f.root) && strstr(answer.out.buf, " 1\n"), "%s", answer.out.buf);
	fake_close(&f);
}

Test(engine, an_empty_list_is_no_error)
{
	struct fake f;
	cleanup_argvec struct argvec list = ARGVEC_INIT;
	struct error err = ERROR_INIT;

	fake_open(&f);
	fake_client(&f, "qconf",
		    "[ $1 = -spl ] && { echo 'no parallel environment defined' >&2; exit 1; }\n"
		    "[ $1 = -sql ] && { echo a.q; echo b.q; exit 0; }\necho 'denied: no' >&2; exit 1");
	cr_expect(qconf_list("-spl", &list, &err) == 0, "%s", err.text);
	cr_expect_eq(list.n, 0);
	cr_expect(qconf_list("-sql", &list, &err) == 0, "%s", err.text);
	cr_expect_eq(list.n, 2);
	cr_expect(qconf_list("-sel", &list, &err) == -1);
	cr_expect_str_eq(err.text, "qconf: denied: no");
	fake_close(&f);
}
