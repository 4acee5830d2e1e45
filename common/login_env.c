/* SPDX-License-Identifier: Apache-2.0 */
#include "common/login_env.h"

#include "common/path.h"
#include "common/spawn.h"

#include <string.h>

/* Profiles print what they like: the answer begins behind this. */
#define MARKER "the login environment follows"
#define COMMAND "/usr/bin/printf '\\0" MARKER "\\0'; exec /usr/bin/env -0"

/* What login(1) gives a shell, out of what we were given of the same account. */
static void start_environment(struct env *env, const struct env *account)
{
	static const char *const names[] = { "HOME", "USER", "LOGNAME", "SHELL" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (env_get(account, names[i]))
			env_set(env, names[i], env_get(account, names[i]));
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

int login_environment(struct env *out, const struct env *account, int timeout, struct error *err)
{
	const char *shell = env_get(account, "SHELL");
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_strbuf struct strbuf text = STRBUF_INIT, noise = STRBUF_INIT;
	cleanup_env struct env env = ENV_INIT;
	struct spawn s = {
		.argv = &argv, .cwd = "/", .out = &text, .err = &noise, .timeout_ms = timeout * 1000
	};

	s.program = shell && *shell == '/' ? shell : "/bin/sh";
	start_environment(&env, account);
	s.envp = env.vars.v;
	/* A dash in front of its name makes every shell a login shell; csh has no other way together with -c. */
	argvec_pushf(&argv, "-%s", path_basename(s.program));
	argvec_pushl(&argv, "-c", COMMAND, NULL);
	if (spawn_run(&s, err) < 0)
		return -1;
	return login_environment_parse(out, text.buf, text.len, err);
}
