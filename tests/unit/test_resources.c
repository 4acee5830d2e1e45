/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of requests for resources, by how the cell counts them. */
#include "translate/hosts.h"
#include "translate/resources.h"

#include "common/mem.h"

#include <criterion/criterion.h>
#include <string.h>

#define COMMON                                                                                                   \
	"slots s INT <= YES YES 1 1000\nh_vmem h_vmem MEMORY <= YES YES 0 0\nhostname h HOST == YES NO NONE 0\n" \
	"cpu_model cpu_model STRING == YES NO NONE 0\nbig big BOOL == YES NO 0 0\nsmall small BOOL == YES NO 0 0\n"

static const char stock[] = COMMON "mem_total mt MEMORY <= YES NO 0 0\nmem_free mf MEMORY <= YES NO 0 0\n"
				   "gpu gpu INT <= YES YES 0 0\n";
static const char by_slot[] =
	COMMON "mem mem MEMORY <= YES YES 0 0\ngpu gpu INT <= YES YES 0 0\n"
	       "ansys ansys INT <= YES YES 0 0\nexclusive excl BOOL EXCL YES YES 0 1000\n"
	       "scratch scratch MEMORY <= YES YES 0 0\nfpga fpga INT <= YES YES 0 0\n";
static const char by_host[] = COMMON "memory memory MEMORY <= YES HOST 0 0\ngpu gpu RSMAP <= YES HOST 0 0\n"
				     "ga ga RSMAP <= YES HOST 0 0\nansys ansys INT <= YES HOST 0 0\n";
static const char by_job[] = COMMON "mem mem MEMORY <= YES JOB 0 0\ngpu gpu INT <= YES JOB 0 0\n"
				    "ansys ansys INT <= YES JOB 0 0\n";

static const char site[] =
	"gres = ( { name = \"gpu:a100\"; complex = \"ga\"; request = \"small=TRUE,cpu_model=x*\"; } );\n"
	"tmp_complex = \"scratch\";\n"
	"features = ( { name = \"intel\"; request = \"cpu_model=intel*\"; },\n"
	"             { name = \"amd\"; request = \"cpu_model=amd*\"; } );\n";

struct row {
	const char *complexes;
	const char *options[5];
	struct geometry g;
	const char *requests; /* with blanks; or what the error says */
	const char *warning;  /* a part of it; NULL: none */
};

#define SERIAL                                                                                               \
	{                                                                                                    \
		1, 1, 1, 1, 1                                                                                \
	}
#define FOUR                                                                                                 \
	{                                                                                                    \
		4, 1, 1, 4, 4                                                                                \
	} /* one host */
#define TWO_BY_TWO                                                                                           \
	{                                                                                                    \
		2, 2, 2, 4, 4                                                                                \
	} /* hosts of two */
#define FILL                                                                                                 \
	{                                                                                                    \
		0, 1, 6, 6, 6                                                                                \
	}
#define RANGE                                                                                                \
	{                                                                                                    \
		2, 1, 3, 2, 6                                                                                \
	}

