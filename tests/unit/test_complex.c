/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/complex.h"

#include <criterion/criterion.h>

static const char text[] =
	"#name               shortcut   type      relop requestable consumable default  urgency \n"
	"#--------------------------------------------------------------------------------------\n"
	"exclusive           excl       BOOL      EXCL  YES         YES        0        1000\n"
	"gpu                 g          RSMAP     <=    YES         HOST       0        0\n"
	"ansys               an         INT       <=    FORCED      JOB        0        0\n"
	"load_avg            la         DOUBLE    >=    NO          NO         0        0\n"
	"\n"
	"slots               s          INT       <=    YES         YES        1        1000\n"
	"# >#< starts a comment but comments are not saved across edits --------\n";

Test(complex, lines_of_the_engine)
{
	cleanup_complex_list struct complex_list l = COMPLEX_LIST_INIT;
	static const struct {
		const char *name, *type;
		int count;
		bool requestable, reserved;
	} rows[] = {
		{ "exclusive", "BOOL", COMPLEX_SLOT, true, false },
		{ "g", "RSMAP", COMPLEX_HOST, true, true },
		{ "ansys", "INT", COMPLEX_JOB, true, true },
		{ "load_avg", "DOUBLE", COMPLEX_FIXED, false, false },
		{ "slots", "INT", COMPLEX_SLOT, true, true },
	};

	cr_assert_eq(complex_list_parse(&l, text, NULL), 0);
	cr_assert_eq(l.n, 5);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct complex *c = complex_find(&l, rows[i].name);

		cr_assert_not_null(c, "%s", rows[i].name);
		cr_expect_str_eq(c->type, rows[i].type);
		cr_expect_eq((int)c->count, rows[i].count, "%s", rows[i].name);
		cr_expect_eq(c->requestable, rows[i].requestable, "%s", rows[i].name);
		cr_expect_eq(complex_is_reserved(c), rows[i].reserved, "%s", rows[i].name);
	}
	cr_expect_null(complex_find(&l, "nosuch"));
}

Test(complex, what_is_no_list)
{
	cleanup_complex_list struct complex_list l = COMPLEX_LIST_INIT;
	struct error err = ERROR_INIT;

	cr_expect_eq(complex_list_parse(&l, "error: commlib error\n", &err), -1);
	cr_expect_str_eq(err.text, "qconf -sc: a line that is no complex");
	cr_expect_eq(l.n, 0);
}
