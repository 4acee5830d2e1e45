/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "common/path.h"
#include "ocs/recordread.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static struct record_job empty_job(uint64_t id)
{
	return (struct record_job){
		.id = id, .nodes = RECORD_UNSET, .ntasks = RECORD_UNSET, .time_limit = RECORD_UNSET
	};
}

static int add(struct record_job *j, const char *line)
{
	return record_parse_line(j, line, strlen(line));
}

static const char submit[] =
	"{\"v\":1,\"event\":\"submit\",\"time\":1000.5,\"job\":7,\"task\":0,\"restart\":0,\"name\":\"tr\\u00e4in\","
	"\"partition\":\"all.q\",\"account\":null,\"comment\":\"c\",\"user\":\"alice\",\"nodes\":3,"
	"\"ntasks\":6,\"cpus_per_task\":1,\"time_limit\":600,\"work_dir\":\"/home/alice\","
	"\"array\":[5,9,13]}";

Test(recordread, a_job_from_submit_to_end)
{
	struct record_job j = empty_job(7);
	const struct record_run *r;

	cr_assert(add(&j, submit) == 0);
	cr_expect(j.has_submit && j.submit_time == 1000.5);
	cr_expect_str_eq(j.name, "tr\xc3\xa4in");
	cr_expect_null(j.account);
	cr_expect(j.nodes == 3 && j.ntasks == 6 && j.time_limit == 600);
	cr_expect_eq(record_array_index(&j, 2), 9);
	cr_expect_eq(record_array_index(&j, 4), 4, "outside the map");
	cr_expect_eq(record_array_task(&j, 13), 3);
	cr_expect_eq(record_array_task(&j, 6), 0);

	cr_assert(
		add(&j,
		    "{\"v\":1,\"event\":\"start\",\"time\":1001,\"job\":7,\"task\":2,\"restart\":1,\"host\":\"c1\","
		    "\"nodes\":[\"c1\",\"c2\"],\"slots\":[2,1],\"pid\":9}") == 0);
	cr_assert(
		add(&j,
		    "{\"v\":1,\"event\":\"start\",\"time\":900,\"job\":7,\"task\":2,\"restart\":0,\"slots\":[\"4\"]}") ==
		0);
	cr_assert(add(&j, "{\"v\":1,\"event\":\"start\",\"time\":900,\"job\":7,\"task\":1,\"restart\":0}") ==
		  0);
	cr_assert(
		add(&j,
		    "{\"v\":1,\"event\":\"step_start\",\"time\":1002,\"job\":7,\"task\":2,\"restart\":1,\"step\":0,"
		    "\"name\":\"a\",\"nodes\":[\"c1\"],\"ntasks\":2}") == 0);
	cr_assert(
		add(&j,
		    "{\"v\":1,\"event\":\"step_end\",\"time\":1003,\"job\":7,\"task\":2,\"restart\":1,\"step\":0,"
		    "\"state\":\"FAILED\",\"code\":3,\"signal\":0,\"utime\":0.5,\"stime\":1,\"maxrss\":100}") ==
		0);
	cr_assert(
		add(&j,
		    "{\"v\":1,\"event\":\"end\",\"time\":1004,\"job\":7,\"task\":2,\"restart\":1,\"state\":\"CANCELLED\","
		    "\"code\":0,\"signal\":15,\"by\":6001}") == 0);
	cr_assert(add(&j, "{\"v\":1,\"event\":\"cancel\",\"time\":1005,\"job\":7,\"task\":3,\"by\":6001}") ==
		  0);

	cr_expect_eq(j.nruns, 3);
	cr_expect(j.runs[0].task == 1 && j.runs[1].task == 2 && j.runs[1].restart == 0 &&
		  j.runs[2].restart == 1);
	r = record_last_run(&j, 2);
	cr_assert(r && r->restart == 1);
	cr_expect(r->nodes.n == 2 && r->nslots == 2 && r->slots[0] == 2);
	cr_expect(j.runs[1].nslots == 1 && j.runs[1].slots[0] == 4, "numbers written as strings");
	cr_expect_str_eq(r->state, "CANCELLED");
	cr_expect(r->signal == 15 && r->by == 6001 && r->end == 1004);
	cr_expect(r->nsteps == 1 && r->steps[0].code == 3 && r->steps[0].ntasks == 2);
	cr_expect_str_eq(r->steps[0].id, "0");
	cr_expect(record_cancel_of(&j, 3) && !record_cancel_of(&j, 2));
	cr_expect_eq(j.last_time, 1005);
	record_job_release(&j);
}

