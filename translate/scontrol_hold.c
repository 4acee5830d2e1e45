/* SPDX-License-Identifier: Apache-2.0 */
/* `scontrol hold|uhold|release`: qhold and qrls. */
#include "common/log.h"
#include "common/mem.h"
#include "ocs/engine.h"
#include "translate/applet.h"
#include "translate/scontrol.h"

#include <string.h>
#include <strings.h>

static int complain(const char *id, const char *why)
{
	log_bare("%s for job %s", why, id);
	log_bare("slurm_suspend error: %s", why);
	return 1;
}

/*
 * A user's own hold; root's is one that only a manager can take off (Slurm's JobHeldAdmin), and root's release takes
 * off all of them.
 */
static const char *holds(enum hold_action action)
{
	bool is_root = geteuid() == 0;

	if (action == HOLD_RELEASE)
		return is_root ? "uos" : "u";
	return action == HOLD_ANY && is_root ? "s" : "u";
}

static void add_words(struct argvec *argv, const struct job *j)
{
	if (!j->is_array)
		argvec_pushf(argv, "%llu", (unsigned long long)j->id);
	for (size_t i = 0; i < j->npositions; i++)
		argvec_pushf(argv, "%llu.%u", (unsigned long long)j->id, j->positions[i]);
}

/* What the engine says of a job that it doesn't change. */
static int read_answer(const struct engine_answer *answer, const char *id)
{
	const char *text = answer->out.len ? answer->out.buf : answer->err.buf;
	struct error err = ERROR_INIT;

	if (answer->code == 0 && !strstr(text, "denied") && !strstr(text, "privileges"))
		return 0;
	if (strstr(text, "does not exist"))
		return complain(id, "Invalid job id specified");
	if (strstr(text, "denied") || strstr(text, "privileges") || strstr(text, "must be manager"))
		return complain(id, "Access/permission denied");
	engine_refusal(answer, &err);
	log_error("%s", err.text);
	return complain(id, "Unable to contact slurm controller (connect failure)");
}

static int change(const struct job *j, enum hold_action action)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_free char *id = job_name_of_id(j);
	struct error err = ERROR_INIT;

	if (job_state_is_over(j->state))
		return complain(id, "Job has already finished");
	if (j->state != JOB_PENDING)
		return complain(id, "Job is no longer pending execution");
	/* Slurm's release of a job that an administrator holds is denied; the engine's would be silent. */
	if (action == HOLD_RELEASE && geteuid() != 0 && !strcmp(j->reason, "JobHeldAdmin"))
		return complain(id, "Access/permission denied");
	argvec_pushl(&argv, action == HOLD_RELEASE ? "qrls" : "qhold", "-h", holds(action), NULL);
	add_words(&argv, j);
	if (engine_run(&argv, NULL, applet_conf()->engine_timeout, &answer, &err) < 0) {
		log_error("%s", err.text);
		return 1;
	}
	return read_answer(&answer, id);
}

/* "7", "job=7", "jobid=7", "7,8", "jobname=x". NULL in *name: ids. */
static int parse_word(const char *word, struct job_ids *ids, const char **name)
{
	const char *equal = strchr(word, '=');
	cleanup_free char *bad = NULL;

	*name = NULL;
	if (equal && !strncasecmp(word, "jobname", (size_t)(equal - word)) && equal - word > 5) {
		*name = equal + 1;
		return 0;
	}
	if (equal && !strncasecmp(word, "jobid", (size_t)(equal - word)))
		word = equal + 1;
	if (*word && job_ids_parse(ids, word, &bad) == 0)
		return 0;
	return complain(word, "Invalid job id specified");
}

static int change_selected(struct jobs *jobs, enum hold_action action)
{
	size_t n;
	const struct job *rows = jobs_rows(jobs, &n);
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		rc |= change(&rows[i], action);
	return rc;
}

static int report_missing(struct jobs *jobs, const struct job_ids *ids)
{
	size_t n;
	const struct job *rows = jobs_rows(jobs, &n);
	int rc = 0;

	for (size_t k = 0; k < ids->n; k++) {
		bool found = false;
		char text[48];

		for (size_t i = 0; i < n && !found; i++)
			found = job_has_id(&rows[i], &ids->v[k]);
		snprintf(text, sizeof(text), ids->v[k].has_index ? "%llu_%u" : "%llu",
			 (unsigned long long)ids->v[k].id, ids->v[k].index);
		if (!found)
			rc = complain(text, "Invalid job id specified");
	}
	return rc;
}

int scontrol_hold(const struct scontrol_options *o, enum hold_action action, const char *word)
{
	struct job_query query = { .over = true };
	struct job_filter f = { 0 };
	struct error err = ERROR_INIT;
	struct jobs *jobs;
	const char *name;
	int rc = parse_word(word, &f.ids, &name);

	(void)o;
	if (rc == 0) {
		jobs = jobs_load(applet_conf(), &query, &err);
		if (!jobs) {
			log_error("%s", err.text);
			rc = complain(word, "Unable to contact slurm controller (connect failure)");
		} else {
			rc = report_missing(jobs, &f.ids);
			f.has_ids = !name;
			f.has_names = name != NULL;
			f.states = name ? 1u << JOB_PENDING : 0;
			if (name)
				argvec_push(&f.names, name);
			jobs_select(jobs, &f);
			rc |= change_selected(jobs, action);
			jobs_free(jobs);
		}
	}
	job_filter_release(&f);
	return rc;
}
