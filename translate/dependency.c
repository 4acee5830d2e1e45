/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `translate dependency ...`: what the supervisor of a job asks for and tells, on the execution host; it has no reader
 * of records itself. Not for users.
 *
 *   check SPOOL ACCOUNTING TASK WAITED   may the job start? exit 0 yes, 10 never, 11 not yet: look again after as
 *                                        many seconds as stdout says; else it can't be told
 *   settle SPOOL ACCOUNTING start|end    the job started or ended: what waits for it is let go, delayed or ended
 */
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "ocs/jobspec.h"
#include "translate/applet.h"
#include "translate/depend_job.h"

#include <inttypes.h>
#include <string.h>

enum {
	MAX_FILE = 64 << 20,
	EXIT_NEVER = 10,
	EXIT_WAIT = 11,
	LOOK_AGAIN =
		10, /* s; a job that isn't to start yet keeps its slots: it happens where somebody changed -hold_jid */
	LOOK_SOON = 3, /* s; a record may be on its way through a network file system */
	PATIENCE = 15, /* s after which it isn't */
};

/* The folders are those of the job, whatever this host's configuration says. */
static int set_folders(struct conf *c, const char *spool, const char *accounting, char **root, char **cluster,
		       struct error *err)
{
	cleanup_free char *dir = xstrdup(spool);
	char *slash = strrchr(dir, '/');

	*c = *applet_conf();
	if (slash)
		*slash = '\0';
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return error_set(err, ERR_USAGE, "%s is no spool folder", spool);
	*cluster = xstrdup(slash + 1);
	*slash = '\0';
	*root = xstrdup(dir);
	c->spool_dir = *root;
	c->cluster_name = *cluster;
	if (*accounting)
		c->accounting_dir = (char *)accounting;
	return 0;
}

static int read_index(const struct spool *spool, uint32_t task, struct depend_world *w, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	cleanup_jobspec struct jobspec job = JOBSPEC_INIT;

	if (!task)
		return 0;
	if (fd_read_file(spool->fd, "job", MAX_FILE, &text, err) < 0 ||
	    jobspec_unpack(&job, text.buf, text.len, err) < 0)
		return -1;
	w->has_index = task <= job.array_count;
	w->index = w->has_index ? job.array_index[task - 1] : 0;
	return 0;
}

static int tell_wait(time_t until, time_t now, bool may_be_late)
{
	long long wait = may_be_late ? LOOK_SOON : LOOK_AGAIN;

	if (until > now)
		wait = until - now;
	printf("%lld\n", wait);
	return EXIT_WAIT;
}

static int check(const struct conf *conf, const char *dir, uint32_t task, long waited, struct error *err)
{
	cleanup_spool struct spool spool = SPOOL_INIT;
	cleanup_depend_job struct depend_job j = DEPEND_JOB_INIT;
	cleanup_depend_view struct depend_view v = { 0 };
	const char *id = getenv("JOB_ID");
	struct depend_world w;
	enum depend_verdict verdict;
	time_t now = time(NULL), until;
	int rc;

	if (spool_open(&spool, dir, err) < 0)
		return -1;
	rc = depend_job_read(&j, spool.fd, err);
	if (rc <= 0)
		return rc;
	if (depend_view_open(&v, conf, err) < 0 ||
	    depend_view_world(&v, &j, id ? strtoull(id, NULL, 10) : 0, &w, err) < 0 ||
	    read_index(&spool, task, &w, err) < 0)
		return -1;
	w.final = waited >= PATIENCE;
	verdict = depend_judge(&j.list, depend_facts, &w, now, &until);
	if (verdict == DEPEND_OPEN)
		return tell_wait(until, now, waited < PATIENCE);
	return verdict == DEPEND_NEVER ? EXIT_NEVER : 0;
}

static int settle(const struct conf *conf, const char *dir, const char *file, struct error *err)
{
	cleanup_spool struct spool spool = SPOOL_INIT;
	cleanup_depend_view struct depend_view v = { 0 };

	if (spool_open(&spool, dir, err) < 0 || depend_view_open(&v, conf, err) < 0)
		return -1;
	depend_settle_waiting(&v, spool.fd, file);
	return 0;
}

static int run(int argc, char **argv)
{
	cleanup_free char *root = NULL, *cluster = NULL;
	struct error err = ERROR_INIT;
	struct conf conf;
	int rc = -1;

	if (argc < 5)
		rc = error_set(&err, ERR_USAGE, "called by the supervisor of a job, not by hand");
	else if (set_folders(&conf, argv[2], argv[3], &root, &cluster, &err) < 0)
		rc = -1;
	else if (!strcmp(argv[1], "check") && argc == 6)
		rc = check(&conf, argv[2], (uint32_t)strtoul(argv[4], NULL, 10), strtol(argv[5], NULL, 10),
			   &err);
	else if (!strcmp(argv[1], "settle"))
		rc = settle(&conf, argv[2], strcmp(argv[4], "start") ? "dependents" : "dependents.start",
			    &err);
	if (rc < 0)
		log_error("%s", err.text);
	return rc < 0 ? 1 : rc;
}

const struct applet dependency_applet = { .name = "dependency", .run = run };