/* Files come in the order of their hosts' names: the later job's may be read first. */
static void check_later_job(const char *const *lines)
{
	struct record_job j = empty_job(7);
	const struct record_run *r;

	for (; *lines; lines++)
		cr_assert_eq(add(&j, *lines), 0, "%s", *lines);
	record_forget_earlier(&j);
	cr_expect(j.submit_time == 5000 && !strcmp(j.name, "later") && !j.comment);
	cr_assert_eq(j.nruns, 1);
	r = record_last_run(&j, 0);
	cr_assert(r && r->start == 5001 && r->nsteps == 1 && r->steps[0].start == 5002);
	cr_expect(!r->state && r->by == RECORD_UNSET && !r->host);
	cr_expect_null(record_cancel_of(&j, 0));
	record_job_release(&j);
}

Test(recordread, a_number_that_is_given_again_is_a_new_job)
{
#define LINE(event, time, more)                                                                              \
	"{\"v\":1,\"event\":\"" event "\",\"time\":" time ",\"job\":7,\"task\":0" more "}"
	static const char submit_1[] = LINE("submit", "1000", ",\"name\":\"earlier\",\"comment\":\"c\"");
	static const char start_1[] = LINE("start", "1001", ",\"restart\":0,\"host\":\"c1\"");
	static const char step_1[] = LINE("step_start", "1002", ",\"restart\":0,\"step\":0");
	static const char again_1[] = LINE("start", "1003", ",\"restart\":1");
	static const char end_1[] = LINE("end", "1004", ",\"restart\":0,\"state\":\"CANCELLED\",\"by\":5");
	static const char cancel_1[] = LINE("cancel", "1003", ",\"by\":5");
	static const char submit_2[] = LINE("submit", "5000", ",\"name\":\"later\"");
	static const char start_2[] = LINE("start", "5001", ",\"restart\":0");
	static const char step_2[] = LINE("step_start", "5002", ",\"restart\":0,\"step\":0");
	const char *const by_time[] = { submit_1, start_1,  step_1,  again_1, end_1,
					cancel_1, submit_2, start_2, step_2,  NULL };
	const char *const later_first[] = { submit_2, start_2, step_2, submit_1, start_1,
					    step_1,   again_1, end_1,  cancel_1, NULL };

	check_later_job(by_time);
	check_later_job(later_first);
}

Test(recordread, what_is_no_record_of_the_job_changes_nothing)
{
	static const char *const rows[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"v\":1,\"event\":\"end\",\"time\":1,\"job\":7,\"task\":0,\"restart\":0,\"state\":\"FAI", /* torn */
		"{\"v\":2,\"event\":\"submit\",\"time\":1,\"job\":7}",
		"{\"v\":1,\"event\":\"submit\",\"time\":1,\"job\":8}",
		"{\"v\":1,\"event\":\"submit\",\"time\":\"x\",\"job\":7}",
		"{\"v\":1,\"time\":1,\"job\":7}",
		"{\"v\":1,\"v\":1,\"event\":\"submit\",\"time\":1,\"job\":7}",
	};
	struct record_job j = empty_job(7);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect(add(&j, rows[i]) == -1, "row %zu", i);
	cr_expect(!j.has_submit && j.nruns == 0 && j.last_time == 0);
	/* wrong types are as if the member weren't there */
	cr_expect(
		add(&j,
		    "{\"v\":1,\"event\":\"submit\",\"time\":1,\"job\":7,\"name\":5,\"nodes\":-3,\"array\":{},"
		    "\"time_limit\":9223372036854775807}") == 0);
	cr_expect(!j.name && j.nodes == RECORD_UNSET && j.narray == 0 && j.time_limit == RECORD_UNSET);
	record_job_release(&j);
}

/* --- the folder --- */

struct folder {
	char dir[64];
	char mine[128];
};