static const struct row rows[] = {
	/* memory: a slot's share, a host's whole, nothing but a look */
	{ by_slot, { "--mem=1G" }, SERIAL, "mem=1024M", NULL },
	{ by_slot, { "--mem=1G" }, FOUR, "mem=256M", NULL },
	{ by_slot, { "--mem=1000K" }, { 3, 1, 1, 3, 3 }, "mem=342K", NULL },
	{ by_slot, { "--mem-per-cpu=1G" }, FOUR, "mem=1024M", NULL },
	{ by_slot, { "--mem-per-cpu=1G" }, FILL, "mem=1024M", NULL },
	{ by_slot,
	  { "--gpus-per-node=2", "--mem-per-gpu=1G" },
	  TWO_BY_TWO,
	  "mem=1024M gpu=1",
	  "doesn't say which" },
	{ by_host, { "--mem=1G" }, FOUR, "memory=1024M", NULL },
	{ by_host, { "--mem-per-cpu=1G" }, FOUR, "memory=4096M", NULL },
	{ by_host, { "--mem=2T" }, TWO_BY_TWO, "memory=2097152M", NULL },
	{ by_host, { "--gres=gpu:2", "--mem-per-gpu=1G" }, FOUR, "memory=2048M gpu=2", NULL },
	{ by_job, { "--mem=1G" }, FOUR, "mem=1024M", NULL },
	{ by_job, { "--mem=1G" }, TWO_BY_TWO, "!counts complex mem once for a job", NULL },
	{ stock,
	  { "--mem=1G" },
	  FOUR,
	  "mem_total=1024M",
	  "--mem is done approximately: no memory is reserved" },
	{ stock, { "--mem-per-cpu=1G" }, FOUR, "mem_total=4096M", "--mem-per-cpu is done approximately" },
	{ COMMON, { "--mem=1G" }, FOUR, "", "no memory is reserved, since" },
	{ by_slot, { "--mem=0" }, FOUR, "", "--mem=0 is done approximately" },
	/* GPUs */
	{ by_host, { "--gres=gpu" }, FOUR, "gpu=1", NULL },
	{ by_host, { "--gres=gpu:2" }, TWO_BY_TWO, "gpu=2", NULL },
	{ by_host, { "--gpus=4" }, TWO_BY_TWO, "gpu=2", NULL },
	{ by_host, { "--gpus=3" }, TWO_BY_TWO, "!3 GPUs on 2 hosts", NULL },
	{ by_host, { "--gpus=4" }, RANGE, "!--gpus-per-node", NULL },
	{ by_host, { "--gpus-per-node=2" }, RANGE, "gpu=2", NULL },
	{ by_host, { "-n4", "--gpus-per-task=1" }, TWO_BY_TWO, "gpu=2", NULL },
	{ by_host, { "-n3", "--gpus-per-task=1" }, TWO_BY_TWO, "gpu=2", NULL },
	{ by_host, { "--gres=gpu:a100:2" }, FOUR, "ga=2 small=TRUE cpu_model=x*", NULL },
	{ by_host, { "--gpus=a100:1" }, FOUR, "ga=1 small=TRUE cpu_model=x*", NULL },
	{ by_host, { "--gpus=h100:1" }, FOUR, "!no type h100 of gpu", NULL },
	{ by_host, { "--gres=gpu:0" }, FOUR, "", NULL },
	{ by_host, { "--gres=gpu:3", "--gpus-per-node=1" }, FOUR, "gpu=1", NULL },
	{ by_slot, { "--gres=gpu:4" }, FOUR, "gpu=1", "--gres is done approximately" },
	{ by_slot, { "--gres=gpu:1" }, FOUR, "!the engine counts it for each slot", NULL },
	{ by_slot, { "--gres=gpu:1" }, SERIAL, "gpu=1", "doesn't say which" },
	{ by_job, { "--gres=gpu:1" }, FOUR, "gpu=1", "doesn't say which" },
	{ by_job, { "--gres=gpu:1" }, TWO_BY_TWO, "!once for a job", NULL },
	{ by_slot, { "--gres=fpga:2" }, SERIAL, "fpga=2", NULL },
	{ by_slot, { "--gres=nosuch" }, SERIAL, "!no consumable nosuch for nosuch", NULL },
	{ COMMON, { "--gpus=1" }, SERIAL, "!no consumable gpu for gpu", NULL },
	{ by_slot, { "--gres=slots:2" }, SERIAL, "slots=2", NULL },
	/* licenses, of the whole job */
	{ by_job, { "-L", "ansys:3" }, TWO_BY_TWO, "ansys=3", NULL },
	{ by_slot, { "-L", "ansys:8" }, TWO_BY_TWO, "ansys=2", NULL },
	{ by_slot, { "-L", "ansys" }, SERIAL, "ansys=1", NULL },
	{ by_slot, { "-L", "ansys:3" }, TWO_BY_TWO, "!for each slot", NULL },
	{ by_slot, { "-L", "ansys:6" }, FILL, "ansys=1", NULL },
	{ by_host, { "-L", "ansys:2" }, TWO_BY_TWO, "ansys=1", NULL },
	{ by_host, { "-L", "ansys:2" }, RANGE, "!for each host", NULL },
	{ by_slot, { "-L", "nosuch" }, SERIAL, "!no consumable named nosuch", NULL },
	{ by_slot, { "-L", "big" }, SERIAL, "!no consumable named big", NULL },
	/* features */
	{ by_slot, { "-C", "big" }, SERIAL, "big=TRUE", NULL },
	{ by_slot, { "-C", "big&intel" }, SERIAL, "big=TRUE cpu_model=intel*", NULL },
	{ by_slot, { "-C", "intel|amd" }, SERIAL, "cpu_model=intel*|amd*", NULL },
	{ by_slot, { "-C", "big&intel|amd" }, SERIAL, "big=TRUE cpu_model=intel*|amd*", NULL },
	{ by_slot, { "-C", "big|small" }, SERIAL, "any:big=TRUE|small=TRUE", NULL },
	{ by_slot, { "-C", "big|intel&amd" }, SERIAL, "cpu_model=amd* any:big=TRUE|cpu_model=intel*", NULL },
	{ by_slot, { "-C", "nosuch" }, SERIAL, "!nosuch: no such feature", NULL },
	{ by_slot, { "-C", "mem" }, SERIAL, "!mem: no such feature", NULL },
	{ by_slot, { "-C", "big&" }, SERIAL, "big=TRUE", NULL },
	{ by_slot, { "-C", "|big" }, SERIAL, "!no such feature", NULL },
	{ by_slot, { "-C", "[big|small]" }, SERIAL, "!no counts and groups", NULL },
	{ by_slot, { "-C", "big*2" }, SERIAL, "!no counts and groups", NULL },
	/* whole hosts, disks */
	{ by_slot, { "--exclusive" }, FOUR, "exclusive=TRUE", NULL },
	{ by_host, { "--exclusive" }, FOUR, "", "--exclusive is done approximately" },
	{ by_slot, { "--tmp=8G" }, FOUR, "scratch=2048M", NULL },
	{ by_host, { "--tmp=8G" }, FOUR, "!tmp_complex of slurm-on-ocs.conf is scratch", NULL },
};

