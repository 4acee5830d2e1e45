/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/opt.h"

#include "common/duration.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/strbuf.h"

#include <criterion/criterion.h>
#include <string.h>

struct target {
	bool flag;
	int choice, verbose;
	char *text, *maybe;
	uint32_t count, least;
	int64_t time;
};

#define FIELD(member) OPT_FIELD(struct target, member)

static const struct opt_row rows[] = {
	{ .name = "count",
	  .key = 'c',
	  .arg = required_argument,
	  .env = "COUNT =OTHER_COUNT",
	  .metavar = "n",
	  .help = "x",
	  .parse = opt_parse_positive,
	  FIELD(count) },
	{ .name = "flag", .key = 'f', .env = "FLAG", .help = "x", .parse = opt_parse_flag, FIELD(flag) },
	{ .name = "gone",
	  .key = 'g',
	  .arg = required_argument,
	  .fate = FATE_REFUSED,
	  .env = "GONE",
	  .metavar = "n",
	  .help = "x",
	  .note = "can't be done",
	  .parse = opt_parse_positive,
	  FIELD(least) },
	{ .name = "help", .key = 'h', .early = true, .cli_only = true, .help = "x", .parse = opt_parse_help },
	{ .name = "least",
	  .arg = required_argument,
	  .metavar = "n",
	  .help = "x",
	  .parse = opt_parse_unsigned,
	  FIELD(least) },
	{ .name = "maybe",
	  .key = 'm',
	  .arg = optional_argument,
	  .env = "MAYBE",
	  .metavar = "x",
	  .help = "x",
	  .parse = opt_parse_string,
	  FIELD(maybe) },
	{ .name = "no-choice", .help = "x", .parse = opt_parse_number_row, FIELD(choice), .number = 7 },
	{ .name = "other", .tools = TOOL_SRUN, .help = "x", .parse = opt_parse_flag, FIELD(flag) },
	{ .name = "quiet",
	  .key = 'q',
	  .early = true,
	  .cli_only = true,
	  .help = "x",
	  .parse = opt_parse_flag,
	  FIELD(flag) },
	{ .name = "skipped", .fate = FATE_IGNORED, .env = "SKIPPED", .help = "x", .note = "it is nothing" },
	{ .name = "text",
	  .key = 't',
	  .arg = required_argument,
	  .env = "TEXT",
	  .metavar = "x",
	  .help = "x",
	  .parse = opt_parse_string,
	  FIELD(text) },
	{ .name = "time",
	  .arg = required_argument,
	  .metavar = "x",
	  .help = "x",
	  .parse = opt_parse_duration,
	  FIELD(time) },
	{ .name = "verbose",
	  .key = 'v',
	  .env = "DEBUG",
	  .help = "x",
	  .parse = opt_parse_counter,
	  FIELD(verbose) },
};

static const char *const prefixes[] = { "TOOL_", "TL_", NULL };

static const struct opt_tool tool = { .name = "tool",
				      .bit = TOOL_SBATCH,
				      .rows = rows,
				      .nrows = ARRAY_SIZE(rows),
				      .prefixes = prefixes,
				      .synopsis = "[OPTIONS...] what",
				      .usage_code = 255 };

#define WORDS 8

static struct target parsed;
static struct opt_run run;
static struct error err;

static void start(void)
{
	parsed = (struct target){ 0 };
	err = (struct error)ERROR_INIT;
	opt_run_init(&run, &tool, &parsed, "1.2");
	log_open("tool", LOG_NORMAL);
}

static void finish(void)
{
	opt_run_release(&run);
	free(parsed.text);
	free(parsed.maybe);
}

TestSuite(opt, .init = start, .fini = finish);

/* words are NULL terminated; argv[0] is put before them. */
static int cli(const char *const *words, bool early, int *first)
{
	char *argv[WORDS + 2] = { (char *)"tool" };
	int argc = 1;

	while (words[argc - 1]) {
		argv[argc] = (char *)words[argc - 1];
		argc++;
	}
	return opt_parse_cli(&run, argc, argv, early, first, &err);
}

/* What the last call printed on stderr, put into out. */
static int cli_stderr(const char *const *words, struct strbuf *out)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO), first = 0, rc;
	char buf[512];
	size_t n;

	dup2(fileno(file), STDERR_FILENO);
	rc = cli(words, false, &first);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	while ((n = fread(buf, 1, sizeof(buf), file)))
		strbuf_add(out, buf, n);
	fclose(file);
	return rc;
}

