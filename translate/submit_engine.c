/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/submit_private.h"

#include "common/duration.h"
#include "common/log.h"
#include "common/mem.h"
#include "translate/emit_qsub.h"
#include "translate/verify.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define FAILED "Batch job submission failed: "

extern char **environ;

/*
 * What the engine's client gets to see: nothing of the user's, so that a site's or user's own -V in a defaults file
 * takes nothing of it into the job's public record.
 */
static void client_environment(struct env *out)
{
	static const char *const names[] = { "PATH", "HOME", "LOGNAME", "USER", "SHELL", "TZ", NULL };

	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "SGE_", 4) && strncmp(*e, "SGE_TASK_", 9))
			argvec_push(&out->vars, *e);
	for (size_t i = 0; names[i]; i++)
		if (getenv(names[i]))
			env_set(out, names[i], getenv(names[i]));
}

/* --begin, and what the dependency adds ("after:7+10"). */
static int64_t not_before(const struct attempt *a)
{
	int64_t begin = a->s->request->begin, other = a->depend.holds.begin;

	return begin > other ? begin : other;
}

/* verify: asks whether the job could run, submits nothing. */
static int run_qsub(struct attempt *a, int64_t h_rt, bool verify, struct engine_answer *answer,
		    struct error *err)
{
	struct qsub_input in = {
		.request = a->s->request,
		.geometry = &a->place.geometry,
		.queue = a->place.queue,
		.pe = a->place.pe,
		.par = *a->place.par ? a->place.par : NULL,
		.name = a->s->name,
		.h_rt = h_rt,
		.hold = a->depend.holds.jobs,
		.hold_arrays = a->depend.holds.arrays,
		.hold_user = a->depend.holds.user,
		.not_before = not_before(a),
		.resources = &a->place.resources.requests,
		.hosts = a->place.hosts.request,
		.master = a->place.hosts.master,
		.reservation = a->reservation,
		.options = verify ? NULL : a->options,
		.script = verify ? NULL : a->stub,
		.unverified = a->unverified,
	};
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_env struct env env = ENV_INIT;

	emit_qsub(&in, &argv);
	client_environment(&env);
	return engine_run(&argv, env.vars.v, a->s->conf->engine_timeout, answer, err);
}

static bool says(const struct engine_answer *answer, const char *words)
{
	return strstr(answer->err.buf, words) || strstr(answer->out.buf, words);
}

/* The partition whose queue the engine's words name in double quotes; partitions itself where it can't be told. */
static char *partition_of(const struct conf *conf, const char *partitions, const char *words)
{
	const char *open = strchr(words, '"');
	const char *close = open ? strchr(open + 1, '"') : NULL;
	cleanup_free char *queue = close ? xstrndup(open + 1, close - open - 1) : NULL;

	for (const char *p = partitions; queue && *p; p += strcspn(p, ","), p += *p == ',') {
		cleanup_free char *name = xstrndup(p, strcspn(p, ","));
		const struct conf_partition *row = conf_partition(conf, name);

		if (!strcmp(row && row->queue ? row->queue : name, queue))
			return steal_ptr(&name);
	}
	return xstrdup(partitions);
}

static bool found_no_queue(const struct engine_answer *answer)
{
	return answer->code != 0 && (says(answer, "no suitable queues") || says(answer, "verification: no"));
}

/* Why no queue is suitable: one more call, once. */
static const char *reasons(struct attempt *a)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;

	if (a->asked)
		return a->reasons.buf;
	a->asked = true;
	if (run_qsub(a, emit_h_rt(a->s->request->time_limit, seconds(a->s->conf->kill_wait)), true, &answer,
		     NULL) == 0)
		strbuf_addf(&a->reasons, "%s\n%s", answer.out.buf, answer.err.buf);
	return a->reasons.buf;
}

