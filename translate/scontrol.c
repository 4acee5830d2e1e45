/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/scontrol.h"

#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "ocs/engine.h"
#include "translate/applet.h"
#include "translate/hostnames.h"
#include "translate/operands.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

extern char **environ;

struct command {
	const char *name;
	size_t shortest; /* letters that an abbreviation needs */
	int (*run)(const struct scontrol_options *o, const struct command *c, int argc, char **argv);
	int least;       /* words behind the command */
	const char *why; /* not done here: what to do instead */
};

static void print_usage(void)
{
	opt_print_help(&scontrol_options, stdout);
	puts("");
	puts("Commands:");
	puts("  show hostnames|hostlist|hostlistsorted [LIST]   host lists, both ways");
	puts("  show job [ID]                                    jobs in full");
	puts("  requeue|requeuehold ID...                        running jobs: end, and start again");
	puts("  hold|uhold|release ID|jobname=NAME...            pending jobs");
	puts("  ping, version, help");
}

/* text is the first letters of name, at least shortest of them; any case. */
static bool abbreviates(const char *text, const char *name, size_t shortest)
{
	size_t n = strlen(text);

	return n >= shortest && n <= strlen(name) && !strncasecmp(text, name, n);
}

/* --- show --- */

static const struct {
	const char *name, *why;
} not_shown[] = {
	{ "aliases", "the engine's host aliases are in its own file" },
	{ "assoc_mgr", "there are no associations here" },
	{ "bbstat", "there are no burst buffers here" },
	{ "burstbuffer", "there are no burst buffers here" },
	{ "config", "the settings are in slurm-on-ocs.conf(5); the engine's are shown by qconf -sconf" },
	{ "daemons", "use qhost" },
	{ "dwstat", "there are no burst buffers here" },
	{ "federation", "there is one cluster only" },
	{ "frontend", "there are no front ends here" },
	{ "licenses", "there are no licences here" },
	{ "nodes", "use qhost" },
	{ "partitions", "use qconf -sql and qconf -sq QUEUE" },
	{ "reservations", "use qrstat" },
	{ "slurmd", "use qhost" },
	{ "steps", "use squeue --steps" },
	{ "topology", "the engine knows no topology of hosts" },
};

static int show_entity(const struct scontrol_options *o, const char *entity, const char *id, const char *word)
{
	if (abbreviates(entity, "jobs", 1) || abbreviates(entity, "jobid", 1))
		return scontrol_show_job(o, id);
	for (size_t i = 0; i < ARRAY_SIZE(not_shown); i++) {
		if (!abbreviates(entity, not_shown[i].name, 3))
			continue;
		log_error("show %s: this version doesn't answer it; %s", not_shown[i].name, not_shown[i].why);
		return 1;
	}
	log_bare("invalid entity:%s for keyword:show ", word);
	return 1;
}

/* `show job 7` and `show job=7`. */
static int run_show(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	cleanup_free char *entity = xstrdup(argv[1]);
	char *equal = strchr(entity, '=');

	(void)c;
	if (argc > 3) {
		log_bare("too many arguments for keyword:%s", argv[0]);
		return 1;
	}
	if (equal && argc == 2) {
		*equal = '\0';
		return show_entity(o, entity, equal + 1, argv[1]);
	}
	return show_entity(o, entity, argc > 2 ? argv[2] : NULL, argv[1]);
}

/* --- the others --- */

static int hold_all(const struct scontrol_options *o, enum hold_action action, int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= scontrol_hold(o, action, argv[i]);
	return rc;
}

static int run_hold(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	(void)c;
	return hold_all(o, HOLD_ANY, argc, argv);
}

static int run_uhold(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	(void)c;
	return hold_all(o, HOLD_USER, argc, argv);
}

static int run_release(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	(void)c;
	return hold_all(o, HOLD_RELEASE, argc, argv);
}

static int run_requeue(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	bool hold = !strcmp(c->name, "requeuehold");
	int rc = 0;

	(void)o;
	for (int i = 1; i < argc; i++) {
		/* requeuehold State=SpecialExit 7: that state is shown only */
		if (!hold || strncasecmp(argv[i], "state=", 6))
			rc |= scontrol_requeue(argv[i], hold);
	}
	return rc;
}

static int run_version(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	(void)o, (void)c, (void)argc, (void)argv;
	printf("slurm %s\n", applet_conf()->slurm_version);
	return 0;
}

static int run_help(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	(void)o, (void)c, (void)argc, (void)argv;
	print_usage();
	return 0;
}

static int run_nothing(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	(void)o, (void)c, (void)argc, (void)argv;
	return 0;
}

/* The host that qmaster says it runs on. Caller frees. */
static char *qmaster_host(void)
{
	cleanup_free char *root = engine_root(NULL);
	cleanup_free char *cell = engine_cell();
	cleanup_free char *path = xasprintf("%s/%s/common/act_qmaster", root ? root : "", cell);
	struct strbuf text = STRBUF_INIT;

	if (fd_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0 || !text.len)
		strbuf_addstr(&text, "(null)");
	text.buf[strcspn(text.buf, "\n")] = '\0';
	return strbuf_steal(&text);
}

