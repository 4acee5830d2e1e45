/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/tree.h"

#include "common/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

/* A tree that forks while we walk is caught by the next walk; one that forks faster than that is given up. */
#define SIGNAL_ROUNDS 8
#define KILL_ROUNDS 50
#define KILL_PAUSE_NS 2000000

struct process {
	pid_t pid, parent, group;
	unsigned long long start; /* clock ticks since boot */
	bool zombie;
	signed char below; /* 1: a descendant, 0: not, -1: not known yet */
};

struct tree_entry {
	pid_t pid;
	unsigned long long start;
};

struct snapshot {
	struct process *v;
	size_t n, alloc;
};

struct pids {
	pid_t *v;
	size_t n;
};

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;

	return x < y ? -1 : x > y;
}

#define STAT_START 22 /* proc(5), counted from 1: the pid */

/* "123 (any thing) S 1 ...": state, the third field, and parent stand behind the last bracket. */
static int parse_stat(const char *text, struct process *p)
{
	const char *end = strrchr(text, ')');
	char *rest;

	if (!end || !end[1] || !end[2])
		return -1;
	p->zombie = end[2] == 'Z' || end[2] == 'X';
	p->parent = (pid_t)strtol(end + 3, &rest, 10);
	p->group = (pid_t)strtol(rest, NULL, 10);
	end += 2;
	for (int field = 3; end && field < STAT_START; field++)
		end = strchr(end + 1, ' ');
	p->start = end ? strtoull(end, NULL, 10) : 0;
	return 0;
}

static void take_process(struct snapshot *s, int proc, const char *name)
{
	struct process p = { .pid = (pid_t)strtol(name, NULL, 10), .below = -1 };
	char path[32], text[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.20s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (parse_stat(text, &p) < 0)
		return;
	if (s->n == s->alloc) {
		s->alloc = s->alloc ? s->alloc * 2 : 256;
		s->v = xreallocarray(s->v, s->alloc, sizeof(*s->v));
	}
	s->v[s->n++] = p;
}

static int take_snapshot(struct snapshot *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	s->n = 0;
	if (!dir)
		return -1;
	while ((d = readdir(dir)))
		if (isdigit((unsigned char)d->d_name[0]))
			take_process(s, dirfd(dir), d->d_name);
	closedir(dir);
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_pid);
	return 0;
}

static struct process *find(const struct snapshot *s, pid_t pid)
{
	struct process key = { .pid = pid };

	return s->n ? bsearch(&key, s->v, s->n, sizeof(*s->v), by_pid) : NULL;
}

/* Climbs from p to root or to where it is known; then writes the answer on the way climbed. */
static bool is_below(const struct snapshot *s, struct process *p, pid_t root)
{
	struct process *q = p;
	signed char answer;

	/* at most n steps: parents read at different moments could form a ring */
	for (size_t steps = 0; q && q->below < 0 && q->parent != root && steps < s->n; steps++)
		q = find(s, q->parent);
	answer = q && (q->below > 0 || (q->below < 0 && q->parent == root));
	for (size_t steps = 0; p && p->below < 0 && steps < s->n; steps++) {
		struct process *up = p == q ? NULL : find(s, p->parent);

		p->below = answer;
		p = up;
	}
	return answer;
}

static bool contains(const pid_t *v, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == pid)
			return true;
	return false;
}

static void remember(struct pids *p, pid_t pid)
{
	/* grown at powers of two */
	if (!(p->n & (p->n - 1)))
		p->v = xreallocarray(p->v, p->n ? p->n * 2 : 1, sizeof(*p->v));
	p->v[p->n++] = pid;
}

/* Whose descendants get a signal. */
struct target {
	pid_t root;
	const pid_t *spare;
	size_t nspare;
	bool spare_below; /* the descendants of spare too */
	bool root_too;
};

/*
 * A process that forks and ends for ever is never there when its pid is signalled; its group is. Not the groups of what
 * isn't to be killed: ours, our parent's, the root's, and those of the spared.
 */
