/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host lists in Slurm's grammar, both ways: "n[1-3,07],gpu5" to names and back. Order and doubles are kept.
 * The source of every rule is what Slurm 22.05 prints (tests/golden/hostlist): a suffix after the last bracket is
 * invalid, with three brackets the expansion order is odd, the width is that of the first number as written.
 */
#ifndef SOC_COMMON_HOSTLIST_H
#define SOC_COMMON_HOSTLIST_H

#include "common/argvec.h"
#include "common/error.h"

#define HOSTLIST_MAX_RANGE 65536      /* hosts in one range, as in Slurm */
#define HOSTLIST_MAX_NAMES (1u << 18) /* in one list: a[1-65536]b[1-65536] must not eat the host */
#define HOSTLIST_MAX_BYTES (64u << 20)
#define HOSTLIST_MAX_WIDTH 4096 /* digits of one number */

struct hostlist {
	struct argvec names; /* names.v[0..n): read it, add by the functions below */
	/* "n1[5-6]" folds to itself, not to n[15-16]: where the number of such a name begins (0: at its first digit) */
	size_t *numbers;
	size_t nnumbers; /* <= names.n */
	size_t numbers_alloc;
};

#define HOSTLIST_INIT                                                                                        \
	{                                                                                                    \
		ARGVEC_INIT, NULL, 0, 0                                                                      \
	}
#define cleanup_hostlist cleanup(hostlist_release)

void hostlist_release(struct hostlist *hl);
/*
 * Appends the names of text. -1 with err where Slurm says "Invalid hostlist"; err->text then holds the line that Slurm
 * prints before it (for example "Invalid range: `3-1'"), or is empty where Slurm has none.
 */
int hostlist_parse(struct hostlist *hl, const char *text, struct error *err);
void hostlist_push(struct hostlist *hl, const char *name);
/* Index of name, or -1. */
long hostlist_find(const struct hostlist *hl, const char *name);
/* By Slurm's order (prefix, then number); doubles stay. */
void hostlist_sort(struct hostlist *hl);
/* The bracket form; adjacent names only are folded. Caller frees. Never "n[7]" with one number in the bracket. */
char *hostlist_ranged(const struct hostlist *hl);

#endif
