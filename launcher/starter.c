/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue's starter_method: `starter COMMAND ARG...`, for every job of the queue and every qrsh task, the site's
 * other jobs included. What must hold: a job runs as in a queue without a starter_method (argv, argv[0], environment
 * and all that a process inherits), whatever becomes of our installation meanwhile. So nothing is read but what the
 * engine says of the job, and only a native job in a PE of ours gets more: SLURM_*, PATH, LD_PRELOAD.
 *
 * What the engine does without us (shepherd's start_command(), qrsh_starter's startJob()):
 *   script, unix_behavior       SCRIPT ARG...
 *   script, posix_compliant     SHELL SCRIPT ARG...
 *   script, script_from_stdin   SHELL -s ARG..., the script on stdin
 *   script, start_as_command    SHELL -c SCRIPT
 *   -b y                        SHELL -c "COMMAND ARG... "  (a blank behind each word)
 *   -b y -shell n               COMMAND ARG...
 *   qrsh                        PASSWD-SHELL -c "COMMAND ARG..."
 *   qrsh -noshell               COMMAND ARG...
 */
#include "common/fd.h"
#include "common/path.h"
#include "launcher/native.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

extern char **environ;

/* What the engine tells its starter_method, and the job must not see. Strings stay in environ's memory. */
struct told {
	const char *shell, *mode;
	bool login;
	char binary, no_shell; /* '0', '1', 0: not known */
	char script[4096];     /* as the shepherd knows it; "": not known */
};

static const char *value_of(const char *variable, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(variable, name, n) && variable[n] == '=' ? variable + n + 1 : NULL;
}

/* Takes the engine's three variables out of environ. */
static void take_told(struct told *t)
{
	char **out = environ;

	for (char **e = environ; *e; e++) {
		const char *v;

		if ((v = value_of(*e, "SGE_STARTER_SHELL_PATH")))
			t->shell = v;
		else if ((v = value_of(*e, "SGE_STARTER_SHELL_START_MODE")))
			t->mode = v;
		else if ((v = value_of(*e, "SGE_STARTER_USE_LOGIN_SHELL")))
			t->login = !strcmp(v, "true");
		else
			*out++ = *e;
	}
	*out = NULL;
}

/* The value of "\nname=" in the config file's text, up to the end of its line; NULL. */
static const char *config_value(const char *text, const char *name, size_t *n)
{
	const char *line = strstr(text, name);

	if (!line)
		return NULL;
	line += strlen(name);
	*n = strcspn(line, "\n");
	return line;
}

/* -b and -shell are told nowhere but in the file that the shepherd itself reads. */
static void read_job_config(struct told *t)
{
	const char *dir = getenv("SGE_JOB_SPOOL_DIR");
	char path[4096], text[32768];
	const char *value;
	size_t len;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/config", dir ? dir : "");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return;
	text[n] = '\0';
	if ((value = config_value(text, "\nhandle_as_binary=", &len)))
		t->binary = *value;
	if ((value = config_value(text, "\nno_shell=", &len)))
		t->no_shell = *value;
	if ((value = config_value(text, "\nscript_file=", &len)) && len < sizeof(t->script))
		memcpy(t->script, value, len);
}

static bool is_binary(const struct told *t)
{
	const char *script = getenv("JOB_SCRIPT");

	if (t->binary)
		return t->binary == '1';
	return script && !strstr(script, "/job_scripts/");
}

/* The words with a blank behind each, or between. Lives as long as the process. */
static char *join(char **words, bool trailing)
{
	struct strbuf line = STRBUF_INIT;

	for (; *words; words++) {
		strbuf_addstr(&line, *words);
		if (trailing || words[1])
			strbuf_addch(&line, ' ');
	}
	return strbuf_steal(&line);
}

/* Only when exec failed: the shepherd's code for it can't be given. */
static NORETURN void fail(const char *what, int code)
{
	dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
	_exit(code);
}

static bool has_mode(const struct told *t, const char *mode)
{
	return t->mode && !strcasecmp(t->mode, mode);
}

