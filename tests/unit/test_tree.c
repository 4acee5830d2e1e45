/* SPDX-License-Identifier: Apache-2.0 */
#include "common/compiler.h"
#include "launcher/tree.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Below us: child (group of its own, with a grandchild), setsid child, and a daemon whose parent is gone. All pids, in
 * that order.
 */
enum { CHILD, GRANDCHILD, SETSID, DAEMON, MEMBERS };

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static pid_t sleeper(int fd)
{
	pid_t pid = fork();

	if (pid == 0) {
		pid = getpid();
		if (write(fd, &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		for (;;)
			pause();
	}
	return pid;
}

static pid_t read_pid(int fd)
{
	pid_t pid = 0;

	cr_assert(read(fd, &pid, sizeof(pid)) == sizeof(pid));
	return pid;
}

static void plant(pid_t pids[MEMBERS])
{
	int fds[2];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	cr_assert(pipe(fds) == 0);
	pids[CHILD] = fork();
	if (pids[CHILD] == 0) {
		setpgid(0, 0);
		sleeper(fds[1]);
		for (;;)
			pause();
	}
	pids[GRANDCHILD] = read_pid(fds[0]);
	pids[SETSID] = fork();
	if (pids[SETSID] == 0) {
		setsid();
		for (;;)
			pause();
	}
	if (fork() == 0) {
		setsid();
		sleeper(fds[1]);
		_exit(0);
	}
	pids[DAEMON] = read_pid(fds[0]);
	close(fds[0]);
	close(fds[1]);
	sleep_ms(20);
}

static char state_of(pid_t pid)
{
	char path[64], text[512] = "";
	char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 'X';
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	end = strrchr(text, ')');
	return end ? end[2] : 'X';
}

/* Until the process is in one of states; it takes the kernel a moment. */
static bool becomes(pid_t pid, const char *states)
{
	for (int i = 0; i < 200; i++) {
		if (strchr(states, state_of(pid)))
			return true;
		sleep_ms(5);
	}
	return false;
}

Test(tree, signals_every_descendant, .timeout = 30)
{
	pid_t pids[MEMBERS];

	plant(pids);
	cr_expect_eq(tree_signal(SIGSTOP, NULL, 0), MEMBERS);
	for (int i = 0; i < MEMBERS; i++)
		cr_expect(becomes(pids[i], "T"), "member %d isn't stopped", i);
	cr_expect_eq(tree_signal(SIGCONT, NULL, 0), MEMBERS);
	for (int i = 0; i < MEMBERS; i++)
		cr_expect(becomes(pids[i], "S"), "member %d isn't continued", i);
	cr_expect_eq(tree_kill(NULL, 0), MEMBERS);
	for (int i = 0; i < MEMBERS; i++)
		cr_expect(becomes(pids[i], "ZX"), "member %d lives", i);
}

Test(tree, spares, .timeout = 30)
{
	pid_t pids[MEMBERS];

	plant(pids);
	/* itself only */
	tree_signal(SIGSTOP, &pids[CHILD], 1);
	cr_expect(becomes(pids[GRANDCHILD], "T") && becomes(pids[DAEMON], "T"));
	cr_expect(becomes(pids[CHILD], "S"));
	tree_signal(SIGCONT, NULL, 0);
	cr_expect(becomes(pids[GRANDCHILD], "S"));
	/* with all below */
	cr_expect_eq(tree_signal_but(SIGSTOP, &pids[CHILD], 1), 2);
	cr_expect(becomes(pids[SETSID], "T") && becomes(pids[DAEMON], "T"));
	cr_expect(becomes(pids[CHILD], "S") && becomes(pids[GRANDCHILD], "S"));
	/* stopped processes die too */
	tree_kill(&pids[SETSID], 1);
	cr_expect(becomes(pids[DAEMON], "ZX") && becomes(pids[CHILD], "ZX") &&
		  becomes(pids[GRANDCHILD], "ZX"));
	cr_expect(becomes(pids[SETSID], "T"));
	tree_kill(NULL, 0);
	cr_expect(becomes(pids[SETSID], "ZX"));
}

Test(tree, below_one_process, .timeout = 30)
{
	pid_t pids[MEMBERS];

	plant(pids);
	cr_expect_eq(tree_signal_below(pids[CHILD], SIGKILL), 2);
	cr_expect(becomes(pids[CHILD], "ZX") && becomes(pids[GRANDCHILD], "ZX"));
	cr_expect(becomes(pids[SETSID], "S") && becomes(pids[DAEMON], "S"));
	cr_expect_eq(tree_signal_under(pids[SETSID], SIGKILL, NULL, 0), 0);
	tree_kill(NULL, 0);
}

Test(tree, list_outlives_the_parent, .timeout = 30)
{
	struct tree_list list = { NULL, 0 };
	pid_t pids[MEMBERS];

	plant(pids);
	tree_list_take(&list, getpid(), &pids[SETSID], 1);
	cr_expect_eq(list.n, MEMBERS - 1);
	tree_list_kill(&list);
	cr_expect(becomes(pids[DAEMON], "ZX") && becomes(pids[CHILD], "ZX") &&
		  becomes(pids[GRANDCHILD], "ZX"));
	cr_expect(becomes(pids[SETSID], "S"));
	tree_list_release(&list);
	tree_kill(NULL, 0);
}

/* Another pid every moment: gone before it can be signalled. Ends by itself. */
static void NORETURN flee(void)
{
	time_t end = time(NULL) + 5;

	setpgid(0, 0);
	while (time(NULL) < end)
		if (fork() > 0)
			_exit(0);
	_exit(0);
}

Test(tree, kills_what_flees_by_forking, .timeout = 30)
{
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (pid == 0)
		flee();
	sleep_ms(50);
	/* a walk may miss it between two pids; the zombies that it left count as its group until they are reaped */
	for (int i = 0; i < 200 && kill(-pid, 0) == 0; i++) {
		tree_kill(NULL, 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
	cr_expect(kill(-pid, 0) < 0, "it still forks");
	kill(-pid, SIGKILL);
}
