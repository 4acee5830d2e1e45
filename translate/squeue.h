/* SPDX-License-Identifier: Apache-2.0 */
/* squeue's options as they were given, and its parts. */
#ifndef SOC_TRANSLATE_SQUEUE_H
#define SOC_TRANSLATE_SQUEUE_H

#include "translate/format.h"
#include "translate/job_fields.h"
#include "translate/opt.h"

struct squeue_options {
	bool job_flag, step_flag; /* -j, -s: also without a value */
	char *jobs, *steps;       /* their values; NULL: none */
	char *users, *names, *states, *partitions, *accounts, *qos, *nodes, *licenses, *reservation;
	bool me, array, long_list, noheader, start, unchanged;
	char *format, *names_format;         /* -o and -O, as on the command line */
	char *env_format, *env_names_format; /* SQUEUE_FORMAT and SQUEUE_FORMAT2: for want of the above */
	char *sort, *clusters;
	int iterate; /* s; 0: once */
	int verbose;
};

extern const struct opt_tool squeue_options;

void squeue_options_release(struct squeue_options *o);

/* The order of -S, applied. -1: *bad is the letter that is none. */
int squeue_sort(struct job *rows, size_t n, const char *spec, char *bad);
/* A line per step of the rows; steps: those to show (has_ids false: all). */
void squeue_print_steps(const struct job *rows, size_t n, const struct squeue_options *o,
			const struct job_ids *steps, time_t now);

#endif
