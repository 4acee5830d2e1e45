/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/depend.h"

#include "common/mem.h"
#include "translate/depend_facts.h"
#include "translate/depend_job.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

/* --- text --- */

Test(depend, text)
{
	static const struct {
		const char *text, *reads; /* NULL: Slurm says "Job dependency problem" */
	} cases[] = {
		{ "afterany:905", "afterany:905" },
		{ "afternotok:905", "afternotok:905" },
		{ "aftercorr:905", "aftercorr:905" },
		{ "afterburstbuffer:905", "afterburstbuffer:905" },
		{ "after:905+5", "after:905+5" },
		{ "after:905+5:906", "after:905+5,after:906" },
		{ "after:905+x", NULL },
		{ "afterok:905+5", NULL },
		{ "afterok:905:905", "afterok:905" },
		{ "afterok:905:906", "afterok:905,afterok:906" },
		{ "afterok:905,afterany:905", "afterok:905,afterany:905" },
		{ "afterok:905?afterany:905", "afterok:905?afterany:905" },
		{ "afterok:905,afterany:906?afterok:907", NULL },
		{ "afterok:905,singleton", "afterok:905,singleton" },
		{ "905", "afterany:905" },
		{ "905,905", "afterany:905" },
		{ "905,906", "afterany:905,afterany:906" },
		{ "Singleton", "singleton" },
		{ "AFTEROK:905", "afterok:905" },
		{ "afterok:905_1", "afterok:905_1" },
		{ "afterok:905_*", "afterok:905" },
		{ "afterok:-1", "afterok:4294967295" },
		{ "", "" },
		{ "none", NULL },
		{ "bogus:1", NULL },
		{ "afterok:", NULL },
		{ "afterok:x", NULL },
		{ "afterok:0", NULL },
		{ "afterok:905:", NULL },
		{ "afterok:905,", NULL },
		{ ",afterok:905", NULL },
		{ " afterok:905", NULL },
		{ "afterok=905", NULL },
		{ "afterok 905", NULL },
		{ "afterok:905;afterok:905", NULL },
		{ "singleton:5", NULL },
		{ "afterok:99999999999999999999", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_depend struct depend d = DEPEND_INIT;
		cleanup_strbuf struct strbuf text = STRBUF_INIT;
		struct error err = ERROR_INIT;
		int rc = depend_parse(&d, cases[i].text, &err);

		cr_expect_eq(rc, cases[i].reads ? 0 : -1, "\"%s\"", cases[i].text);
		if (!cases[i].reads) {
			cr_expect_str_eq(err.text, "Batch job submission failed: Job dependency problem");
			continue;
		}
		depend_format(&d, &text);
		cr_expect_str_eq(text.buf, cases[i].reads, "\"%s\" reads \"%s\"", cases[i].text, text.buf);
	}
}

/* --- verdicts; jobs 1 to 9 are what their names say --- */

enum { PENDS = 1, RUNS, OK, FAILED, CANCELLED, UNSURE, UNKNOWN, NOW = 100000 };

static void look_up(const struct depend_term *t, struct depend_facts *f, void *arg)
{
	static const struct depend_facts facts[] = {
		[PENDS] = { .known = true },
		[RUNS] = { .known = true, .started = true, .start = NOW - 90 },
		[OK] = { .known = true, .over = true, .start = NOW - 90, .end = NOW - 30, .ok = true },
		[FAILED] = { .known = true, .over = true, .start = NOW - 90, .end = NOW - 30 },
		[CANCELLED] = { .known = true, .over = true, .end = NOW - 30 },
		[UNSURE] = { .known = true, .over = true, .is_unsure = true },
		[UNKNOWN] = { .known = false },
	};

	(void)arg;
	*f = facts[t->job];
}

Test(depend, verdict)
{
	static const struct {
		const char *text;
		enum depend_verdict verdict;
		const char *shown;
		time_t until;
	} cases[] = {
		{ "after:1", DEPEND_OPEN, "after:1(unfulfilled)", 0 },
		{ "after:2", DEPEND_MET, "(null)", 0 },
		{ "after:5", DEPEND_MET, "(null)", 0 },
		{ "after:2+1", DEPEND_MET, "(null)", 0 },
		{ "after:2+2", DEPEND_OPEN, "after:2+2(unfulfilled)", NOW + 30 },
		{ "after:3+2", DEPEND_OPEN, "after:3+2(unfulfilled)", NOW + 30 },
		{ "after:5+1", DEPEND_OPEN, "after:5+1(unfulfilled)", NOW + 30 },
		{ "after:2+2:2+3", DEPEND_OPEN, "after:2+2(unfulfilled)", NOW + 30 },
		{ "after:2+2:3+3", DEPEND_OPEN, "after:2+2(unfulfilled),after:3+3(unfulfilled)", NOW + 90 },
		{ "after:2+2?after:3+3", DEPEND_OPEN, "after:2+2(unfulfilled)?after:3+3(unfulfilled)",
		  NOW + 30 },
		{ "after:2+2,afterok:1", DEPEND_OPEN, "after:2+2(unfulfilled),afterok:1(unfulfilled)", 0 },
		{ "after:2+2?afterok:1", DEPEND_OPEN, "after:2+2(unfulfilled)?afterok:1(unfulfilled)",
		  NOW + 30 },
		{ "afterany:1", DEPEND_OPEN, "afterany:1(unfulfilled)", 0 },
		{ "afterany:2", DEPEND_OPEN, "afterany:2(unfulfilled)", 0 },
		{ "afterany:3:4:5:6:7", DEPEND_MET, "(null)", 0 },
		{ "afterok:2", DEPEND_OPEN, "afterok:2(unfulfilled)", 0 },
		{ "afterok:3", DEPEND_MET, "(null)", 0 },
		{ "afterok:4", DEPEND_NEVER, "afterok:4(failed)", 0 },
		{ "afterok:5", DEPEND_NEVER, "afterok:5(failed)", 0 },
		{ "afterok:6", DEPEND_OPEN, "afterok:6(unfulfilled)", 0 },
		{ "afterok:7", DEPEND_MET, "(null)", 0 },
		{ "aftercorr:4", DEPEND_NEVER, "aftercorr:4(failed)", 0 },
		{ "afternotok:3", DEPEND_NEVER, "afternotok:3(failed)", 0 },
		{ "afternotok:4", DEPEND_MET, "(null)", 0 },
		{ "afternotok:6", DEPEND_OPEN, "afternotok:6(unfulfilled)", 0 },
		{ "afternotok:7", DEPEND_MET, "(null)", 0 },
		{ "afterburstbuffer:4", DEPEND_MET, "(null)", 0 },
		{ "afterok:3:2", DEPEND_OPEN, "afterok:2(unfulfilled)", 0 },
		{ "afterok:4:2", DEPEND_NEVER, "afterok:4(failed),afterok:2(unfulfilled)", 0 },
		{ "afterok:4?afterok:3", DEPEND_MET, "afterok:4(failed)", 0 },
		{ "afterok:4?afterok:2", DEPEND_OPEN, "afterok:4(failed)?afterok:2(unfulfilled)", 0 },
		{ "afterok:4?afternotok:3", DEPEND_NEVER, "afterok:4(failed)?afternotok:3(failed)", 0 },
		{ "", DEPEND_MET, "(null)", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_depend struct depend d = DEPEND_INIT;
		cleanup_strbuf struct strbuf text = STRBUF_INIT;
		time_t until = 1;
		enum depend_verdict verdict;

		cr_assert_eq(depend_parse(&d, cases[i].text, NULL), 0);
		verdict = depend_judge(&d, look_up, NULL, NOW, &until);
		depend_show(&d, &text);
		cr_expect_eq(verdict, cases[i].verdict, "%s: %d", cases[i].text, verdict);
		cr_expect_str_eq(text.buf, cases[i].shown, "%s: %s", cases[i].text, text.buf);
		cr_expect_eq(until, cases[i].until, "%s: until %lld", cases[i].text, (long long)until);
	}
}

/* What elements wait for one by one doesn't end the array. */
Test(depend, reopened)
{
	static const struct {
		const char *text;
		enum depend_verdict verdict;
		const char *shown;
	} cases[] = {
		{ "aftercorr:4", DEPEND_OPEN, "aftercorr:4(unfulfilled)" },
		{ "aftercorr:4,afterok:3", DEPEND_OPEN, "aftercorr:4(unfulfilled)" },
		{ "aftercorr:4,afterok:5", DEPEND_NEVER, "aftercorr:4(unfulfilled),afterok:5(failed)" },
		{ "aftercorr:4?afterok:5", DEPEND_OPEN, "aftercorr:4(unfulfilled)?afterok:5(failed)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_depend struct depend d = DEPEND_INIT;
		cleanup_strbuf struct strbuf text = STRBUF_INIT;

		cr_assert_eq(depend_parse(&d, cases[i].text, NULL), 0);
		cr_assert_eq(depend_judge(&d, look_up, NULL, NOW, NULL), DEPEND_NEVER);
		cr_expect_eq(depend_reopen(&d), cases[i].verdict, "%s", cases[i].text);
		depend_show(&d, &text);
		cr_expect_str_eq(text.buf, cases[i].shown, "%s: %s", cases[i].text, text.buf);
	}
}

/* --- facts --- */

static const char engine_list[] =
	"<job_info><queue_info>"
	"<job_list state='running'><JB_job_number>10</JB_job_number><JAT_prio>0.5</JAT_prio><JB_name>a</JB_name>"
	"<JB_owner>alice</JB_owner><state>r</state><JAT_start_time>2026-11-29T13:00:00</JAT_start_time>"
	"<queue_name>all.q@c1</queue_name><slots>1</slots><full_job_name>a</full_job_name></job_list>"
	"<job_list state='running'><JB_job_number>20</JB_job_number><JAT_prio>0.5</JAT_prio><JB_name>b</JB_name>"
	"<JB_owner>alice</JB_owner><state>r</state><JAT_start_time>2026-11-29T13:00:00</JAT_start_time>"
	"<queue_name>all.q@c1</queue_name><slots>1</slots><tasks>2</tasks><full_job_name>b</full_job_name></job_list>"
	"</queue_info><job_info>"
	"<job_list state='pending'><JB_job_number>30</JB_job_number><JAT_prio>0.5</JAT_prio><JB_name>c</JB_name>"
	"<JB_owner>alice</JB_owner><state>qw</state><JB_submission_time>2026-11-29T13:00:00</JB_submission_time>"
	"<slots>1</slots><full_job_name>c</full_job_name></job_list>"
	"</job_info></job_info>";

#define LINE(job, task, rest)                                                                                \
	"{\"v\":1,\"event\":" rest ",\"job\":" #job ",\"task\":" #task ",\"restart\":0}\n"
#define SUBMIT(job) LINE(job, 0, "\"submit\",\"time\":1000.0")
#define ARRAY(job) LINE(job, 0, "\"submit\",\"time\":1000.0,\"array\":[5,7]")
#define START(job, task) LINE(job, task, "\"start\",\"time\":1010.0")
#define END(job, task, state) LINE(job, task, "\"end\",\"time\":1020.0,\"state\":\"" state "\",\"code\":0")

static const struct {
	const char *file, *text;
} files[] = {
	{ "20.h.jsonl", ARRAY(20) },
	{ "20.1.h.jsonl", START(20, 1) END(20, 1, "COMPLETED") },
	{ "40.h.jsonl", SUBMIT(40) START(40, 0) END(40, 0, "COMPLETED") },
	{ "41.h.jsonl", SUBMIT(41) START(41, 0) END(41, 0, "FAILED") },
	{ "42.h.jsonl", SUBMIT(42) START(42, 0) },
	{ "43.h.jsonl", SUBMIT(43) LINE(43, 0, "\"cancel\",\"time\":1005.0,\"by\":0") },
	{ "44.h.jsonl", SUBMIT(44) START(44, 0) END(44, 0, "KILLED_BY_ENGINE") },
	{ "50.h.jsonl", ARRAY(50) },
	{ "50.1.h.jsonl", START(50, 1) END(50, 1, "COMPLETED") },
	{ "50.2.h.jsonl", START(50, 2) END(50, 2, "TIMEOUT") },
	{ "60.h.jsonl", ARRAY(60) END(60, 0, "CANCELLED") },
};

/* A folder of records of this user. */
static char *make_records(void)
{
	char *root = xstrdup("/tmp/test_depend.XXXXXX");
	cleanup_free char *dir = NULL;

	cr_assert(mkdtemp(root));
	dir = xasprintf("%s/%u", root, (unsigned)geteuid());
	cr_assert_eq(mkdir(dir, 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup_free char *path = xasprintf("%s/%s", dir, files[i].file);
		FILE *f = fopen(path, "w");

		cr_assert(f);
		fputs(files[i].text, f);
		fclose(f);
	}
	return root;
}

static void remove_records(char *root)
{
	cleanup_free char *dir = xasprintf("%s/%u", root, (unsigned)geteuid());

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup_free char *path = xasprintf("%s/%s", dir, files[i].file);

		unlink(path);
	}
	rmdir(dir);
	rmdir(root);
	free(root);
}

Test(depend, facts)
{
	static const struct {
		const char *term;
		bool known, started, over, ok, unsure;
	} cases[] = {
		{ "afterok:10", true, true, false, false, false }, /* runs, no record */
		{ "afterok:30", true, false, false, false, false },
		{ "afterok:40", true, false, true, true, false },
		{ "afterok:41", true, false, true, false, false },
		{ "afterok:42", true, false, true, false, true }, /* gone without an end */
		{ "afterok:43", true, false, true, false, false },
		{ "afterok:44", true, false, true, false, false },
		{ "afterok:45", false, false, false, false, false },
		{ "afterok:46", true, false, true, false, true }, /* the engine had it; no record */
		{ "afterok:20", true, true, false, false, false },
		{ "afterok:20_5", true, false, true, true, false },
		{ "afterok:20_7", true, true, false, false, false },
		{ "afterok:20_6", false, false, false, false, false }, /* no such element */
		{ "afterok:40_1", false, false, false, false, false },
		{ "afterok:50", true, true, true, false, false },
		{ "afterok:50_5", true, false, true, true, false },
		{ "afterok:50_7", true, false, true, false, false },
		{ "aftercorr:50", true, false, true, true, false },    /* the corresponding one: 5 */
		{ "afterok:60_7", true, false, true, false, false },   /* ended as a whole */
		{ "afterok:5000001", true, false, true, true, false }, /* 50_5 by its own number */
		{ "afterok:5000002", true, false, true, false, false },
		{ "afterok:5000003", false, false, false, false, false },
		{ "singleton", true, false, false, false, false },
	};
	static const uint64_t alive[] = { 46 };
	char *root = make_records();
	struct record_store *store = record_store_new(root, NULL, NULL);
	cleanup_qstat struct qstat q = QSTAT_INIT;
	struct depend_world w = { .engine = &q,
				  .store = store,
				  .uid = geteuid(),
				  .user = "alice",
				  .name = "c",
				  .self = 100,
				  .has_index = true,
				  .index = 5,
				  .alive = alive,
				  .nalive = 1 };

	cr_assert_eq(qstat_parse(&q, engine_list, strlen(engine_list), NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_depend struct depend d = DEPEND_INIT;
		struct depend_facts f = { 0 };

		cr_assert_eq(depend_parse(&d, cases[i].term, NULL), 0);
		depend_normalize(&d, &w);
		depend_facts(&d.terms[0], &f, &w);
		cr_expect_eq(f.known, cases[i].known, "%s: known %d", cases[i].term, f.known);
		cr_expect_eq(f.started, cases[i].started, "%s: started %d", cases[i].term, f.started);
		cr_expect_eq(f.over, cases[i].over, "%s: over %d", cases[i].term, f.over);
		cr_expect_eq(f.ok, cases[i].ok, "%s: ok %d", cases[i].term, f.ok);
		cr_expect_eq(f.is_unsure, cases[i].unsure, "%s: unsure %d", cases[i].term, f.is_unsure);
	}
	record_store_free(store);
	remove_records(root);
}

Test(depend, accounting)
{
	static const char ok[] = "jobname      x\nfailed       0    \nexit_status  0                   \n";
	static const char code[] = "failed       0    \nexit_status  3                   \n";
	static const char failed[] = "failed       100 : assumedly after job\nexit_status  0  \n";
	cleanup_free char *one_of_two = xasprintf("%s=====\n%s", ok, code);

	cr_expect_eq(depend_read_accounting(ok), 1);
	cr_expect_eq(depend_read_accounting(code), 0);
	cr_expect_eq(depend_read_accounting(failed), 0);
	cr_expect_eq(depend_read_accounting(one_of_two), 0);
	cr_expect_eq(depend_read_accounting(""), -1);
}

/* --- the file --- */

Test(depend, file)
{
	cleanup_depend_job struct depend_job j = DEPEND_JOB_INIT, back = DEPEND_JOB_INIT,
					     bad = DEPEND_JOB_INIT;
	cleanup_strbuf struct strbuf text = STRBUF_INIT, list = STRBUF_INIT;

	depend_parse(&j.list, "afterok:7_2?after:8+5", NULL);
	j.kill = true;
	j.name = xstrdup("name");
	j.begin = 17;
	j.alive = xcalloc(2, sizeof(*j.alive));
	j.alive[0] = 7;
	j.alive[1] = 8;
	j.nalive = 2;
	depend_job_write(&j, &text);
	strbuf_addstr(&text, "later word\n");
	cr_assert_eq(depend_job_parse(&back, text.buf, NULL), 0);
	depend_format(&back.list, &list);
	cr_expect_str_eq(list.buf, "afterok:7_2?after:8+5");
	cr_expect(back.kill && back.begin == 17 && back.nalive == 2);
	cr_expect_eq(back.alive[1], 8);
	cr_expect_str_eq(back.name, "name");
	cr_expect_eq(depend_job_parse(&bad, "list bogus\n", NULL), -1);
	cr_expect_eq(depend_job_parse(&bad, "", NULL), -1);
}

/* --- what the engine is told --- */

Test(depend, holds)
{
	static const struct {
		const char *term;
		const char *jobs, *arrays;
	} cases[] = {
		{ "afterany:10", "10", NULL },
		{ "afterok:10:30", "10,30", NULL },
		{ "afterok:40", NULL, NULL },
		{ "aftercorr:20", NULL, "20" },
		{ "aftercorr:20,afterok:20", "20", NULL },
		{ "aftercorr:20,afterok:10", "10", "20" },
		{ "aftercorr:10", "10", NULL },
		{ "singleton", "c", NULL },
		{ "afterany:10,singleton", "10,c", NULL },
	};
	static const uint32_t same[] = { 5, 7 };
	char *root = make_records();
	struct record_store *store = record_store_new(root, NULL, NULL);
	cleanup_qstat struct qstat q = QSTAT_INIT;
	struct depend_world w = {
		.engine = &q, .store = store, .uid = geteuid(), .user = "alice", .name = "c"
	};

	cr_assert_eq(qstat_parse(&q, engine_list, strlen(engine_list), NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_depend_job struct depend_job j = DEPEND_JOB_INIT;
		struct depend_holds h = { 0 };

		cr_assert_eq(depend_parse(&j.list, cases[i].term, NULL), 0);
		j.name = xstrdup("c");
		j.alive = xcalloc(3, sizeof(*j.alive));
		j.nalive = 3;
		for (size_t k = 0; k < 3; k++)
			j.alive[k] = 10 * (k + 1);
		depend_judge(&j.list, depend_facts, &w, NOW, NULL);
		depend_hold(&j, &w, same, 2, &h);
		cr_expect(cases[i].jobs ? h.jobs && !strcmp(h.jobs, cases[i].jobs) : !h.jobs, "%s: %s",
			  cases[i].term, h.jobs ? h.jobs : "-");
		cr_expect(cases[i].arrays ? h.arrays && !strcmp(h.arrays, cases[i].arrays) : !h.arrays,
			  "%s: %s", cases[i].term, h.arrays ? h.arrays : "-");
		depend_holds_release(&h);
	}
	record_store_free(store);
	remove_records(root);
}
