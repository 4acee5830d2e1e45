/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strbuf.h"
#include "conf/conf.h"
#include "conf/keys.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void clear(void)
{
	unsetenv("SLURM_ON_OCS_CONF");
	unsetenv("SGE_ROOT");
	unsetenv("SGE_CELL");
	unsetenv("SGE_CLUSTER_NAME");
}

TestSuite(conf, .init = clear);

Test(conf, defaults_need_no_file)
{
	cleanup_conf struct conf c = CONF_INIT;

	cr_assert_eq(conf_load_file(&c, NULL, NULL), 0);
	cr_expect_null(c.file);
	cr_expect_str_eq(c.cluster_name, "default");
	cr_expect_str_eq(c.slurm_version, "22.05.8");
	cr_expect_null(c.default_partition);
	cr_expect_str_eq(c.pe_family, "slurm-on-ocs");
	cr_expect_str_eq(c.spool_dir, "~/.slurm-on-ocs");
	cr_expect_null(c.accounting_dir);
	cr_expect_eq(c.engine_timeout, 60);
	cr_expect_eq(c.port_first, 61000);
	cr_expect_eq(c.port_last, 61439);
	cr_expect_eq(c.launch_timeout, 60);
	cr_expect_eq(c.control_timeout, 60);
	cr_expect_eq(c.ping_interval, 10);
	cr_expect_eq(c.slot_retry, 300);
	cr_expect_eq(c.kill_wait, 30);
	cr_expect_not(c.kill_on_bad_exit);
	cr_expect_null(conf_partition(&c, "all.q"));
}

Test(conf, the_engines_environment_fills_gaps)
{
	cleanup_conf struct conf a = CONF_INIT, b = CONF_INIT;

	setenv("SGE_ROOT", "/opt/sge", 1);
	setenv("SGE_CELL", "prod", 1);
	cr_assert_eq(conf_load_text(&a, "x", "", NULL), 0);
	cr_expect_str_eq(a.cluster_name, "prod");
	cr_expect_str_eq(a.accounting_dir, "/opt/sge/prod/common/slurm-on-ocs/acct");
	setenv("SGE_CLUSTER_NAME", "p6444", 1);
	cr_assert_eq(conf_load_text(&b, "x", "accounting_dir = \"/acct\";", NULL), 0);
	cr_expect_str_eq(b.cluster_name, "p6444");
	cr_expect_str_eq(b.accounting_dir, "/acct");
}

Test(conf, every_kind_of_value)
{
	static const char text[] =
		"cluster_name = \"c1\";\n"
		"native_pes = [ \"mpi\", \"smp\" ];\n"
		"kill_on_bad_exit = true;\n"
		"kill_wait = 0;\n"
		"port_first = 2000L; port_last = 2100;\n"
		"partitions = ( { name = \"gpu\"; queue = \"gpu.q\"; pe = \"p\"; }, { name = \"x\"; } );\n";
	cleanup_conf struct conf c = CONF_INIT;
	struct error err = ERROR_INIT;
	const struct conf_partition *p;

	cr_assert_eq(conf_load_text(&c, "site.conf", text, &err), 0, "%s", err.text);
	cr_expect_str_eq(c.file, "site.conf");
	cr_expect_str_eq(c.cluster_name, "c1");
	cr_expect_eq(c.native_pes.n, 2);
	cr_expect_str_eq(c.native_pes.v[1], "smp");
	cr_expect(c.kill_on_bad_exit);
	cr_expect_eq(c.kill_wait, 0);
	cr_expect_eq(c.port_first, 2000);
	cr_assert_eq(c.npartitions, 2);
	p = conf_partition(&c, "gpu");
	cr_expect_str_eq(p->queue, "gpu.q");
	cr_expect_str_eq(p->pe, "p");
	p = conf_partition(&c, "x");
	cr_expect_str_eq(p->queue, "x");
	cr_expect_null(p->pe);
	cr_expect_null(conf_partition(&c, "y"));
}

