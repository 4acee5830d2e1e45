/* SPDX-License-Identifier: Apache-2.0 */
/* squeue -s: the steps of running jobs, as our records tell, and the batch step of each. */
#include "common/duration.h"
#include "common/log.h"
#include "common/mem.h"
#include "translate/squeue.h"

#include <string.h>

struct step_view {
	const struct job *job;
	const struct record_step *step; /* NULL: the batch step */
	time_t now;
};

static void id_text(const struct step_view *v, struct strbuf *out)
{
	cleanup_free char *job = job_name_of_id(v->job);

	strbuf_addf(out, "%s.%s", job, v->step ? v->step->id : "batch");
}

static void name(const struct step_view *v, struct strbuf *out)
{
	strbuf_addstr(out, v->step ? v->step->name ? v->step->name : "" : "batch");
}

static void partition(const struct step_view *v, struct strbuf *out)
{
	strbuf_addstr(out, v->job->partition);
}

static void user(const struct step_view *v, struct strbuf *out)
{
	strbuf_addstr(out, v->job->user);
}

static void user_id(const struct step_view *v, struct strbuf *out)
{
	strbuf_addf(out, "%ld", (long)(int)v->job->uid);
}

static void time_used(const struct step_view *v, struct strbuf *out)
{
	time_t start = v->step ? (time_t)v->step->start : v->job->started;
	cleanup_free char *text = duration_format_short(start && v->now > start ? v->now - start : 0);

	strbuf_addstr(out, text);
}

static void start_time(const struct step_view *v, struct strbuf *out)
{
	job_time_text(v->step ? (time_t)v->step->start : v->job->started, out);
}

static void unlimited(const struct step_view *v, struct strbuf *out)
{
	(void)v;
	strbuf_addstr(out, "UNLIMITED");
}

static void null(const struct step_view *v, struct strbuf *out)
{
	(void)v;
	strbuf_addstr(out, "(null)");
}

/* The script runs on the first host. */
static void node_list(const struct step_view *v, struct strbuf *out)
{
	cleanup_hostlist struct hostlist hosts = HOSTLIST_INIT;
	cleanup_free char *text = NULL;

	if (!v->step) {
		job_hosts(v->job, &hosts);
		strbuf_addstr(out, hosts.names.n ? hosts.names.v[0] : "");
		return;
	}
	for (size_t i = 0; i < v->step->nodes.n; i++)
		hostlist_push(&hosts, v->step->nodes.v[i]);
	text = hostlist_ranged(&hosts);
	strbuf_addstr(out, text);
}

static const struct step_field {
	char letter;
	const char *header;
	void (*value)(const struct step_view *v, struct strbuf *out);
} fields[] = {
	{ 'b', "TRES_PER_JOB", null },    { 'i', "STEPID", id_text },        { 'j', "NAME", name },
	{ 'l', "TIME_LIMIT", unlimited }, { 'M', "TIME", time_used },        { 'N', "NODELIST", node_list },
	{ 'P', "PARTITION", partition },  { 'S', "START_TIME", start_time }, { 'u', "USER", user },
	{ 'U', "UID", user_id },
};

static int find_letter(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].letter == letter)
			return (int)i;
	return FORMAT_LITERAL;
}

static void invalid(const char *what)
{
	log_error("Invalid job step format specification: %s", what);
}

static void print_line(const struct format *f, const struct step_view *v)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;
	cleanup_strbuf struct strbuf value = STRBUF_INIT;

	strbuf_addstr(&line, f->prefix);
	for (size_t i = 0; i < f->n; i++) {
		const struct format_field *field = &f->fields[i];

		strbuf_reset(&value);
		if (field->field != FORMAT_LITERAL && v)
			fields[field->field].value(v, &value);
		else if (field->field != FORMAT_LITERAL)
			strbuf_addstr(&value, fields[field->field].header);
		format_add(field, value.buf, &line);
	}
	puts(line.buf);
}

static bool is_wanted(const struct step_view *v, const struct job_ids *steps)
{
	const char *id = v->step ? v->step->id : "batch";

	if (!steps->n)
		return true;
	for (size_t i = 0; i < steps->n; i++)
		if (job_has_id(v->job, &steps->v[i]) && (!steps->v[i].step || !strcmp(steps->v[i].step, id)))
			return true;
	return false;
}

void squeue_print_steps(const struct job *rows, size_t n, const struct squeue_options *o,
			const struct job_ids *steps, time_t now)
{
	cleanup_format struct format f = FORMAT_INIT;

	format_parse(&f, o->format ? o->format : "%.15i %.8j %.9P %.8u %.9M %N", find_letter, invalid);
	if (!o->noheader)
		print_line(&f, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct record_run *run = rows[i].run;
		struct step_view v = { .job = &rows[i], .now = now };

		if (!rows[i].started || job_state_is_over(rows[i].state))
			continue;
		for (size_t k = 0; run && k < run->nsteps; k++) {
			v.step = &run->steps[k];
			if (!v.step->state && strcmp(v.step->id, "batch") && is_wanted(&v, steps))
				print_line(&f, &v);
		}
		v.step = NULL;
		if (is_wanted(&v, steps))
			print_line(&f, &v);
	}
}
