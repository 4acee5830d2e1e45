/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch --export-file: variables out of a file or an open descriptor. */
#ifndef SOC_TRANSLATE_EXPORT_FILE_H
#define SOC_TRANSLATE_EXPORT_FILE_H

#include "common/env.h"

/*
 * spec is the number of an open descriptor (3 and up), else a path; its content "NAME=value" with a NUL behind each (the
 * last may lack it). Replaces what out has of the same names. What isn't NAME=value is passed over, as Slurm does.
 */
int export_file_read(const char *spec, struct env *out, struct error *err);

#endif
