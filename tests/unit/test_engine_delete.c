/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "translate/scancel.h"

#include <criterion/criterion.h>
#include <string.h>

/* Lines of 8.1.9 and OCS 9.1.5. */
Test(engine_delete, answers)
{
	static const struct {
		const char *line;
		enum delete_result result;
		uint64_t job;
	} rows[] = {
		{ "alice has deleted job 8", DELETE_DONE, 8 },
		{ "alice has registered the job 57 for deletion", DELETE_DONE, 57 },
		{ "alice has registered the job-array task 3.1 for deletion", DELETE_DONE, 0 },
		{ "alice has deleted job-array tasks 2-4:1 of job 73", DELETE_DONE, 73 },
		{ "job 3 is already in deletion", DELETE_DONE, 3 },
		{ "denied: job \"9999\" does not exist", DELETE_UNKNOWN, 9999 },
		{ "job \"3\" task \"12\" does not exist", DELETE_UNKNOWN, 3 },
		{ "job \"73\" task id range \"3-4:1\" comprises no tasks", DELETE_UNKNOWN, 73 },
		{ "bob - you do not have the necessary privileges to delete the job \"1\"", DELETE_DENIED,
		  1 },
		{ "error: commlib error: got select error (Connection refused)", DELETE_OTHER, 0 },
		{ "", DELETE_OTHER, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t job;

		cr_expect_eq(delete_line(rows[i].line, &job), rows[i].result, "row %zu", i);
		cr_expect_eq(job, rows[i].job, "row %zu: %llu", i, (unsigned long long)job);
	}
}

Test(engine_delete, tasks_of_a_group_are_few_words)
{
	static const struct {
		uint32_t positions[8];
		size_t n;
		const char *words;
	} rows[] = {
		{ { 0 }, 0, "9" },
		{ { 3 }, 1, "9.3" },
		{ { 1, 2, 3, 4 }, 4, "9.1-4:1" },
		{ { 1, 3, 5, 8 }, 4, "9.1-5:2 9.8" },
		{ { 1, 5, 6, 7 }, 4, "9.1-5:4 9.6-7:1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct job j = { .id = 9,
				 .is_array = rows[i].n > 0,
				 .positions = (uint32_t *)rows[i].positions,
				 .npositions = rows[i].n };
		struct engine_delete d = { ARGVEC_INIT };
		cleanup_strbuf struct strbuf got = STRBUF_INIT;

		engine_delete_add(&d, &j);
		for (size_t k = 0; k < d.words.n; k++)
			strbuf_addf(&got, "%s%s", k ? " " : "", d.words.v[k]);
		cr_expect_str_eq(got.buf, rows[i].words, "row %zu: %s", i, got.buf);
		argvec_release(&d.words);
	}
}
