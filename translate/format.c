/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/format.h"

#include "common/mem.h"

#include <string.h>

enum {
	NAMED_WIDTH = 20,    /* of an -O field that says nothing */
	MAX_WIDTH = 1 << 20, /* more is a slip, and memory */
};

void format_release(struct format *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->fields[i].suffix);
	free(f->fields);
	free(f->prefix);
	*f = (struct format)FORMAT_INIT;
}

static struct format_field *add_field(struct format *f, int field)
{
	f->fields = xreallocarray(f->fields, f->n + 1, sizeof(*f->fields));
	f->fields[f->n] = (struct format_field){ .field = field };
	return &f->fields[f->n++];
}

/* "[.][size]" at p; the rest. */
static const char *parse_width(const char *p, struct format_field *out)
{
	out->right = *p == '.';
	p += out->right;
	out->width = 0;
	for (; *p >= '0' && *p <= '9'; p++)
		if (out->width < MAX_WIDTH)
			out->width = out->width * 10 + (size_t)(*p - '0');
	if (out->width > MAX_WIDTH)
		out->width = MAX_WIDTH;
	return p;
}

/* What is between two '%': a field and what follows it. */
static void parse_letter(struct format *f, const char *text, format_letter_fn *find,
			 format_invalid_fn *invalid)
{
	struct format_field width;
	const char *p = parse_width(text, &width);
	struct format_field *field = add_field(f, *p ? find(*p) : FORMAT_LITERAL);

	if (field->field == FORMAT_LITERAL) {
		char letter[2] = { *p, '\0' };

		invalid(letter);
		field->suffix = xasprintf("%%%s", text);
		return;
	}
	field->right = width.right;
	field->width = width.width;
	field->suffix = xstrdup(p + 1);
}

void format_parse(struct format *f, const char *text, format_letter_fn *find, format_invalid_fn *invalid)
{
	size_t n = strcspn(text, "%");

	f->prefix = xstrndup(text, n);
	for (text += n; *text; text += n) {
		cleanup_free char *token = NULL;

		text += strspn(text, "%"); /* two are one, as in Slurm */
		n = strcspn(text, "%");
		if (n == 0)
			continue;
		token = xstrndup(text, n);
		parse_letter(f, token, find, invalid);
	}
}

void format_parse_names(struct format *f, const char *text, format_name_fn *find, format_invalid_fn *invalid)
{
	size_t n;

	f->prefix = xstrdup("");
	for (; *text; text += n + (text[n] == ',')) {
		cleanup_free char *token = NULL;
		struct format_field *field;
		char *colon;
		int number;

		n = strcspn(text, ",");
		if (n == 0)
			continue;
		token = xstrndup(text, n);
		colon = strchr(token, ':');
		if (colon)
			*colon = '\0';
		number = find(token);
		if (number == FORMAT_LITERAL) {
			invalid(token);
			continue;
		}
		field = add_field(f, number);
		field->width = NAMED_WIDTH;
		field->suffix = xstrdup(colon ? parse_width(colon + 1, field) : "");
	}
}

static void add_blanks(struct strbuf *line, size_t n)
{
	while (n--)
		strbuf_addch(line, ' ');
}

void format_add(const struct format_field *f, const char *value, struct strbuf *line)
{
	size_t n = strlen(value);

	if (f->width && n > f->width)
		n = f->width;
	if (f->right && n < f->width)
		add_blanks(line, f->width - n);
	strbuf_add(line, value, n);
	if (!f->right && n < f->width)
		add_blanks(line, f->width - n);
	strbuf_addstr(line, f->suffix);
}
