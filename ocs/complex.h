/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's complexes: what resources a cell knows, and how it counts each (qconf -sc). */
#ifndef SOC_OCS_COMPLEX_H
#define SOC_OCS_COMPLEX_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum complex_count {
	COMPLEX_FIXED, /* no consumable: compared, not used up */
	COMPLEX_SLOT,  /* YES: each slot takes its own */
	COMPLEX_HOST,  /* HOST (OCS): each host of the job takes it once */
	COMPLEX_JOB,   /* JOB: the whole job takes it once, on its first host */
};

struct complex {
	char *name, *shortcut;
	char *type;  /* INT, DOUBLE, MEMORY, BOOL, STRING, RESTRING, TIME, HOST, RSMAP */
	char *relop; /* <=, ==, EXCL ... */
	bool requestable;
	enum complex_count count;
};

struct complex_list {
	struct complex *v; /* in the engine's order, by name */
	size_t n;
};

#define COMPLEX_LIST_INIT                                                                                    \
	{                                                                                                    \
		NULL, 0                                                                                      \
	}
#define cleanup_complex_list cleanup(complex_list_release)
void complex_list_release(struct complex_list *l);

#define COMPLEX_CACHE_AGE 60 /* s */

/*
 * From the cache in folder dir if it is young enough and !fresh (then *cached), else from the engine. A cache that can't
 * be read or written costs time, nothing else.
 */
int complex_list_load(struct complex_list *l, const char *dir, bool fresh, int timeout, bool *cached,
		      struct error *err);
/* What `qconf -sc` printed. A line that isn't a complex is an error. */
int complex_list_parse(struct complex_list *l, const char *text, struct error *err);
/* By name or shortcut; NULL. */
const struct complex *complex_find(const struct complex_list *l, const char *name);
/* A requestable number that is used up: what a job can reserve. */
bool complex_is_reserved(const struct complex *c);

#endif
