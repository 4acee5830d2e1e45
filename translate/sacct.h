/* SPDX-License-Identifier: Apache-2.0 */
/* sacct's options as they were given, its rows and its fields. */
#ifndef SOC_TRANSLATE_SACCT_H
#define SOC_TRANSLATE_SACCT_H

#include "translate/jobs.h"
#include "translate/opt.h"

struct sacct_options {
	char *jobs, *users, *accounts, *names, *partitions, *nodes, *qos, *states, *format, *delimiter,
		*clusters;
	char *start_text, *end_text;
	bool all_users, allocations, brief, long_list, noheader, helpformat, unchanged;
	int parsable; /* 0: columns, 1: -p, 2: -P */
	int verbose;
};

extern const struct opt_tool sacct_options;

void sacct_options_release(struct sacct_options *o);

/* One line: a job, its batch step, or one of its steps. */
struct sacct_row {
	const struct conf *conf;
	const struct job *job;
	bool is_batch;
	const struct record_step *step; /* NULL: the job or its batch step */
	time_t now;
};

enum job_state sacct_state(const struct sacct_row *r);

/* Appends the value; nothing for what isn't known. */
typedef void sacct_value_fn(const struct sacct_row *r, struct strbuf *out);

struct sacct_field {
	const char *name;
	int width;             /* negative: to the left */
	sacct_value_fn *value; /* NULL: the engine doesn't tell, always empty */
};

extern const struct sacct_field sacct_fields[];
extern const size_t sacct_nfields;
/* By name, any case; NULL: there is none. */
const struct sacct_field *sacct_field_by_name(const char *name);

/*
 * A time as -S and -E take it: YYYY-MM-DD[THH:MM[:SS]], MM/DD[/YY][-HH:MM[:SS]], HH:MM[:SS], now[{+|-}N[unit]], today,
 * midnight, noon, tomorrow. -1: it is none.
 */
int sacct_parse_time(const char *text, time_t now, time_t *t);

#endif
