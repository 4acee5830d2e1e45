/* SPDX-License-Identifier: Apache-2.0 */
#include "common/duration.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "translate/applet.h"
#include "translate/directive.h"
#include "translate/export.h"
#include "translate/export_file.h"
#include "translate/submit.h"
#include "translate/wait_job.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_SCRIPT (64 << 20) /* bytes: more is no script */
#define WRAP_HEAD "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n"

#define NO_HETJOB "heterogeneous jobs are not supported; ask for one size that fits all tasks"

extern char **environ;

struct script {
	struct strbuf text;
	char *path;        /* absolute; NULL: stdin or --wrap */
	const char *given; /* for messages */
	const char *default_name;
};

static void script_release(struct script *s)
{
	strbuf_release(&s->text);
	free(s->path);
}

/* --- reading the script --- */

static bool is_file(const char *path)
{
	struct stat st;

	return access(path, R_OK) == 0 && stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* The file here, else on PATH (as Slurm does, for a name without '/'). NULL: neither. */
static char *find_script(const char *name, const char *cwd)
{
	cleanup_free char *here = path_join(cwd, name);
	const char *path = getenv("PATH");

	if (is_file(here))
		return steal_ptr(&here);
	if (strchr(name, '/'))
		return NULL;
	while (path && *path) {
		size_t n = strcspn(path, ":");
		cleanup_free char *dir = xstrndup(path, n);
		cleanup_free char *there = path_join(*dir ? dir : cwd, name);

		if (is_file(there))
			return steal_ptr(&there);
		path += n + (path[n] == ':');
	}
	return NULL;
}

static int read_script(struct script *s, const char *name, const char *cwd, struct error *err)
{
	if (!name) {
		s->default_name = s->given = "sbatch";
		if (fd_read_to_eof(STDIN_FILENO, MAX_SCRIPT, &s->text) < 0)
			return error_errno(err, "cannot read the script from standard input");
		return 0;
	}
	s->given = name;
	s->path = find_script(name, cwd);
	if (!s->path || fd_read_file(AT_FDCWD, s->path, MAX_SCRIPT, &s->text, NULL) < 0)
		return error_set(err, ERR_VALUE, "Unable to open file %s", name);
	s->default_name = path_basename(s->path);
	return 0;
}

static int load_script(struct script *s, const struct request *early, int nwords, char **words,
		       const char *cwd, struct error *err)
{
	if (nwords && !strcmp(words[0], ":"))
		return error_set(err, ERR_VALUE, "':': " NO_HETJOB);
	if (early->wrap && nwords)
		return error_set(err, ERR_VALUE, "Script arguments not permitted with --wrap option");
	if (early->wrap) {
		s->default_name = s->given = "wrap";
		strbuf_addstr(&s->text, WRAP_HEAD);
		strbuf_addstr(&s->text, early->wrap);
		strbuf_addch(&s->text, '\n');
		return 0;
	}
	if (read_script(s, nwords ? words[0] : NULL, cwd, err) < 0)
		return -1;
	return directive_check_script(s->text.buf, s->text.len, err);
}

/* --- options --- */

static int refuse_foreign(const struct directives *d, const struct script *s, bool ignore_pbs,
			  struct error *err)
{
	if (d->hetjob_line)
		return error_set(err, ERR_VALUE, "%s: line %u: " NO_HETJOB, s->given, d->hetjob_line);
	if (d->pbs_line && !ignore_pbs)
		return error_set(
			err, ERR_VALUE,
			"%s: line %u: %s lines are not read; write #SBATCH lines, or give --ignore-pbs to pass "
			"over them",
			s->given, d->pbs_line, d->pbs_word);
	return 0;
}

/* #SBATCH lines. Returns an exit code; 0: go on. */
static int apply_directives(struct opt_run *run, const struct script *s, struct request *r)
{
	cleanup_directives struct directives d = DIRECTIVES_INIT;
	struct error err = ERROR_INIT;
	const char *extra;

	if (directives_read(&d, s->given, s->text.buf, s->text.len, &err) < 0) {
		log_fatal("%s", err.text);
		return 1;
	}
	if (opt_parse_directive(run, (int)d.words.n, d.words.v, &extra, &err) < 0)
		return opt_fail(run, &err);
	if (extra) {
		error_set(&err, ERR_USAGE, "Invalid directive found in batch script: %s", extra);
		return opt_fail(run, &err);
	}
	if (refuse_foreign(&d, s, r->ignore_pbs, &err) < 0)
		return opt_fail(run, &err);
	return 0;
}

/* The script with its arguments, as scontrol shows it; NULL without a file. Caller frees. */
static char *show_command(const struct script *script, int nargs, char **args)
{
	struct strbuf out = STRBUF_INIT;

	if (!script->path)
		return NULL;
	strbuf_addstr(&out, script->path);
	for (int i = 0; i < nargs; i++)
		strbuf_addf(&out, " %s", args[i]);
	return strbuf_steal(&out);
}

/* What the cluster option may name. */
static int check_cluster(const struct request *r, const struct conf *conf, struct error *err)
{
	if (!r->clusters || !*r->clusters || !strcmp(r->clusters, conf->cluster_name) ||
	    !strcmp(r->clusters, "all"))
		return 0;
	return error_set(
		err, ERR_VALUE,
		"No cluster '%s' known by database.\n"
		"'%s' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list "
		"clusters' to see available clusters.",
		r->clusters, r->clusters);
}

/* All sources, the later one wins: directives, environment, command line. */
static int read_options(struct opt_run *run, struct request *r, const struct script *s, int argc, char **argv)
{
	struct error err = ERROR_INIT;
	int code, first;

	code = r->wrap ? 0 : apply_directives(run, s, r);
	if (code)
		return code;
	if (opt_parse_env(run, environ, &err) < 0 || opt_parse_cli(run, argc, argv, false, &first, &err) < 0)
		return opt_fail(run, &err);
	return 0;
}

/* --- the answer --- */

static void print_job(const struct request *r, const struct conf *conf, uint64_t job_id)
{
	bool named = r->clusters && *r->clusters;

	if (r->quiet)
		return;
	if (r->parsable && named)
		printf("%" PRIu64 ";%s\n", job_id, conf->cluster_name);
	else if (r->parsable)
		printf("%" PRIu64 "\n", job_id);
	else if (named)
		printf("Submitted batch job %" PRIu64 " on cluster %s\n", job_id, conf->cluster_name);
	else
		printf("Submitted batch job %" PRIu64 "\n", job_id);
	applet_flush();
}

static int test_only(struct submission *s)
{
	cleanup_free char *answer = NULL;
	struct error err = ERROR_INIT;

	if (submit_test(s, &answer, &err) < 0) {
		/* Slurm's words, without its name in front. */
		const char *words = strrchr(err.text, '\n');

		words = words ? words + 1 : err.text;
		log_bare("allocation failure: %s",
			 strncmp(words, "Batch job submission failed: ", 29) ? words : words + 29);
		return 1;
	}
	log_info("%s", answer);
	return 0;
}

/* What the job gets from here. The login environment comes from its own host: the supervisor puts it below. */
static void job_environment(const struct request *r, struct env *out)
{
	export_environment(r->export_spec, environ, out);
	if (r->dependency && *r->dependency)
		env_set(out, "SLURM_JOB_DEPENDENCY", r->dependency);
}

static int check_array(const struct request *r, const struct conf *conf, struct error *err)
{
	const struct array_request *a = &r->array;

	if (!a->count || a->index[a->count - 1] < (uint32_t)conf->max_array_size)
		return 0;
	return error_set(err, ERR_VALUE, "Batch job submission failed: Invalid job array specification");
}

/* The exit code. */
static int submit_and_print(struct submission *s)
{
	const struct request *r = s->request;
	struct error err = ERROR_INIT;
	uint64_t job_id;

	job_environment(r, &s->env);
	if ((r->export_file && export_file_read(r->export_file, &s->env, &err) < 0) ||
	    submit_job(s, &job_id, &err) < 0) {
		opt_log_error(&err);
		return 1;
	}
	print_job(r, s->conf, job_id);
	submit_sweep(s->conf);
	return r->wait ? wait_for_job(s->conf, job_id) : 0;
}

static int submit(struct request *r, const struct script *script, int nargs, char **args, const char *cwd)
{
	cleanup_free char *command = show_command(script, nargs, args);
	struct submission s = {
		.conf = applet_conf(),
		.request = r,
		.script = script->text.buf,
		.script_len = script->text.len,
		.path = script->path,
		.command = command,
		.name = r->name ? r->name : script->default_name,
		.cwd = cwd,
		.args = ARGVEC_INIT,
		.env = ENV_INIT,
	};
	cleanup_free char *warning = NULL;
	struct error err = ERROR_INIT;
	int code;

	if (request_conflicts(r, &err) < 0) {
		log_fatal("%s", err.text);
		return 1;
	}
	if (check_cluster(r, s.conf, &err) < 0 || check_array(r, s.conf, &err) < 0 ||
	    request_finish(r, &warning, &err) < 0 || request_check_times(r, time(NULL), &err) < 0) {
		opt_log_error(&err);
		return 1;
	}
	if (warning)
		log_info("%s", warning);
	for (int i = 0; i < nargs; i++)
		argvec_push(&s.args, args[i]);
	code = r->test_only ? test_only(&s) : submit_and_print(&s);
	argvec_release(&s.args);
	env_release(&s.env);
	return code;
}

/* The second pass, with the script at hand. */
static int run_with_script(const struct request *early, const struct script *script, int argc, char **argv,
			   int nargs, char **args, const char *cwd)
{
	cleanup_request struct request r;
	cleanup_opt_run struct opt_run run;
	int code;

	request_init(&r);
	r.ignore_pbs = early->ignore_pbs;
	r.quiet = early->quiet;
	r.wrap = xstrdup(early->wrap);
	opt_run_init(&run, &sbatch_options, &r, NULL);
	code = read_options(&run, &r, script, argc, argv);
	return code ? code : submit(&r, script, nargs, args, cwd);
}

static void set_log_level(const struct request *early)
{
	if (early->quiet)
		log_set_level(LOG_QUIET);
	else if (early->verbose)
		log_set_level(early->verbose > 1 ? LOG_DEBUG : LOG_VERBOSE);
}

static int sbatch_run(int argc, char **argv)
{
	cleanup_request struct request early;
	cleanup_opt_run struct opt_run run;
	struct script script = { .text = STRBUF_INIT };
	cleanup_free char *cwd = NULL;
	struct error err = ERROR_INIT;
	int first = 0, rc;

	request_init(&early);
	/* As in Slurm, what is wrong on the command line is said before the script is looked for. */
	opt_run_init(&run, &sbatch_options, &early, applet_version());
	run.no_warnings = true;
	rc = opt_parse_cli(&run, argc, argv, false, &first, &err);
	if (rc)
		return rc == OPT_DONE ? 0 : opt_fail(&run, &err);
	set_log_level(&early);
	cwd = path_cwd(&err);
	if (!cwd || load_script(&script, &early, argc - first, argv + first, cwd, &err) < 0)
		rc = opt_fail(&run, &err);
	else
		rc = run_with_script(&early, &script, argc, argv, first < argc ? argc - first - 1 : 0,
				     argv + first + (first < argc), cwd);
	script_release(&script);
	return rc;
}

const struct applet sbatch_applet = { .name = "sbatch", .run = sbatch_run, .options = &sbatch_options };
