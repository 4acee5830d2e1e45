/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --dependency: what a job waits for. Text, and what follows from the states of the predecessors; pure. Which
 * states these are is depend_facts.h's; docs/design/030-dependencies.md says who asks when.
 */
#ifndef SOC_TRANSLATE_DEPEND_H
#define SOC_TRANSLATE_DEPEND_H

#include "common/error.h"
#include "common/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum depend_type {
	DEPEND_AFTER, /* it has started, or was cancelled; minutes later */
	DEPEND_ANY,   /* it is over */
	DEPEND_OK,    /* over, with exit code 0 */
	DEPEND_NOT_OK,
	DEPEND_CORR, /* the element of the same index is over with 0 */
	DEPEND_BURST_BUFFER,
	DEPEND_SINGLETON, /* no earlier job of this user and name is left */
	DEPEND_TYPES,
};

enum depend_verdict { DEPEND_OPEN, DEPEND_MET, DEPEND_NEVER };

struct depend_term {
	enum depend_type type;
	uint64_t job;
	bool has_index; /* one element, by Slurm's index */
	uint32_t index;
	uint32_t minutes;            /* DEPEND_AFTER */
	enum depend_verdict verdict; /* by depend_judge() */
	time_t until;                /* OPEN for no other reason than that this time hasn't come; 0 */
};

struct depend {
	struct depend_term *terms;
	size_t n;
	bool any; /* '?' between them: one is enough */
};

/* What is known of the predecessor, or of all elements of an array. */
struct depend_facts {
	bool known;   /* false: nobody remembers it, which counts as met, as in Slurm */
	bool started; /* no part of it pends */
	time_t start; /* of the last part; 0: not known, or it never ran */
	bool over;
	time_t end;
	bool ok;        /* over: all of it ended with 0 */
	bool is_unsure; /* over, but how it ended isn't known (yet) */
};

#define DEPEND_INIT                                                                                          \
	{                                                                                                    \
		NULL, 0, false                                                                               \
	}
#define cleanup_depend cleanup(depend_release)
void depend_release(struct depend *d);

/* Appends the terms of text, each once. -1 where Slurm says "Job dependency problem". */
int depend_parse(struct depend *d, const char *text, struct error *err);
/* "afterok:7_2,after:8+5", as depend_parse() reads it. */
void depend_format(const struct depend *d, struct strbuf *out);
/* As squeue shows it: "afterok:7(failed)"; terms that are met are left out, none left: "(null)". */
void depend_show(const struct depend *d, struct strbuf *out);

typedef void depend_lookup_fn(const struct depend_term *t, struct depend_facts *facts, void *arg);
/*
 * The verdict on the whole, and on each term. *until: all that is wanting is that this time comes; 0 else (may be
 * NULL).
 */
enum depend_verdict depend_judge(struct depend *d, depend_lookup_fn *lookup, void *arg, time_t now,
				 time_t *until);
/* For an array as a whole: what its elements wait for one by one is open. The verdict on the whole. */
enum depend_verdict depend_reopen(struct depend *d);
bool depend_has(const struct depend *d, enum depend_type type);

#endif
