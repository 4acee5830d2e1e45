/* SPDX-License-Identifier: Apache-2.0 */
/* The constructor, and the rule that says which exec goes to the translator (rules.md, "Redirect"). */
#include <errno.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/next.h"
#include "preload/preload.h"
#include "preload/text.h"

#define COMMAND_DIR LIBEXECDIR "/bin/"

/*
 * Tables in this library are arrays of characters, not of pointers, and variables are in .data even when
 * zero: pointers to relocate, and a .bss to map and clear, would cost each process of a job some microseconds
 * (tests/bench/preload).
 */
#define MAX_NAME 24

static const char commands[][sizeof COMMAND_DIR + MAX_NAME] = {
#define COMMAND(name) COMMAND_DIR #name,
#include "common/commands.def"
#undef COMMAND
};

/* Written by the constructor, read-only afterwards. */
static struct {
	struct next next;
	bool ready;    /* next is filled */
	bool on;       /* not switched off, not a set-user-id program */
	bool redirect; /* on, and not a program of ours */
} state IN_DATA;

const char *preload_env(char *const *envp, const char *name)
{
	for (; envp && *envp; envp++) {
		const char *rest = text_after(*envp, name);
		if (rest && *rest == '=')
			return rest + 1;
	}
	return NULL;
}

__attribute__((constructor)) static void preload_init(void)
{
	int saved = errno;
	const char *disable = preload_env(environ, "SLURM_ON_OCS_DISABLE");
	const char *self = (const char *)getauxval(AT_EXECFN);

	next_find(&state.next);
	state.ready = true;
	state.on = (!disable || !*disable || text_equal(disable, "0")) && !getauxval(AT_SECURE);
	/* A program of ours that execs the command that it stands for must not come back to itself. */
	state.redirect = state.on && !(self && text_after(self, LIBEXECDIR "/"));
	if (state.on) {
		containers_init(preload_env(environ, "SOO_CONTAINER_RUNTIMES"));
		native_fill();
	}
	errno = saved;
}

static int exec_raw(const char *file, char *const *argv, char *const *envp)
{
	syscall(SYS_execve, file, argv, envp);
	return errno;
}

int preload_pass(const struct call *call, const char *file)
{
	struct next early;
	const struct next *next = &state.next;

	if (!state.ready) { /* another library's constructor, before ours */
		next_find(&early);
		next = &early;
	}
	switch (call->kind) {
	case CALL_EXECV:
		if (!next->execv)
			return exec_raw(file, call->argv, environ);
		next->execv(file, call->argv);
		return errno;
	case CALL_EXECVP:
		if (!next->execvp)
			return exec_raw(file, call->argv, environ);
		next->execvp(file, call->argv);
		return errno;
	case CALL_EXECVE:
		if (!next->execve)
			return exec_raw(file, call->argv, call->envp);
		next->execve(file, call->argv, call->envp);
		return errno;
	case CALL_EXECVPE:
		if (!next->execvpe)
			return exec_raw(file, call->argv, call->envp);
		next->execvpe(file, call->argv, call->envp);
		return errno;
	case CALL_SPAWN:
		if (!next->posix_spawn)
			return ENOSYS;
		return next->posix_spawn(call->pid, file, call->actions, call->attr, call->argv, call->envp);
	case CALL_SPAWNP:
		if (!next->posix_spawnp)
			return ENOSYS;
		return next->posix_spawnp(call->pid, file, call->actions, call->attr, call->argv, call->envp);
	}
	return ENOSYS;
}

static bool searches_path(enum call_kind kind)
{
	return kind == CALL_EXECVP || kind == CALL_EXECVPE || kind == CALL_SPAWNP;
}

