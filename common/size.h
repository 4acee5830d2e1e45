/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's memory sizes: an integer with an optional K, M, G or T and an optional B, any case; MiB without. */
#ifndef SOC_COMMON_SIZE_H
#define SOC_COMMON_SIZE_H

#include "common/error.h"

#include <stdint.h>

/* K rounds up to a whole MiB. */
int size_parse_mib(const char *text, uint64_t *mib, struct error *err);

#endif
