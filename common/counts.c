/* SPDX-License-Identifier: Apache-2.0 */
#include "common/counts.h"

#include "common/mem.h"
#include "common/strbuf.h"

#include <ctype.h>

char *counts_format(const uint32_t *v, size_t n)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && v[next] == v[i];)
			next++;
		if (i)
			strbuf_addch(&out, ',');
		strbuf_addf(&out, "%u", (unsigned)v[i]);
		if (next > i + 1)
			strbuf_addf(&out, "(x%zu)", next - i);
	}
	return strbuf_steal(&out);
}

/* Digits at *s, which moves behind them. 0, or -1 where there are none or the number needs more than 32 bits. */
static int take_number(const char **s, uint32_t *out)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**s))
		return -1;
	for (; isdigit((unsigned char)**s); (*s)++) {
		v = v * 10 + (uint64_t)(**s - '0');
		if (v > UINT32_MAX)
			return -1;
	}
	*out = (uint32_t)v;
	return 0;
}

/* "2" or "2(x3)" at *s, which moves behind it. */
static int take_item(const char **s, uint32_t *value, uint32_t *times)
{
	*times = 1;
	if (take_number(s, value) < 0)
		return -1;
	if (**s != '(')
		return 0;
	if (*++*s != 'x')
		return -1;
	++*s;
	if (take_number(s, times) < 0 || *times == 0 || **s != ')')
		return -1;
	++*s;
	return 0;
}

int counts_parse(const char *text, size_t max, uint32_t **v, size_t *n, struct error *err)
{
	cleanup_free uint32_t *list = NULL;
	size_t used = 0;

	for (const char *s = text; *s;) {
		uint32_t value, times;

		if (take_item(&s, &value, &times) < 0 || (*s && *s != ',') || (*s && !s[1]))
			return error_set(err, ERR_USAGE, "\"%s\" is not a list of counts", text);
		if (times > max - used)
			return error_set(err, ERR_USAGE, "\"%s\": more than %zu counts", text, max);
		list = xreallocarray(list, used + times, sizeof(*list));
		while (times--)
			list[used++] = value;
		if (*s)
			s++;
	}
	*v = steal_ptr(&list);
	*n = used;
	return 0;
}
