/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/opt.h"

#include "common/argvec.h"
#include "common/log.h"
#include "common/mem.h"

#include <string.h>

/* getopt's value of a long option is this + the row's index: above every letter. */
#define LONG_BASE 1000

static bool row_is_in(const struct opt_tool *tool, const struct opt_row *row)
{
	return !row->tools || (row->tools & tool->bit);
}

void opt_run_init(struct opt_run *run, const struct opt_tool *tool, void *target, const char *version)
{
	*run = (struct opt_run){ .tool = tool, .target = target, .version = version };
	run->warned = xcalloc(tool->nrows, sizeof(*run->warned));
	run->given = xcalloc(tool->nrows, sizeof(*run->given));
	run->origin = xcalloc(tool->nrows, sizeof(*run->origin));
}

void opt_run_release(struct opt_run *run)
{
	free(run->warned);
	free(run->given);
	free(run->origin);
	*run = (struct opt_run){ 0 };
}

/* --- one option --- */

/* A refusal names what the user wrote, and the option when that was a variable. */
static int refuse(const struct opt_context *ctx, struct error *err)
{
	if (ctx->origin == OPT_FROM_ENV)
		return error_set(err, ERR_VALUE, "%s (--%s): %s", ctx->spelled, ctx->row->name,
				 ctx->row->note);
	return error_set(err, ERR_VALUE, "%s: %s", ctx->spelled, ctx->row->note);
}

static void warn_once(const struct opt_context *ctx)
{
	bool *warned = &ctx->run->warned[ctx->row - ctx->run->tool->rows];

	if (*warned)
		return;
	*warned = true;
	log_info("Warning: %s %s: %s", ctx->spelled,
		 ctx->row->fate == FATE_IGNORED ? "is ignored" : "is done approximately", ctx->row->note);
}

static int apply(struct opt_context *ctx, struct error *err)
{
	const struct opt_row *row = ctx->row;
	size_t i = row - ctx->run->tool->rows;

	ctx->target = ctx->run->target;
	ctx->field = (char *)ctx->target + row->offset;
	if (row->parse && row->parse(ctx, err) < 0)
		return -1;
	if (row->fate == FATE_REFUSED)
		return refuse(ctx, err);
	ctx->run->given[i] = true;
	ctx->run->origin[i] = ctx->origin;
	if (row->fate != FATE_MAPPED && !ctx->run->no_warnings)
		warn_once(ctx);
	return 0;
}

/* --- getopt --- */

struct getopt_tables {
	struct option *longs;
	struct strbuf shorts;
};

/* "+": the first word that is no option ends them (the script's own options follow it). */
static void tables_init(struct getopt_tables *t, const struct opt_tool *tool)
{
	size_t n = 0;

	t->longs = xcalloc(tool->nrows + 1, sizeof(*t->longs));
	strbuf_init(&t->shorts);
	strbuf_addch(&t->shorts, '+');
	for (size_t i = 0; i < tool->nrows; i++) {
		const struct opt_row *row = &tool->rows[i];

		if (!row_is_in(tool, row))
			continue;
		t->longs[n++] = (struct option){ row->name, row->arg, NULL, LONG_BASE + (int)i };
		if (!row->key)
			continue;
		strbuf_addch(&t->shorts, row->key);
		if (row->arg != no_argument)
			strbuf_addstr(&t->shorts, row->arg == optional_argument ? "::" : ":");
	}
}

static void tables_release(struct getopt_tables *t)
{
	free(t->longs);
	strbuf_release(&t->shorts);
}

static const struct opt_row *row_of(const struct opt_tool *tool, int c)
{
	if (c >= LONG_BASE)
		return &tool->rows[c - LONG_BASE];
	for (size_t i = 0; i < tool->nrows; i++)
		if (tool->rows[i].key == c && row_is_in(tool, &tool->rows[i]))
			return &tool->rows[i];
	BUG("a letter without a row");
}

static void show(const struct opt_run *run)
{
	if (run->show == OPT_SHOW_HELP)
		opt_print_help(run->tool, stdout);
	else if (run->show == OPT_SHOW_USAGE)
		opt_print_usage(run->tool, stdout);
	else
		printf("slurm %s\n", run->version ? run->version : "22.05.8");
}

/* One option as getopt gave it; OPT_DONE when it printed help. */
static int apply_word(struct opt_run *run, int c, enum opt_origin origin, bool early, struct error *err)
{
	const struct opt_row *row = row_of(run->tool, c);
	struct opt_context ctx = { .run = run, .row = row, .origin = origin, .value = optarg };
	char spelled[80];

	if (c >= LONG_BASE)
		snprintf(spelled, sizeof(spelled), "--%s", row->name);
	else
		snprintf(spelled, sizeof(spelled), "-%c", c);
	ctx.spelled = spelled;
	if ((early && !row->early) || (origin == OPT_FROM_DIRECTIVE && row->cli_only))
		return 0;
	if (apply(&ctx, err) < 0)
		return -1;
	if (run->show == OPT_SHOW_NOTHING)
		return 0;
	show(run);
	return OPT_DONE;
}

