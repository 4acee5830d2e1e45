/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/directive.h"

#include <ctype.h>
#include <string.h>

#define MAGIC "#SBATCH"

static bool is_blank(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isspace((unsigned char)text[i]))
			return false;
	return true;
}

static bool has_dos_line_break(const char *text, size_t n)
{
	const char *p = text;

	while ((p = memchr(p, '\r', n - (size_t)(p - text)))) {
		if (p + 1 < text + n && p[1] == '\n')
			return true;
		p++;
	}
	return false;
}

int directive_check_script(const char *text, size_t n, struct error *err)
{
	if (!n)
		return error_set(err, ERR_VALUE, "Batch script is empty!");
	if (is_blank(text, n))
		return error_set(err, ERR_VALUE, "Batch script contains only whitespace!");
	if (n < 2 || text[0] != '#' || text[1] != '!')
		return error_set(err, ERR_VALUE,
				 "This does not look like a batch script.  The first\n"
				 "line must start with #! followed by the path to an interpreter.\n"
				 "For instance: #!/bin/sh");
	if (memchr(text, '\0', n))
		return error_set(err, ERR_VALUE,
				 "The Slurm controller does not allow scripts that\n"
				 "contain a NULL character '\\0'.");
	if (has_dos_line_break(text, n))
		return error_set(err, ERR_VALUE,
				 "Batch script contains DOS line breaks (\\r\\n)\n"
				 "instead of expected UNIX line breaks (\\n).");
	return 0;
}

void directives_release(struct directives *d)
{
	argvec_release(&d->words);
	*d = (struct directives)DIRECTIVES_INIT;
}

/* A line that is being read: [p, end). */
struct cursor {
	const char *file;
	unsigned line;
	const char *p, *end;
};

/*
 * One word, moved behind it. Quotes of both kinds may stand anywhere in it, a backslash takes the next character as
 * it is (but a blank ends the word all the same, as in Slurm), '#' outside quotes ends the line, and so does an empty
 * word, quoted or not. (NUL: no script has one, and a word ends with it.) 1: a word; 0: none is left.
 */
static int take_word(struct cursor *c, struct strbuf *word, struct error *err)
{
	bool escaped = false;
	char quote = '\0';
	const char *start = c->p, *p = c->p;

	strbuf_reset(word);
	while (p < c->end && isspace((unsigned char)*p))
		p++;
	if (p < c->end && *p == ':')
		return error_set(err, ERR_VALUE, "%s: line %u: Unexpected `:` in [%.*s]", c->file, c->line,
				 (int)(c->end - start), start);
	for (; p < c->end && (quote || !isspace((unsigned char)*p)); p++) {
		if (!*p) {
			break;
		} else if (escaped) {
			escaped = false;
			strbuf_addch(word, *p);
		} else if (*p == '\\') {
			escaped = true;
		} else if (quote && *p == quote) {
			quote = '\0';
		} else if (quote) {
			strbuf_addch(word, *p);
		} else if (*p == '\'' || *p == '"') {
			quote = *p;
		} else if (*p == '#') {
			break;
		} else {
			strbuf_addch(word, *p);
		}
	}
	if (quote)
		return error_set(err, ERR_VALUE, "%s: line %u: Unmatched `%c` in [%.*s]", c->file, c->line,
				 quote, (int)(c->end - start), start);
	c->p = p;
	return word->len > 0;
}

/* The words of one directive line, of which [p, end) is what stands behind #SBATCH. */
static int read_line(struct directives *d, struct cursor *c, struct error *err)
{
	cleanup_strbuf struct strbuf word = STRBUF_INIT;
	size_t before = d->words.n;
	int rc;

	while ((rc = take_word(c, &word, err)) > 0)
		argvec_push(&d->words, word.buf);
	if (rc < 0)
		return -1;
	if (d->words.n == before + 1 &&
	    (!strcmp(d->words.v[before], "hetjob") || !strcmp(d->words.v[before], "packjob"))) {
		if (!d->hetjob_line)
			d->hetjob_line = c->line;
		free(d->words.v[before]);
		d->words.v[--d->words.n] = NULL;
	}
	return 0;
}

static bool starts_with(const char *line, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - line) >= n && !memcmp(line, word, n);
}

static void note_other(struct directives *d, const char *line, const char *end, unsigned number)
{
	static const char *const others[] = { "#PBS", "#BSUB" };

	for (size_t i = 0; i < ARRAY_SIZE(others) && !d->pbs_line; i++)
		if (starts_with(line, end, others[i])) {
			d->pbs_line = number;
			d->pbs_word = others[i];
		}
}

int directives_read(struct directives *d, const char *file, const char *text, size_t n, struct error *err)
{
	const char *stop = text + n;
	unsigned number = 0;

	argvec_push(&d->words, "sbatch");
	for (const char *line = text; line < stop;) {
		const char *end = memchr(line, '\n', (size_t)(stop - line));
		const char *p = line;

		end = end ? end : stop;
		number++;
		while (p < end && isspace((unsigned char)*p))
			p++;
		if (p < end && *p != '#')
			break;
		if (starts_with(line, end, MAGIC)) {
			struct cursor c = { file, number, line + strlen(MAGIC), end };

			if (read_line(d, &c, err) < 0)
				return -1;
		} else {
			note_other(d, line, end, number);
		}
		line = end + 1;
	}
	return 0;
}
