/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that hold for every row of every command: documents, help and parsers are made from them without a
 * second look. */
#include "translate/applet.h"

#include "common/strbuf.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

#define MAX_ROWS 512

struct rows {
	const char *tool;
	const struct opt_row *row[MAX_ROWS];
	size_t n;
};

static void collect(const struct opt_row *row, void *arg)
{
	struct rows *rows = arg;

	cr_assert_lt(rows->n, MAX_ROWS);
	rows->row[rows->n++] = row;
}

/* Calls check for each row of each command; fails when there is none. */
static void each_row(void (*check)(const struct rows *rows, const struct opt_row *row))
{
	const struct applet *applet;
	size_t seen = 0;

	for (size_t i = 0; (applet = applet_at(i)); i++) {
		struct rows rows = { applet->name, { NULL }, 0 };

		if (!applet->options)
			continue;
		opt_walk(applet->options, collect, &rows);
		cr_expect_gt(rows.n, 0, "%s has an empty table", rows.tool);
		for (size_t k = 0; k < rows.n; k++, seen++)
			check(&rows, rows.row[k]);
	}
	cr_assert_gt(seen, 0);
}

static void check_name(const struct rows *rows, const struct opt_row *row)
{
	size_t names = 0, letters = 0;

	for (size_t k = 0; k < rows->n; k++) {
		names += !strcmp(rows->row[k]->name, row->name);
		letters += row->key && rows->row[k]->key == row->key;
	}
	cr_expect_eq(names, 1, "%s --%s: %zu rows of this name", rows->tool, row->name, names);
	cr_expect_leq(letters, 1, "%s -%c: %zu rows of this letter", rows->tool, row->key, letters);
	for (const char *p = row->name; *p; p++)
		cr_expect(isalnum((unsigned char)*p) || *p == '-' || *p == '_',
			  "%s --%s: a name of letters and dashes", rows->tool, row->name);
}

Test(rows, names_and_letters_are_unique)
{
	each_row(check_name);
}

/* One sentence, ready to stand in a list. */
static bool is_sentence(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	/* an ellipsis isn't a full stop */
	if (n > 3 && !strcmp(text + n - 3, "..."))
		n -= 3;
	return n > 0 && text[n - 1] != '.' && !isspace((unsigned char)text[0]) && !strpbrk(text, "\t\n");
}

static void check_texts(const struct rows *rows, const struct opt_row *row)
{
	cr_expect(is_sentence(row->help), "%s --%s: help \"%s\"", rows->tool, row->name, row->help);
	cr_expect_eq(row->arg != no_argument, row->metavar != NULL,
		     "%s --%s: a metavar exactly where there is an argument", rows->tool, row->name);
	cr_expect(!row->metavar || *row->metavar, "%s --%s: empty metavar", rows->tool, row->name);
	cr_expect(!row->sge || !strpbrk(row->sge, "\t\n"), "%s --%s: sge \"%s\"", rows->tool, row->name,
		  row->sge);
}

Test(rows, help_and_metavar)
{
	each_row(check_texts);
}

static void check_fate(const struct rows *rows, const struct opt_row *row)
{
	switch (row->fate) {
	case FATE_MAPPED:
		cr_expect_not_null(row->parse, "%s --%s: MAPPED, but nothing parses it", rows->tool,
				   row->name);
		break;
	case FATE_APPROXIMATED:
		cr_expect_not_null(row->parse, "%s --%s: APPROXIMATED, but nothing parses it", rows->tool,
				   row->name);
		cr_expect(is_sentence(row->note), "%s --%s: what is different?", rows->tool, row->name);
		break;
	case FATE_IGNORED:
		cr_expect(is_sentence(row->note), "%s --%s: ignored, but why?", rows->tool, row->name);
		break;
	case FATE_REFUSED:
		/* a parse function may say first what is wrong with the value, but has nowhere to store it */
		cr_expect_eq(row->offset, 0, "%s --%s: REFUSED, but has a field", rows->tool, row->name);
		cr_expect(is_sentence(row->note), "%s --%s: refused, but why?", rows->tool, row->name);
		break;
	default:
		cr_expect_fail("%s --%s: fate %d", rows->tool, row->name, row->fate);
	}
}

Test(rows, fate_is_kept)
{
	each_row(check_fate);
}

/* Two rows that write one field must mean to: then they are flags with different numbers. */
static void check_field(const struct rows *rows, const struct opt_row *row)
{
	for (size_t k = 0; k < rows->n; k++) {
		const struct opt_row *other = rows->row[k];

		if (other == row || !row->offset || other->offset != row->offset || !row->parse ||
		    !other->parse)
			continue;
		cr_expect(row->parse != other->parse || row->number != other->number,
			  "%s: --%s and --%s do the same to the same field", rows->tool, row->name,
			  other->name);
	}
}

Test(rows, no_two_do_the_same)
{
	each_row(check_field);
}

Test(rows, every_listed_command_is_an_applet)
{
	static const char *const commands[] = {
#define COMMAND(name) #name,
#include "common/commands.def"
#undef COMMAND
	};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		cr_expect_not_null(applet_find(commands[i]), "%s is in common/commands.def, but no applet",
				   commands[i]);
}
