/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/grant.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* The value of the task's line; NULL. */
static const char *find_line(const char *text, uint32_t task)
{
	static const char name[] = "resource_map";

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *p = line + sizeof(name) - 1;
		uint64_t n = 0;

		if (strncmp(line, name, sizeof(name) - 1) || *p != ' ')
			continue;
		p += strspn(p, " ");
		if (!isdigit((unsigned char)*p))
			continue;
		for (; isdigit((unsigned char)*p) && n <= UINT32_MAX; p++)
			n = n * 10 + (uint64_t)(*p - '0');
		if (*p == ':' && n == task)
			return p + 1 + strspn(p + 1, " ");
	}
	return NULL;
}

/* Is word at *p, with end behind it? Then *p is behind that. */
static bool take(const char **p, const char *word, char end)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n) || (*p)[n] != end)
		return false;
	*p += n + 1;
	return true;
}

/* The ids up to the closing parenthesis. */
static uint32_t add_ids(const char *p, struct strbuf *out)
{
	uint32_t count = 0;

	while (*p && *p != ')' && *p != '\n') {
		size_t n = strcspn(p, " )\n");

		if (n) {
			if (out->len)
				strbuf_addch(out, ',');
			strbuf_add(out, p, n);
			count++;
		}
		p += n + (p[n] == ' ');
	}
	return count;
}

uint32_t grant_ids(const char *text, uint32_t task, const char *map, const char *host, struct strbuf *out)
{
	const char *p = find_line(text, task);
	uint32_t count = 0;

	/* each item ends with ")"; a host without ids has "()" */
	while (p && *p && *p != '\n') {
		size_t n = strcspn(p, ")\n");
		const char *item = p;

		if (take(&item, map, '=') && take(&item, host, '=') && *item == '(')
			count += add_ids(item + 1, out);
		p += n;
		if (*p == ')')
			p++;
		p += strspn(p, ", ");
	}
	return count;
}
