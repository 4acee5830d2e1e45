/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller HOW FUNCTION FILE [ARG]...: calls FUNCTION for FILE with argv "name", ARG...; functions that take an
 * environment get ours plus CALLER=FUNCTION. HOW is where from: here, fork or vfork. A failed call prints
 * errno=N.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX 60000

static char *argv_of[MAX], *env_of[MAX], mark[64];

/* Calls execl, execlp or execle with up to two arguments; the list must end where argv does. */
#define LIST(function, ...)                                                                                  \
	(!argv_of[1]   ? function(file, argv_of[0], (char *)NULL, ##__VA_ARGS__)                             \
	 : !argv_of[2] ? function(file, argv_of[0], argv_of[1], (char *)NULL, ##__VA_ARGS__)                 \
		       : function(file, argv_of[0], argv_of[1], argv_of[2], (char *)NULL, ##__VA_ARGS__))

static int call(const char *function, const char *file)
{
	if (!strcmp(function, "execve"))
		return execve(file, argv_of, env_of);
	if (!strcmp(function, "execv"))
		return execv(file, argv_of);
	if (!strcmp(function, "execvp"))
		return execvp(file, argv_of);
	if (!strcmp(function, "execvpe"))
		return execvpe(file, argv_of, env_of);
	if (!strcmp(function, "execl"))
		return LIST(execl);
	if (!strcmp(function, "execlp"))
		return LIST(execlp);
	if (!strcmp(function, "execle"))
		return LIST(execle, env_of);
	if (!strcmp(function, "execve-null"))
		return execve(file, NULL, NULL);
	if (!strcmp(function, "execve-null-envp"))
		return execve(file, argv_of, NULL);
	if (!strcmp(function, "execv-null"))
		return execv(file, NULL);
	if (!strcmp(function, "execve-null-file"))
		return execve(NULL, argv_of, env_of);
	if (!strcmp(function, "raw"))
		return (int)syscall(SYS_execve, file, argv_of, env_of);
	fprintf(stderr, "caller: no function %s\n", function);
	exit(2);
}

static int spawn(const char *function, const char *file, pid_t *pid)
{
	if (!strcmp(function, "posix_spawn"))
		return posix_spawn(pid, file, NULL, NULL, argv_of, env_of);
	if (!strcmp(function, "posix_spawnp"))
		return posix_spawnp(pid, file, NULL, NULL, argv_of, env_of);
	return -1;
}

int main(int argc, char **argv)
{
	int n = 0, status, error;
	pid_t pid;

	if (argc < 4 || argc >= MAX)
		return 2;
	for (int i = 3; i < argc; i++)
		argv_of[i - 3] = argv[i];
	argv_of[0] = "name";
	snprintf(mark, sizeof mark, "CALLER=%s", argv[2]);
	for (; environ[n]; n++)
		env_of[n] = environ[n];
	env_of[n] = mark;

	if (!strncmp(argv[2], "posix_spawn", 11)) {
		error = spawn(argv[2], argv[3], &pid);
		if (error) {
			printf("errno=%d\n", error);
			return 1;
		}
	} else if (!strcmp(argv[1], "here")) {
		call(argv[2], argv[3]);
		printf("errno=%d\n", errno);
		return 1;
	} else {
		pid = !strcmp(argv[1], "vfork") ? vfork() : fork();
		if (pid == 0) {
			call(argv[2], argv[3]);
			_exit(errno);
		}
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		printf("errno=%d\n", WEXITSTATUS(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}
