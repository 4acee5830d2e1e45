/* SPDX-License-Identifier: Apache-2.0 */
/* qdel: the words it is given, and what it answers. */
#include "common/log.h"
#include "common/mem.h"
#include "ocs/engine.h"
#include "translate/scancel.h"

#include <string.h>

/* The tasks of a group are in order; a run of them evenly spaced is one word "9.1-7:2". */
static size_t run_length(const uint32_t *v, size_t n)
{
	size_t k = 2;

	if (n < 2)
		return n;
	while (k < n && v[k] - v[k - 1] == v[1] - v[0])
		k++;
	return k;
}

void engine_delete_add(struct engine_delete *d, const struct job *j)
{
	unsigned long long id = j->id;

	if (!j->is_array)
		argvec_pushf(&d->words, "%llu", id);
	for (size_t i = 0; i < j->npositions;) {
		const uint32_t *v = j->positions + i;
		size_t n = run_length(v, j->npositions - i);

		if (n == 1)
			argvec_pushf(&d->words, "%llu.%u", id, v[0]);
		else
			argvec_pushf(&d->words, "%llu.%u-%u:%u", id, v[0], v[n - 1], v[1] - v[0]);
		i += n;
	}
}

/* The first number behind text, which may be quoted. */
static uint64_t number_behind(const char *line, const char *text)
{
	const char *p = strstr(line, text);

	if (!p)
		return 0;
	p += strlen(text);
	return strtoull(*p == '"' ? p + 1 : p, NULL, 10);
}

enum delete_result delete_line(const char *line, uint64_t *job)
{
	*job = number_behind(line, "job ");
	if (strstr(line, "has deleted") || strstr(line, "has registered") ||
	    strstr(line, "already in deletion") || strstr(line, "marked for deletion"))
		return DELETE_DONE;
	if (strstr(line, "does not exist") || strstr(line, "comprises no tasks"))
		return DELETE_UNKNOWN;
	if (strstr(line, "privileges") || strstr(line, "denied"))
		return DELETE_DENIED;
	return DELETE_OTHER;
}

/* The answers of one stream; how many were understood. */
static size_t read_answers(const char *text, bool complain, bool quiet, int *code)
{
	size_t known = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");
		cleanup_free char *line = xstrndup(text, n);
		uint64_t job;
		enum delete_result result = delete_line(line, &job);

		known += result != DELETE_OTHER;
		if (result == DELETE_DENIED) {
			*code = SCANCEL_DENIED;
			if (!quiet)
				log_error("Kill job error on job id %llu: Access/permission denied",
					  (unsigned long long)job);
		} else if (result == DELETE_UNKNOWN && complain) {
			*code = *code ? *code : 1;
			if (!quiet)
				log_error("Kill job error on job id %llu: Invalid job id specified",
					  (unsigned long long)job);
		}
		text += n + (text[n] == '\n');
	}
	return known;
}

int engine_delete_run(struct engine_delete *d, int timeout, bool complain, bool quiet)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	struct error err = ERROR_INIT;
	int code = 0;
	size_t known;

	if (!d->words.n)
		return 0;
	argvec_push(&argv, "qdel");
	for (size_t i = 0; i < d->words.n; i++)
		argvec_push(&argv, d->words.v[i]);
	argvec_release(&d->words);
	if (engine_run(&argv, NULL, timeout, &answer, &err) < 0) {
		log_error("Kill job error: %s", err.text);
		return 1;
	}
	known = read_answers(answer.out.buf, complain, quiet, &code);
	known += read_answers(answer.err.buf, complain, quiet, &code);
	if (answer.code != 0 && !known) {
		engine_refusal(&answer, &err);
		log_error("qdel: %s", err.text);
		log_error("Kill job error: Unable to contact slurm controller (connect failure)");
		return 1;
	}
	return code;
}