static const struct {
	const char *text, *error;
} bad[] = {
	{ "\nlaunch_timout = 5;", "2: unknown key \"launch_timout\"; did you mean \"launch_timeout\"?" },
	{ "zzzzzzzz = 5;", "1: unknown key \"zzzzzzzz\"; slurm-on-ocs.conf(5) lists them" },
	{ "launch_timeout = \"5\";", "1: launch_timeout must be a whole number" },
	{ "launch_timeout = 1.5;", "1: launch_timeout must be a whole number" },
	{ "launch_timeout = 0;", "1: launch_timeout must be from 1 to 86400, not 0" },
	{ "\n\nport_first = 99999999999L;", "3: port_first must be from 1024 to 65535, not 99999999999" },
	{ "kill_on_bad_exit = 1;", "1: kill_on_bad_exit must be true or false" },
	{ "cluster_name = 5;", "1: cluster_name must be a string" },
	{ "cluster_name = \"\";", "1: cluster_name must be a string that isn't empty" },
	{ "spool_dir = \"spool\";", "1: spool_dir must begin with / or ~/" },
	{ "native_pes = \"mpi\";", "1: native_pes must be an array of strings" },
	{ "native_pes = [ 1, 2 ];", "1: native_pes must be an array of strings" },
	{ "partitions = { };", "1: partitions must be a list of groups: ( { name = \"...\"; } )" },
	{ "partitions = ( 1 );", "1: partitions must be a list of groups: ( { name = \"...\"; } )" },
	{ "partitions = ( { queue = \"q\"; } );", "1: a partition needs a name" },
	{ "partitions = ( { nam = \"q\"; } );", "1: unknown key \"nam\"; did you mean \"name\"?" },
	{ "gres = ( { name = \"gpu:a\"; complx = \"x\"; } );",
	  "1: unknown key \"complx\"; did you mean \"complex\"?" },
	{ "features = { };", "1: features must be a list of groups: ( { name = \"...\"; } )" },
	{ "features = ( 1 );", "1: features must be a list of groups: ( { name = \"...\"; } )" },
	{ "features = ( { request = \"a=1\"; } );", "1: a group of features needs a name" },
	{ "gres = (\n{ name = \"g\"; },\n{ name = \"g\"; } );", "3: g is there twice" },
	{ "partitions = (\n{ name = \"q\"; },\n{ name = \"q\"; } );", "3: partition q is there twice" },
	{ "port_last = 2000;", "1: port_first is above port_last" },
	{ "\ncontrol_timeout = 5;", "2: ping_interval must be below control_timeout" },
	{ "kill_wait = ;", "1: syntax error" },
	{ "kill_wait = 1;\nkill_wait = 2;", "2: duplicate setting name" },
};

/* The row's error behind "<file>:". */
static void expect_error(const char *file, const char *got, size_t i)
{
	cleanup_strbuf struct strbuf want = STRBUF_INIT;

	strbuf_addf(&want, "%s:%s", file, bad[i].error);
	cr_expect_str_eq(got, want.buf, "row %zu: %s", i, got);
}

Test(conf, errors_name_file_and_line)
{
	char path[] = "/tmp/test_conf.XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct conf c = CONF_INIT;
		struct error err = ERROR_INIT;

		cr_assert_eq(ftruncate(fd, 0), 0);
		cr_assert_eq(pwrite(fd, bad[i].text, strlen(bad[i].text), 0), (ssize_t)strlen(bad[i].text));
		cr_expect_eq(conf_load_file(&c, path, &err), -1, "row %zu", i);
		cr_expect_eq(err.code, ERR_CONF, "row %zu", i);
		expect_error(path, err.text, i);
		cr_expect_null(c.spool_dir);
		cr_expect_eq(conf_load_text(&c, "slurm-on-ocs.conf", bad[i].text, &err), -1);
		expect_error("slurm-on-ocs.conf", err.text, i);
	}
	close(fd);
	unlink(path);
}

Test(conf, which_file)
{
	char root[] = "/tmp/test_conf.XXXXXX";
	cleanup_strbuf struct strbuf file = STRBUF_INIT;
	cleanup_conf struct conf a = CONF_INIT, b = CONF_INIT;
	struct error err = ERROR_INIT;
	FILE *f;

	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	cr_assert_eq(mkdir("default", 0700) + mkdir("default/common", 0700), 0);
	f = fopen("default/common/slurm-on-ocs.conf", "w");
	fputs("kill_wait = 7;\n", f);
	fclose(f);
	setenv("SGE_ROOT", root, 1);
	strbuf_addf(&file, "%s/default/common/slurm-on-ocs.conf", root);
	cr_assert_eq(conf_load(&a, &err), 0, "%s", err.text);
	cr_expect_str_eq(a.file, file.buf);
	cr_expect_eq(a.kill_wait, 7);

	/* the file that the user names goes first, and must be there */
	setenv("SLURM_ON_OCS_CONF", "other.conf", 1);
	cr_expect_eq(conf_load(&b, &err), -1);
	cr_expect_str_eq(err.text, "other.conf: No such file or directory");
	f = fopen("other.conf", "w");
	fputs("kill_wait = 8;\n", f);
	fclose(f);
	cr_assert_eq(conf_load(&b, &err), 0, "%s", err.text);
	cr_expect_eq(b.kill_wait, 8);
	unlink("other.conf");
	unlink("default/common/slurm-on-ocs.conf");
	rmdir("default/common");
	rmdir("default");
	rmdir(root);
}

