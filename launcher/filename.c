/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/filename.h"

#include "common/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define WIDTH_MAX 10

/* A "%<width><letter>" at p: its letter, *width (0: none) and *len. Anything else: 0. */
static char word_at(const char *p, int *width, size_t *len)
{
	const char *q = p + 1;
	long w = 0;

	while (isdigit((unsigned char)*q)) {
		w = w > WIDTH_MAX ? w : w * 10 + (*q - '0');
		q++;
	}
	if (!*q)
		return 0;
	*width = (int)(w > WIDTH_MAX ? WIDTH_MAX : w);
	*len = (size_t)(q - p) + 1;
	return *q;
}

static bool holds(const char *pattern, const char *letters)
{
	int width;
	size_t len;

	if (strchr(pattern, '\\'))
		return false;
	for (const char *p = strchr(pattern, '%'); p; p = strchr(p, '%')) {
		char letter = word_at(p, &width, &len);

		if (letter && strchr(letters, letter))
			return true;
		p += letter ? len : 1;
	}
	return false;
}

bool filename_is_local(const char *pattern)
{
	return holds(pattern, "tnN");
}

bool filename_is_per_rank(const char *pattern)
{
	return holds(pattern, "t");
}

static char *without_backslashes(const char *pattern)
{
	struct strbuf out = STRBUF_INIT;

	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		strbuf_addch(&out, *p);
	}
	return strbuf_steal(&out);
}

static bool add_text(struct strbuf *out, const char *text)
{
	if (text)
		strbuf_addstr(out, text);
	return text != NULL;
}

static bool add_step_word(struct strbuf *out, const struct filename_step *s, char letter, int width,
			  bool keep_percent)
{
	switch (letter) {
	case 'j':
		strbuf_addf(out, "%0*" PRIu64, width, s->job_id);
		return true;
	case 'J':
		strbuf_addf(out, "%0*" PRIu64 ".%" PRIu32, width, s->job_id, s->step_id);
		return true;
	case 's':
		strbuf_addf(out, "%0*" PRIu32, width, s->step_id);
		return true;
	case 'x':
		return add_text(out, s->job_name);
	case 'u':
		return add_text(out, s->user);
	case 'A':
		strbuf_addf(out, "%0*" PRIu64, width,
			    s->array_job ? (uint64_t)strtoull(s->array_job, NULL, 10) : s->job_id);
		return true;
	case 'a':
		strbuf_addf(out, "%0*lu", width,
			    s->array_task ? strtoul(s->array_task, NULL, 10) : 4294967294UL);
		return true;
	case '%':
		strbuf_addstr(out, keep_percent ? "%%" : "%");
		return true;
	default:
		return false;
	}
}

char *filename_of_step(const char *pattern, const struct filename_step *s)
{
	struct strbuf out = STRBUF_INIT;
	bool local = filename_is_local(pattern);

	if (strchr(pattern, '\\'))
		return without_backslashes(pattern);
	for (const char *p = pattern; *p;) {
		int width = 0;
		size_t len = 1;
		char letter = *p == '%' ? word_at(p, &width, &len) : 0;

		if (!letter || !add_step_word(&out, s, letter, width, local)) {
			len = letter ? len : 1;
			strbuf_add(&out, p, len);
		}
		p += len;
	}
	return strbuf_steal(&out);
}

char *filename_of_rank(const char *pattern, const char *node, uint32_t node_index, uint32_t rank)
{
	struct strbuf out = STRBUF_INIT;

	for (const char *p = pattern; *p;) {
		int width = 0;
		size_t len = 1;
		char letter = *p == '%' ? word_at(p, &width, &len) : 0;

		if (letter == 't')
			strbuf_addf(&out, "%0*" PRIu32, width, rank);
		else if (letter == 'n')
			strbuf_addf(&out, "%0*" PRIu32, width, node_index);
		else if (letter == 'N')
			strbuf_addstr(&out, node);
		else if (letter == '%')
			strbuf_addch(&out, '%');
		else
			strbuf_add(&out, p, len = letter ? len : 1);
		p += len;
	}
	return strbuf_steal(&out);
}