static void read_options(struct request *r, const char *const *options)
{
	char *argv[8] = { (char *)"sbatch" };
	cleanup_opt_run struct opt_run run;
	struct error err = ERROR_INIT;
	char *warning;
	int argc = 1, first;

	while (argc < 6 && options[argc - 1]) {
		argv[argc] = (char *)options[argc - 1];
		argc++;
	}
	request_init(r);
	opt_run_init(&run, &sbatch_options, r, NULL);
	cr_assert_eq(opt_parse_cli(&run, argc, argv, false, &first, &err), 0, "%s: %s", argv[1], err.text);
	cr_assert_eq(request_finish(r, &warning, &err), 0, "%s: %s", argv[1], err.text);
	free(warning);
}

static char *join(const struct argvec *av)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < av->n; i++)
		strbuf_addf(&out, "%s%s", i ? " " : "", av->v[i]);
	return strbuf_steal(&out);
}

static void check(const struct row *row, const struct conf *conf, size_t i)
{
	cleanup_complex_list struct complex_list l = COMPLEX_LIST_INIT;
	cleanup_resources struct resources out = RESOURCES_INIT;
	cleanup_request struct request r;
	cleanup_free char *requests = NULL, *warnings = NULL;
	struct error err = ERROR_INIT;
	int rc;

	cr_assert_eq(complex_list_parse(&l, row->complexes, NULL), 0);
	read_options(&r, row->options);
	cr_expect(resources_needed(&r), "row %zu %s", i, row->options[0]);
	rc = resources_plan(&out, &r, &row->g, conf, &l, &err);
	if (row->requests[0] == '!') {
		cr_expect(rc == -1 && strstr(err.text, row->requests + 1), "row %zu %s: %d \"%s\"", i,
			  row->options[0], rc, err.text);
		return;
	}
	cr_expect_eq(rc, 0, "row %zu %s: %s", i, row->options[0], err.text);
	for (size_t k = 0; k < out.any_of.n; k++)
		argvec_pushf(&out.requests, "any:%s", out.any_of.v[k]);
	requests = join(&out.requests);
	warnings = join(&out.warnings);
	cr_expect_str_eq(requests, row->requests, "row %zu %s: \"%s\"", i, row->options[0], requests);
	cr_expect(row->warning ? strstr(warnings, row->warning) != NULL : !*warnings, "row %zu %s: \"%s\"", i,
		  row->options[0], warnings);
}

Test(resources, requests)
{
	struct conf conf = CONF_INIT;
	struct error err = ERROR_INIT;

	cr_assert_eq(conf_load_text(&conf, "site", site, &err), 0, "%s", err.text);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(&rows[i], &conf, i);
	conf_release(&conf);
}

