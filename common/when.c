/* SPDX-License-Identifier: Apache-2.0 */
#include "common/when.h"

#include "common/compiler.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DAY (24 * 60 * 60)
#define UNSET (-1)

/* What was said so far; members as in struct tm. */
struct when {
	const char *text;
	int pos;
	time_t now;
	struct tm local; /* now */
	int hour, minute, second, month, mday, year;
};

static bool digit_at(const struct when *w, int i)
{
	return isdigit((unsigned char)w->text[i]);
}

static void set_date(struct when *w, time_t t)
{
	struct tm tm;

	localtime_r(&t, &tm);
	w->month = tm.tm_mon;
	w->mday = tm.tm_mday;
	w->year = tm.tm_year;
}

static void set_time(struct when *w, int hour, int minute, int second)
{
	w->hour = hour;
	w->minute = minute;
	w->second = second;
}

/* Stops at offset, for the message. */
static int stop(struct when *w, int offset)
{
	w->pos = offset;
	return -1;
}

/* One or two digits at *offset. -1: none. */
static int take_number(const struct when *w, int *offset)
{
	int n;

	if (!digit_at(w, *offset))
		return -1;
	n = w->text[(*offset)++] - '0';
	if (digit_at(w, *offset))
		n = n * 10 + w->text[(*offset)++] - '0';
	return n;
}

/* Exactly two digits, at most max. */
static int take_pair(struct when *w, int *offset, int max, int *out)
{
	for (int i = 0; i < 2; i++)
		if (!digit_at(w, *offset + i))
			return stop(w, *offset + i);
	*out = take_number(w, offset);
	return *out > max ? stop(w, *offset - 2) : 0;
}

static bool has_word(const struct when *w, int offset, const char *word)
{
	return !strncasecmp(w->text + offset, word, strlen(word));
}

/* HH:MM[:SS] [AM|PM] */
static int take_clock(struct when *w)
{
	int offset = w->pos, minute = 0, second = 0;
	int hour = take_number(w, &offset);

	if (hour > 23)
		return stop(w, offset - 2);
	if (w->text[offset] != ':')
		return stop(w, offset);
	offset++;
	if (take_pair(w, &offset, 59, &minute) < 0)
		return -1;
	if (w->text[offset] == ':') {
		offset++;
		if (take_pair(w, &offset, 59, &second) < 0)
			return -1;
	}
	while (isspace((unsigned char)w->text[offset]))
		offset++;
	if (has_word(w, offset, "pm") || has_word(w, offset, "am")) {
		bool pm = tolower((unsigned char)w->text[offset]) == 'p';

		if (hour > 12)
			return stop(w, offset);
		hour = hour % 12 + (pm ? 12 : 0);
		offset += 2;
	}
	w->pos = offset;
	set_time(w, hour, minute, second);
	return 0;
}

/* YYYY-MM-DD: its year is over, offset is behind the dash. */
static int take_iso_date(struct when *w)
{
	int offset = w->pos + 5, month = 0, mday = 0, year = 0;

	for (int i = 0; i < 4; i++) {
		if (!digit_at(w, w->pos + i))
			return stop(w, w->pos + i);
		year = year * 10 + w->text[w->pos + i] - '0';
	}
	if (take_pair(w, &offset, 12, &month) < 0)
		return -1;
	offset++;
	if (take_pair(w, &offset, 31, &mday) < 0)
		return -1;
	if (year < 1970 || !month || !mday)
		return stop(w, w->pos);
	w->pos = offset;
	w->month = month - 1;
	w->mday = mday;
	w->year = year - 1900;
	return 0;
}

static bool is_separator(char c)
{
	return c == '.' || c == '/';
}

/* MM[./]DD[[./]YY] */
static int take_date(struct when *w)
{
	int offset = w->pos, month, mday, year;

	if (strlen(w->text + w->pos) >= 8 && w->text[w->pos + 4] == '-' && w->text[w->pos + 7] == '-')
		return take_iso_date(w);
	month = take_number(w, &offset);
	if (month < 1 || month > 12)
		return stop(w, offset - 2);
	if (is_separator(w->text[offset]))
		offset++;
	mday = take_number(w, &offset);
	if (mday < 0)
		return stop(w, offset);
	if (mday < 1 || mday > 31)
		return stop(w, offset - 2);
	if (is_separator(w->text[offset]) || digit_at(w, offset)) {
		offset += is_separator(w->text[offset]);
		if (take_pair(w, &offset, 99, &year) < 0)
			return -1;
		w->year = year + 100;
	}
	w->pos = offset;
	w->month = month - 1;
	w->mday = mday;
	return 0;
}

