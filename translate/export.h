/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch --export: which of the submitter's variables the job gets. Pure. */
#ifndef SOC_TRANSLATE_EXPORT_H
#define SOC_TRANSLATE_EXPORT_H

#include "common/env.h"

#include <stdbool.h>

/* Does the job get the whole environment and nothing else: no --export, or "ALL" in any case? */
bool export_is_all(const char *spec);
/*
 * The job's variables into out. "NONE", "NIL": none. A list: items from left to right, a later one wins: ALL (all of
 * them), NAME (as it is here), NAME=value; commas inside quotes are no separators, and the quotes stay. SLURM_* of the
 * submitter come along in every case. What an enclosing job of the engine or of ours has of its own stays behind.
 */
void export_environment(const char *spec, char *const *envp, struct env *out);

#endif