static int parse_words(struct opt_run *run, int argc, char **argv, enum opt_origin origin, bool early,
		       struct error *err)
{
	struct getopt_tables t;
	int c, rc = 0;

	tables_init(&t, run->tool);
	optind = 0; /* glibc: start anew */
	while (rc == 0 && (c = getopt_long(argc, argv, t.shorts.buf, t.longs, NULL)) != -1) {
		if (c != '?') {
			rc = apply_word(run, c, origin, early, err);
			continue;
		}
		if (!run->tool->no_hint)
			log_bare("Try \"%s --help\" for more information", run->tool->name);
		rc = error_set(err, ERR_USAGE, "%s", "");
	}
	tables_release(&t);
	return rc;
}

int opt_parse_cli(struct opt_run *run, int argc, char **argv, bool early, int *first, struct error *err)
{
	int rc = parse_words(run, argc, argv, OPT_FROM_CLI, early, err);

	if (rc == 0)
		*first = optind;
	return rc;
}

int opt_parse_directive(struct opt_run *run, int argc, char **argv, const char **extra, struct error *err)
{
	*extra = NULL;
	if (parse_words(run, argc, argv, OPT_FROM_DIRECTIVE, false, err) < 0)
		return -1;
	if (optind < argc)
		*extra = argv[optind];
	return 0;
}

/* --- environment --- */

static const char *value_in(char *const *envp, const char *name, size_t n)
{
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

static int apply_variable(struct opt_run *run, const struct opt_row *row, char *const *envp, const char *name,
			  struct error *err)
{
	struct opt_context ctx = { .run = run, .row = row, .origin = OPT_FROM_ENV, .spelled = name };

	ctx.value = value_in(envp, name, strlen(name));
	if (!ctx.value)
		return 0;
	if (row->arg == optional_argument && !*ctx.value)
		ctx.value = NULL;
	return apply(&ctx, err);
}

/* One name of row.env: with every prefix, or whole. */
static int apply_suffix(struct opt_run *run, const struct opt_row *row, char *const *envp, const char *suffix,
			size_t n, struct error *err)
{
	char name[80];

	if (*suffix == '=') {
		snprintf(name, sizeof(name), "%.*s", (int)n - 1, suffix + 1);
		return apply_variable(run, row, envp, name, err);
	}
	for (const char *const *p = run->tool->prefixes; p && *p; p++) {
		snprintf(name, sizeof(name), "%s%.*s", *p, (int)n, suffix);
		if (apply_variable(run, row, envp, name, err) < 0)
			return -1;
	}
	return 0;
}

int opt_parse_env(struct opt_run *run, char *const *envp, struct error *err)
{
	for (size_t i = 0; i < run->tool->nrows; i++) {
		const struct opt_row *row = &run->tool->rows[i];

		if (!row->env || !row_is_in(run->tool, row))
			continue;
		for (const char *p = row->env; *p; p += strspn(p, " ")) {
			size_t n = strcspn(p, " ");

			if (apply_suffix(run, row, envp, p, n, err) < 0)
				return -1;
			p += n;
		}
	}
	return 0;
}

/* --- answers --- */

void opt_log_error(const struct error *err)
{
	const char *line = err->text;

	while (*line) {
		int n = (int)strcspn(line, "\n");

		log_error("%.*s", n, line);
		line += n + (line[n] == '\n');
	}
}

int opt_fail(const struct opt_run *run, const struct error *err)
{
	opt_log_error(err);
	return err->code == ERR_USAGE ? run->tool->usage_code : 1;
}

const struct opt_row *opt_find(const struct opt_tool *tool, const char *name)
{
	for (size_t i = 0; i < tool->nrows; i++)
		if (!strcmp(tool->rows[i].name, name) && row_is_in(tool, &tool->rows[i]))
			return &tool->rows[i];
	return NULL;
}

bool opt_given(const struct opt_run *run, const char *name, enum opt_origin *origin)
{
	const struct opt_row *row = opt_find(run->tool, name);

	if (!row)
		BUG("opt_given of an option without a row");
	if (origin)
		*origin = run->origin[row - run->tool->rows];
	return run->given[row - run->tool->rows];
}

void opt_walk(const struct opt_tool *tool, opt_walk_fn *fn, void *arg)
{
	for (size_t i = 0; i < tool->nrows; i++)
		if (row_is_in(tool, &tool->rows[i]))
			fn(&tool->rows[i], arg);
}

const char *opt_fate_name(int fate)
{
	static const char *const names[] = { "MAPPED", "APPROXIMATED", "IGNORED", "REFUSED" };

	return names[fate];
}