Test(opt, spellings)
{
	static const struct {
		const char *words[WORDS];
		uint32_t count;
		const char *text;
		bool flag;
		int first;
	} cases[] = {
		{ { "-c", "3", "x" }, 3, NULL, false, 3 },      { { "-c3", "x" }, 3, NULL, false, 2 },
		{ { "--count", "3", "x" }, 3, NULL, false, 3 }, { { "--count=3", "x" }, 3, NULL, false, 2 },
		{ { "--cou=3", "x" }, 3, NULL, false, 2 },      { { "-fc3", "x" }, 3, NULL, true, 2 },
		{ { "-c1", "-c2", "x" }, 2, NULL, false, 3 },   { { "-t=a", "x" }, 0, "=a", false, 2 },
		{ { "-t", "-c", "x" }, 0, "-c", false, 3 },     { { "--te", "", "x" }, 0, "", false, 3 },
		{ { "x", "-c3" }, 0, NULL, false, 1 },          { { "-f", "--", "-c3" }, 0, NULL, true, 3 },
		{ { "-f", "-", "-c3" }, 0, NULL, true, 2 },     { { "-f" }, 0, NULL, true, 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int first = -1;

		finish();
		start();
		cr_expect_eq(cli(cases[i].words, false, &first), 0, "row %zu: %s", i, err.text);
		cr_expect_eq(parsed.count, cases[i].count, "row %zu: count %u", i, parsed.count);
		cr_expect_eq(parsed.flag, cases[i].flag, "row %zu", i);
		cr_expect_eq(first, cases[i].first, "row %zu: first %d", i, first);
		cr_expect(cases[i].text ? parsed.text && !strcmp(parsed.text, cases[i].text) : !parsed.text,
			  "row %zu: text %s", i, parsed.text);
	}
}

Test(opt, usage_errors_are_getopts)
{
	static const struct {
		const char *words[WORDS];
		const char *said;
	} cases[] = {
		{ { "--bogus" }, "tool: unrecognized option '--bogus'\n" },
		{ { "--bogus=1", "x" }, "tool: unrecognized option '--bogus=1'\n" },
		{ { "-Z" }, "tool: invalid option -- 'Z'\n" },
		{ { "-c" }, "tool: option requires an argument -- 'c'\n" },
		{ { "--count" }, "tool: option '--count' requires an argument\n" },
		{ { "--flag=1" }, "tool: option '--flag' doesn't allow an argument\n" },
		{ { "--t", "x" }, "tool: option '--t' is ambiguous; possibilities: '--text' '--time'\n" },
		{ { "--other" }, "tool: unrecognized option '--other'\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_strbuf struct strbuf out = STRBUF_INIT, want = STRBUF_INIT;

		strbuf_addf(&want, "%sTry \"tool --help\" for more information\n", cases[i].said);
		cr_expect_eq(cli_stderr(cases[i].words, &out), -1, "row %zu", i);
		cr_expect_str_eq(out.buf, want.buf, "row %zu: %s", i, out.buf);
		cr_expect_str_empty(err.text, "row %zu", i);
		cr_expect_eq(opt_fail(&run, &err), 255, "row %zu", i);
	}
}

Test(opt, an_optional_argument_never_takes_the_next_word)
{
	int first;
	const char *const without[] = { "--maybe", "x", NULL };
	const char *const with[] = { "--maybe=a b", "x", NULL };
	const char *const glued[] = { "-mz", NULL };

	cr_assert_eq(cli(without, false, &first), 0);
	cr_expect_eq(first, 2);
	cr_expect_str_eq(parsed.maybe, "");
	cr_assert_eq(cli(with, false, &first), 0);
	cr_expect_str_eq(parsed.maybe, "a b");
	cr_assert_eq(cli(glued, false, &first), 0);
	cr_expect_str_eq(parsed.maybe, "z");
}

Test(opt, bad_values)
{
	static const struct {
		const char *words[WORDS];
		int code;
		const char *text;
	} cases[] = {
		{ { "--count=abc" }, 1, "Invalid numeric value \"abc\" for --count." },
		{ { "-c0" }, 1, "Invalid numeric value \"0\" for --count." },
		{ { "-c-1" }, 1, "Invalid numeric value \"-1\" for --count." },
		{ { "-c1k" }, 1, "Invalid numeric value \"1k\" for --count." },
		{ { "-c", "" }, 1, "Invalid numeric value \"\" for --count." },
		{ { "-c", "99999999999" }, 1, "Invalid numeric value \"99999999999\" for --count." },
		{ { "--least=-1" }, 1, "Invalid numeric value \"-1\" for --least." },
		{ { "--time=1h" }, 255, "Invalid --time specification" },
		{ { "-g5" }, 1, "-g: can't be done" },
		{ { "--gone=5" }, 1, "--gone: can't be done" },
		{ { "--gone=x" }, 1, "Invalid numeric value \"x\" for --gone." },
	};
	int first;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		err = (struct error)ERROR_INIT;
		cr_expect_eq(cli(cases[i].words, false, &first), -1, "row %zu", i);
		cr_expect_str_eq(err.text, cases[i].text, "row %zu: %s", i, err.text);
		cr_expect_eq(opt_fail(&run, &err), cases[i].code, "row %zu", i);
	}
}

Test(opt, good_values)
{
	const char *const words[] = { "--time=1:30", "--least=0", "-vvv", "--no-choice", "--flag", NULL };
	int first;
	enum opt_origin origin;

	cr_assert_eq(cli(words, false, &first), 0);
	cr_expect_eq(parsed.time, 120);
	cr_expect_eq(parsed.least, 0);
	cr_expect_eq(parsed.verbose, 3);
	cr_expect_eq(parsed.choice, 7);
	cr_expect(opt_given(&run, "flag", &origin));
	cr_expect_eq(origin, OPT_FROM_CLI);
	cr_expect_not(opt_given(&run, "text", NULL));
}

Test(opt, the_early_pass_does_early_rows_alone)
{
	const char *const words[] = { "-c5", "-q", "--text=a", "script", NULL };
	int first;

	cr_assert_eq(cli(words, true, &first), 0);
	cr_expect_eq(first, 4);
	cr_expect(parsed.flag);
	cr_expect_eq(parsed.count, 0);
	cr_expect_null(parsed.text);
}

Test(opt, environment)
{
	char *envp[] = { (char *)"TOOL_COUNT=4",  (char *)"TL_TEXT=a=b",
			 (char *)"TOOL_FLAG=",    (char *)"TOOL_MAYBE=",
			 (char *)"OTHER_COUNT=6", (char *)"TOOL_COUNTER=9",
			 (char *)"TOOL_DEBUG=2",  NULL };
	enum opt_origin origin;

	cr_assert_eq(opt_parse_env(&run, envp, &err), 0, "%s", err.text);
	cr_expect_eq(parsed.count, 6, "the last name of a row wins");
	cr_expect_str_eq(parsed.text, "a=b");
	cr_expect(parsed.flag, "a flag is set by any value");
	cr_expect_str_eq(parsed.maybe, "");
	cr_expect_eq(parsed.verbose, 2);
	cr_expect(opt_given(&run, "count", &origin));
	cr_expect_eq(origin, OPT_FROM_ENV);
}

Test(opt, environment_errors_name_the_variable)
{
	char *gone[] = { (char *)"TOOL_GONE=1", NULL };
	char *bad[] = { (char *)"TOOL_COUNT=", NULL };

	cr_expect_eq(opt_parse_env(&run, gone, &err), -1);
	cr_expect_str_eq(err.text, "TOOL_GONE (--gone): can't be done");
	cr_expect_eq(opt_parse_env(&run, bad, &err), -1);
	cr_expect_str_eq(err.text, "Invalid numeric value \"\" for --count.");
}

Test(opt, directives)
{
	char *argv[] = { (char *)"tool", (char *)"-c3",    (char *)"--help",
			 (char *)"-q",   (char *)"--text", (char *)"a b" };
	char *bad[] = { (char *)"tool", (char *)"-c3", (char *)"word", (char *)"-c4" };
	const char *extra;

	cr_assert_eq(opt_parse_directive(&run, 6, argv, &extra, &err), 0, "%s", err.text);
	cr_expect_null(extra);
	cr_expect_eq(parsed.count, 3);
	cr_expect_not(parsed.flag, "what is for the command line alone has no effect");
	cr_expect_str_eq(parsed.text, "a b");
	cr_assert_eq(opt_parse_directive(&run, 4, bad, &extra, &err), 0);
	cr_expect_str_eq(extra, "word");
}

Test(opt, a_warning_comes_once)
{
	const char *const words[] = { "--skipped", "--skipped", "x", NULL };
	cleanup_strbuf struct strbuf out = STRBUF_INIT;

	cr_expect_eq(cli_stderr(words, &out), 0);
	cr_expect_str_eq(out.buf, "tool: Warning: --skipped is ignored: it is nothing\n");
}

Test(opt, no_warnings_on_a_first_look)
{
	const char *const words[] = { "--skipped", NULL };
	cleanup_strbuf struct strbuf out = STRBUF_INIT;

	run.no_warnings = true;
	cr_expect_eq(cli_stderr(words, &out), 0);
	cr_expect_str_empty(out.buf);
}

static void count_row(const struct opt_row *row, void *arg)
{
	cr_expect_str_neq(row->name, "other");
	++*(size_t *)arg;
}

Test(opt, walk_gives_the_tools_own_rows)
{
	size_t n = 0;

	opt_walk(&tool, count_row, &n);
	cr_expect_eq(n, ARRAY_SIZE(rows) - 1);
	cr_expect_null(opt_find(&tool, "other"));
	cr_expect_not_null(opt_find(&tool, "text"));
}

Test(opt, rows_as_a_table)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	opt_print_rows(&tool, out);
	fclose(out);
	cr_expect_not_null(
		strstr(text,
		       "tool\tcount\tc\trequired\tTOOL_COUNT TL_COUNT OTHER_COUNT\tn\tMAPPED\t\tx\t\t\n"),
		"%s", text);
	cr_expect_not_null(
		strstr(text,
		       "tool\tgone\tg\trequired\tTOOL_GONE TL_GONE\tn\tREFUSED\t\tx\tcan't be done\t\n"),
		"%s", text);
	free(text);
}

Test(opt, errors_of_two_lines)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	char buf[128] = "";

	dup2(fileno(file), STDERR_FILENO);
	error_set(&err, ERR_VALUE, "one\ntwo");
	cr_expect_eq(opt_fail(&run, &err), 1);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	cr_expect_gt(fread(buf, 1, sizeof(buf) - 1, file), 0);
	fclose(file);
	cr_expect_str_eq(buf, "tool: error: one\ntool: error: two\n");
}
