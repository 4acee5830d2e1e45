/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/loop.h"

#include "common/mem.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

struct loop_watch {
	int fd; /* -1: removed during this round */
	loop_fd_fn fn;
	void *arg;
	struct loop_watch *next_removed;
};

int64_t loop_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void reap(struct loop *l)
{
	struct rusage ru;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED, &ru)) > 0) {
		struct loop_child *c = l->children;

		while (c && c->pid != pid)
			c = c->next;
		if (!c) {
			if (l->orphan_fn)
				l->orphan_fn(l->orphan_arg, pid, status, &ru);
			continue;
		}
		if (!WIFSTOPPED(status) && !WIFCONTINUED(status))
			loop_child_remove(l, c);
		c->fn(c->arg, pid, status, &ru);
	}
}

static void on_signal_fd(void *arg, uint32_t events)
{
	struct loop *l = arg;
	struct signalfd_siginfo si;
	bool child = false;

	(void)events;
	while (read(l->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			child = true;
		else if (l->signal_fn)
			l->signal_fn(l->signal_arg, (int)si.ssi_signo, (pid_t)si.ssi_pid);
	}
	if (child)
		reap(l);
}

int loop_init(struct loop *l, const sigset_t *mask, loop_signal_fn fn, void *arg, struct error *err)
{
	sigset_t set = *mask;

	*l = (struct loop){ .epoll_fd = -1, .signal_fd = -1, .signal_fn = fn, .signal_arg = arg };
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, &l->original_mask) < 0)
		return error_errno(err, "sigprocmask");
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->epoll_fd < 0 || l->signal_fd < 0)
		return error_errno(err, "event loop");
	return loop_fd_add(l, l->signal_fd, EPOLLIN, on_signal_fd, l, err);
}

static void free_removed(struct loop *l)
{
	while (l->removed) {
		struct loop_watch *w = l->removed;

		l->removed = w->next_removed;
		free(w);
	}
}

void loop_abandon(struct loop *l)
{
	for (size_t i = 0; i < l->nwatches; i++)
		free(l->watches[i]);
	free(l->watches);
	free_removed(l);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->signal_fd >= 0)
		close(l->signal_fd);
	*l = (struct loop){ .epoll_fd = -1, .signal_fd = -1, .original_mask = l->original_mask };
}

void loop_release(struct loop *l)
{
	loop_abandon(l);
	sigprocmask(SIG_SETMASK, &l->original_mask, NULL);
}

int loop_fd_add(struct loop *l, int fd, uint32_t events, loop_fd_fn fn, void *arg, struct error *err)
{
	struct loop_watch *w = xcalloc(1, sizeof(*w));
	struct epoll_event ev = { .events = events, .data.ptr = w };

	*w = (struct loop_watch){ .fd = fd, .fn = fn, .arg = arg };
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		free(w);
		return error_errno(err, "epoll_ctl");
	}
	if ((size_t)fd >= l->nwatches) {
		size_t n = (size_t)fd + 64;

		l->watches = xreallocarray(l->watches, n, sizeof(*l->watches));
		memset(l->watches + l->nwatches, 0, (n - l->nwatches) * sizeof(*l->watches));
		l->nwatches = n;
	}
	l->watches[fd] = w;
	return 0;
}

static struct loop_watch *watch_of(struct loop *l, int fd)
{
	return fd >= 0 && (size_t)fd < l->nwatches ? l->watches[fd] : NULL;
}

void loop_fd_events(struct loop *l, int fd, uint32_t events)
{
	struct loop_watch *w = watch_of(l, fd);
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (w)
		epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, fd, &ev);
}

void loop_fd_remove(struct loop *l, int fd)
{
	struct loop_watch *w = watch_of(l, fd);

	if (!w)
		return;
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	l->watches[fd] = NULL;
	w->fd = -1;
	w->next_removed = l->removed;
	l->removed = w;
}

void loop_timer_cancel(struct loop *l, struct loop_timer *t)
{
	if (!t->active)
		return;
	for (struct loop_timer **p = &l->timers; *p; p = &(*p)->next) {
		if (*p == t) {
			*p = t->next;
			break;
		}
	}
	t->active = false;
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t ms, loop_timer_fn fn, void *arg)
{
	struct loop_timer **p = &l->timers;

	loop_timer_cancel(l, t);
	*t = (struct loop_timer){ .due = loop_now() + ms, .fn = fn, .arg = arg, .active = true };
	while (*p && (*p)->due <= t->due)
		p = &(*p)->next;
	t->next = *p;
	*p = t;
}

void loop_child_add(struct loop *l, struct loop_child *c, pid_t pid, loop_child_fn fn, void *arg)
{
	*c = (struct loop_child){ .pid = pid, .fn = fn, .arg = arg, .next = l->children };
	l->children = c;
}

void loop_child_remove(struct loop *l, struct loop_child *c)
{
	for (struct loop_child **p = &l->children; *p; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			return;
		}
	}
}

static void run_timers(struct loop *l)
{
	int64_t now = loop_now();

	while (l->timers && l->timers->due <= now && !l->stop) {
		struct loop_timer *t = l->timers;

		l->timers = t->next;
		t->active = false;
		t->fn(t->arg);
	}
}

static int next_timeout(const struct loop *l)
{
	int64_t ms;

	if (!l->timers)
		return -1;
	ms = l->timers->due - loop_now();
	return ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms;
}

int loop_run(struct loop *l, struct error *err)
{
	struct epoll_event evs[64];

	while (!l->stop) {
		int n = epoll_wait(l->epoll_fd, evs, 64, next_timeout(l));

		/* stopped and continued: what happened meanwhile comes before timers that are overdue only by that */
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, "epoll_wait");
		for (int i = 0; i < n && !l->stop; i++) {
			struct loop_watch *w = evs[i].data.ptr;

			if (w->fd >= 0)
				w->fn(w->arg, evs[i].events);
		}
		run_timers(l);
		free_removed(l);
	}
	return 0;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}
