/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/engine.h"

#include "common/env.h"
#include "common/fd.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/spawn.h"
#include "conf/conf.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define DEBIAN_CLIENTS "/usr/lib/gridengine"
#define DEBIAN_ROOT "/var/lib/gridengine"
#define DEBIAN_DEFAULTS "/etc/default/gridengine"

enum {
	KIND_TIMEOUT = 30,       /* s, for `qsub -help`, which asks nobody */
	MAX_OUTPUT = 512 << 20,  /* of one client: the job list of a full cluster is some 100 MB */
	MAX_DEFAULTS = 64 << 10, /* bytes of DEBIAN_DEFAULTS */
	MAX_CACHE = 4096,
};

/* Names of one machine in the engine's terms, newest first. */
static const struct {
	const char *machine;
	const char *arch[5];
} archs[] = {
	{ "x86_64", { "lx-amd64", "ulx-amd64", "xlx-amd64", "lx24-amd64", NULL } },
	{ "aarch64", { "lx-arm64", "ulx-arm64", NULL } },
	{ "riscv64", { "lx-riscv64", NULL } },
	{ "ppc64le", { "lx-ppc64le", "ulx-ppc64le", NULL } },
};

static char *executable(const char *dir, const char *sub, const char *name)
{
	cleanup_free char *path = sub ? xasprintf("%s/%s/%s", dir, sub, name) : xasprintf("%s/%s", dir, name);
	struct stat st;

	if (access(path, X_OK) < 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	return steal_ptr(&path);
}

/* The client in any of bin's folders: an architecture that we have no name for. */
static char *find_by_scan(const char *bin, const char *name)
{
	DIR *d = opendir(bin);
	char *path = NULL;
	struct dirent *e;

	while (d && !path && (e = readdir(d)))
		if (e->d_name[0] != '.')
			path = executable(bin, e->d_name, name);
	if (d)
		closedir(d);
	return path;
}

static char *find_below_root(const char *root, const char *name)
{
	static const char *const variables[] = { "SGE_ARCH", "ARC" };
	cleanup_free char *bin = xasprintf("%s/bin", root);
	struct utsname machine;
	char *path = NULL;

	for (size_t i = 0; !path && i < ARRAY_SIZE(variables); i++) {
		const char *arch = getenv(variables[i]);

		if (arch && *arch)
			path = executable(bin, arch, name);
	}
	if (path || uname(&machine) < 0)
		return path;
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++)
		for (size_t k = 0; !path && !strcmp(archs[i].machine, machine.machine) && archs[i].arch[k];
		     k++)
			path = executable(bin, archs[i].arch[k], name);
	return path ? path : find_by_scan(bin, name);
}

static char *find_on_path(const char *name)
{
	const char *p = getenv("PATH");
	char *path = NULL;

	while (p && *p && !path) {
		size_t n = strcspn(p, ":");
		cleanup_free char *dir = xstrndup(p, n);

		if (*dir == '/')
			path = executable(dir, NULL, name);
		p += n + (p[n] == ':');
	}
	return path;
}

char *engine_client(const char *name, struct error *err)
{
	const char *binaries = getenv("SGE_BINARY_PATH");
	const char *root = getenv("SGE_ROOT");
	char *path = NULL;

	/* With the architecture's folder in it on OCS, without it where bootstrap's binary_path has none. */
	if (binaries && *binaries)
		path = executable(binaries, NULL, name);
	if (!path && root && *root)
		path = find_below_root(root, name);
	if (!path)
		path = executable(DEBIAN_CLIENTS, NULL, name);
	if (!path)
		path = find_on_path(name);
	if (!path)
		error_set(err, ERR_ENGINE, "%s: not found; set SGE_ROOT to the Grid Engine installation",
			  name);
	return path;
}

/* The value of a plain NAME=value line of Debian's defaults; NULL. */
static char *debian_default(const char *variable)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	size_t n = strlen(variable);
	char *value = NULL;

	if (fd_read_file(AT_FDCWD, DEBIAN_DEFAULTS, MAX_DEFAULTS, &text, NULL) < 0)
		return NULL;
	for (const char *line = text.buf; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *v = line + n + 1;
		size_t len;

		if (strncmp(line, variable, n) || line[n] != '=')
			continue;
		v += *v == '"';
		len = strcspn(v, "\"\n");
		if (len && !memchr(v, '`', len) && !memchr(v, '$', len)) {
			free(value);
			value = xstrndup(v, len);
		}
	}
	return value;
}

