/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/directive.h"

#include "common/strbuf.h"

#include <criterion/criterion.h>
#include <string.h>

/* The words behind "sbatch", each in <>; what is refused is its text. */
static void words_of(const char *script, struct strbuf *out)
{
	cleanup_directives struct directives d = DIRECTIVES_INIT;
	struct error err = ERROR_INIT;

	if (directives_read(&d, "s.sh", script, strlen(script), &err) < 0) {
		strbuf_addstr(out, err.text);
		return;
	}
	cr_expect_str_eq(d.words.v[0], "sbatch");
	for (size_t i = 1; i < d.words.n; i++)
		strbuf_addf(out, "<%s>", d.words.v[i]);
	if (d.hetjob_line)
		strbuf_addf(out, "hetjob %u", d.hetjob_line);
	if (d.pbs_line)
		strbuf_addf(out, "%s %u", d.pbs_word, d.pbs_line);
}

Test(directive, words)
{
	static const struct {
		const char *script, *words;
	} cases[] = {
		{ "#!/bin/sh\n#SBATCH -n 3\n", "<-n><3>" },
		{ "#!/bin/sh\n#SBATCH -n 3", "<-n><3>" },
		{ "#!/bin/sh\n#SBATCH -n 3 -J a\n#SBATCH\t--time=5\n", "<-n><3><-J><a><--time=5>" },
		{ "#!/bin/sh\n\n   \n# text\n  # text\n#SBATCH -n3\n", "<-n3>" },
		{ "#!/bin/sh\nX=1\n#SBATCH -n3\n", "" },
		{ "#!/bin/sh\n:\n#SBATCH -n3\n", "" },
		{ "#!/bin/sh\n #SBATCH -n3\n", "" },
		{ "#!/bin/sh\n##SBATCH -n3\n# SBATCH -n3\n#sbatch -n3\n", "" },
		{ "#!/bin/sh\n#SBATCH-n 3\n", "<-n><3>" },
		{ "#!/bin/sh\n#SBATCHX -n 3\n", "<X><-n><3>" },
		{ "#!/bin/sh\n#SBATCH\n#SBATCH \n", "" },
		{ "#!/bin/sh\n#SBATCH -n 3 # -J x\n", "<-n><3>" },
		{ "#!/bin/sh\n#SBATCH -n 3#x\n", "<-n><3>" },
		{ "#!/bin/sh\n#SBATCH -J a\"b c\"'d e'f\n", "<-J><ab cd ef>" },
		{ "#!/bin/sh\n#SBATCH -J \"a#b\" 'it''s'\n", "<-J><a#b><its>" },
		{ "#!/bin/sh\n#SBATCH -J a\\\"b c\\\\d\n", "<-J><a\"b><c\\d>" },
		{ "#!/bin/sh\n#SBATCH -J my\\ job\n", "<-J><my><job>" },
		{ "#!/bin/sh\n#SBATCH -J a \\\n#SBATCH -n 3\n", "<-J><a><-n><3>" },
		{ "#!/bin/sh\n#SBATCH -J \"\" -n 3\n#SBATCH -c 2\n", "<-J><-c><2>" },
		{ "#!/bin/sh\n#SBATCH -J $HOME\n", "<-J><$HOME>" },
		{ "#!/bin/sh\n#SBATCH -J 'a\n", "s.sh: line 2: Unmatched `'` in [ 'a]" },
		{ "#!/bin/sh\n\n#SBATCH -J a \"b\n", "s.sh: line 3: Unmatched `\"` in [ \"b]" },
		{ "#!/bin/sh\n#SBATCH -n1 : -n2\n", "s.sh: line 2: Unexpected `:` in [ : -n2]" },
		{ "#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\n", "<-n1><-n2>hetjob 3" },
		{ "#!/bin/sh\n#SBATCH packjob\n", "hetjob 2" },
		{ "#!/bin/sh\n#SBATCH hetjob -n2\n", "<hetjob><-n2>" },
		{ "#!/bin/sh\n#PBS -N x\n#BSUB -n 2\n#SBATCH -n1\n", "<-n1>#PBS 2" },
		{ "#!/bin/sh\n#$ -N x\n#BSUB -n 2\n", "#BSUB 3" },
		{ "#!/bin/sh\ntrue\n#PBS -N x\n", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_strbuf struct strbuf out = STRBUF_INIT;

		words_of(cases[i].script, &out);
		cr_expect_str_eq(out.buf, cases[i].words, "row %zu: %s", i, out.buf);
	}
}

#define NO_SCRIPT "This does not look like a batch script."

Test(directive, is_it_a_script)
{
	static const struct {
		const char *text;
		size_t n;
		const char *refusal; /* how it starts; NULL: it is one */
	} cases[] = {
		{ "#!/bin/sh\ntrue\n", 15, NULL },
		{ "#! /bin/sh", 10, NULL },
		{ "#!", 2, NULL },
		{ "", 0, "Batch script is empty!" },
		{ " \n\t\n", 4, "Batch script contains only whitespace!" },
		{ " #!/bin/sh\n", 11, NO_SCRIPT },
		{ "#", 1, NO_SCRIPT },
		{ "\xef\xbb\xbf#!/bin/sh\n", 13, NO_SCRIPT },
		{ "\x7f"
		  "ELF\0\0",
		  6, NO_SCRIPT },
		{ "#!/bin/sh\necho \0x\n", 18, "The Slurm controller does not allow scripts that\n" },
		{ "#!/bin/sh\r\ntrue\n", 16, "Batch script contains DOS line breaks (\\r\\n)\n" },
		{ "#!/bin/sh\ntrue\r\n", 16, "Batch script contains DOS line breaks (\\r\\n)\n" },
		{ "#!/bin/sh\nprintf '\r'\n", 21, NULL },
		{ "#!/bin/sh\ntrue\r", 15, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = ERROR_INIT;
		int rc = directive_check_script(cases[i].text, cases[i].n, &err);

		cr_expect_eq(rc, cases[i].refusal ? -1 : 0, "row %zu: %s", i, err.text);
		cr_expect(!cases[i].refusal || !strncmp(err.text, cases[i].refusal, strlen(cases[i].refusal)),
			  "row %zu: %s", i, err.text);
	}
}

Test(directive, the_last_line_may_end_anywhere)
{
	/* no byte behind n is looked at: the text isn't NUL terminated */
	static const char text[] = { '#', '!', 'x', '\n', '#', 'S', 'B', 'A',
				     'T', 'C', 'H', ' ',  '-', 'n', '3', '9' };
	cleanup_directives struct directives d = DIRECTIVES_INIT;
	struct error err = ERROR_INIT;

	cr_assert_eq(directives_read(&d, "s", text, sizeof(text) - 1, &err), 0);
	cr_assert_eq(d.words.n, 2);
	cr_expect_str_eq(d.words.v[1], "-n3");
}
