/* SPDX-License-Identifier: Apache-2.0 */
/* The batch script as sbatch sees it: is it one, and what do its #SBATCH lines say? Pure; the text may hold any byte. */
#ifndef SOC_TRANSLATE_DIRECTIVE_H
#define SOC_TRANSLATE_DIRECTIVE_H

#include "common/argvec.h"
#include "common/error.h"

#include <stdbool.h>

/* -1 with Slurm's words (a line break between its lines) where Slurm takes the text for no batch script. */
int directive_check_script(const char *text, size_t n, struct error *err);

struct directives {
	struct argvec words;  /* of all #SBATCH lines; words.v[0] is "sbatch" */
	unsigned hetjob_line; /* of the first "#SBATCH hetjob" or "packjob"; 0: none */
	unsigned pbs_line;    /* of the first #PBS or #BSUB line; 0: none */
	const char *pbs_word; /* "#PBS" or "#BSUB" */
};

#define DIRECTIVES_INIT                                                                                      \
	{                                                                                                    \
		ARGVEC_INIT, 0, 0, NULL                                                                      \
	}
#define cleanup_directives cleanup(directives_release)
void directives_release(struct directives *d);

/*
 * Reads the lines up to the first that is neither blank nor a comment. file is for messages. -1 with what Slurm prints
 * behind "sbatch: fatal: " (unmatched quote, a word that starts with ':').
 */
int directives_read(struct directives *d, const char *file, const char *text, size_t n, struct error *err);

#endif