int submit_explain(struct attempt *a, const struct engine_answer *answer, struct error *err)
{
	const struct request *r = a->s->request;
	const char *partitions = r->partition ? r->partition : a->s->conf->default_partition;
	struct error words = ERROR_INIT;

	if (*a->refusal.text)
		return error_set(err, ERR_ENGINE, "%s", a->refusal.text);
	if (engine_is_down(answer))
		return error_set(err, ERR_ENGINE,
				 FAILED "Unable to contact slurm controller (connect failure)");
	if (says(answer, "job with more than"))
		return error_set(err, ERR_ENGINE, FAILED "Invalid job array specification");
	engine_refusal(answer, &words);
	if (partitions && says(answer, "unknown queue")) {
		cleanup_free char *name = partition_of(a->s->conf, partitions, words.text);

		return error_set(
			err, ERR_ENGINE,
			"invalid partition specified: %s\n" FAILED "Invalid partition name specified", name);
	}
	if (found_no_queue(answer)) {
		const char *first = verify_short_of(&a->place.resources, reasons(a));

		/* Slurm would choose more hosts; here they are chosen before the engine is asked */
		if (!*first && r->gpus.n && r->nodes.min == REQUEST_UNSET &&
		    verify_lacks(&a->place.resources, a->s->conf->gpu_complex, reasons(a)))
			first = "no host has so many GPUs; say with --nodes how many hosts share them\n";
		if (*first)
			return error_set(err, ERR_VALUE,
					 "%s" FAILED "Requested node configuration is not available", first);
		if (!a->place.widest)
			place_widths(a->place.queue, a->s->conf->engine_timeout, &a->place.widest,
				     &a->place.narrowest, NULL);
		return geometry_refuse(r, a->place.widest, err);
	}
	return error_set(err, ERR_ENGINE, FAILED "%s", words.text);
}

/* The number in the last line of -terse that starts with one ("57", "57.1-3:1"); 0: none. */
static uint64_t read_job_id(const char *out)
{
	uint64_t id = 0;

	for (; *out; out += strcspn(out, "\n"), out += *out == '\n')
		if (isdigit((unsigned char)*out))
			id = strtoull(out, NULL, 10);
	return id;
}

/*
 * h_rt is a backstop later than the limit; where no queue allows that much, the limit itself, which the engine
 * enforces about a second late.
 */
static int ask_with_limit(struct attempt *a, struct engine_answer *answer, struct error *err)
{
	int64_t limit = a->s->request->time_limit;
	int64_t h_rt = emit_h_rt(limit, seconds(a->s->conf->kill_wait));

	if (run_qsub(a, h_rt, !a->stub, answer, err) < 0)
		return -1;
	if (h_rt && answer->code != 0 && says(answer, "no suitable queues"))
		return run_qsub(a, limit, !a->stub, answer, err);
	return 0;
}

/* A PE that no queue offers isn't seen before, since that costs a call of the engine each time. */
int submit_ask(struct attempt *a, struct engine_answer *answer, struct error *err)
{
	int64_t limit = a->s->request->time_limit;
	int rc = ask_with_limit(a, answer, err);

	while (rc == 0 && found_no_queue(answer) &&
	       place_other_pe(&a->place, a->s->conf, a->s->request, a->cluster, &a->refusal) == 0)
		rc = ask_with_limit(a, answer, err);
	if (rc < 0 || !found_no_queue(answer) || *a->refusal.text || !verify_in_use(reasons(a)))
		return rc;
	a->unverified = true;
	if (!verify_time_limit(reasons(a)))
		limit = emit_h_rt(limit, seconds(a->s->conf->kill_wait));
	return a->stub ? run_qsub(a, limit == DURATION_INFINITE ? 0 : limit, false, answer, err) : 0;
}

int submit_spooled(struct attempt *a, uint64_t *job_id, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;

	if (submit_ask(a, &answer, err) < 0) {
		error_wrap(err, "Batch job submission failed");
		return answer.code ? -2 : -1;
	}
	if (answer.code > 128) {
		error_set(err, ERR_ENGINE, FAILED "qsub was killed by signal %d", answer.code - 128);
		return -2;
	}
	if (answer.code != 0)
		return submit_explain(a, &answer, err);
	*job_id = read_job_id(answer.out.buf);
	if (*job_id)
		return 0;
	error_set(err, ERR_ENGINE, FAILED "qsub gave no job id");
	return -2;
}
