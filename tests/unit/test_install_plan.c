/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "translate/install_plan.h"

#include <criterion/criterion.h>
#include <string.h>

static void parse(const char *text, struct qconf_object *o)
{
	struct error err = ERROR_INIT;

	cr_assert(qconf_parse(text, o, &err) == 0, "%s", err.text);
}

Test(install_plan, slots_of_a_queue)
{
	static const struct {
		const char *text;
		long most;
	} rows[] = {
		{ "4", 4 },  { "4,[c1=8],[c2=2]", 8 }, { "0,[c1=64]", 64 }, { "", -1 },
		{ "x", -1 }, { "4,[c1=x]", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = ERROR_INIT;

		cr_expect_eq(plan_queue_slots(rows[i].text, &err), rows[i].most, "row %zu", i);
	}
}

Test(install_plan, a_pe_has_the_engines_attributes)
{
	cleanup_qconf_object struct qconf_object sge = QCONF_OBJECT_INIT;
	cleanup_qconf_object struct qconf_object ocs = QCONF_OBJECT_INIT;
	cleanup_qconf_object struct qconf_object like = QCONF_OBJECT_INIT;
	cleanup_qconf_object struct qconf_object later = QCONF_OBJECT_INIT;
	const char *why;

	plan_pe_object("x.2", "2", false, NULL, &sge);
	cr_expect(qconf_get(&sge, "qsort_args") && !qconf_get(&sge, "daemon_forks_slaves"));
	cr_expect_str_eq(qconf_get(&sge, "allocation_rule"), "2");
	cr_expect_str_eq(qconf_get(&sge, "control_slaves"), "TRUE");
	plan_pe_object("x", "$fill_up", true, NULL, &ocs);
	cr_expect(!qconf_get(&ocs, "qsort_args"));
	cr_expect_str_eq(qconf_get(&ocs, "daemon_forks_slaves"), "FALSE");
	cr_expect(plan_pe_is_right(&ocs, "$fill_up", &why));
	parse("pe_name make\nslots 9\nallocation_rule $round_robin\ncontrol_slaves TRUE\nsomething_new 5\n",
	      &like);
	plan_pe_object("x", "3", true, &like, &later);
	cr_expect_eq(later.names.n, 5);
	cr_expect_str_eq(qconf_get(&later, "something_new"), "NONE");
	cr_expect_str_eq(qconf_get(&later, "pe_name"), "x");
}

Test(install_plan, a_foreign_pe_is_refused)
{
	static const struct {
		const char *attribute, *value, *text; /* NULL: taken as it is */
	} rows[] = {
		{ "slots", "17", NULL }, /* the site's to set */
		{ "user_lists", "team", NULL },
		{ "accounting_summary", "TRUE", NULL },
		{ "allocation_rule", "3",
		  "parallel environment x.2 exists with another allocation_rule (3)" },
		{ "control_slaves", "FALSE",
		  "parallel environment x.2 exists with another control_slaves (FALSE)" },
		{ "job_is_first_task", "TRUE",
		  "parallel environment x.2 exists with another job_is_first_task (TRUE)" },
		{ "start_proc_args", "/opt/x",
		  "parallel environment x.2 exists with another start_proc_args (/opt/x)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_qconf_object struct qconf_object existing = QCONF_OBJECT_INIT;
		cleanup_plan struct plan p = PLAN_INIT;
		struct error err = ERROR_INIT;
		int rc;

		plan_pe_object("x.2", "2", false, NULL, &existing);
		qconf_set(&existing, rows[i].attribute, rows[i].value);
		rc = plan_add_pe(&p, "x.2", "2", false, NULL, &existing, &err);
		cr_expect_eq(rc, rows[i].text ? -1 : 0, "row %zu", i);
		cr_expect_eq(p.npes, 0, "row %zu", i);
		if (rows[i].text)
			cr_expect(!strncmp(err.text, rows[i].text, strlen(rows[i].text)), "row %zu: %s", i,
				  err.text);
	}
}

/* What a queue with these values becomes. */
static const struct {
	const char *pe_list, *starter;
	bool chain;
	const char *new_pe_list, *new_starter; /* NULL: refused */
	size_t chains;
} queues[] = {
	{ "make smp", "NONE", false, "make smp x.1 x.2", "/lib/starter", 0 },
	{ "NONE", "none", false, "x.1 x.2", "/lib/starter", 0 },
	{ "make,[c1=smp],[c2=NONE]", "NONE", false, "make x.1 x.2,[c1=smp x.1 x.2],[c2=NONE]", "/lib/starter",
	  0 },
	{ "x.2 make x.1", "/lib/starter", false, "x.2 make x.1", "/lib/starter", 0 },
	{ "make", "/site/starter", false, NULL, NULL, 0 },
	{ "make", "NONE,[c1=/site/starter]", false, NULL, NULL, 0 },
	{ "make", "/site/starter", true, "make x.1 x.2", "/cell/starter.q", 1 },
	{ "make", "/cell/starter.q", false, "make x.1 x.2", "/cell/starter.q", 0 },
	{ "make", "NONE,[c1=/a b]", true, NULL, NULL, 0 },
	{ "make", "NONE,[c1=/s]", true, "make x.1 x.2", "/lib/starter,[c1=/cell/starter.q.c1]", 1 },
	{ "make,[c1=x", "NONE", false, NULL, NULL, 0 },
};

Test(install_plan, queues_keep_what_they_had)
{
	const struct plan_starter starter = { .path = "/lib/starter", .chain_dir = "/cell" };

	for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
		cleanup_qconf_object struct qconf_object q = QCONF_OBJECT_INIT;
		cleanup_plan struct plan p = PLAN_INIT;
		struct plan_starter s = starter;
		struct error err = ERROR_INIT;
		cleanup_free char *without = NULL;
		int rc;

		qconf_set(&q, "pe_list", queues[i].pe_list);
		qconf_set(&q, "starter_method", queues[i].starter);
		cr_assert(plan_add_pe(&p, "x.1", "1", false, NULL, NULL, &err) == 0);
		cr_assert(plan_add_pe(&p, "x.2", "2", false, NULL, NULL, &err) == 0);
		s.chain = queues[i].chain;
		rc = plan_add_queue(&p, "q", &q, &s, &err);
		cr_expect_eq(rc, queues[i].new_starter ? 0 : -1, "row %zu: %s", i, err.text);
		if (rc < 0) {
			cr_expect(*err.text, "row %zu", i);
			continue;
		}
		cr_expect_str_eq(p.queues[0].pe_list[1], queues[i].new_pe_list, "row %zu: %s", i,
				 p.queues[0].pe_list[1]);
		cr_expect_str_eq(p.queues[0].starter[1], queues[i].new_starter, "row %zu: %s", i,
				 p.queues[0].starter[1]);
		cr_expect_eq(p.queues[0].nchains, queues[i].chains, "row %zu", i);
		without = plan_without_family(p.queues[0].pe_list[1], &p.family, &err);
		cr_expect(without && !strstr(without, "x."), "row %zu: %s", i, without);
	}
}

Test(install_plan, a_chain_calls_the_sites_starter_first)
{
	cleanup_qconf_object struct qconf_object q = QCONF_OBJECT_INIT;
	cleanup_plan struct plan p = PLAN_INIT;
	const struct plan_starter s = { .path = "/lib/our starter", .chain = true, .chain_dir = "/cell" };
	struct error err = ERROR_INIT;

	qconf_set(&q, "pe_list", "NONE");
	qconf_set(&q, "starter_method", "/site/starter");
	cr_assert(plan_add_queue(&p, "q", &q, &s, &err) == 0, "%s", err.text);
	cr_assert_eq(p.queues[0].nchains, 1);
	cr_expect(strstr(p.queues[0].chains[0].text, "\nexec /site/starter '/lib/our starter' \"$@\"\n"),
		  "%s", p.queues[0].chains[0].text);
}
