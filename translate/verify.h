/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the engine found no suitable queue: what `qsub -w v` says of each host. (-w e, with which jobs are submitted, gives
 * no reasons.) Pure.
 */
#ifndef SOC_TRANSLATE_VERIFY_H
#define SOC_TRANSLATE_VERIFY_H

#include "translate/resources.h"

/* Slurm's line about what no host has, with its newline; "": none. */
const char *verify_short_of(const struct resources *r, const char *reasons);
/* Does a host lack what r asks of a complex whose name starts so? */
bool verify_lacks(const struct resources *r, const char *prefix, const char *reasons);
/*
 * Is there a host that the job can't have now because another job has it for itself? The engine verifies against an
 * empty cell but for complexes with relop EXCL: while such jobs run, it refuses others that could run later.
 */
bool verify_in_use(const char *reasons);
/* Does a queue's own limit on the run time stand against the job? */
bool verify_time_limit(const char *reasons);

#endif
