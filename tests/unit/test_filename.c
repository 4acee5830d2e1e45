/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/filename.h"

#include "common/compiler.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const struct filename_step step = { .job_id = 587, .step_id = 25, .job_name = "labD", .user = "bob" };

static const struct row {
	const char *pattern;
	bool local, per_rank;
	const char *of_step, *of_rank; /* rank 3 on n2, the host of index 1 */
} rows[] = {
	{ "out", false, false, "out", "out" },
	{ "out.%t", true, true, "out.%t", "out.3" },
	{ "out.%j", false, false, "out.587", "out.587" },
	{ "out.%J", false, false, "out.587.25", "out.587.25" },
	{ "out.%N", true, false, "out.%N", "out.n2" },
	{ "out.%n", true, false, "out.%n", "out.1" },
	{ "out.%s", false, false, "out.25", "out.25" },
	{ "out.%u.%x", false, false, "out.bob.labD", "out.bob.labD" },
	{ "out.%b", false, false, "out.%b", "out.%b" },
	{ "out.%%", false, false, "out.%", "out.%" },
	{ "out.%10j", false, false, "out.0000000587", "out.0000000587" },
	{ "out.%11t", true, true, "out.%11t", "out.0000000003" },
	{ "out.%04s", false, false, "out.0025", "out.0025" },
	{ "out.%-3t", false, false, "out.%-3t", "out.%-3t" },
	{ "out.%q", false, false, "out.%q", "out.%q" },
	{ "out.%", false, false, "out.%", "out.%" },
	{ "\\out.%t", false, false, "out.%t", "out.3" },
	{ "out\\%t", false, false, "out%t", "out3" },
	{ "\\\\%j", false, false, "\\%j", "\\%j" },
	{ "out.%3n", true, false, "out.%3n", "out.001" },
	{ "out.%5x", false, false, "out.labD", "out.labD" },
	{ "%j/%t.%N", true, true, "587/%t.%N", "587/3.n2" },
	{ "%%t.%t", true, true, "%%t.%t", "%t.3" },
	{ "%a.%A", false, false, "4294967294.587", "4294967294.587" },
	{ "", false, false, "", "" },
};

Test(filename, patterns)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *of_step = filename_of_step(rows[i].pattern, &step);
		cleanup_free char *of_rank = filename_of_rank(of_step, "n2", 1, 3);

		cr_expect_eq(filename_is_local(rows[i].pattern), rows[i].local, "row %zu \"%s\"", i,
			     rows[i].pattern);
		cr_expect_eq(filename_is_per_rank(rows[i].pattern), rows[i].per_rank, "row %zu \"%s\"", i,
			     rows[i].pattern);
		cr_expect_str_eq(of_step, rows[i].of_step, "row %zu \"%s\": %s", i, rows[i].pattern, of_step);
		cr_expect_str_eq(of_rank, rows[i].of_rank, "row %zu \"%s\": %s", i, rows[i].pattern, of_rank);
	}
}

Test(filename, elements_of_arrays)
{
	const struct filename_step element = { .job_id = 1200003, .array_job = "12", .array_task = "5" };
	cleanup_free char *name = filename_of_step("%A_%3a-%j-%x", &element);

	cr_expect_str_eq(name, "12_005-1200003-%x");
}
