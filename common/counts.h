/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's counted lists: 2,2,2,1 is "2(x3),1". */
#ifndef SOC_COMMON_COUNTS_H
#define SOC_COMMON_COUNTS_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

/* Caller frees. n = 0 gives "". */
char *counts_format(const uint32_t *v, size_t n);
/* *v is malloc memory of *n elements (caller frees); at most max elements. */
int counts_parse(const char *text, size_t max, uint32_t **v, size_t *n, struct error *err);

#endif