static int run_ping(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec ask = ARGVEC_INIT;
	cleanup_free char *host = qmaster_host();
	struct error err = ERROR_INIT;
	bool is_up;

	(void)o, (void)c, (void)argc, (void)argv;
	argvec_pushl(&ask, "qconf", "-sss", NULL);
	is_up = engine_ask(&ask, applet_conf()->engine_timeout, &answer, &err) == 0;
	printf("Slurmctld(primary) at %s is %s\n", host, is_up ? "UP" : "DOWN");
	if (!is_up)
		log_error("%s", err.text);
	return is_up ? 0 : 1;
}

static int run_refused(const struct scontrol_options *o, const struct command *c, int argc, char **argv)
{
	(void)o, (void)argc, (void)argv;
	log_error("%s: this version can't do it; %s", c->name, c->why);
	return 1;
}

#define REFUSED(name, shortest, why)                                                                         \
	{                                                                                                    \
		name, shortest, run_refused, 0, why                                                          \
	}
#define ADMIN "an administrator of the engine does that with qconf and qmod"

static const struct command commands[] = {
	{ "show", 3, run_show, 1, NULL },
	{ "hold", 4, run_hold, 1, NULL },
	{ "holdu", 5, run_uhold, 1, NULL },
	{ "uhold", 5, run_uhold, 1, NULL },
	{ "release", 3, run_release, 1, NULL },
	{ "version", 4, run_version, 0, NULL },
	{ "ping", 3, run_ping, 0, NULL },
	{ "help", 2, run_help, 0, NULL },
	{ "?", 1, run_help, 0, NULL },
	{ "completing", 3, run_nothing, 0, NULL },
	{ "exit", 1, run_nothing, 0, NULL },
	{ "quit", 4, run_nothing, 0, NULL },
	REFUSED("abort", 5, ADMIN),
	REFUSED("callerid", 3, "use qhost -j"),
	REFUSED("cancel_reboot", 3, ADMIN),
	REFUSED("create", 3, ADMIN),
	REFUSED("delete", 3, ADMIN),
	REFUSED("errnumstr", 3, "the engine has no error numbers"),
	REFUSED("fsdampeningfactor", 3, ADMIN),
	REFUSED("getent", 3, "use getent(1)"),
	REFUSED("listpids", 3, "use ps(1)"),
	REFUSED("notify", 3, "write to the job's own files"),
	REFUSED("pidinfo", 3, "use ps(1)"),
	REFUSED("reboot", 3, ADMIN),
	REFUSED("reconfigure", 3, ADMIN),
	{ "requeue", 3, run_requeue, 1, NULL },
	{ "requeuehold", 8, run_requeue, 1, NULL },
	REFUSED("resume", 3, "use qmod -usj"),
	REFUSED("schedloglevel", 3, ADMIN),
	REFUSED("setdebug", 8, ADMIN),
	REFUSED("setdebugflags", 9, ADMIN),
	REFUSED("shutdown", 8, ADMIN),
	REFUSED("suspend", 2, "use qmod -sj"),
	REFUSED("takeover", 8, ADMIN),
	REFUSED("token", 3, "there are no tokens here"),
	REFUSED("top", 3, "use qalter -p"),
	REFUSED("update", 1, "use qalter for jobs, and qconf for the rest"),
	REFUSED("wait_job", 3, "use sbatch --wait"),
	REFUSED("write", 5, "the script is in the job's spool folder while the job lives"),
};

static int run_command(const struct scontrol_options *o, int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];

		if (!abbreviates(argv[0], c->name, c->shortest))
			continue;
		if (argc - 1 < c->least) {
			log_bare("too few arguments for keyword:%s", argv[0]);
			return 1;
		}
		return c->run(o, c, argc, argv);
	}
	log_bare("invalid keyword: %s", argv[0]);
	return 1;
}

/* Words that are options, too ("scontrol oneliner ..." is for the interactive mode, which isn't here). */
static int run_words(const struct scontrol_options *o, struct argvec *words)
{
	int code;

	if (!words->n) {
		log_error("no command; there is no interactive mode here");
		return 1;
	}
	/* Before anything else: host lists need neither the configuration nor the engine. */
	if (hostnames_show((int)words->n, words->v, print_usage, &code))
		return code;
	if (o->clusters && *o->clusters && strcmp(o->clusters, applet_conf()->cluster_name)) {
		log_error(
			"'%s' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list "
			"clusters' to see available clusters.",
			o->clusters);
		return 1;
	}
	return run_command(o, (int)words->n, words->v);
}

static bool asks_version(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "-V") || !strncmp(argv[i], "--vers", 6))
			return true;
	return false;
}

static int run(int argc, char **argv)
{
	struct scontrol_options o = { 0 };
	cleanup_opt_run struct opt_run run_ = { 0 };
	cleanup_argvec struct argvec words = ARGVEC_INIT;
	struct error err = ERROR_INIT;
	int rc;

	/* The configuration is read only where it is needed: every job script calls this for its host list. */
	opt_run_init(&run_, &scontrol_options, &o,
		     asks_version(argc, argv) ? applet_conf()->slurm_version : NULL);
	rc = opt_parse_env(&run_, environ, &err);
	if (rc == 0)
		rc = operands_parse(&run_, argc, argv, &words, &err);
	log_set_level(o.verbose > 0 ? LOG_NORMAL + o.verbose : LOG_NORMAL);
	if (rc < 0)
		rc = opt_fail(&run_, &err);
	else if (rc == OPT_DONE)
		rc = 0;
	else
		rc = run_words(&o, &words);
	free(o.clusters);
	free(o.uid);
	return rc;
}

const struct applet scontrol_applet = { .name = "scontrol", .run = run, .options = &scontrol_options };