static NORETURN void run_job(struct told *t, char **words)
{
	static char dash_c[] = "-c";
	const char *shell = t->shell && *t->shell ? t->shell : "/bin/sh";
	char name[256];
	char **args;
	size_t n = 0;

	while (words[n])
		n++;
	args = calloc(n + 4, sizeof(*args));
	if (!args)
		fail(shell, 126);
	memcpy(args + 1, words, (n + 1) * sizeof(*args));
	snprintf(name, sizeof(name), "%s%s", t->login ? "-" : "", path_basename(shell));
	args[0] = name;
	if (is_binary(t) && t->no_shell != '1') {
		/* with script_from_stdin the engine gives "-s" for the command */
		if (has_mode(t, "script_from_stdin") && *t->script)
			args[1] = t->script;
		args[2] = join(args + 1, true);
		args[1] = dash_c;
		args[3] = NULL;
	} else if (has_mode(t, "start_as_command")) {
		args[1] = dash_c;
		args[2] = words[0];
		args[3] = NULL;
	} else if (n && !has_mode(t, "script_from_stdin") &&
		   (is_binary(t) || !has_mode(t, "posix_compliant"))) {
		execvp(words[0], words);
		fail(words[0], errno == ENOENT ? 127 : 126);
	}
	execvp(shell, args);
	fail(shell, errno == ENOENT ? 127 : 126);
}

/* The passwd entry's shell: getent knows every name service, and a static program none. */
static const char *user_shell(void)
{
	static char line[4096];
	char uid[16];
	int fds[2], n = 0;
	pid_t pid;

	snprintf(uid, sizeof(uid), "%u", (unsigned)getuid());
	if (pipe2(fds, O_CLOEXEC) == 0) {
		pid = fork();
		if (pid == 0) {
			dup2(fds[1], STDOUT_FILENO);
			execlp("getent", "getent", "passwd", uid, (char *)NULL);
			_exit(127);
		}
		close(fds[1]);
		n = (int)fd_read_full(fds[0], line, sizeof(line) - 1);
		close(fds[0]);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (!strrchr(line, ':') || !strrchr(line, ':')[1])
		return "/bin/sh";
	return strrchr(line, ':') + 1;
}

/* Was the parent, the engine's qrsh_starter, told "noshell"? 1, 0, -1: it isn't a qrsh_starter. */
static int parent_has_noshell(void)
{
	char path[32], text[4096];
	const char *second;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)getppid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : fd_read_full(fd, text, sizeof(text) - 2);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	text[n] = text[n + 1] = '\0';
	if (!strstr(path_basename(text), "qrsh_starter"))
		return -1;
	second = text + strlen(text) + 1;
	if (second >= text + n || second + strlen(second) + 1 >= text + n)
		return 0;
	return !strcmp(second + strlen(second) + 1, "noshell");
}

static NORETURN void run_task(char **words)
{
	int noshell = parent_has_noshell();
	const char *shell, *what = words[0];

	/* without an answer: only a whole command line can need a shell */
	if (noshell < 0)
		noshell = words[1] || !strpbrk(words[0], " \t\n;&|<>()$`'\"*?[");
	if (noshell) {
		execvp(words[0], words);
	} else {
		shell = user_shell();
		what = path_basename(shell);
		execlp(shell, what, "-c", join(words, false), (char *)NULL);
	}
	/* in the words of the program that would have done it */
	dprintf(STDERR_FILENO, "qrsh_starter: executing child process %s failed: %s\n", what,
		strerror(errno));
	_exit(1);
}

int main(int argc, char **argv)
{
	const char *script = getenv("JOB_SCRIPT");
	struct told told = { NULL };

	if (argc < 2) {
		dprintf(STDERR_FILENO,
			"starter: started without a command; it is a queue's starter_method\n");
		return 1;
	}
	take_told(&told);
	native_enter(argv + 1);
	if (script && !strcmp(script, "QRSH"))
		run_task(argv + 1);
	read_job_config(&told);
	run_job(&told, argv + 1);
}
