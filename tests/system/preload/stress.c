/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress THREADS TIMES FILE: each thread starts FILE TIMES times with "exit 42", in turn by posix_spawn,
 * posix_spawnp, vfork + execve and vfork + execlp, while the others malloc and setenv. Prints how many ended
 * with 42.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *file;
static int times;
static int good;

static pid_t start(int way, char **argv)
{
	pid_t pid = -1;

	if (way == 0 && posix_spawn(&pid, file, NULL, NULL, argv, environ))
		return -1;
	if (way == 1 && posix_spawnp(&pid, "squeue", NULL, NULL, argv, environ))
		return -1;
	if (way >= 2) {
		pid = vfork();
		if (pid == 0) {
			if (way == 2)
				execve(file, argv, environ);
			else
				execlp("squeue", argv[0], argv[1], argv[2], (char *)NULL);
			_exit(1);
		}
	}
	return pid;
}

static void *work(void *arg)
{
	char *argv[] = { "squeue", "exit", "42", NULL };

	for (int i = 0; i < times; i++) {
		int status = 0;
		void *volatile heap = malloc((size_t)i * 97 + 1);
		pid_t pid = start((int)((i + (long)arg) % 4), argv);
		free(heap);
		if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 42)
			__atomic_add_fetch(&good, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	pthread_attr_t attr;
	int n = argc == 4 ? atoi(argv[1]) : 0;

	if (n < 1 || n > 256)
		return 2;
	times = atoi(argv[2]);
	file = argv[3];
	/* The smallest stack that a program may give a thread, plus what waitpid and the like need. */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32 * 1024);
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, work, (void *)i))
			return 2;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", good);
	return 0;
}