static char *variable_or_default(const char *variable, const char *debian)
{
	const char *value = getenv(variable);
	char *found;

	if (value && *value)
		return xstrdup(value);
	found = debian_default(variable);
	return found ? found : xstrdup(debian);
}

char *engine_root(struct error *err)
{
	cleanup_free char *root = variable_or_default("SGE_ROOT", DEBIAN_ROOT);

	if (access(root, X_OK) < 0) {
		error_set(err, ERR_ENGINE, "SGE_ROOT is not set to the Grid Engine installation (%s: %s)",
			  root, strerror(errno));
		return NULL;
	}
	return steal_ptr(&root);
}

char *engine_cell(void)
{
	return variable_or_default("SGE_CELL", "default");
}

void engine_answer_release(struct engine_answer *a)
{
	strbuf_release(&a->out);
	strbuf_release(&a->err);
	a->code = 0;
}

extern char **environ;

/* envp with the two variables that every client needs. */
static void complete_environment(struct env *env, char *const *envp)
{
	env_add_all(env, envp ? envp : environ);
	if (!env_get(env, "SGE_ROOT")) {
		cleanup_free char *root = engine_root(NULL);

		if (root)
			env_set(env, "SGE_ROOT", root);
	}
	if (!env_get(env, "SGE_CELL")) {
		cleanup_free char *cell = engine_cell();

		env_set(env, "SGE_CELL", cell);
	}
}

int engine_run(const struct argvec *argv, char *const *envp, int timeout, struct engine_answer *answer,
	       struct error *err)
{
	cleanup_free char *program = engine_client(argv->v[0], err);
	cleanup_env struct env env = ENV_INIT;
	struct spawn s = { .program = program,
			   .argv = argv,
			   .out = &answer->out,
			   .err = &answer->err,
			   .timeout_ms = timeout * 1000,
			   .max_output = MAX_OUTPUT,
			   .trace = true };

	if (!program)
		return -1;
	complete_environment(&env, envp);
	s.envp = env.vars.v;
	strbuf_reset(&answer->out);
	strbuf_reset(&answer->err);
	if (spawn_run(&s, err) < 0)
		return -1;
	answer->code = spawn_exit_code(s.status);
	return 0;
}

int engine_ask(const struct argvec *argv, int timeout, struct engine_answer *answer, struct error *err)
{
	if (engine_run(argv, NULL, timeout, answer, err) < 0)
		return -1;
	if (answer->code != 0) {
		engine_refusal(answer, err);
		return error_wrap(err, "%s", argv->v[0]);
	}
	return 0;
}

static const char *skip_prefix(const char *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(s, prefix, n) ? s : s + n;
}

int engine_refusal(const struct engine_answer *answer, struct error *err)
{
	const char *s = answer->err.buf + strspn(answer->err.buf, " \t\r\n");
	cleanup_free char *line = NULL;
	size_t n;

	if (!*s)
		s = answer->out.buf + strspn(answer->out.buf, " \t\r\n");
	if (!*s)
		return error_set(err, ERR_ENGINE, "the engine gave no reason (exit code %d)", answer->code);
	s = skip_prefix(s, "Unable to run job: ");
	s = skip_prefix(s, "critical ");
	s = skip_prefix(s, "error: ");
	n = strcspn(s, "\n");
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\r'))
		n--;
	if (n && s[n - 1] == '.')
		n--;
	line = xstrndup(s, n);
	return error_set(err, ERR_ENGINE, "%s", line);
}

bool engine_is_down(const struct engine_answer *answer)
{
	static const char *const words[] = {
		"commlib error",  "unable to send message to qmaster", "unable to contact qmaster",
		"got send error", "can't resolve host name",           "No such file or directory"
	};

	if (answer->code == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(answer->err.buf, words[i]))
			return true;
	return false;
}

