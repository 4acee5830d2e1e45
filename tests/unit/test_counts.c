/* SPDX-License-Identifier: Apache-2.0 */
#include "common/counts.h"

#include <criterion/criterion.h>

static const struct {
	const char *text;
	uint32_t v[8];
	size_t n;
} rows[] = {
	{ "", { 0 }, 0 },
	{ "4", { 4 }, 1 },
	{ "2(x3),1", { 2, 2, 2, 1 }, 4 },
	{ "5,1(x3)", { 5, 1, 1, 1 }, 4 },
	{ "8(x2),4,8", { 8, 8, 4, 8 }, 4 },
	{ "4294967295,0", { UINT32_MAX, 0 }, 2 },
};

Test(counts, both_ways)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *text = counts_format(rows[i].v, rows[i].n);
		cleanup_free uint32_t *v = NULL;
		size_t n = 99;

		cr_expect_str_eq(text, rows[i].text, "row %zu: %s", i, text);
		cr_assert_eq(counts_parse(rows[i].text, 8, &v, &n, NULL), 0, "row %zu", i);
		cr_expect_eq(n, rows[i].n, "row %zu", i);
		for (size_t k = 0; k < n; k++)
			cr_expect_eq(v[k], rows[i].v[k], "row %zu [%zu]", i, k);
	}
}

Test(counts, malformed_or_too_many)
{
	static const char *const bad[] = {
		"x",      "2(", "2(x)",    "2(x0)",          "2(y3)",         "2(x3",
		"2(x3)1", ",1", "1,",      "1,,2",           "4294967296",    "1(x99)",
		"-1",     " 1", "1(x8),1", "2(x4294967296)", "2(x4294967295)"
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		uint32_t *v = NULL;
		size_t n = 0;
		struct error err = ERROR_INIT;

		cr_expect_eq(counts_parse(bad[i], 8, &v, &n, &err), -1, "\"%s\"", bad[i]);
		cr_expect_null(v);
		cr_expect_eq(err.code, ERR_USAGE);
	}
}