/* The translator is a program, never a script without "#!", so it needs no shell to fall back on. */
static int call_translator(const struct call *call, const char *target)
{
	static const enum call_kind plain[] = {
		[CALL_EXECV] = CALL_EXECV,    [CALL_EXECVP] = CALL_EXECV, [CALL_EXECVE] = CALL_EXECVE,
		[CALL_EXECVPE] = CALL_EXECVE, [CALL_SPAWN] = CALL_SPAWN,  [CALL_SPAWNP] = CALL_SPAWN,
	};
	struct call direct = *call;

	direct.kind = plain[call->kind];
	return preload_pass(&direct, target);
}

/* The error is about the program, not about the arguments or the machine. */
static bool cannot_run(int error)
{
	switch (error) {
	case E2BIG:
	case EAGAIN:
	case EFAULT:
	case ENOMEM:
	case ENFILE:
	case EMFILE:
		return false;
	}
	return error != 0;
}

/* Where Slurm is installed: system folders, /opt, a bin or sbin below a folder slurm*, our own folder. */
static bool is_slurm_place(const char *path)
{
	static const char roots[][sizeof COMMAND_DIR] = { "/usr/", "/bin/", "/sbin/", "/opt/", COMMAND_DIR };
	const char *base = text_base(path), *component = path, *previous = path;
	bool named = false;

	for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
		if (text_after(path, roots[i]))
			return true;
	if (*path != '/')
		return false;
	for (const char *c = path; c < base; c++)
		if (*c == '/') {
			named |= text_after(c + 1, "slurm") != NULL && c + 1 != base;
			previous = component;
			component = c + 1;
		}
	return named && (text_after(previous, "bin/") == base || text_after(previous, "sbin/") == base);
}

/* <element>/<file>; an empty element of PATH is the current folder. False: too long to be a path. */
static bool join(char *buf, size_t size, const char *element, size_t len, const char *file)
{
	size_t used = 0;

	return text_append(buf, size, &used, len ? element : ".", len ? len : 1) &&
	       text_append(buf, size, &used, "/", 1) && text_append(buf, size, &used, file, text_len(file));
}

static int translator_else(const struct call *call, const char *target, const char *file)
{
	int error = call_translator(call, target);

	return cannot_run(error) ? preload_pass(call, file) : error;
}

/*
 * A bare name: a program of the user's own that is on PATH before any place of Slurm's is the one he means.
 * Not inline: its buffer is not to be on the stack of every exec.
 */
static NOINLINE int call_searched(const struct call *call, const char *target, const char *file)
{
	char candidate[PATH_MAX];
	const char *path = preload_env(environ, "PATH");

	while (path && *path) {
		size_t len = 0;
		while (path[len] && path[len] != ':')
			len++;
		if (join(candidate, sizeof candidate, path, len, file)) {
			if (is_slurm_place(candidate))
				break;
			int error = preload_pass(call, candidate);
			/* The errors at which execvp looks further. */
			if (error != ENOENT && error != EACCES && error != ENOTDIR && error != ESTALE &&
			    error != ENODEV && error != ETIMEDOUT)
				return error;
		}
		path += len + (path[len] == ':');
	}
	return translator_else(call, target, file);
}

static int call_redirected(const struct call *call, const char *target, const char *file)
{
	int error, other;

	if (text_base(file) == file && searches_path(call->kind))
		return call_searched(call, target, file);
	if (is_slurm_place(file))
		return translator_else(call, target, file);
	error = preload_pass(call, file);
	if (error != ENOENT && error != ENOTDIR)
		return error;
	other = call_translator(call, target);
	return cannot_run(other) ? error : other;
}

int preload_call(const struct call *call, const char *file)
{
	if (!state.on || !file)
		return preload_pass(call, file);

	const char *base = text_base(file);
	for (size_t i = 0; state.redirect && i < sizeof commands / sizeof commands[0]; i++)
		if (text_equal(base, commands[i] + sizeof COMMAND_DIR - 1))
			return call_redirected(call, commands[i], file);
	if (containers_has(base))
		return containers_call(call, file);
	return preload_pass(call, file);
}
