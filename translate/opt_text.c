/* SPDX-License-Identifier: Apache-2.0 */
/* What people read of the rows: --help, --usage, and the table that documents are made from. */
#include "translate/opt.h"

#include "common/strbuf.h"

#include <string.h>

#define HELP_COLUMN 32

/* "=time", "[=time]", "". */
static void add_metavar(struct strbuf *sb, const struct opt_row *row)
{
	if (row->arg == required_argument)
		strbuf_addf(sb, "=%s", row->metavar);
	else if (row->arg == optional_argument)
		strbuf_addf(sb, "[=%s]", row->metavar);
}

static void print_help_row(const struct opt_row *row, void *arg)
{
	cleanup_strbuf struct strbuf left = STRBUF_INIT;

	if (row->hidden)
		return;
	if (row->key)
		strbuf_addf(&left, "  -%c, --%s", row->key, row->name);
	else
		strbuf_addf(&left, "      --%s", row->name);
	add_metavar(&left, row);
	if (left.len > HELP_COLUMN - 2)
		strbuf_addf(&left, "\n%*s", HELP_COLUMN, "");
	else
		strbuf_addf(&left, "%*s", HELP_COLUMN - (int)left.len, "");
	fprintf(arg, "%s%s%s\n", left.buf, row->help,
		row->fate == FATE_REFUSED   ? " (not supported)"
		: row->fate == FATE_IGNORED ? " (ignored)"
					    : "");
}

void opt_print_help(const struct opt_tool *tool, FILE *out)
{
	fprintf(out, "Usage: %s %s\n\n", tool->name, tool->synopsis);
	opt_walk(tool, print_help_row, out);
}

#define USAGE_WIDTH 78

struct usage {
	FILE *out;
	size_t indent, column;
};

static void print_usage_row(const struct opt_row *row, void *arg)
{
	struct usage *u = arg;
	cleanup_strbuf struct strbuf word = STRBUF_INIT;

	if (row->hidden || row->fate == FATE_REFUSED)
		return;
	strbuf_addstr(&word, " [");
	if (row->key && row->arg == required_argument) {
		strbuf_addf(&word, "-%c %s", row->key, row->metavar);
	} else {
		strbuf_addf(&word, "--%s", row->name);
		add_metavar(&word, row);
	}
	strbuf_addch(&word, ']');
	if (u->column + word.len > USAGE_WIDTH) {
		fprintf(u->out, "\n%*s", (int)u->indent, "");
		u->column = u->indent;
	}
	fputs(word.buf, u->out);
	u->column += word.len;
}

void opt_print_usage(const struct opt_tool *tool, FILE *out)
{
	struct usage u = { out, strlen("Usage: ") + strlen(tool->name), 0 };
	const char *words = tool->synopsis;

	if (tool->usage) {
		fputs(tool->usage, out);
		return;
	}
	fprintf(out, "Usage: %s", tool->name);
	u.column = u.indent;
	opt_walk(tool, print_usage_row, &u);
	if (!strncmp(words, "[OPTIONS...]", 12))
		words += 12;
	while (*words == ' ')
		words++;
	fprintf(out, *words ? "\n%*s %s\n" : "\n", (int)u.indent, "", words);
}

struct row_printer {
	const struct opt_tool *tool;
	FILE *out;
};

/* Every variable by its full name. */
static void add_variables(struct strbuf *sb, const struct opt_tool *tool, const char *env)
{
	for (const char *p = env; p && *p; p += strspn(p, " ")) {
		int n = (int)strcspn(p, " ");

		if (*p == '=')
			strbuf_addf(sb, "%s%.*s", sb->len ? " " : "", n - 1, p + 1);
		else
			for (const char *const *prefix = tool->prefixes; prefix && *prefix; prefix++)
				strbuf_addf(sb, "%s%s%.*s", sb->len ? " " : "", *prefix, n, p);
		p += n;
	}
}

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

static void print_row(const struct opt_row *row, void *arg)
{
	static const char *const args[] = { "no", "required", "optional" };
	struct row_printer *p = arg;
	cleanup_strbuf struct strbuf variables = STRBUF_INIT;
	char letter[2] = { row->key, 0 };

	add_variables(&variables, p->tool, row->env);
	fprintf(p->out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p->tool->name, row->name, letter,
		args[row->arg], variables.buf, text_or_empty(row->metavar), opt_fate_name(row->fate),
		text_or_empty(row->sge), text_or_empty(row->help), text_or_empty(row->note),
		row->hidden ? "hidden" : "");
}

void opt_print_rows(const struct opt_tool *tool, FILE *out)
{
	struct row_printer p = { tool, out };

	opt_walk(tool, print_row, &p);
}
