/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/login_env.h"

#include "common/path.h"
#include "common/spawn.h"

#include <pwd.h>
#include <string.h>

/* Profiles print what they like: the answer begins behind this. */
#define MARKER "slurm-on-ocs login environment"
#define COMMAND "/usr/bin/printf '\\0" MARKER "\\0'; exec /usr/bin/env -0"

static void start_environment(struct env *env, const struct passwd *pw)
{
	env_set(env, "HOME", pw->pw_dir);
	env_set(env, "USER", pw->pw_name);
	env_set(env, "LOGNAME", pw->pw_name);
	env_set(env, "SHELL", pw->pw_shell);
	env_set(env, "PATH", "/usr/local/bin:/usr/bin:/bin");
}

int login_environment_parse(struct env *out, const char *text, size_t n, struct error *err)
{
	static const char marker[] = "\0" MARKER; /* with the NUL behind it, that is the compiler's */
	static const char *const shells_own[] = { "_", "PWD", "OLDPWD" };
	const char *p = memmem(text, n, marker, sizeof(marker));

	if (!p)
		return error_set(err, ERR_VALUE, "the login shell printed no environment");
	p += sizeof(marker);
	if (env_unpack(out, p, n - (size_t)(p - text), err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(shells_own); i++)
		env_unset(out, shells_own[i]);
	return 0;
}

int login_environment(struct env *out, int timeout, struct error *err)
{
	const struct passwd *pw = getpwuid(getuid());
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_strbuf struct strbuf text = STRBUF_INIT, noise = STRBUF_INIT;
	cleanup_env struct env env = ENV_INIT;
	struct spawn s = {
		.argv = &argv, .cwd = "/", .out = &text, .err = &noise, .timeout_ms = timeout * 1000
	};

	if (!pw)
		return error_set(err, ERR_SYSTEM, "uid %u has no passwd entry", (unsigned)getuid());
	s.program = *pw->pw_shell ? pw->pw_shell : "/bin/sh";
	start_environment(&env, pw);
	s.envp = env.vars.v;
	/* A dash in front of its name makes every shell a login shell; csh has no other way together with -c. */
	argvec_pushf(&argv, "-%s", path_basename(s.program));
	argvec_pushl(&argv, "-c", COMMAND, NULL);
	if (spawn_run(&s, err) < 0)
		return -1;
	return login_environment_parse(out, text.buf, text.len, err);
}
