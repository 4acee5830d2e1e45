/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fd.h"
#include "common/mem.h"
#include "ocs/qstat.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

/* Answers of real engines, `qstat -u '*' -xml -r -g t` (OCS: without -r). */
#define SGE "tests/unit/data/qstat-8.1.9.xml"
#define OCS "tests/unit/data/qstat-ocs-9.1.5.xml"

static void load(const char *file, struct qstat *q)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_INIT;

	cr_assert(fd_read_file(AT_FDCWD, file, 1 << 20, &text, &err) == 0, "%s", err.text);
	cr_assert(qstat_parse(q, text.buf, text.len, &err) == 0, "%s", err.text);
}

static const struct qstat_job *find(const struct qstat *q, const char *name, const char *tasks)
{
	for (size_t i = 0; i < q->n; i++)
		if (!strcmp(q->jobs[i].name, name) && !strcmp(q->jobs[i].tasks, tasks))
			return &q->jobs[i];
	cr_assert(false, "no job %s %s", name, tasks);
	return NULL;
}

/* "c1*2 c2=2": host, '*' for the master's, slots */
static char *hosts_of(const struct qstat_job *j)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < j->nhosts; i++)
		strbuf_addf(&out, "%s%s%c%u", i ? " " : "", j->hosts[i].name,
			    j->hosts[i].is_master ? '*' : '=', j->hosts[i].slots);
	return strbuf_steal(&out);
}

Test(qstat, jobs_of_8_1_9)
{
	static const struct {
		const char *name, *tasks, *state, *queue, *hard_queue, *pe, *hosts;
		unsigned slots;
		int64_t limit;
		const char *predecessors;
	} rows[] = {
		{ "pet", "", "r", "all.q", NULL, "t1", "c1*2 c2=2", 4, -1, NULL },
		/* job_is_first_task TRUE: the master's element is one of the slots */
		{ "petj", "", "r", "all.q", NULL, "tj", "c1*2 c2=2", 4, -1, NULL },
		{ "arr", "1", "r", "all.q", "all.q", "t1", "c3*2", 2, 600, NULL },
		{ "arr", "3", "r", "all.q", "all.q", "t1", "c3*2", 2, 600, NULL },
		{ "arr", "5,7", "qw", NULL, "all.q", "t1", "", 2, 600, NULL },
		{ "we<ird&\"n", "", "hqw", NULL, NULL, NULL, "", 1, -1, NULL },
		{ "dep", "", "hqw", NULL, NULL, NULL, "", 1, -1, "8" },
		{ "big", "", "qw", NULL, "plain.q", "t1", "", 20, -1, NULL },
	};
	cleanup_qstat struct qstat q = QSTAT_INIT;

	load(SGE, &q);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct qstat_job *j = find(&q, rows[i].name, rows[i].tasks);
		cleanup_free char *hosts = hosts_of(j);

		cr_expect_str_eq(j->owner, "alice");
		cr_expect_str_eq(j->state, rows[i].state, "row %zu", i);
		cr_expect_str_eq(j->queue ? j->queue : "-", rows[i].queue ? rows[i].queue : "-", "row %zu",
				 i);
		cr_expect_str_eq(j->hard_queue ? j->hard_queue : "-",
				 rows[i].hard_queue ? rows[i].hard_queue : "-", "row %zu", i);
		cr_expect_str_eq(j->pe ? j->pe : "-", rows[i].pe ? rows[i].pe : "-", "row %zu", i);
		cr_expect_str_eq(hosts, rows[i].hosts, "row %zu: %s", i, hosts);
		cr_expect_eq(j->slots, rows[i].slots, "row %zu: %u", i, j->slots);
		cr_expect_eq(j->time_limit, rows[i].limit, "row %zu", i);
		cr_expect_str_eq(j->predecessors ? j->predecessors : "-",
				 rows[i].predecessors ? rows[i].predecessors : "-", "row %zu", i);
		cr_expect_eq(j->is_running, rows[i].queue != NULL, "row %zu", i);
		cr_expect(rows[i].queue ? j->started > 0 : j->submitted > 0, "row %zu: a time", i);
	}
}

