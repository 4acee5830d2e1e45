/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/stub.h"

static void add_assignment(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, "%s=", name);
	strbuf_add_shell_quoted(out, value);
	strbuf_addch(out, '\n');
}

void stub_write(struct strbuf *out, const char *minder, const char *shim_launch, const char *spool_dir,
		const char *work_dir)
{
	strbuf_addstr(out,
		      "#!/bin/sh\n"
		      "# Made by sbatch of slurm-on-ocs; the user's script is in the spool folder below.\n");
	add_assignment(out, "minder", minder);
	add_assignment(out, "launch", shim_launch);
	add_assignment(out, "spool", spool_dir);
	add_assignment(out, "output", work_dir);
	strbuf_addstr(
		out,
		"say() {\n"
		"\techo \"slurm-on-ocs: $(hostname): $1\" >>\"$output/slurm-$JOB_ID.out\"\n"
		"\texit 1\n"
		"}\n"
		"[ -x \"$minder\" ] || say \"$minder: not found or not executable\"\n"
		"[ -x \"$launch\" ] || say \"$launch: not found or not executable\"\n"
		"[ -r \"$spool/job\" ] || say \"$spool/job: not readable; is the home folder mounted here?\"\n"
		"exec \"$minder\" \"$launch\" batch \"$spool\"\n");
}
