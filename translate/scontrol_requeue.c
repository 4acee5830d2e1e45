/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `scontrol requeue|requeuehold`. The supervisor ends the job's processes mildly and then itself, with the exit code by
 * which the engine starts a job again: so no two runs overlap, as they do for seconds after qmod -rj. That one is left
 * for jobs whose supervisor doesn't answer, and for those of others.
 */
#include "common/log.h"
#include "common/mem.h"
#include "ocs/engine.h"
#include "translate/applet.h"
#include "translate/scancel.h"
#include "translate/scontrol.h"

#include <string.h>
#include <strings.h>

static int complain(const char *id, const char *why)
{
	log_bare("%s for job %s", why, id);
	return 1;
}

static void add_word(struct argvec *argv, const struct job *j)
{
	if (j->is_array)
		argvec_pushf(argv, "%llu.%u", (unsigned long long)j->id, j->positions[0]);
	else
		argvec_pushf(argv, "%llu", (unsigned long long)j->id);
}

/* What the engine says to a hold or a reschedule. */
static int read_answer(const struct engine_answer *answer, const char *id)
{
	const char *text = answer->out.len ? answer->out.buf : answer->err.buf;
	struct error err = ERROR_INIT;

	if (strstr(text, "not rerunable") || strstr(text, "not restartable"))
		return complain(id, "Requested operation is presently disabled");
	if (strstr(text, "denied") || strstr(text, "privileges") || strstr(text, "must be"))
		return complain(id, "Access/permission denied");
	if (answer->code == 0)
		return 0;
	engine_refusal(answer, &err);
	log_error("%s", err.text);
	return complain(id, "Unable to contact slurm controller (connect failure)");
}

static int run_client(struct argvec *argv, const struct job *j, const char *id)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	struct error err = ERROR_INIT;

	add_word(argv, j);
	if (engine_run(argv, NULL, applet_conf()->engine_timeout, &answer, &err) == 0)
		return read_answer(&answer, id);
	log_error("%s", err.text);
	return 1;
}

static int requeue(const struct job *j, bool hold)
{
	static const char *const verb[] = { "requeue", NULL };
	cleanup_argvec struct argvec qhold = ARGVEC_INIT, qmod = ARGVEC_INIT;
	cleanup_free char *id = job_name_of_id(j);

	if (job_state_is_over(j->state))
		return complain(id, "Job has already finished");
	if (j->state == JOB_PENDING)
		return complain(id, "Job is pending execution");
	if (j->state == JOB_COMPLETING)
		return complain(id, "Job/step already completing or completed");
	if (j->record && !j->record->requeue)
		return complain(id, "Requested operation is presently disabled");
	/* the hold first: the job is started again within seconds */
	argvec_pushl(&qhold, "qhold", "-h", "u", NULL);
	if (hold && run_client(&qhold, j, id) != 0)
		return 1;
	if (supervisor_tell(applet_conf(), j, verb))
		return 0;
	argvec_pushl(&qmod, "qmod", "-rj", NULL);
	return run_client(&qmod, j, id);
}

/* Of an array: the running elements; the others are as they would be. */
static int requeue_rows(struct jobs *jobs, const struct job_id *id, const char *word, bool hold)
{
	size_t n, found = 0, running = 0;
	const struct job *rows = jobs_rows(jobs, &n);
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		found += job_has_id(&rows[i], id);
		running += job_has_id(&rows[i], id) && rows[i].state != JOB_PENDING &&
			   !job_state_is_over(rows[i].state);
	}
	if (!found)
		return complain(word, "Invalid job id specified");
	for (size_t i = 0; i < n; i++)
		if (job_has_id(&rows[i], id) &&
		    (!running || (rows[i].state != JOB_PENDING && !job_state_is_over(rows[i].state))))
			rc |= requeue(&rows[i], hold);
	return rc;
}

int scontrol_requeue(const char *word, bool hold)
{
	cleanup_job_ids struct job_ids ids = JOB_IDS_INIT;
	cleanup_free char *bad = NULL;
	struct job_query query = { .over = true };
	struct error err = ERROR_INIT;
	struct jobs *jobs;
	int rc = 0;

	if (!strncasecmp(word, "jobid=", 6) || !strncasecmp(word, "job=", 4))
		word = strchr(word, '=') + 1;
	if (!*word || job_ids_parse(&ids, word, &bad) < 0)
		return complain(word, "Invalid job id specified");
	jobs = jobs_load(applet_conf(), &query, &err);
	if (!jobs) {
		log_error("%s", err.text);
		return complain(word, "Unable to contact slurm controller (connect failure)");
	}
	for (size_t i = 0; i < ids.n; i++) {
		char text[48];

		snprintf(text, sizeof(text), ids.v[i].has_index ? "%llu_%u" : "%llu",
			 (unsigned long long)ids.v[i].id, ids.v[i].index);
		rc |= requeue_rows(jobs, &ids.v[i], text, hold);
	}
	jobs_free(jobs);
	return rc;
}