static void kill_group(const struct snapshot *s, const struct target *t, pid_t group)
{
	if (group <= 1 || group == getpgrp() || group == getpgid(getppid()))
		return;
	if (!t->root_too && group == getpgid(t->root))
		return;
	for (size_t i = 0; i < t->nspare; i++) {
		const struct process *p = find(s, t->spare[i]);

		if (p && p->group == group)
			return;
	}
	kill(-group, SIGKILL);
}

/* One walk: signals what is alive below root and neither spared nor done before. How many there were. */
static int walk(struct snapshot *s, const struct target *t, int signo, struct pids *done)
{
	int found = 0;

	if (take_snapshot(s) < 0)
		return 0;
	for (size_t i = 0; t->spare_below && i < t->nspare; i++) {
		struct process *p = find(s, t->spare[i]);

		if (p)
			p->below = 0;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct process *p = &s->v[i];

		if (p->zombie || contains(t->spare, t->nspare, p->pid))
			continue;
		if (!is_below(s, p, t->root) && !(t->root_too && p->pid == t->root))
			continue;
		if (done && contains(done->v, done->n, p->pid))
			continue;
		if (kill(p->pid, signo) < 0)
			continue;
		if (signo == SIGKILL)
			kill_group(s, t, p->group);
		if (done)
			remember(done, p->pid);
		found++;
	}
	return found;
}

static int signal_all(const struct target *t, int signo)
{
	struct snapshot s = { NULL, 0, 0 };
	struct pids done = { NULL, 0 };
	size_t count;

	for (int round = 0; round < SIGNAL_ROUNDS; round++)
		if (!walk(&s, t, signo, &done))
			break;
	count = done.n;
	free(s.v);
	free(done.v);
	return (int)count;
}

int tree_signal_under(pid_t root, int signo, const pid_t *spare, size_t n)
{
	return signal_all(&(struct target){ .root = root, .spare = spare, .nspare = n }, signo);
}

int tree_signal_but(int signo, const pid_t *spare, size_t n)
{
	return signal_all(
		&(struct target){ .root = getpid(), .spare = spare, .nspare = n, .spare_below = true },
		signo);
}

int tree_signal(int signo, const pid_t *spare, size_t n)
{
	return tree_signal_under(getpid(), signo, spare, n);
}

int tree_kill(const pid_t *spare, size_t n)
{
	return tree_kill_under(getpid(), spare, n);
}

int tree_kill_under(pid_t root, const pid_t *spare, size_t n)
{
	const struct target t = { .root = root, .spare = spare, .nspare = n };
	struct snapshot s = { NULL, 0, 0 };
	int killed = 0;

	for (int round = 0; round < KILL_ROUNDS; round++) {
		int found = walk(&s, &t, SIGKILL, NULL);

		if (!found)
			break;
		if (found > killed)
			killed = found;
		/* the killed become zombies, their children ours */
		nanosleep(&(struct timespec){ .tv_nsec = KILL_PAUSE_NS }, NULL);
	}
	free(s.v);
	return killed;
}

int tree_signal_below(pid_t pid, int signo)
{
	return signal_all(&(struct target){ .root = pid, .root_too = true }, signo);
}

void tree_list_take(struct tree_list *l, pid_t root, const pid_t *spare, size_t n)
{
	struct snapshot s = { NULL, 0, 0 };

	if (take_snapshot(&s) == 0) {
		free(l->v);
		l->v = xcalloc(s.n + 1, sizeof(*l->v));
		l->n = 0;
		for (size_t i = 0; i < s.n; i++)
			if (!s.v[i].zombie && is_below(&s, &s.v[i], root) && !contains(spare, n, s.v[i].pid))
				l->v[l->n++] = (struct tree_entry){ s.v[i].pid, s.v[i].start };
	}
	free(s.v);
}

void tree_list_kill(const struct tree_list *l)
{
	struct snapshot s = { NULL, 0, 0 };

	if (take_snapshot(&s) == 0) {
		for (size_t i = 0; i < l->n; i++) {
			const struct process *p = find(&s, l->v[i].pid);

			if (p && p->start == l->v[i].start)
				tree_signal_below(p->pid, SIGKILL);
		}
	}
	free(s.v);
}

void tree_list_release(struct tree_list *l)
{
	free(l->v);
	*l = (struct tree_list){ NULL, 0 };
}