/* N[unit] behind the sign at w->pos. */
static int take_delta(struct when *w, long *delta)
{
	static const struct {
		const char *name;
		long seconds;
	} units[] = { { "seconds", 1 },     { "second", 1 },    { "minutes", 60 }, { "minute", 60 },
		      { "hours", 3600 },    { "hour", 3600 },   { "days", DAY },   { "day", DAY },
		      { "weeks", 7 * DAY }, { "week", 7 * DAY } };
	int offset = w->pos + 1;
	bool any = false;
	long n = 0;

	for (; w->text[offset]; offset++) {
		size_t u = 0;

		if (isspace((unsigned char)w->text[offset]))
			continue;
		if (digit_at(w, offset)) {
			n = n * 10 + w->text[offset] - '0';
			any = true;
			if (n > INT_MAX)
				return stop(w, offset - 1);
			continue;
		}
		while (u < ARRAY_SIZE(units) && !has_word(w, offset, units[u].name))
			u++;
		if (u == ARRAY_SIZE(units))
			return stop(w, offset - 1);
		offset += (int)strlen(units[u].name);
		n *= units[u].seconds;
		break;
	}
	if (!any)
		return stop(w, offset - 1);
	w->pos = offset;
	*delta = n;
	return 0;
}

/* now, now+N, now-N */
static int take_now(struct when *w)
{
	struct tm tm;
	long delta = 0;
	time_t t;
	char sign;

	for (w->pos += 3; w->text[w->pos] == ' ' || w->text[w->pos] == '\t'; w->pos++)
		;
	sign = w->text[w->pos];
	if (sign != '+' && sign != '-' && sign)
		return -1;
	if (sign && take_delta(w, &delta) < 0)
		return -1;
	t = w->now + (sign == '-' ? -delta : delta);
	localtime_r(&t, &tm);
	set_date(w, t);
	set_time(w, tm.tm_hour, tm.tm_min, tm.tm_sec);
	return 0;
}

/* Names of days and hours. 1: there is none here. */
static int take_word(struct when *w)
{
	static const struct {
		const char *name;
		int hour, days; /* hour UNSET: it is a day, by so many later */
	} words[] = { { "today", UNSET, 0 }, { "tomorrow", UNSET, 1 }, { "midnight", 0, 0 },
		      { "noon", 12, 0 },     { "fika", 15, 0 },        { "teatime", 16, 0 } };

	if (has_word(w, w->pos, "now"))
		return take_now(w);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!has_word(w, w->pos, words[i].name))
			continue;
		w->pos += (int)strlen(words[i].name);
		if (words[i].hour == UNSET)
			set_date(w, w->now + words[i].days * DAY);
		else
			set_time(w, words[i].hour, 0, 0);
		return 0;
	}
	return 1;
}

static int take_item(struct when *w)
{
	int rc = take_word(w);

	if (rc <= 0)
		return rc;
	if (!digit_at(w, w->pos))
		return -1;
	if (w->text[w->pos + 1] == ':' || (w->text[w->pos + 1] && w->text[w->pos + 2] == ':'))
		return take_clock(w);
	return take_date(w);
}

/* Is the time of day, or the day of the year, still to come? To the minute, as Slurm looks at it. */
static bool is_later_today(const struct when *w)
{
	return w->hour > w->local.tm_hour || (w->hour == w->local.tm_hour && w->minute > w->local.tm_min);
}

static bool is_later_this_year(const struct when *w)
{
	if (w->month != w->local.tm_mon)
		return w->month > w->local.tm_mon;
	return w->mday > w->local.tm_mday || (w->mday == w->local.tm_mday && is_later_today(w));
}

static void complete(struct when *w)
{
	if (w->hour == UNSET)
		set_time(w, 0, 0, 0);
	if (w->month == UNSET)
		set_date(w, is_later_today(w) ? w->now : w->now + DAY);
	if (w->year == UNSET)
		w->year = w->local.tm_year + !is_later_this_year(w);
}

int when_parse(const char *text, time_t now, time_t *out, int *pos)
{
	struct when w = { .text = text,
			  .now = now,
			  .hour = UNSET,
			  .minute = UNSET,
			  .month = UNSET,
			  .mday = UNSET,
			  .year = UNSET };
	struct tm tm = { .tm_isdst = -1 };

	*out = 0;
	if (!strncasecmp(text, "uts", 3)) {
		char *end;
		long seconds = strtol(text + 3, &end, 10);

		*out = *end || seconds < 1000000 || seconds == LONG_MAX ? 0 : (time_t)seconds;
		*pos = 0;
		return *out ? 0 : -1;
	}
	localtime_r(&now, &w.local);
	while (w.text[w.pos]) {
		if (strchr(" \t-T", w.text[w.pos]))
			w.pos++;
		else if (take_item(&w) < 0) {
			*pos = w.pos < 0 ? 0 : w.pos;
			return -1;
		}
	}
	if (w.hour == UNSET && w.month == UNSET)
		return 0;
	complete(&w);
	tm.tm_sec = w.second;
	tm.tm_min = w.minute;
	tm.tm_hour = w.hour;
	tm.tm_mday = w.mday;
	tm.tm_mon = w.month;
	tm.tm_year = w.year;
	*out = mktime(&tm);
	*pos = w.pos;
	return *out == (time_t)-1 ? -1 : 0;
}
