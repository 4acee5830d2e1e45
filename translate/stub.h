/* SPDX-License-Identifier: Apache-2.0 */
/* The shell script that the engine gets in place of the user's. Pure. */
#ifndef SOC_TRANSLATE_STUB_H
#define SOC_TRANSLATE_STUB_H

#include "common/strbuf.h"

/*
 * It starts the supervisor; where that can't be found on the execution host, it says so in slurm-<job id>.out of
 * work_dir and ends with 1, since the engine's own output goes to /dev/null.
 */
void stub_write(struct strbuf *out, const char *minder, const char *shim_launch, const char *spool_dir,
		const char *work_dir);

#endif
