/* SPDX-License-Identifier: Apache-2.0 */
#include "common/hostlist.h"

#include <criterion/criterion.h>
#include <string.h>

/* The golden cases (tests/golden/test_hostlist.py) hold the grammar; here is what they can't see. */

static const struct {
	const char *in, *names, *ranged, *sorted;
} lists[] = {
	{ "", "", "", "" },
	{ "n[1-3]", "n1 n2 n3", "n[1-3]", "n[1-3]" },
	{ "n[08-10]", "n08 n09 n10", "n[08-10]", "n[08-10]" },
	{ "n[1-3,05-07]", "n1 n2 n3 n05 n06 n07", "n[1-3,05-07]", "n[1-3,05-07]" },
	{ "n3,n1,n2,n2", "n3 n1 n2 n2", "n[3,1-2,2]", "n[1-2,2-3]" },
	{ "r[1-2]c[0-1]n[1-2]", "r1c0n1 r1c0n2 r2c0n1 r2c0n2 r1c1n1 r1c1n2 r2c1n1 r2c1n2",
	  "r1c0n[1-2],r2c0n[1-2],r1c1n[1-2],r2c1n[1-2]", "r1c0n[1-2],r1c1n[1-2],r2c0n[1-2],r2c1n[1-2]" },
	{ "n[1-2]5[1-2]", "n151 n152 n251 n252", "n15[1-2],n25[1-2]", "n15[1-2],n25[1-2]" },
	{ "x,n1-ib,x1", "x n1-ib x1", "x,n1-ib,x1", "n1-ib,x,x1" },
	{ "n107c[1-2],n68c1", "n107c1 n107c2 n68c1", "n107c[1-2],n68c1", "n68c1,n107c[1-2]" },
	{ "n[1-4", "n]", "n]", "n]" },
	{ "n[18446744073709551614-18446744073709551615]", "n18446744073709551614 n18446744073709551615",
	  "n[18446744073709551614-18446744073709551615]", "n[18446744073709551614-18446744073709551615]" },
	{ "n18446744073709551615,n0", "n18446744073709551615 n0", "n[18446744073709551615,0]",
	  "n[0,18446744073709551615]" },
};

Test(hostlist, both_ways)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;
		cleanup_strbuf struct strbuf names = STRBUF_INIT;
		cleanup_free char *ranged = NULL, *sorted = NULL;
		struct error err = { 0, "untouched" };

		cr_expect_eq(hostlist_parse(&hl, lists[i].in, &err), 0, "row %zu", i);
		cr_expect_str_eq(err.text, "untouched");
		for (size_t k = 0; k < hl.names.n; k++)
			strbuf_addf(&names, "%s%s", k ? " " : "", hl.names.v[k]);
		cr_expect_str_eq(names.buf, lists[i].names, "row %zu: %s", i, names.buf);
		ranged = hostlist_ranged(&hl);
		cr_expect_str_eq(ranged, lists[i].ranged, "row %zu: %s", i, ranged);
		hostlist_sort(&hl);
		sorted = hostlist_ranged(&hl);
		cr_expect_str_eq(sorted, lists[i].sorted, "row %zu: %s", i, sorted);
	}
}

static const struct {
	const char *in, *text;
} bad[] = {
	{ "n[3-1]", "Invalid range: `3-1'" },
	{ "n[1-2]x", "" },
	{ "a,n[]", "Invalid range: `'" },
	{ "n[1--4]", "Invalid range: `1--4'" },
	{ "n[1-65537]", "Too many hosts in range `1-65537'" },
	{ "n[0-18446744073709551615]", "Too many hosts in range `0-18446744073709551615'" },
	{ "a[1-65536]b[1-65536]", "Too many hosts" },
	{ "a[1-65536],b[1-65536],c[1-65536],d[1-65536],e1", "Too many hosts" },
	{ "a[x]b[1-2]", "Invalid range: `x'" },
};

Test(hostlist, invalid)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;
		struct error err = { 0, "old text" };

		cr_expect_eq(hostlist_parse(&hl, bad[i].in, &err), -1, "row %zu", i);
		cr_expect_str_eq(err.text, bad[i].text, "row %zu: %s", i, err.text);
		cr_expect_eq(err.code, ERR_USAGE);
	}
}

Test(hostlist, a_number_of_absurd_width_is_refused)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;

	strbuf_addstr(&text, "n[");
	for (int i = 0; i <= HOSTLIST_MAX_WIDTH; i++)
		strbuf_addch(&text, '0');
	strbuf_addstr(&text, "-9]");
	cr_expect_eq(hostlist_parse(&hl, text.buf, NULL), -1);
}

Test(hostlist, push_and_find)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;
	cleanup_free char *ranged = NULL;

	for (int i = 9; i <= 11; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%d", i);
		hostlist_push(&hl, name);
	}
	cr_expect_eq(hostlist_find(&hl, "n10"), 1);
	cr_expect_eq(hostlist_find(&hl, "n1"), -1);
	ranged = hostlist_ranged(&hl);
	cr_expect_str_eq(ranged, "n[9-11]");
}

/* Parsing adds to what is there, also behind names whose number begins inside their digits. */
Test(hostlist, appends)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;
	cleanup_free char *ranged = NULL;

	cr_assert_eq(hostlist_parse(&hl, "a[1-2]", NULL), 0);
	cr_assert_eq(hostlist_parse(&hl, "b1[1-2]", NULL), 0);
	cr_assert_eq(hostlist_parse(&hl, "b[13-14]", NULL), 0);
	ranged = hostlist_ranged(&hl);
	cr_expect_str_eq(ranged, "a[1-2],b1[1-2],b[13-14]");
}
