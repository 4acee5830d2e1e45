/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uthash, for .c files only: the UT_hash_handle member stays in a struct private to the file. Keys belong to the item
 * (HASH_ADD_KEYPTR on an owned string); free with HASH_ITER and HASH_DEL.
 */
#ifndef SOC_COMMON_HASH_H
#define SOC_COMMON_HASH_H

#include "common/mem.h"

/* uthash's own way out of a full memory is exit(-1), without a word. */
#define uthash_malloc(size) xmalloc(size)
#include <uthash.h>

#endif