static void folder_open(struct folder *f)
{
	strcpy(f->dir, "/tmp/test_recordread.XXXXXX");
	cr_assert(mkdtemp(f->dir));
	snprintf(f->mine, sizeof(f->mine), "%s/%u", f->dir, geteuid());
	cr_assert(mkdir(f->mine, 0755) == 0);
}

static void folder_close(struct folder *f)
{
	cr_assert(path_remove_treeat(AT_FDCWD, f->dir) == 0);
}

static void put(const char *dir, const char *name, const char *text)
{
	cleanup_free char *path = xasprintf("%s/%s", dir, name);
	FILE *out = fopen(path, "w");

	cr_assert(out);
	fputs(text, out);
	fclose(out);
}

Test(recordstore, finds_a_jobs_files)
{
	struct folder f;
	struct record_store *s;
	const struct record_job *j;
	uint64_t *ids;
	uid_t owner = (uid_t)-1;
	size_t n;

	folder_open(&f);
	put(f.mine, "7.head.jsonl", submit);
	put(f.mine, "7.2.c1.jsonl",
	    "{\"v\":1,\"event\":\"start\",\"time\":1001,\"job\":7,\"task\":2,\"restart\":0}\n{torn");
	put(f.mine, "70.head.jsonl",
	    "{\"v\":1,\"event\":\"submit\",\"time\":1,\"job\":70,\"name\":\"other\"}\n");
	put(f.mine, "x.jsonl", submit);
	put(f.mine, "7.head.json", submit);
	s = record_store_new(f.dir, NULL, NULL);
	j = record_store_job(s, geteuid(), 7, RECORD_SUBMIT);
	cr_assert(j && j->has_submit);
	cr_expect_eq(j->nruns, 0, "an element's file was read");
	j = record_store_job(s, geteuid(), 7, RECORD_ALL);
	cr_assert(j && j->has_submit && j->nruns == 1);
	cr_expect_null(record_store_job(s, geteuid(), 8, RECORD_ALL));
	cr_expect(record_store_owner(s, 70, &owner) && owner == geteuid());
	cr_expect(!record_store_owner(s, 71, &owner));
	record_store_recent(s, geteuid(), 0, &ids, &n);
	cr_expect(n == 2 && ids[0] == 70 && ids[1] == 7, "%zu", n);
	free(ids);
	record_store_recent(s, geteuid(), time(NULL) + 100, &ids, &n);
	cr_expect_eq(n, 0);
	free(ids);
	record_store_free(s);
	folder_close(&f);
}

/* Everybody may make files in the accounting folder; what another user made there says nothing about a job. */
Test(recordstore, another_owner_is_ignored)
{
	struct folder f;
	struct record_store *s;
	char other[128], path[160];
	const uid_t bob = 54321;

	if (geteuid() != 0)
		cr_skip_test("needs root to make another user's files");
	folder_open(&f);
	put(f.mine, "7.head.jsonl", submit);
	snprintf(path, sizeof(path), "%s/7.head.jsonl", f.mine);
	cr_assert(chown(path, bob, bob) == 0);
	/* a folder with bob's number that isn't bob's */
	snprintf(other, sizeof(other), "%s/%u", f.dir, bob);
	cr_assert(mkdir(other, 0755) == 0);
	put(other, "7.head.jsonl", submit);
	snprintf(path, sizeof(path), "%s/7.head.jsonl", other);
	cr_assert(chown(path, bob, bob) == 0);
	s = record_store_new(f.dir, NULL, NULL);
	cr_expect(!record_store_job(s, bob, 7, RECORD_ALL), "another's folder");
	cr_expect(!record_store_job(s, 0, 7, RECORD_ALL) ||
			  !record_store_job(s, 0, 7, RECORD_ALL)->has_submit,
		  "another's file");
	record_store_free(s);
	/* a link to a file of bob's own */
	cr_assert(chown(other, bob, bob) == 0);
	snprintf(path, sizeof(path), "%s/8.head.jsonl", other);
	cr_assert(symlink("7.head.jsonl", path) == 0);
	s = record_store_new(f.dir, NULL, NULL);
	cr_expect(record_store_job(s, bob, 7, RECORD_ALL), "bob's own");
	cr_expect(!record_store_job(s, bob, 8, RECORD_ALL) ||
			  !record_store_job(s, bob, 8, RECORD_ALL)->has_submit,
		  "a link");
	record_store_free(s);
	folder_close(&f);
}