static void expect_same(const struct conf *a, const struct conf *b, const char *what)
{
	for (size_t i = 0; i < conf_nkeys; i++) {
		const struct conf_key *k = &conf_keys[i];
		const void *x = (const char *)a + k->offset, *y = (const char *)b + k->offset;

		if (k->type == CONF_INT)
			cr_expect_eq(*(const int *)x, *(const int *)y, "%s: %s", what, k->name);
		else if (k->type == CONF_BOOL)
			cr_expect_eq(*(const bool *)x, *(const bool *)y, "%s: %s", what, k->name);
		else if (k->string)
			cr_expect_str_eq(*(char *const *)x, *(char *const *)y, "%s: %s", what, k->name);
	}
}

/* As it is shipped, and with each of its settings taken out of comment. */
Test(conf, the_sample_says_the_defaults)
{
	cleanup_free char *sample = conf_sample();
	cleanup_conf struct conf c = CONF_INIT, plain = CONF_INIT, open = CONF_INIT;
	struct error err = ERROR_INIT;
	size_t settings = 0;

	cr_assert_eq(conf_load_file(&c, NULL, NULL), 0);
	cr_assert_eq(conf_load_text(&plain, "sample", sample, &err), 0, "%s", err.text);
	expect_same(&plain, &c, "sample");
	for (char *s = sample; s; s = strchr(s + 1, '\n')) {
		if (s[0] == '\n' && s[1] == '#' && s[2] != ' ') {
			s[1] = ' ';
			settings++;
		}
	}
	cr_expect_eq(settings, conf_nkeys);
	cr_assert_eq(conf_load_text(&open, "sample", sample, &err), 0, "%s", err.text);
	expect_same(&open, &c, "sample without comment");
	cr_expect_str_eq(open.partitions[0].queue, "gpu.q");
	cr_expect_str_eq(open.native_pes.v[0], "mpi");
}

Test(conf, rows_are_complete)
{
	cleanup_free char *manual = conf_manual();

	for (size_t i = 0; i < conf_nkeys; i++) {
		const struct conf_key *k = &conf_keys[i];
		bool plain = k->type == CONF_INT || k->type == CONF_BOOL || k->string;

		cr_expect(k->text && *k->text && k->text[strlen(k->text) - 1] == '.', "%s: text", k->name);
		cr_expect(plain || (k->otherwise && k->example), "%s: no default in words", k->name);
		if (k->type == CONF_INT)
			cr_expect(k->min <= k->number && k->number <= k->max, "%s: default", k->name);
		for (size_t j = 0; j < i; j++) {
			cr_expect_str_neq(k->name, conf_keys[j].name);
			cr_expect_neq(k->offset, conf_keys[j].offset, "%s", k->name);
		}
	}
	cr_expect_not_null(strstr(manual, "*launch\\_timeout* (number)\n\tSeconds"), "%s", manual);
}

Test(conf, spool_dir_of_the_user)
{
	static const struct {
		const char *conf, *dir;
	} rows[] = {
		{ "", "/home/me/.slurm-on-ocs" },
		{ "spool_dir = \"~\";", "/home/me" },
		{ "spool_dir = \"/scratch/~x\";", "/scratch/~x" },
	};

	setenv("HOME", "/home/me", 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_conf struct conf c = CONF_INIT;
		cleanup_free char *dir = NULL;

		cr_assert_eq(conf_load_text(&c, "x", rows[i].conf, NULL), 0);
		dir = conf_spool_dir(&c, NULL);
		cr_expect_str_eq(dir, rows[i].dir);
	}
	unsetenv("HOME"); /* the passwd entry has one */
	{
		cleanup_conf struct conf c = CONF_INIT;
		cleanup_free char *dir = NULL;

		cr_assert_eq(conf_load_text(&c, "x", "", NULL), 0);
		dir = conf_spool_dir(&c, NULL);
		cr_assert_not_null(dir);
		cr_expect_eq(dir[0], '/');
	}
}

Test(conf, maps)
{
	struct error err = ERROR_INIT;
	struct conf c = CONF_INIT;
	const struct conf_map *row;

	cr_assert_eq(conf_load_text(&c, "x",
				    "gres = ( { name = \"gpu:a100\"; complex = \"ga\"; request = \"m=1\"; },"
				    " { name = \"gpu\"; } );",
				    &err),
		     0, "%s", err.text);
	cr_expect_eq(c.gres.n, 2);
	row = conf_map(&c.gres, "gpu", "a100");
	cr_assert_not_null(row);
	cr_expect_str_eq(row->complex, "ga");
	cr_expect_str_eq(row->request, "m=1");
	cr_expect_eq(conf_map(&c.gres, "gpu", NULL), &c.gres.v[1]);
	cr_expect_null(conf_map(&c.gres, "gpu", "a10"));
	cr_expect_null(conf_map(&c.gres, "gp", NULL));
	cr_expect_null(conf_map(&c.features, "gpu", NULL));
	conf_release(&c);
}
