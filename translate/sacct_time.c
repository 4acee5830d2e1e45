/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "translate/sacct.h"

#include <string.h>
#include <strings.h>
#include <time.h>

static time_t at(time_t day, int hour, int days)
{
	struct tm tm;

	localtime_r(&day, &tm);
	tm.tm_hour = hour;
	tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday += days;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

/* "+1hour", "-30" behind "now": seconds, or the unit's. */
static int parse_offset(const char *text, time_t *t)
{
	static const struct {
		const char *name;
		int seconds;
	} units[] = {
		{ "seconds", 1 }, { "minutes", 60 }, { "hours", 3600 }, { "days", 86400 }, { "weeks", 604800 }
	};
	char *unit;
	long n;

	if (!*text)
		return 0;
	if ((*text != '+' && *text != '-') || text[1] < '0' || text[1] > '9')
		return -1;
	n = strtol(text, &unit, 10);
	if (n > INT32_MAX || n < -INT32_MAX)
		return -1;
	if (!*unit) {
		*t += n;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		/* "day", "days" */
		if (strncasecmp(units[i].name, unit, strlen(unit)) ||
		    strlen(unit) + 1 < strlen(units[i].name))
			continue;
		*t += n * units[i].seconds;
		return 0;
	}
	return -1;
}

static int parse_date(const char *text, time_t now, time_t *t)
{
	static const char *const formats[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%H:%M:%S",    "%H:%M",
		"%m/%d/%y-%H:%M:%S", "%m/%d/%y-%H:%M", "%m/%d/%y", "%m/%d-%H:%M", "%m/%d"
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct tm tm;
		const char *rest;

		localtime_r(&now, &tm);
		tm.tm_sec = 0;
		if (formats[i][1] != 'H')
			tm.tm_hour = tm.tm_min = 0;
		tm.tm_isdst = -1;
		rest = strptime(text, formats[i], &tm);
		if (!rest || *rest)
			continue;
		*t = mktime(&tm);
		return 0;
	}
	return -1;
}

int sacct_parse_time(const char *text, time_t now, time_t *t)
{
	if (!strncasecmp(text, "now", 3)) {
		*t = now;
		return parse_offset(text + 3, t);
	}
	if (!strcasecmp(text, "today") || !strcasecmp(text, "midnight"))
		*t = at(now, 0, 0);
	else if (!strcasecmp(text, "noon"))
		*t = at(now, 12, 0);
	else if (!strcasecmp(text, "tomorrow"))
		*t = at(now, 0, 1);
	else
		return parse_date(text, now, t);
	return 0;
}
