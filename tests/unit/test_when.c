/* SPDX-License-Identifier: Apache-2.0 */
#include "common/when.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* 2026-11-29T13:25:34 UTC: when the answers were recorded. */
#define NOW 1795958734

/* What sbatch --begin of Slurm 22.05 made of each text: the time, or -1 and the place where it says it stopped. */
static const struct {
	const char *text;
	long want;
	int pos;
} cases[] = {
	{ "now+1", 1795958735, 0 },
	{ "now+60", 1795958794, 0 },
	{ "now+60seconds", 1795958794, 0 },
	{ "now+60second", 1795958794, 0 },
	{ "now+60sec", -1, 5 },
	{ "now+1minute", 1795958794, 0 },
	{ "now+1min", -1, 4 },
	{ "now+1m", -1, 4 },
	{ "now+1hour", 1795962334, 0 },
	{ "now+1hours", 1795962334, 0 },
	{ "now+1h", -1, 4 },
	{ "now+1days", 1796045134, 0 },
	{ "now+1week", 1796563534, 0 },
	{ "now+1weeks", 1796563534, 0 },
	{ "now+1s", -1, 4 },
	{ "now + 1hour", 1795962334, 0 },
	{ "now +1hour", 1795962334, 0 },
	{ "now-1hour", 1795955134, 0 },
	{ "now+x", -1, 3 },
	{ "now+", -1, 3 },
	{ "NOW", 1795958734, 0 },
	{ "tomorrow", 1795996800, 0 },
	{ "today", 1795910400, 0 },
	{ "midnight", 1795996800, 0 },
	{ "noon", 1796040000, 0 },
	{ "teatime", 1795968000, 0 },
	{ "elevenses", -1, 0 },
	{ "fika", 1795964400, 0 },
	{ "16:00:30", 1795968030, 0 },
	{ "25:00", -1, 0 },
	{ "4PM", -1, 1 },
	{ "4:30pm", 1795969800, 0 },
	{ "4:30 pm", 1795969800, 0 },
	{ "12pm", -1, 2 },
	{ "13pm", -1, 0 },
	{ "2030-01-20", 1895097600, 0 },
	{ "2030-01-20T12:34:00", 1895142840, 0 },
	{ "2030-01-20 12:34", 1895142840, 0 },
	{ "01/20/2030", -1, 8 },
	{ "1/2/30", 1893542400, 0 },
	{ "012030", 1895097600, 0 },
	{ "20300120", -1, 0 },
	{ "01.20.30", 1895097600, 0 },
	{ "010/20", -1, 1 },
	{ "tomorrow noon", 1796040000, 0 },
	{ "noon tomorrow", 1796040000, 0 },
	{ "uptime", -1, 0 },
	{ "1893456000", -1, 0 },
	{ "", 0, 0 },
	{ "x", -1, 0 },
	{ "next week", -1, 0 },
	{ "16:00 tomorrow", 1796054400, 0 },
	/* not in the recording; by Slurm's manual */
	{ "uts1900000000", 1900000000, 0 },
	{ "uts12", -1, 0 },
	{ "12:30am", 1795998600, 0 },
	{ "13:25", 1796045100, 0 },
	{ "13:26", 1795958760, 0 },
	{ "1129", 1827446400, 0 },
	{ "1130", 1795996800, 0 },
	{ "12/24", 1798070400, 0 },
	{ "2030-13-01", -1, 5 },
	{ "now+99999999999", -1, 12 },
};

Test(when, reads_what_slurm_reads)
{
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		time_t t = 5;
		int pos = 0;
		int rc = when_parse(cases[i].text, NOW, &t, &pos);

		cr_expect_eq(rc, cases[i].want < 0 ? -1 : 0, "%s: %d", cases[i].text, rc);
		if (rc < 0)
			cr_expect_eq(pos, cases[i].pos, "%s: stopped at %d", cases[i].text, pos);
		else
			cr_expect_eq(t, cases[i].want, "%s: %ld", cases[i].text, (long)t);
	}
}

Test(when, is_in_local_time)
{
	time_t t;
	int pos;

	setenv("TZ", "CET-1", 1);
	tzset();
	cr_assert_eq(when_parse("2030-01-20T12:34:00", NOW, &t, &pos), 0);
	cr_expect_eq(t, 1895139240, "%ld", (long)t);
}
