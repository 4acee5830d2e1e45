/* SPDX-License-Identifier: Apache-2.0 */
#include "common/duration.h"

#include <criterion/criterion.h>

#define NONE DURATION_INFINITE
#define BAD INT64_MIN

/*
 * What sbatch --time of Slurm 22.05 made of each text. Left out: 99999999, where its clock overflows; "-5", its four
 * billion minutes, is no limit here.
 */
static const struct {
	const char *text;
	int64_t seconds;
} limits[] = {
	{ "0", NONE },
	{ "1", 60 },
	{ "60", 3600 },
	{ "1440", 86400 },
	{ "5:5", 360 },
	{ "0:30", 60 },
	{ "0:01", 60 },
	{ "0:00", NONE },
	{ "1:00:00", 3600 },
	{ "01:02:03", 3780 },
	{ "100:00:00", 360000 },
	{ "1-0", 86400 },
	{ "1-12", 129600 },
	{ "1-12:30", 131400 },
	{ "1-12:30:15", 131460 },
	{ "0-1", 3600 },
	{ "0-0:0:1", 60 },
	{ "365-0", 31536000 },
	{ "INFINITE", NONE },
	{ "infinite", NONE },
	{ "inf", BAD },
	{ "unlimited", NONE },
	{ "-1", NONE },
	{ "", BAD },
	{ "abc", BAD },
	{ "1h", BAD },
	{ "1:2:3:4", BAD },
	{ "1-2-3", BAD },
	{ "1:60", 120 },
	{ "1:99", 180 },
	{ "1:2:60", 3780 },
	{ "1-24", 172800 },
	{ "1-25:00", 176400 },
	{ "1-0:60", 90000 },
	{ "5:", BAD },
	{ "5:30:", BAD },
	{ ":30", BAD },
	{ "::", BAD },
	{ "-", BAD },
	{ "1.5", BAD },
	{ "1 ", BAD },
	{ "  5", BAD },
	{ "5x", BAD },
	{ "0x10", BAD },
	{ "4294967295", NONE },
	{ "2:3.5", BAD },
	{ "+5", BAD },
	{ "00010", 600 },
	{ "0-00:00:30", 60 },
	{ "1:00:00:00", BAD },
	{ "-1-0", BAD },
	{ "1-:30", BAD },
	{ "1-2:", BAD },
	{ "NONE", BAD },
	{ "1-", 86400 },
	{ "-5", NONE },
	{ "99999999999999999999", NONE },
	{ "99999999999999999999-0", NONE },
	{ "4294967293", INT64_C(4294967293) * 60 },
	{ "5 ", BAD },
	{ "1d", BAD },
	{ "1--2", BAD },
	{ "1-2-", BAD },
};

Test(duration, parse)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		int64_t seconds = 12345;
		struct error err = ERROR_INIT;
		int rc = duration_parse(limits[i].text, &seconds, &err);

		if (limits[i].seconds == BAD) {
			cr_expect_eq(rc, -1, "\"%s\" gives %lld", limits[i].text, (long long)seconds);
			cr_expect_eq(seconds, 12345);
			cr_expect_eq(err.code, ERR_USAGE);
			continue;
		}
		cr_expect_eq(rc, 0, "\"%s\"", limits[i].text);
		cr_expect_eq(seconds, limits[i].seconds, "\"%s\": %lld", limits[i].text, (long long)seconds);
	}
}

static const struct {
	int64_t seconds;
	const char *full, *brief;
} shown[] = {
	{ 0, "00:00:00", "0:00" },
	{ 59, "00:00:59", "0:59" },
	{ 61, "00:01:01", "1:01" },
	{ 600, "00:10:00", "10:00" },
	{ 3599, "00:59:59", "59:59" },
	{ 3600, "01:00:00", "1:00:00" },
	{ 86399, "23:59:59", "23:59:59" },
	{ 86400, "1-00:00:00", "1-00:00:00" },
	{ 4 * 86400 + 4 * 3600, "4-04:00:00", "4-04:00:00" },
	{ NONE, "UNLIMITED", "UNLIMITED" },
	{ -1, "INVALID", "INVALID" },
};

Test(duration, format)
{
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		cleanup_free char *full = duration_format(shown[i].seconds);
		cleanup_free char *brief = duration_format_short(shown[i].seconds);

		cr_expect_str_eq(full, shown[i].full);
		cr_expect_str_eq(brief, shown[i].brief);
	}
}
