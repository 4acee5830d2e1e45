/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/request.h"

#include "common/duration.h"
#include "common/log.h"
#include "common/mem.h"
#include "translate/geometry.h"

#include <criterion/criterion.h>
#include <string.h>

#define WORDS 10

/* Reads words, up to NULL, as a command line; the error's text, or "". */
static const char *read_words(struct request *r, const char *const *words, struct error *err)
{
	cleanup_opt_run struct opt_run run;
	char *argv[WORDS + 2] = { (char *)"sbatch" };
	int argc = 1, first;

	while (words[argc - 1]) {
		argv[argc] = (char *)words[argc - 1];
		argc++;
	}
	log_open("sbatch", LOG_QUIET);
	opt_run_init(&run, &sbatch_options, r, NULL);
	*err = (struct error)ERROR_INIT;
	opt_parse_cli(&run, argc, argv, false, &first, err);
	return err->text;
}

Test(request, array)
{
	static const struct {
		const char *text, *indexes; /* NULL: invalid */
		uint32_t step;
	} cases[] = {
		{ "0", "0", 1 },
		{ "0-9", "0-9", 1 },
		{ "1-10:3", "1,4,7,10", 3 },
		{ "5-5", "5", 1 },
		{ "1-3%2", "1-3%2", 1 },
		{ "1-3%0", "1-3", 1 },
		{ "1-3%-1", "1-3", 1 },
		{ "1%1-3", "1%1", 1 },
		{ "%2", "0%2", 1 },
		{ "1,5,9", "1,5,9", 1 },
		{ "1,,2", "1-2", 1 },
		{ "1, 2", "1-2", 1 },
		{ "[1-3]", "1-3", 1 },
		{ "[1-3", "1-3", 1 },
		{ "01", "1", 1 },
		{ "1-3:5", "1", 5 },
		{ "1-9:2,3", "1,3,5,7,9", 1 },
		{ "3,1", "1,3", 1 },
		{ "4000000", "4000000", 1 },
		{ "4000001", NULL, 0 },
		{ "3-1", NULL, 0 },
		{ "-1", NULL, 0 },
		{ "1-", NULL, 0 },
		{ "1-3:", NULL, 0 },
		{ "1-3:0", NULL, 0 },
		{ "1 - 3", NULL, 0 },
		{ "1-3 ", NULL, 0 },
		{ "x", NULL, 0 },
		{ "1.5", NULL, 0 },
		{ "0x1", NULL, 0 },
		{ "1;2", NULL, 0 },
		{ "*", NULL, 0 },
		{ "99999999999999999999", NULL, 0 },
		{ "1-3]x", NULL, 0 },
		{ ",", NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct array_request a = { 0 };
		struct error err = ERROR_INIT;
		int rc = array_parse(&a, cases[i].text, &err);
		cleanup_free char *shown = rc == 0 ? array_format(&a) : NULL;

		cr_expect_eq(rc, cases[i].indexes ? 0 : -1, "\"%s\"", cases[i].text);
		if (rc < 0) {
			cr_expect_str_eq(err.text,
					 "Batch job submission failed: Invalid job array specification");
			continue;
		}
		cr_expect_str_eq(shown, cases[i].indexes, "\"%s\": %s", cases[i].text, shown);
		cr_expect_eq(a.step, cases[i].step, "\"%s\"", cases[i].text);
		free(a.index);
	}
}

Test(request, an_empty_array_is_none)
{
	const char *const words[] = { "-a", "1-3", "--array=", NULL };
	cleanup_request struct request r;
	struct error err;

	request_init(&r);
	cr_expect_str_empty(read_words(&r, words, &err));
	cr_expect_eq(r.array.count, 0);
}

Test(request, nodes)
{
	static const struct {
		const char *text;
		uint32_t min, max;
		const char *refusal;
	} cases[] = {
		{ "2", 2, 2, "" },
		{ "2-4", 2, 4, "" },
		{ "-2", 1, 2, "" },
		{ "1k", 1024, 1024, "" },
		{ "x", 0, 0, "\"x\" is not a valid node count" },
		{ "", 0, 0, "\"\" is not a valid node count" },
		{ "=2", 0, 0, "\"=2\" is not a valid node count" },
		{ "1,3", 0, 0, "\"1,3\" is not a valid node count" },
		{ "2-", 0, 0, "\"2-\" is not a valid node count" },
		{ "0", 0, 0, "\"0\" is not a valid node count" },
		{ "3-2", 0, 0, "Maximum node count 2 is less than minimum node count 3" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const words[] = { "-N", cases[i].text, NULL };
		cleanup_request struct request r;
		struct error err;

		request_init(&r);
		cr_expect_str_eq(read_words(&r, words, &err), cases[i].refusal, "\"%s\": %s", cases[i].text,
				 err.text);
		if (!*cases[i].refusal)
			cr_expect(r.nodes.min == cases[i].min && r.nodes.max == cases[i].max, "\"%s\": %u-%u",
				  cases[i].text, r.nodes.min, r.nodes.max);
		else
			cr_expect_eq(err.code, ERR_USAGE);
	}
}

Test(request, distribution)
{
	static const struct {
		const char *text, *refusal;
	} cases[] = {
		{ "block", "" },
		{ "cyclic:block", "" },
		{ "*:fcyclic:cyclic,pack", "" },
		{ "plane=4", "" },
		{ "Block,NoPack", "" },
		{ "bogus", "Invalid --distribution specification" },
		{ "", "Invalid --distribution specification" },
		{ "block:bogus", "Invalid --distribution specification" },
		{ "block,bogus", "Invalid --distribution specification" },
		{ "plane", "Invalid plane size or size not specified\nInvalid --distribution specification" },
		{ "plane=0",
		  "Invalid plane size or size not specified\nInvalid --distribution specification" },
		{ "arbitrary",
		  "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const words[] = { "-m", cases[i].text, NULL };
		cleanup_request struct request r;
		struct error err;

		request_init(&r);
		cr_expect_str_eq(read_words(&r, words, &err), cases[i].refusal, "\"%s\": %s", cases[i].text,
				 err.text);
	}
}

Test(request, signal)
{
	static const struct {
		const char *text;
		uint32_t number, before; /* number 0: invalid */
		bool batch;
	} cases[] = {
		{ "USR1", 10, 60, false },     { "SIGUSR1", 10, 60, false }, { "usr2@30", 12, 30, false },
		{ "10", 10, 60, false },       { "99@1", 99, 1, false },     { "USR1@", 10, 60, false },
		{ "B:USR1@60", 10, 60, true }, { "R:USR1@0", 10, 0, false }, { "BR:TERM", 15, 60, true },
		{ "RB:KILL@5", 9, 5, true },   { "", 0, 0, false },          { "@60", 0, 0, false },
		{ "0", 0, 0, false },          { "x", 0, 0, false },         { "B", 0, 0, false },
		{ "X:USR1@60", 0, 0, false },  { "USR1@-1", 0, 0, false },   { "USR1@65536", 0, 0, false },
		{ "USR1@1:00", 0, 0, false },  { "RTMIN", 0, 0, false },     { ":USR1", 0, 0, false },
		{ "SIG", 0, 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const words[] = { "--signal", cases[i].text, NULL };
		cleanup_request struct request r;
		struct error err;

		request_init(&r);
		cr_expect_str_eq(read_words(&r, words, &err),
				 cases[i].number ? "" : "Invalid --signal specification", "\"%s\"",
				 cases[i].text);
		cr_expect_eq(r.signal.number, cases[i].number, "\"%s\": %u", cases[i].text, r.signal.number);
		if (!cases[i].number)
			continue;
		cr_expect_eq(r.signal.before, cases[i].before, "\"%s\"", cases[i].text);
		cr_expect_eq(r.signal.batch_only, cases[i].batch, "\"%s\"", cases[i].text);
	}
}

Test(request, tasks_and_nodes_agree)
{
	static const struct {
		const char *words[WORDS];
		uint32_t tasks, min, max;
		const char *warning;
	} cases[] = {
		{ { NULL }, 1, REQUEST_UNSET, REQUEST_UNSET, NULL },
		{ { "-N2" }, 2, 2, 2, NULL },
		{ { "-N5-6" }, 5, 5, 6, NULL },
		{ { "-N2", "-n5" }, 5, 2, 2, NULL },
		{ { "-N2", "--ntasks-per-node=3" }, 6, 2, 2, NULL },
		{ { "--ntasks-per-node=9" }, 9, REQUEST_UNSET, REQUEST_UNSET, NULL },
		{ { "-N4", "-n3" },
		  3,
		  3,
		  3,
		  "Warning: can't run 3 processes on 4 nodes, setting nnodes to 3" },
		{ { "-N2-9", "-n1" },
		  1,
		  1,
		  1,
		  "Warning: can't run 1 processes on 2 nodes, setting nnodes to 1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_request struct request r;
		cleanup_free char *warning = NULL;
		struct error err;

		request_init(&r);
		cr_expect_str_empty(read_words(&r, cases[i].words, &err), "row %zu", i);
		cr_expect_eq(request_finish(&r, &warning, &err), 0, "row %zu", i);
		cr_expect_eq(r.tasks, cases[i].tasks, "row %zu: %u", i, r.tasks);
		cr_expect(r.nodes.min == cases[i].min && r.nodes.max == cases[i].max, "row %zu", i);
		cr_expect(cases[i].warning ? warning && !strcmp(warning, cases[i].warning) : !warning,
			  "row %zu: %s", i, warning);
	}
}

#define REFUSED "Batch job submission failed: Requested node configuration is not available"

Test(request, geometry)
{
	static const struct {
		const char *words[WORDS];
		uint32_t widest;
		bool fill;
		uint32_t k, hosts_min, hosts_max;
		uint64_t slots_min, slots_max;
		const char *refusal;
	} cases[] = {
		{ { NULL }, 0, true, 1, 1, 1, 1, 1, NULL },
		{ { "-N3", "--ntasks-per-node=2" }, 0, true, 2, 3, 3, 6, 6, NULL },
		{ { "-N3", "--ntasks-per-node=2", "-c2" }, 0, true, 4, 3, 3, 12, 12, NULL },
		{ { "-N2-4", "-c3" }, 0, true, 3, 2, 4, 6, 12, NULL },
		{ { "-c4" }, 0, true, 4, 1, 1, 4, 4, NULL },
		{ { "-N2", "-n5" }, 0, true, 3, 2, 2, 6, 6, NULL },
		{ { "-N2", "-n5", "-c2" }, 0, true, 6, 2, 2, 12, 12, NULL },
		{ { "-n1" }, 0, true, 1, 1, 1, 1, 1, NULL },
		{ { "-n5" }, 0, true, 0, 1, 5, 5, 5, NULL },
		{ { "-n9" }, 8, false, 5, 2, 2, 10, 10, NULL },
		{ { "-n5", "-c8" }, 8, true, 8, 5, 5, 40, 40, NULL },
		{ { "-n5", "-c3" }, 8, true, 6, 3, 3, 18, 18, NULL },
		{ { "-n5", "-c3" }, 0, true, 3, 5, 5, 15, 15, NULL },
		{ { "-n6", "--ntasks-per-node=4" }, 0, true, 4, 2, 2, 8, 8, NULL },
		{ { "-n2", "--ntasks-per-node=4" }, 0, true, 2, 1, 1, 2, 2, NULL },
		{ { "-N4", "-n4", "--ntasks-per-node=2" }, 0, true, 1, 4, 4, 4, 4, NULL },
		{ { "--ntasks-per-node=4" }, 0, true, 4, 1, 1, 4, 4, NULL },
		{ { "-n16", "-N1-4" }, 8, true, 8, 2, 2, 16, 16, NULL },
		{ { "-n3", "-N2-4" }, 8, true, 2, 2, 2, 4, 4, NULL },
		{ { "-N2", "-n8", "-O" }, 0, true, 1, 2, 2, 2, 2, NULL },
		{ { "-n8", "-O" }, 0, true, 1, 1, 1, 1, 1, NULL },
		{ { "-N2", "--mincpus=4" }, 0, true, 4, 2, 2, 8, 8, NULL },
		{ { "-wa,b" }, 0, true, 1, 2, 2, 2, 2, NULL },
		{ { "-wa,b", "-n8" }, 8, true, 4, 2, 2, 8, 8, NULL },
		{ { "-wa", "-n9" }, 8, true, 5, 2, 2, 10, 10, NULL },
		{ { "-wa,b,c", "-N2-4" }, 0, true, 1, 3, 3, 3, 3, NULL },
		{ { "-wa,b,c", "-n2" }, 8, true, 1, 2, 2, 2, 2, NULL },
		{ { "--gpus=2", "--cpus-per-gpu=3" }, 0, true, 6, 1, 1, 6, 6, NULL },
		{ { "-N2", "--gpus=4", "--cpus-per-gpu=2" }, 0, true, 4, 2, 2, 8, 8, NULL },
		{ { "--gres=gpu:a100:2,fpga:7", "--cpus-per-gpu=2" }, 0, true, 4, 1, 1, 4, 4, NULL },
		{ { "-n2", "--gpus-per-task=2", "--cpus-per-gpu=2" }, 8, true, 8, 1, 1, 8, 8, NULL },
		{ { "--gpus=4", "--gpus-per-task=1" }, 0, true, 0, 1, 4, 4, 4, NULL },
		{ { "-N1-3", "-c9" },
		  8,
		  true,
		  0,
		  0,
		  0,
		  0,
		  0,
		  "CPU count per node can not be satisfied\n" REFUSED },
		{ { "-n4", "-N2", "--ntasks-per-node=1" }, 0, true, 0, 0, 0, 0, 0, REFUSED },
		{ { "-n20", "-N1-2" }, 8, true, 0, 0, 0, 0, 0, REFUSED },
		{ { "-n2", "-c9" },
		  8,
		  true,
		  0,
		  0,
		  0,
		  0,
		  0,
		  "CPU count per node can not be satisfied\n" REFUSED },
		{ { "-N2000000", "-c2000000" }, 0, true, 0, 0, 0, 0, 0, REFUSED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_request struct request r;
		cleanup_free char *warning = NULL;
		struct geometry g = { 0 };
		struct error err;
		int rc;

		request_init(&r);
		cr_expect_str_empty(read_words(&r, cases[i].words, &err), "row %zu", i);
		cr_assert_eq(request_finish(&r, &warning, &err), 0, "row %zu", i);
		rc = geometry_plan(&r, cases[i].widest, cases[i].fill, &g, &err);
		cr_expect_eq(rc, cases[i].refusal ? -1 : 0, "row %zu: %s", i, err.text);
		if (rc < 0) {
			cr_expect_str_eq(err.text, cases[i].refusal, "row %zu: %s", i, err.text);
			continue;
		}
		cr_expect(g.per_host == cases[i].k && g.min_hosts == cases[i].hosts_min &&
				  g.max_hosts == cases[i].hosts_max && g.min_slots == cases[i].slots_min &&
				  g.max_slots == cases[i].slots_max,
			  "row %zu: k %u, hosts %u-%u, slots %lu-%lu", i, g.per_host, g.min_hosts,
			  g.max_hosts, (unsigned long)g.min_slots, (unsigned long)g.max_slots);
		cr_expect_eq(geometry_is_serial(&g), cases[i].k == 1 && cases[i].hosts_max == 1, "row %zu",
			     i);
	}
}

Test(request, only_some_geometries_need_the_widest_host)
{
	static const struct {
		const char *words[WORDS];
		bool fill, needs;
	} cases[] = {
		{ { NULL }, true, false },          { { "-n5" }, true, false },
		{ { "-n5" }, false, true },         { { "-n5", "-c2" }, true, true },
		{ { "-N2", "-n5" }, true, false },  { { "-N2-4" }, true, false },
		{ { "-N2-4", "-n9" }, true, true }, { { "-c4" }, true, false },
		{ { "-n1", "-c4" }, true, false },  { { "-n9", "--ntasks-per-node=3" }, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_request struct request r;
		cleanup_free char *warning = NULL;
		struct error err;

		request_init(&r);
		read_words(&r, cases[i].words, &err);
		request_finish(&r, &warning, &err);
		cr_expect_eq(geometry_needs_width(&r, cases[i].fill), cases[i].needs, "row %zu", i);
	}
}

/* --- resources --- */

/* What request_finish says: an error, a warning, or "". */
static char *finish(const char *const *words)
{
	cleanup_request struct request r;
	struct error err = ERROR_INIT;
	char *warning = NULL;

	request_init(&r);
	if (*read_words(&r, words, &err))
		return xstrdup(err.text);
	if (request_conflicts(&r, &err) == 0 && request_finish(&r, &warning, &err) == 0)
		return warning ? warning : xstrdup("");
	free(warning);
	return xstrdup(err.text);
}

Test(request, options_together)
{
	static const struct {
		const char *words[WORDS], *text; /* a part; "": nothing */
	} cases[] = {
		{ { "--mem=1", "--mem-per-cpu=1" },
		  "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive." },
		{ { "--mem=1", "--mem=2" }, "" },
		{ { "--mem=1X" }, "Invalid --mem specification" },
		{ { "--gpus-per-task=1" },
		  "Failed to validate job spec. --gpus-per-task used without either --gpus" },
		{ { "--gpus-per-task=2", "--gpus=3" }, "--gpus is no multiple of --gpus-per-task" },
		{ { "--mem-per-gpu=50" }, "Requested mem_per_tres=gres:gpu:50 but did not request any GPU." },
		{ { "--mem-per-gpu=50", "--gres=gpu" }, "" },
		{ { "--cpus-per-gpu=2" }, "--cpus-per-gpu was given without GPUs" },
		{ { "--cpus-per-gpu=2", "-G1", "-c2" },
		  "--cpus-per-gpu and --cpus-per-task are mutually exclusive" },
		{ { "--cpus-per-gpu=2", "-G4", "-n3" }, "--cpus-per-gpu needs --gpus-per-node" },
		{ { "-wa,b,c", "-N2" }, "invalid number of nodes (-N 3-2)" },
		{ { "-wa,b,c", "-n2" }, "Warning: can't run 2 processes on 3 nodes, setting nnodes to 2" },
		{ { "-wa,a,b", "-N2" }, "" },
		{ { "-wn[3-1]" }, "Invalid node name specified" },
		{ { "-w/nosuch/file" }, "/nosuch/file: No such file or directory" },
		{ { "--gres=gpu:1,gpu:a100:1" },
		  "Invalid GRES specification (with and without type identification)" },
		{ { "--gres=gpu:1:2:3" }, "Invalid generic resource (gres) specification" },
		{ { "--gres=gpu*1" }, "Invalid generic resource (gres) specification" },
		{ { "--gres=gpu:-1" }, "Invalid generic resource (gres) specification" },
		{ { "--gres=" }, "Invalid Trackable RESource (TRES) specification" },
		{ { "--gres=none" }, "" },
		{ { "--gpus=1k" }, "" },
		{ { "--gpus=99999999999" }, "Invalid generic resource (gres) specification" },
		{ { "-Lansys:x" }, "Invalid license specification" },
		{ { "-Lansys=2,other" }, "" },
		{ { "--exclusive=bogus" }, "Invalid --exclusive specification" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *said = finish(cases[i].words);

		cr_expect(*cases[i].text ? strstr(said, cases[i].text) != NULL : !*said, "row %zu %s: \"%s\"",
			  i, cases[i].words[0], said);
	}
}

Test(request, generic_resources)
{
	static const struct {
		const char *text, *name, *type;
		uint32_t count;
		size_t n;
	} cases[] = {
		{ "gpu", "gpu", NULL, 1, 1 },
		{ "gpu:2", "gpu", NULL, 2, 1 },
		{ "gpu:a100", "gpu", "a100", 1, 1 },
		{ "gpu:a100:3", "gpu", "a100", 3, 1 },
		{ "gpu:2,gpu:1", "gpu", NULL, 3, 1 },
		{ "gres:gpu:2", "gpu", NULL, 2, 1 },
		{ "gres/gpu:2", "gpu", NULL, 2, 1 },
		{ "fpga:1k,gpu:2", "fpga", NULL, 1024, 2 },
		{ "gpu:a:1,gpu:b:2", "gpu", "a", 1, 2 },
		{ "gpu:0", "gpu", NULL, 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const words[] = { "--gres", cases[i].text, NULL };
		cleanup_request struct request r;
		struct error err;

		request_init(&r);
		cr_assert_str_empty(read_words(&r, words, &err), "%s", cases[i].text);
		cr_assert_eq(r.gres.n, cases[i].n, "%s", cases[i].text);
		cr_expect_str_eq(r.gres.v[0].name, cases[i].name);
		cr_expect_eq(r.gres.v[0].count, cases[i].count, "%s", cases[i].text);
		cr_expect(cases[i].type ? r.gres.v[0].type && !strcmp(r.gres.v[0].type, cases[i].type)
					: !r.gres.v[0].type,
			  "%s", cases[i].text);
		cr_expect_str_eq(r.gres.text, cases[i].text);
	}
}
