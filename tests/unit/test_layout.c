/* SPDX-License-Identifier: Apache-2.0 */
/* launcher/layout.c against every step that Slurm 22.05 laid out for us (tests/golden/layout). */
#include "common/argvec.h"
#include "common/counts.h"
#include "common/hostlist.h"
#include "common/mem.h"
#include "launcher/layout.h"
#include "tests/unit/step_options.h"

#include <criterion/criterion.h>
#include <string.h>

static void describe(const struct layout *l, const struct hostlist *names, struct strbuf *out)
{
	for (uint32_t i = 0; i < l->nnodes; i++) {
		strbuf_addf(out, "%s%s:", out->len ? ";" : "", names->names.v[l->node[i]]);
		for (uint32_t k = 0; k < l->tasks[i]; k++)
			strbuf_addf(out, "%s%u", k ? "," : "", l->ranks[i][k]);
	}
}

static void describe_cpus(const struct layout *l, const struct hostlist *names, struct strbuf *out)
{
	for (uint32_t i = 0; i < l->nnodes; i++)
		strbuf_addf(out, "%s%s:%u", out->len ? ";" : "", names->names.v[l->node[i]], l->cpus[i]);
}

static void add_text(struct strbuf *out, const char *prefix, const char *text)
{
	cleanup_free char *copy = xstrdup(text);
	char *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		strbuf_addf(out, "srun: %s%s\\n", prefix, line);
}

/* "job 7318" in a recorded text becomes "job N". */
static void forget_job(char *text)
{
	char *p = strstr(text, "for job ");

	if (!p)
		return;
	p += strlen("for job ");
	*p = 'N';
	memmove(p + 1, p + strspn(p + 1, "0123456789") + 1, strlen(p + strspn(p + 1, "0123456789") + 1) + 1);
}

struct result {
	struct strbuf text, layout, cpus;
	int rc;
};

static void run_case(const char *job_opts, const char *nodelist, const char *cpus, const char *ntasks,
		     const char *srun_opts, struct result *res)
{
	cleanup_hostlist struct hostlist names = HOSTLIST_INIT;
	cleanup_argvec struct argvec warnings = ARGVEC_INIT;
	cleanup_free uint32_t *counts = NULL;
	struct layout_job job = { .nodelist = nodelist, .cpus_per_node = cpus };
	struct layout_host hosts[16] = { 0 };
	struct layout_request r;
	struct layout l = LAYOUT_INIT;
	struct error err = ERROR_INIT;
	enum layout_verdict verdict = LAYOUT_OK;
	size_t n;

	*res = (struct result){ STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, 1 };
	cr_assert_eq(hostlist_parse(&names, nodelist, &err), 0);
	cr_assert_eq(counts_parse(cpus, 16, &counts, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		hosts[i] = (struct layout_host){ .name = names.names.v[i], .cpus = counts[i] };
	job.nodes = (uint32_t)n;
	layout_request_init(&r);
	parse_options(&r, job_opts, true);
	r.exact = false;
	if (*ntasks)
		r.ntasks = (uint32_t)strtoul(ntasks, NULL, 10);
	parse_options(&r, srun_opts, false);
	if (layout_settle(&r, &job, &warnings, &err) < 0)
		verdict = LAYOUT_NEVER;
	for (size_t i = 0; i < warnings.n; i++)
		add_text(&res->text, "Warning: ", warnings.v[i]);
	if (verdict == LAYOUT_NEVER)
		add_text(&res->text, "error: ", err.text);
	else if ((verdict = layout_place(&r, hosts, (uint32_t)n, &l, &err)) == LAYOUT_NEVER)
		strbuf_addf(&res->text, "srun: error: Unable to create step for job N: %s\\n", err.text);
	if (verdict == LAYOUT_OK) {
		res->rc = 0;
		describe(&l, &names, &res->layout);
		describe_cpus(&l, &names, &res->cpus);
	}
	layout_release(&l);
	layout_request_release(&r);
}

static void release(struct result *r)
{
	strbuf_release(&r->text);
	strbuf_release(&r->layout);
	strbuf_release(&r->cpus);
}

/*
 * Steps where we differ on purpose or can't agree: job options and step options, and why. Each must really differ.
 */
static const struct known {
	const char *job, *step, *why;
} known[] = {
#include "tests/golden/layout/differences.inc"
};

static bool is_known(const char *job, const char *step, bool *seen)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].job && !strcmp(known[i].job, job) && !strcmp(known[i].step, step)) {
			seen[i] = true;
			return true;
		}
	}
	return false;
}

static size_t split(char *line, char **f, size_t max)
{
	size_t n = 0;

	line[strcspn(line, "\n")] = '\0';
	for (char *p = line; p && n < max; n++)
		f[n] = strsep(&p, "\t");
	return n;
}

static void run_file(const char *path, bool big, size_t expected)
{
	FILE *in = fopen(path, "r");
	char line[16384];
	char *f[16];
	bool seen[ARRAY_SIZE(known) + 1] = { false };
	size_t rows = 0;

	cr_assert(in, "%s", path);
	while (fgets(line, sizeof(line), in)) {
		struct result res;
		const char *job, *list, *cpus, *ntasks, *step, *layout, *per_node = "";
		char *text;
		bool same;

		if (line[0] == '#')
			continue;
		cr_assert_geq(split(line, f, 16), big ? 12 : 11, "row %zu", rows);
		rows++;
		job = big ? f[0] : f[1];
		list = big ? f[1] : f[2];
		cpus = big ? f[2] : f[3];
		ntasks = big ? f[4] : f[5];
		step = big ? f[5] : f[6];
		layout = big ? f[9] : f[9];
		per_node = big ? f[10] : NULL;
		text = big ? f[11] : f[10];
		forget_job(text);
		run_case(job, list, cpus, ntasks, step, &res);
		same = !strcmp(res.layout.buf, layout) && !strcmp(res.text.buf, text) &&
		       (!per_node || !strcmp(res.cpus.buf, per_node));
		if (is_known(job, step, seen))
			cr_expect(!same, "\"%s\" \"%s\" is a listed difference, but agrees", job, step);
		else
			cr_expect(same,
				  "job \"%s\" (%s) step \"%s\"\n  want %s | %s | %s\n  got  %s | %s | %s",
				  job, cpus, step, layout, per_node ? per_node : "", text, res.layout.buf,
				  res.cpus.buf, res.text.buf);
		release(&res);
	}
	fclose(in);
	cr_expect_geq(rows, expected);
}

Test(layout, recorded_layouts)
{
	run_file("tests/golden/layout/step_layout_big.tsv", true, 800);
}

Test(layout, recorded_steps)
{
	run_file("tests/golden/layout/step_layout.tsv", false, 390);
}