/* What the site says of memory: a limit that it trusts in, one that isn't there, none. */
Test(resources, memory_of_the_site)
{
	static const struct {
		const char *conf;
		struct row row;
	} cases[] = {
		{ "memory_complex = \"h_vmem\";", { by_slot, { "--mem=1G" }, FOUR, "h_vmem=256M", NULL } },
		{ "memory_complex = \"h_vmem\";",
		  { by_slot, { "--mem-per-cpu=1G" }, FOUR, "h_vmem=1024M", NULL } },
		{ "memory_complex = \"nosuch\";",
		  { by_slot, { "--mem=1G" }, FOUR, "!memory_complex of slurm-on-ocs.conf is nosuch", NULL } },
		{ "memory_complex = \"none\";", { stock, { "--mem=1G" }, FOUR, "", "--mem is ignored" } },
		{ "gpu_complex = \"ga\";", { by_host, { "-G1" }, SERIAL, "ga=1", NULL } },
		{ "",
		  { by_slot,
		    { "--tmp=1G" },
		    FOUR,
		    "!--tmp: the engine knows no temporary disk space",
		    NULL } },
		{ "exclusive_complex = \"big\";", { by_slot, { "--exclusive" }, FOUR, "", "--exclusive" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct conf conf = CONF_INIT;

		cr_assert_eq(conf_load_text(&conf, "site", cases[i].conf, NULL), 0);
		check(&cases[i].row, &conf, 1000 + i);
		conf_release(&conf);
	}
}

/* Only these need the same number of slots on each host. */
Test(resources, what_needs_hosts)
{
	static const struct {
		const char *complexes, *option;
		bool need;
	} cases[] = {
		{ by_slot, "--mem-per-cpu=1G", false }, { by_host, "--mem-per-cpu=1G", true },
		{ by_slot, "--mem=1G", true },          { COMMON, "--mem=1G", false },
		{ by_slot, "--gres=gpu:1", true },      { by_slot, "--licenses=ansys", false },
		{ by_slot, "--tmp=1G", true },          { by_slot, "--constraint=big", false },
	};
	struct conf conf = CONF_INIT;

	cr_assert_eq(conf_load_text(&conf, "site", "", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const options[] = { cases[i].option, NULL };
		cleanup_complex_list struct complex_list l = COMPLEX_LIST_INIT;
		cleanup_request struct request r;

		complex_list_parse(&l, cases[i].complexes, NULL);
		read_options(&r, options);
		cr_expect_eq(resources_need_hosts(&r, &conf, &l), cases[i].need, "row %zu %s", i, options[0]);
	}
	conf_release(&conf);
}

/* --- hosts --- */

Test(resources, hosts)
{
	static const struct {
		const char *options[4];
		struct geometry g;
		const char *request, *master, *error;
		bool allowed; /* n1 and n2 alone */
	} cases[] = {
		{ { "-wc1" }, SERIAL, "c1", NULL, NULL },
		{ { "-wn[1-2]", "-N2" }, { 1, 2, 2, 2, 2 }, "n1.x.org|n2.x.org", NULL, NULL },
		{ { "-wc1,n1" }, { 1, 2, 2, 2, 2 }, "c1|n1.x.org", NULL, NULL },
		{ { "-wc1", "-N2" }, { 1, 2, 2, 2, 2 }, NULL, "c1", NULL },
		{ { "-wc1", "-xn1", "-N2" }, { 1, 2, 2, 2, 2 }, "!n1.x.org", "c1", NULL },
		{ { "-xc1" }, SERIAL, "!c1", NULL, NULL },
		{ { "-xc1,n2" }, SERIAL, "!(c1|n2.x.org)", NULL, NULL },
		{ { "-wc1,n1", "-N3" },
		  { 1, 3, 3, 3, 3 },
		  NULL,
		  NULL,
		  "--nodelist names 2 hosts for a job of 3" },
		{ { "-wc1", "-xc1" }, SERIAL, NULL, NULL, "Invalid node name specified" },
		{ { "-wc9" }, SERIAL, NULL, NULL, "Invalid node name specified" },
		{ { "-xtwice" }, SERIAL, NULL, NULL, "Invalid node name specified" },
		{ { "-xc1,n1,n2,twice.a,twice.b" }, SERIAL, NULL, NULL, "Requested node configuration" },
		{ { "-n1" }, SERIAL, "!(c1|twice.a|twice.b)", NULL, NULL, true },
		{ { "-xn1" }, SERIAL, "!(n1.x.org|c1|twice.a|twice.b)", NULL, NULL, true },
		{ { "-wn1" }, SERIAL, "n1.x.org", NULL, NULL, true },
		{ { "-wc1" }, SERIAL, NULL, NULL, "Requested node configuration", true },
		{ { "-N3" }, { 1, 3, 3, 3, 3 }, NULL, NULL, "Requested node configuration", true },
	};
	cleanup_argvec struct argvec known = ARGVEC_INIT, allowed = ARGVEC_INIT;

	argvec_pushl(&allowed, "n1.x.org", "n2.x.org", NULL);
	argvec_pushl(&known, "c1", "n1.x.org", "n2.x.org", "twice.a", "twice.b", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host_choice c = { NULL, NULL };
		cleanup_request struct request r;
		struct error err = ERROR_INIT;
		int rc;

		read_options(&r, cases[i].options);
		rc = hosts_choose(&c, &r, &cases[i].g, &known, cases[i].allowed ? &allowed : NULL, &err);
		cr_expect(cases[i].error ? rc == -1 && strstr(err.text, cases[i].error) : rc == 0,
			  "row %zu: %d \"%s\"", i, rc, err.text);
		cr_expect(!rc == !cases[i].error && (rc || !strcmp(c.request ? c.request : "",
								   cases[i].request ? cases[i].request : "")),
			  "row %zu: %s", i, c.request);
		cr_expect(rc || !strcmp(c.master ? c.master : "", cases[i].master ? cases[i].master : ""),
			  "row %zu: %s", i, c.master);
		host_choice_release(&c);
	}
}