Test(qstat, jobs_of_ocs)
{
	cleanup_qstat struct qstat q = QSTAT_INIT;
	const struct qstat_job *j;
	cleanup_free char *hosts = NULL;

	load(OCS, &q);
	j = find(&q, "fact1", "");
	hosts = hosts_of(j);
	cr_expect_str_eq(hosts, "node3*2 node1=1 node2=1", "%s", hosts);
	cr_expect_eq(j->slots, 4);
	cr_expect(j->started > 0, "a time with a fraction");
	j = find(&q, "pend1", "");
	cr_expect_eq(j->slots, 40);
	cr_expect(j->submitted > 0, "JAT_submission_time");
	cr_expect_str_eq(find(&q, "arr1", "7")->state, "r");
}

/* What a real answer says is believed whole or not at all. */
Test(qstat, truncation_anywhere_is_an_error)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_INIT;
	size_t end;

	cr_assert(fd_read_file(AT_FDCWD, SGE, 1 << 20, &text, &err) == 0);
	end = (size_t)(strstr(text.buf, "</job_info>\n") - text.buf) + strlen("</job_info>");
	for (size_t n = 0; n < end; n += n < 200 ? 1 : 97) {
		cleanup_qstat struct qstat q = QSTAT_INIT;

		*err.text = '\0';
		cr_expect(qstat_parse(&q, text.buf, n, &err) == -1, "%zu bytes", n);
		cr_expect(*err.text, "%zu bytes: no text", n);
		cr_expect_eq(q.n, 0);
	}
}

Test(qstat, garbage_is_an_error)
{
	static const char *const rows[] = {
		"",
		"error: commlib error: got select error (Connection refused)\n",
		"<?xml version='1.0'?><unknown_jobs><>9999</></unknown_jobs>",
		"<?xml version='1.0'?><qhost></qhost>",
		"<job_info><job_info><job_list state='pending'><JB_job_number>1</JB_job_number></job_list></job_info></job_info>",
		"<job_info><job_list><JB_job_number>1x</JB_job_number><JB_owner>a</JB_owner><JB_name>a</JB_name>"
		"<state>r</state></job_list></job_info>",
		"<job_info><job_list><JB_job_number>99999999999999999999</JB_job_number></job_list></job_info>",
		"<job_info><job_list><JAT_start_time>yesterday</JAT_start_time></job_list></job_info>",
		"<!DOCTYPE a [<!ENTITY b 'c'>]><job_info><job_list>&b;</job_list></job_info>",
		"<job_info><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></a></a>"
		"</a></a></a></a></a></a></job_info>",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_qstat struct qstat q = QSTAT_INIT;
		struct error err = ERROR_INIT;

		cr_expect(qstat_parse(&q, rows[i], strlen(rows[i]), &err) == -1, "row %zu", i);
		cr_expect(*err.text && !strchr(err.text, '\n'), "row %zu: %s", i, err.text);
	}
}

Test(qstat, no_jobs_is_a_success)
{
	static const char xml[] =
		"<?xml version='1.0'?>\n<job_info><queue_info>\n</queue_info><job_info></job_info></job_info>\n";
	cleanup_qstat struct qstat q = QSTAT_INIT;
	struct error err = ERROR_INIT;

	cr_expect(qstat_parse(&q, xml, strlen(xml), &err) == 0, "%s", err.text);
	cr_expect_eq(q.n, 0);
}

Test(qstat, tasks)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} rows[] = {
		{ "3", "3" },
		{ "1-7:2", "1 3 5 7" },
		{ "1,4,6", "1 4 6" },
		{ "2-3,7-9:2", "2 3 7 9" },
		{ "", NULL },
		{ "1-", NULL },
		{ "3-1", NULL },
		{ "0", NULL },
		{ "1-4000000000", NULL },
		{ "1-9:0", NULL },
		{ "1;2", NULL },
		{ "1,", NULL },
		{ "1-2000", NULL },
		{ "1-5:2:3", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_strbuf struct strbuf got = STRBUF_INIT;
		cleanup_free uint32_t *tasks = NULL;
		struct error err = ERROR_INIT;
		size_t n;
		int rc = qstat_tasks(rows[i].text, 1000, &tasks, &n, &err);

		cr_expect_eq(rc, rows[i].want ? 0 : -1, "row %zu \"%s\"", i, rows[i].text);
		for (size_t k = 0; k < n; k++)
			strbuf_addf(&got, "%s%u", k ? " " : "", tasks[k]);
		cr_expect_str_eq(got.buf, rows[i].want ? rows[i].want : "", "row %zu \"%s\"", i,
				 rows[i].text);
	}
}
