/* SPDX-License-Identifier: Apache-2.0 */
/* What squeue can say of a job: one row per field, by the letter of -o and the name of -O. */
#ifndef SOC_TRANSLATE_JOB_FIELDS_H
#define SOC_TRANSLATE_JOB_FIELDS_H

#include "translate/jobs.h"

struct job_view {
	const struct job *job;
	const struct conf *conf;
	time_t now;
};

/* Appends the value. */
typedef void job_field_fn(const struct job_view *v, struct strbuf *out);
/* Order of two jobs, as strcmp; NULL in the table: the order of the values as text. */
typedef int job_order_fn(const struct job *a, const struct job *b);

struct job_field {
	char letter;      /* of -o and -S; 0: none */
	const char *name; /* of -O; NULL: none */
	const char *header;
	job_field_fn *value;
	job_order_fn *order;
	const char *constant; /* what is the same for every job here; value is NULL then */
};

const struct job_field *job_field_at(int field);
/* Number of the field, or FORMAT_LITERAL. */
int job_field_by_letter(char letter);
int job_field_by_name(const char *name);
void job_field_value(int field, const struct job_view *v, struct strbuf *out);
/* squeue's "%all": every letter, '|' between. */
extern const char job_format_all[];

/* Path of the script; its arguments too, where the job is the caller's own. */
void job_command(const struct job_view *v, struct strbuf *out);
/* A time as Slurm prints it, by SLURM_TIME_FORMAT; "N/A" for 0. */
void job_time_text(time_t t, struct strbuf *out);
/* s that the job has run. */
int64_t job_time_used(const struct job *j, time_t now);

#endif
