/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one event loop of each launcher process: descriptors (epoll), timers, signals (signalfd), children. No threads.
 * Callbacks may add and remove anything, themselves too. Storage of timers and children is the caller's.
 */
#ifndef SOC_LAUNCHER_LOOP_H
#define SOC_LAUNCHER_LOOP_H

#include "common/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef void (*loop_fd_fn)(void *arg, uint32_t events); /* EPOLLIN | EPOLLOUT | EPOLLHUP | EPOLLERR */
typedef void (*loop_timer_fn)(void *arg);
typedef void (*loop_signal_fn)(void *arg, int signo, pid_t sender);
/* status as of wait4(); also called for stops and continues (WIFSTOPPED, WIFCONTINUED) */
typedef void (*loop_child_fn)(void *arg, pid_t pid, int status, const struct rusage *ru);

struct loop_timer {
	int64_t due; /* ms, monotonic */
	loop_timer_fn fn;
	void *arg;
	struct loop_timer *next;
	bool active;
};

struct loop_child {
	pid_t pid;
	loop_child_fn fn;
	void *arg;
	struct loop_child *next;
};

struct loop_watch;

struct loop {
	int epoll_fd, signal_fd;
	struct loop_watch **watches; /* by descriptor */
	size_t nwatches;
	struct loop_watch *removed; /* freed after the round in which they were removed */
	struct loop_timer *timers;  /* soonest first */
	struct loop_child *children;
	loop_child_fn orphan_fn; /* of children that nobody watches (a subreaper has them) */
	void *orphan_arg;
	loop_signal_fn signal_fn;
	void *signal_arg;
	sigset_t original_mask; /* as it was before loop_init: a child that execs restores it */
	bool stop;
};

/* Blocks the signals of mask (SIGCHLD is added) and reads them from the loop; signal_fn gets all but SIGCHLD. */
int loop_init(struct loop *l, const sigset_t *mask, loop_signal_fn fn, void *arg, struct error *err);
void loop_release(struct loop *l);
/* In a forked child: drops the loop's descriptors without touching the parent's epoll set. */
void loop_abandon(struct loop *l);

int loop_fd_add(struct loop *l, int fd, uint32_t events, loop_fd_fn fn, void *arg, struct error *err);
void loop_fd_events(struct loop *l, int fd, uint32_t events);
void loop_fd_remove(struct loop *l, int fd); /* before close; an unknown fd is ignored */

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t ms, loop_timer_fn fn, void *arg);
void loop_timer_cancel(struct loop *l, struct loop_timer *t);

void loop_child_add(struct loop *l, struct loop_child *c, pid_t pid, loop_child_fn fn, void *arg);
void loop_child_remove(struct loop *l, struct loop_child *c);

int64_t loop_now(void); /* ms, monotonic */
/* Until loop_stop(). -1 only when epoll itself fails. */
int loop_run(struct loop *l, struct error *err);
void loop_stop(struct loop *l);

#endif