int engine_kind_parse(const char *help, struct engine_kind *kind, struct error *err)
{
	size_t n = strcspn(help, "\n");

	memset(kind, 0, sizeof(*kind));
	if (n == 0 || n >= sizeof(kind->version) || !strstr(help, "usage: qsub"))
		return error_set(err, ERR_ENGINE, "qsub -help: not the answer of a Grid Engine");
	memcpy(kind->version, help, n);
	kind->has_par = strstr(help, "[-par ") != NULL;
	kind->has_rsmap = !strncmp(kind->version, "OCS ", 4) || !strncmp(kind->version, "GCS ", 4);
	return 0;
}

/* "path size mtime": changes with every other client. Caller frees; NULL when it is gone. */
static char *client_stamp(const char *program)
{
	struct stat st;

	if (stat(program, &st) < 0)
		return NULL;
	return xasprintf("%s %lld %lld.%09ld", program, (long long)st.st_size, (long long)st.st_mtime,
			 st.st_mtim.tv_nsec);
}

static int cache_dir(void)
{
	struct conf conf = CONF_INIT;
	cleanup_free char *dir = NULL;
	int fd = -1;

	if (conf_load(&conf, NULL) == 0)
		dir = conf_spool_dir(&conf, NULL);
	conf_release(&conf);
	if (dir && path_mkdirs(dir, 0700) == 0)
		fd = path_open_private_dir(dir, false, NULL);
	return fd;
}

/* The cache is four lines: stamp, has_par, has_rsmap, version. */
static bool cache_read(int dir, const char *stamp, struct engine_kind *kind)
{
	cleanup_fd int fd = path_open_ownedat(dir, "engine", geteuid(), NULL);
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	size_t n = strlen(stamp);
	const char *p;

	if (fd < 0 || fd_read_to_eof(fd, MAX_CACHE, &text) < 0)
		return false;
	p = text.buf;
	if (strncmp(p, stamp, n) || p[n] != '\n')
		return false;
	p += n + 1;
	if ((p[0] != '0' && p[0] != '1') || p[1] != '\n' || (p[2] != '0' && p[2] != '1') || p[3] != '\n')
		return false;
	kind->has_par = p[0] == '1';
	kind->has_rsmap = p[2] == '1';
	p += 4;
	n = strcspn(p, "\n");
	if (n == 0 || n >= sizeof(kind->version) || p[n] != '\n')
		return false;
	memcpy(kind->version, p, n);
	kind->version[n] = '\0';
	return true;
}

static void cache_write(int dir, const char *stamp, const struct engine_kind *kind)
{
	cleanup_free char *text =
		xasprintf("%s\n%d\n%d\n%s\n", stamp, kind->has_par, kind->has_rsmap, kind->version);
	char name[32];

	snprintf(name, sizeof(name), "engine.%ld", (long)getpid());
	if (path_write_newat(dir, name, 0600, text, strlen(text), false, NULL) < 0)
		return;
	if (renameat(dir, name, dir, "engine") < 0)
		unlinkat(dir, name, 0);
}

static int kind_ask(struct engine_kind *kind, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	argvec_pushl(&argv, "qsub", "-help", NULL);
	if (engine_run(&argv, NULL, KIND_TIMEOUT, &answer, err) < 0)
		return -1;
	if (engine_kind_parse(answer.out.buf, kind, err) == 0)
		return 0;
	if (answer.code == 0 || !answer.err.len)
		return -1;
	/* it says why: a wrong SGE_ROOT, say */
	engine_refusal(&answer, err);
	return error_wrap(err, "qsub");
}

int engine_kind(struct engine_kind *kind, struct error *err)
{
	static struct engine_kind known;
	cleanup_free char *program = NULL;
	cleanup_free char *stamp = NULL;
	cleanup_fd int dir = -1;

	if (!*known.version) {
		program = engine_client("qsub", err);
		if (!program)
			return -1;
		stamp = client_stamp(program);
		dir = stamp ? cache_dir() : -1;
		if (dir < 0 || !cache_read(dir, stamp, &known)) {
			if (kind_ask(&known, err) < 0) {
				memset(&known, 0, sizeof(known));
				return -1;
			}
			if (dir >= 0)
				cache_write(dir, stamp, &known);
		}
	}
	*kind = known;
	return 0;
}
