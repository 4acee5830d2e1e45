/* SPDX-License-Identifier: Apache-2.0 */
/* What sbatch asks of the engine about when a job runs, who is told, and what --wait makes of records. */
#include "common/duration.h"
#include "common/mem.h"
#include "translate/emit_qsub.h"
#include "translate/export_file.h"
#include "translate/reservation.h"
#include "translate/wait_job.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct request request;

static void start(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	request_init(&request);
	request.tasks = 1;
}

static void finish(void)
{
	request_release(&request);
}

TestSuite(timing, .init = start, .fini = finish);

static void expect_words(const struct qsub_input *in, const char *want)
{
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_strbuf struct strbuf got = STRBUF_INIT;

	emit_qsub(in, &argv);
	argvec_quote(&argv, &got);
	cr_expect(strstr(got.buf, want), "%s isn't in %s", want, got.buf);
}

Test(timing, words_for_the_engine)
{
	struct geometry g = { 1, 1, 1, 1, 1 };
	struct qsub_input in = { .request = &request, .geometry = &g, .name = "x", .script = "/s/stub" };

	expect_words(&in, "-N x -r y /s/stub");
	in.not_before = 1895139240;
	expect_words(&in, " -a 203001201134.00 ");
	in.reservation = "7";
	expect_words(&in, " -ar 7 ");
	request.mail = MAIL_END | MAIL_FAIL;
	expect_words(&in, " -m ea /s/stub");
	request.mail = MAIL_BEGIN | MAIL_END | MAIL_REQUEUE;
	request.mail_user = xstrdup("a@b,c@d");
	expect_words(&in, " -m bea -M a@b,c@d ");
	request.mail = MAIL_ARRAY_TASKS;
	expect_words(&in, " -ar 7 /s/stub");
}

Test(timing, times_that_contradict_each_other)
{
	struct error err = ERROR_INIT;

	cr_expect_eq(request_check_times(&request, 1000, &err), 0);
	request.deadline = 1001;
	request.time_limit = 60;
	cr_expect_eq(request_check_times(&request, 1000, &err), 0);
	cr_expect_eq(request_check_times(&request, 1001, &err), -1);
	cr_expect(strstr(err.text, "Requested time limit is invalid"));
	request.deadline = 0;
	request.time_min = 61;
	cr_expect_eq(request_check_times(&request, 1000, &err), -1);
}

/* --- --wait --- */

#define LINE(event, rest) "{\"v\":1,\"event\":\"" event "\",\"time\":5,\"job\":7" rest "}\n"
#define ENDED(task, restart, state, code, signal)                                                            \
	LINE("end", ",\"task\":" task ",\"restart\":" restart ",\"state\":\"" state "\",\"code\":" code      \
		    ",\"signal\":" signal)

static const struct {
	const char *lines;
	bool gone, over;
	int code;
} waits[] = {
	{ "", false, false, 0 },
	{ "", true, true, 0 }, /* cancelled while it was pending */
	{ LINE("start", ""), false, false, 0 },
	{ LINE("start", ""), true, true, 1 }, /* killed with its supervisor */
	{ ENDED("0", "0", "COMPLETED", "0", "0"), false, true, 0 },
	{ ENDED("0", "0", "FAILED", "3", "0"), false, true, 3 },
	{ ENDED("0", "0", "FAILED", "0", "9"), false, true, 1 },
	{ ENDED("0", "0", "CANCELLED", "0", "15"), false, true, 1 },
	{ ENDED("0", "0", "CANCELLED", "5", "0"), false, true, 5 },         /* its trap's code, as in Slurm */
	{ ENDED("0", "0", "KILLED_BY_ENGINE", "0", "9"), false, false, 0 }, /* it may start again */
	{ ENDED("0", "0", "KILLED_BY_ENGINE", "0", "9"), true, true, 1 },
	{ ENDED("0", "0", "REQUEUED", "0", "15"), false, false, 0 },
	{ ENDED("0", "0", "REQUEUED", "0", "15"), true, true,
	  0 }, /* deleted while it waited to be started again */
	{ ENDED("0", "0", "REQUEUED", "0", "15") ENDED("0", "1", "FAILED", "4", "0"), false, true, 4 },
	{ LINE("submit", ",\"array\":[0,5]") ENDED("1", "0", "FAILED", "2", "0"), false, false, 2 },
	{ LINE("submit", ",\"array\":[0,5]") ENDED("1", "0", "FAILED", "2", "0")
		  ENDED("2", "0", "FAILED", "9", "0"),
	  false, true, 9 },
};

Test(timing, wait_reads_records)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		struct record_job job = { .id = 7 };
		struct wait_result w;

		for (const char *p = waits[i].lines; *p; p += strcspn(p, "\n") + 1)
			cr_assert_eq(record_parse_line(&job, p, strcspn(p, "\n")), 0, "%s", p);
		w = wait_look(&job, waits[i].gone);
		cr_expect_eq(w.over, waits[i].over, "%zu: %s", i, waits[i].lines);
		cr_expect_eq(w.code, waits[i].code, "%zu: code %d", i, w.code);
		record_job_release(&job);
	}
}

/* --- files and lists --- */

Test(timing, variables_from_a_descriptor_and_a_file)
{
	static const char content[] = "A=1\0junk\0B=two\nlines\0=x\0C=last";
	FILE *f = tmpfile();
	cleanup_env struct env env = ENV_INIT;
	struct error err = ERROR_INIT;
	char spec[32];

	env_set(&env, "A", "0");
	fwrite(content, 1, sizeof(content) - 1, f);
	rewind(f);
	snprintf(spec, sizeof(spec), "%d", fileno(f));
	cr_assert_eq(export_file_read(spec, &env, &err), 0, "%s", err.text);
	cr_expect_str_eq(env_get(&env, "A"), "1");
	cr_expect_str_eq(env_get(&env, "B"), "two\nlines");
	cr_expect_str_eq(env_get(&env, "C"), "last");
	cr_expect_eq(env.vars.n, 3);
	fclose(f);
	cr_expect_eq(export_file_read("/nosuch", &env, &err), -1);
	cr_expect_str_eq(err.text, "Could not open user environment file /nosuch");
	cr_expect_eq(export_file_read("1", &env, &err), -1); /* stdout is none */
}

Test(timing, reservations_by_name)
{
	const char *list = "ar-id   name       owner        state start at\n"
			   "------------------------------------------------\n"
			   "      1 maintenanc root         W     11/29/2026 17:24:00\n"
			   "     12 myar       root         E     11/29/2026 16:24:18\n"
			   "     13 maintenanc root         W     11/29/2026 17:24:00\n";
	const char *text = list;
	cleanup_free char *mine = reservation_parse(&text, "myar");
	cleanup_free char *first = NULL, *second = NULL, *third = NULL;

	cr_assert(mine);
	cr_expect_str_eq(mine, "12");
	text = list;
	cr_expect_null(reservation_parse(&text, "my"));
	text = list;
	first = reservation_parse(&text, "maintenance-long");
	second = reservation_parse(&text, "maintenance-long");
	third = reservation_parse(&text, "maintenance-long");
	cr_assert(first && second && !third);
	cr_expect_str_eq(first, "1");
	cr_expect_str_eq(second, "13");
}
