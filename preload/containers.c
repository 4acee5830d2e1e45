/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container has its own C library and not our folder: with us in LD_PRELOAD each program inside would print
 * "cannot be preloaded", so container runtimes are started without our entry. Others' entries stay.
 */
#include <limits.h>
#include <unistd.h>

#include "preload/preload.h"
#include "preload/text.h"

#define LIBRARY "libslurm_on_ocs.so"
#define PRELOAD "LD_PRELOAD="
#define MAX_ENV 4096   /* pointers copied on the stack (32 KiB); a larger environment passes unchanged */
#define MAX_VALUE 4096 /* bytes of LD_PRELOAD */
#define MAX_LIST 1024

/* Blanks, commas and colons separate. The constructor may replace it. */
static char runtimes[MAX_LIST] =
	"apptainer singularity enroot podman podman-hpc docker nerdctl bwrap ch-run shifter "
	"shifterimg sarus udocker proot systemd-nspawn nsenter chroot";

static bool is_separator(char c)
{
	return c == ' ' || c == ',' || c == ':' || c == '\t';
}

void containers_init(const char *list)
{
	size_t used = 0;

	if (list && text_len(list) < sizeof runtimes)
		text_append(runtimes, sizeof runtimes, &used, list, text_len(list));
}

bool containers_has(const char *name)
{
	if (!*name)
		return false;
	for (const char *c = runtimes; *c;) {
		const char *rest = text_after(c, name);
		if (rest && (!*rest || is_separator(*rest)))
			return true;
		while (*c && !is_separator(*c))
			c++;
		while (is_separator(*c))
			c++;
	}
	return false;
}

/* Copies the entries of an LD_PRELOAD line that aren't ours. False: too long, or we aren't in it. */
static bool strip(char *out, size_t size, const char *line)
{
	size_t used = 0;
	bool found = false;
	const char *c = line + sizeof PRELOAD - 1;

	text_append(out, size, &used, PRELOAD, sizeof PRELOAD - 1);
	while (*c) {
		size_t len = 0, base = 0;
		while (c[len] && c[len] != ':' && c[len] != ' ')
			if (c[len++] == '/')
				base = len;
		if (text_after(c + base, LIBRARY) == c + len) {
			found = true;
		} else if (len) {
			if (used > sizeof PRELOAD - 1 && !text_append(out, size, &used, ":", 1))
				return false;
			if (!text_append(out, size, &used, c, len))
				return false;
		}
		c += len + (c[len] != '\0');
	}
	return found;
}

int containers_call(const struct call *call, const char *file)
{
	static const enum call_kind with_env[] = {
		[CALL_EXECV] = CALL_EXECVE,    [CALL_EXECVP] = CALL_EXECVPE, [CALL_EXECVE] = CALL_EXECVE,
		[CALL_EXECVPE] = CALL_EXECVPE, [CALL_SPAWN] = CALL_SPAWN,    [CALL_SPAWNP] = CALL_SPAWNP,
	};
	bool own = call->kind == CALL_EXECV || call->kind == CALL_EXECVP;
	char *const *from = own ? environ : call->envp;
	char line[MAX_VALUE];
	size_t count = 0, used = 0, at = 0;

	while (from && from[count]) {
		if (text_after(from[count], PRELOAD))
			at = count + 1;
		count++;
	}
	if (!at || count >= MAX_ENV || !strip(line, sizeof line, from[at - 1]))
		return preload_pass(call, file);

	char **envp = __builtin_alloca((count + 1) * sizeof *envp);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 != at)
			envp[used++] = from[i];
		else if (line[sizeof PRELOAD - 1])
			envp[used++] = line;
	}
	envp[used] = NULL;

	struct call bare = *call;
	bare.kind = with_env[call->kind];
	bare.envp = envp;
	return preload_pass(&bare, file);
}
