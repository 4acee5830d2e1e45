/* SPDX-License-Identifier: Apache-2.0 */
#include "common/duration.h"

#include "common/mem.h"

#include <ctype.h>
#include <string.h>

/* Slurm keeps limits as 32-bit minutes; its two largest values mean "no limit". */
#define MINUTES_MAX 4294967293LL

static int not_a_time(const char *text, struct error *err)
{
	return error_set(err, ERR_USAGE, "\"%s\" is not a time", text);
}

/* Digits at *s, which moves behind them; saturates far above any limit. -1 where there are none. */
static int take_number(const char **s, int64_t *out)
{
	int64_t v = 0;

	if (!isdigit((unsigned char)**s))
		return -1;
	for (; isdigit((unsigned char)**s); (*s)++)
		if (v < INT64_C(1000000000000))
			v = v * 10 + (**s - '0');
	*out = v;
	return 0;
}

/* Numbers with ':' between them at *s, at most max; returns how many, -1 when malformed. */
static int take_fields(const char **s, int64_t *field, int max)
{
	int n = 0;

	for (;;) {
		if (n == max || take_number(s, &field[n++]) < 0)
			return -1;
		if (**s != ':')
			return n;
		++*s;
	}
}

int duration_parse(const char *text, int64_t *seconds, struct error *err)
{
	int64_t days = 0, field[3] = { 0, 0, 0 }, total;
	const char *s = text;
	int n;

	if (!strcasecmp(text, "INFINITE") || !strcasecmp(text, "UNLIMITED")) {
		*seconds = DURATION_INFINITE;
		return 0;
	}
	/* Slurm takes "-5" for 2^32 - 5 minutes: no limit either */
	if (text[0] == '-' && text[1] && text[1 + strspn(text + 1, "0123456789")] == '\0') {
		*seconds = DURATION_INFINITE;
		return 0;
	}
	n = take_fields(&s, field, 3);
	if (n < 0)
		return not_a_time(text, err);
	if (n == 1 && *s == '-') {
		days = field[0];
		field[0] = 0;
		s++;
		if (*s && take_fields(&s, field, 3) < 0) /* d- is d days */
			return not_a_time(text, err);
		n = 3;
	}
	if (*s)
		return not_a_time(text, err);
	if (n < 3) /* m, m:s */
		total = field[0] * 60 + field[1];
	else
		total = days * 86400 + field[0] * 3600 + field[1] * 60 + field[2];
	total = (total + 59) / 60;
	*seconds = total == 0 || total > MINUTES_MAX ? DURATION_INFINITE : total * 60;
	return 0;
}

char *duration_format(int64_t seconds)
{
	long long d = seconds / 86400, h = seconds / 3600 % 24, m = seconds / 60 % 60, s = seconds % 60;

	if (seconds == DURATION_INFINITE)
		return xstrdup("UNLIMITED");
	if (seconds < 0)
		return xstrdup("INVALID");
	if (d)
		return xasprintf("%lld-%02lld:%02lld:%02lld", d, h, m, s);
	return xasprintf("%02lld:%02lld:%02lld", h, m, s);
}

char *duration_format_short(int64_t seconds)
{
	long long h = seconds / 3600, m = seconds / 60 % 60, s = seconds % 60;

	if (seconds < 0 || seconds >= 86400)
		return duration_format(seconds);
	if (h)
		return xasprintf("%lld:%02lld:%02lld", h, m, s);
	return xasprintf("%lld:%02lld", m, s);
}
