/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "ocs/qconf.h"

#include <criterion/criterion.h>
#include <string.h>

static const char queue[] =
	"qname                 all.q\n"
	"hostlist              @allhosts\n"
	"seq_no                0,[c1=1],[c2=2]\n"
	"pe_list               make daemon_rr first_rr hook hookfail hookroot loose_rr \\\n"
	"                      mpi_rr slurm\n"
	"load_values           load_avg=0.98, \\\n"
	"                      load_short=0.89\n"
	"starter_method        NONE\n"
	"empty\n";

Test(qconf, reads_values_over_lines)
{
	cleanup_qconf_object struct qconf_object o = QCONF_OBJECT_INIT;
	struct error err = ERROR_INIT;

	cr_assert(qconf_parse(queue, &o, &err) == 0, "%s", err.text);
	cr_expect_eq(o.names.n, 7);
	cr_expect_str_eq(qconf_get(&o, "pe_list"),
			 "make daemon_rr first_rr hook hookfail hookroot loose_rr mpi_rr slurm");
	cr_expect_str_eq(qconf_get(&o, "load_values"), "load_avg=0.98, load_short=0.89");
	cr_expect_str_eq(qconf_get(&o, "seq_no"), "0,[c1=1],[c2=2]");
	cr_expect_str_eq(qconf_get(&o, "empty"), "");
	cr_expect_null(qconf_get(&o, "nosuch"));
}

Test(qconf, what_it_prints_it_reads)
{
	cleanup_qconf_object struct qconf_object o = QCONF_OBJECT_INIT;
	cleanup_qconf_object struct qconf_object again = QCONF_OBJECT_INIT;
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_INIT;

	cr_assert(qconf_parse(queue, &o, &err) == 0);
	qconf_set(&o, "starter_method", "/x/starter");
	qconf_set(&o, "new", "1");
	qconf_format(&o, &text);
	cr_assert(qconf_parse(text.buf, &again, &err) == 0, "%s", err.text);
	cr_expect_eq(again.names.n, 8);
	cr_expect_str_eq(qconf_get(&again, "starter_method"), "/x/starter");
	for (size_t i = 0; i < o.names.n; i++)
		cr_expect_str_eq(again.values.v[i], o.values.v[i]);
}

Test(qconf, garbage_is_an_error)
{
	static const char *const rows[] = { "", "\n\n", "# only a comment\n", "denied: not allowed\n",
					    "<xml/>\n" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_qconf_object struct qconf_object o = QCONF_OBJECT_INIT;
		struct error err = ERROR_INIT;

		cr_expect(qconf_parse(rows[i], &o, &err) == -1, "row %zu", i);
		cr_expect(*err.text, "row %zu", i);
	}
}

Test(qconf, values_per_host)
{
	static const struct {
		const char *value, *joined; /* joined NULL: refused; else what comes back */
		size_t parts;
	} rows[] = {
		{ "make smp", "make smp", 1 },
		{ "make smp,[c1=make a b],[@big=NONE]", "make smp,[c1=make a b],[@big=NONE]", 3 },
		{ "4, [c1=8], [c2=2]", "4,[c1=8],[c2=2]", 3 },
		{ "NONE,[c1=/a b=c]", "NONE,[c1=/a b=c]", 2 },
		{ "4,[c1=8", NULL, 0 },
		{ "4,[c1]", NULL, 0 },
		{ "4,[c1=8]x", NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_qconf_object struct qconf_object parts = QCONF_OBJECT_INIT;
		cleanup_free char *joined = NULL;
		struct error err = ERROR_INIT;
		int rc = qconf_split_hosts(rows[i].value, &parts, &err);

		cr_expect_eq(rc, rows[i].joined ? 0 : -1, "row %zu", i);
		if (rc < 0)
			continue;
		cr_expect_eq(parts.names.n, rows[i].parts, "row %zu: %zu", i, parts.names.n);
		joined = qconf_join_hosts(&parts);
		cr_expect_str_eq(joined, rows[i].joined, "row %zu: %s", i, joined);
	}
}

Test(qconf, lists)
{
	static const struct {
		const char *list, *word, *added, *removed;
		bool has;
	} rows[] = {
		{ "make smp", "x.1", "make smp x.1", "make smp", false },
		{ "make smp", "smp", "make smp", "make", true },
		{ "NONE", "x.1", "x.1", "NONE", false },
		{ "", "x.1", "x.1", "NONE", false },
		{ "x.1", "x.1", "x.1", "NONE", true },
		{ "x.10 x.11", "x.1", "x.10 x.11 x.1", "x.10 x.11", false },
		{ "make,smp", "smp", "make,smp", "make", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *added = qconf_list_add(rows[i].list, rows[i].word);
		cleanup_free char *removed = qconf_list_remove(rows[i].list, rows[i].word);

		cr_expect_eq(qconf_list_has(rows[i].list, rows[i].word), rows[i].has, "row %zu", i);
		cr_expect_str_eq(added, rows[i].added, "row %zu: %s", i, added);
		cr_expect_str_eq(removed, rows[i].removed, "row %zu: %s", i, removed);
	}
}
