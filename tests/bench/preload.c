/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload ROUNDS EMPTY OURS: what a library in LD_PRELOAD costs each process. A round starts /bin/true many
 * times with no library, with the library EMPTY (nothing in it: the loader's own cost) and with OURS, in turn
 * so that all three meet the same machine; the answer compares medians of the single times, which a busy
 * neighbour hardly moves.
 *
 * The processes are started by a driver that has OURS in itself too ("caller"), or not: that is the cost in
 * the caller, of a call that isn't redirected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PER_ROUND 40
#define KINDS 3

static char line[KINDS][4200];
static double *taken[KINDS];
static int used;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds of one vfork, exec and wait. */
static double start(char *preload)
{
	char *argv[] = { "true", NULL },
	     *envp[] = { "PATH=/usr/bin:/bin", "HOME=/root", "LANG=C", preload, NULL };
	double begin = now();
	int status = 1;
	pid_t pid = vfork();

	if (pid == 0) {
		execve("/bin/true", argv, envp);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "preload: /bin/true did not run\n");
		exit(1);
	}
	return now() - begin;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, (size_t)used, sizeof *values, by_value);
	return values[used / 2];
}

int main(int argc, char **argv)
{
	int rounds = argc == 4 ? atoi(argv[1]) : 0;
	double m[KINDS];

	if (rounds < 1) {
		fprintf(stderr, "usage: preload ROUNDS EMPTY OURS\n");
		return 2;
	}
	for (int k = 0; k < KINDS; k++) {
		taken[k] = malloc((size_t)rounds * PER_ROUND * sizeof **taken);
		if (!taken[k])
			return 1;
		snprintf(line[k], sizeof line[k], k ? "LD_PRELOAD=%s" : "NONE=1", k ? argv[1 + k] : "");
	}
	for (int i = 0; i < rounds * PER_ROUND; i++, used++)
		for (int k = 0; k < KINDS; k++) {
			int kind = (k + i) % KINDS; /* none is always the one after the same other */
			taken[kind][used] = start(line[kind]);
		}
	for (int k = 0; k < KINDS; k++)
		m[k] = median(taken[k]);
	printf("exec of /bin/true, median of %d: none %.1f us, empty library %.1f us, ours %.1f us\n", used,
	       m[0], m[1], m[2]);
	printf("preload/none %.3f\npreload/empty %.3f\n", m[2] / m[0], m[2] / m[1]);
	return 0;
}
