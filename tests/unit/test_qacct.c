/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/qacct.h"

#include "common/compiler.h"

#include <criterion/criterion.h>

/* As 8.1.9 and OCS print them; one record is torn, one is of a process on another host. */
static const char text[] = "==============================================================\n"
			   "qname        all.q               \n"
			   "jobname      failed 3            \n"
			   "jobnumber    7                   \n"
			   "taskid       undefined\n"
			   "start_time   -/-\n"
			   "failed       25  : rescheduling\n"
			   "exit_status  99                  \n"
			   "ru_wallclock 3s\n"
			   "==============================================================\n"
			   "jobnumber                          7                   \n"
			   "taskid                             undefined\n"
			   "pe_taskid                          NONE\n"
			   "failed                             0    \n"
			   "exit_status                        42                  \n"
			   "ru_wallclock                       20.5         \n"
			   "==============================================================\n"
			   "jobnumber                          7                   \n"
			   "taskid                             undefined\n"
			   "pe_taskid                          1.node2\n"
			   "failed                             100 : assumedly after job\n"
			   "exit_status                        137 (Killed)\n"
			   "==============================================================\n"
			   "jobnumber    8\n"
			   "taskid       3\n"
			   "failed       100 : assumedly after job\n"
			   "exit_status  137                  (Killed)\n"
			   "==============================================================\n"
			   "jobnumber    8\n"
			   "taskid       4\n"
			   "failed       \n"
			   "exit_sta";

Test(qacct, parse)
{
	static const struct {
		uint64_t id;
		uint32_t task;
		int failed, exit_status; /* failed -1: no run */
		double wallclock;
	} rows[] = {
		{ 7, 0, 0, 42, 20.5 }, { 7, 1, -1, 0, 0 }, { 8, 3, 100, 137, 0 },
		{ 8, 4, -1, 0, 0 },    { 8, 0, -1, 0, 0 }, { 9, 0, -1, 0, 0 },
	};
	cleanup_qacct struct qacct q = QACCT_INIT;

	qacct_parse(&q, text);
	cr_expect_eq(q.n, 4);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct qacct_run *run = qacct_last_run(&q, rows[i].id, rows[i].task);

		if (rows[i].failed < 0) {
			cr_expect_null(run, "row %zu", i);
			continue;
		}
		cr_assert(run, "row %zu", i);
		cr_expect(run->failed == rows[i].failed && run->exit_status == rows[i].exit_status &&
				  run->wallclock >= rows[i].wallclock && run->wallclock <= rows[i].wallclock,
			  "row %zu: %d %d %g", i, run->failed, run->exit_status, run->wallclock);
	}
}

Test(qacct, verdict)
{
	static const struct {
		struct qacct_run run;
		int64_t time_limit;
		enum qacct_verdict verdict;
	} rows[] = {
		{ { .failed = 0, .exit_status = 0 }, 60, QACCT_COMPLETED },
		{ { .failed = 0, .exit_status = 42, .wallclock = 70 }, 60, QACCT_FAILED },
		{ { .failed = 0, .exit_status = 139 }, -1, QACCT_FAILED },
		{ { .failed = 25, .exit_status = 99 }, 60, QACCT_REQUEUED },
		{ { .failed = 37, .exit_status = 137, .wallclock = 59 }, 60, QACCT_TIMEOUT },
		{ { .failed = 37, .exit_status = 137, .wallclock = 59 }, -1, QACCT_KILLED },
		{ { .failed = 100, .exit_status = 137, .wallclock = 60 }, 60, QACCT_TIMEOUT },
		{ { .failed = 100, .exit_status = 137, .wallclock = 59 }, 60, QACCT_KILLED },
		{ { .failed = 100, .exit_status = 137, .wallclock = 59 }, -1, QACCT_KILLED },
		{ { .failed = 100, .exit_status = 1 }, 60, QACCT_UNKNOWN },
		{ { .failed = 26, .exit_status = 0 }, 60, QACCT_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(qacct_judge(&rows[i].run, rows[i].time_limit), rows[i].verdict, "row %zu", i);
}
