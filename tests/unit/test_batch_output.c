/* SPDX-License-Identifier: Apache-2.0 */
/* Names of output files against those that Slurm made (tests/golden/patterns/batch.tsv). */
#include "common/fd.h"
#include "common/mem.h"
#include "launcher/batch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

static char *expand(const char *pattern, const char *index, uint64_t job_id, uint64_t array_id)
{
	uint32_t task = (uint32_t)strtoul(index, NULL, 10);
	struct jobspec job;
	struct alloc a = ALLOC_INIT;
	char name[] = "jn", user[] = "bob", host[] = "n1";
	struct alloc_host hosts[] = { { .engine_name = host, .node_name = host } };

	jobspec_init(&job);
	job.name = name;
	if (strcmp(index, "-")) {
		job.array_index = &task;
		job.array_count = 1;
		a.engine_task = 1;
	}
	a.hosts = hosts;
	a.nhosts = 1;
	a.user = user;
	a.job_id = job_id;
	a.engine_id = array_id;
	if (!strcmp(pattern, "-"))
		pattern = job.array_count ? "slurm-%A_%a.out" : "slurm-%j.out";
	return output_expand(pattern, &a, &job);
}

Test(batch_output, golden)
{
	struct strbuf text = STRBUF_INIT;
	char *next, *line;
	size_t rows = 0;

	cr_assert(fd_read_file(AT_FDCWD, "tests/golden/patterns/batch.tsv", 1u << 20, &text, NULL) == 0);
	for (next = text.buf; (line = strsep(&next, "\n"));) {
		char *field[5] = { NULL }, *rest = line;
		cleanup_free char *got = NULL;

		if (!*line || *line == '#')
			continue;
		for (size_t i = 0; i < 5; i++)
			cr_assert(field[i] = strsep(&rest, "\t"));
		got = expand(field[0], field[1], strtoull(field[2], NULL, 10), strtoull(field[3], NULL, 10));
		cr_expect_str_eq(got, field[4], "pattern \"%s\": \"%s\", not \"%s\"", field[0], got,
				 field[4]);
		rows++;
	}
	cr_expect(rows >= 60, "only %zu rows", rows);
	strbuf_release(&text);
}

Test(batch_output, without_recording)
{
	static const struct {
		const char *pattern, *index, *out;
	} rows[] = {
		{ "%", "-", "%" },
		{ "%5", "-", "%5" },
		{ "%5q", "-", "%5q" },
		{ "a\\", "-", "a" },
		{ "\\%j\\\\", "-", "%j\\" },
		{ "%99999999999999999999j", "-", "0000700012" },
		{ "%A.%a.%j", "12", "7.12.700012" },
		{ "%j%j%%j", "-", "700012700012%j" },
		{ "", "-", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *got = expand(rows[i].pattern, rows[i].index, 700012, 7);

		cr_expect_str_eq(got, rows[i].out, "row %zu: %s", i, got);
	}
}
