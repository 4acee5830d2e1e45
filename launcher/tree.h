/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All descendants of this process by a walk of /proc, setsid and double-forked ones too (the process is a child
 * subreaper, so none escapes to init). Repeated until a walk finds nothing new.
 */
#ifndef SOC_LAUNCHER_TREE_H
#define SOC_LAUNCHER_TREE_H

#include <stddef.h>
#include <sys/types.h>

/* Sends signo to every descendant but those in spare[0..n) (their children are signalled). The number signalled. */
int tree_signal(int signo, const pid_t *spare, size_t n);
/* As tree_signal(), sparing all that is below spare too. */
int tree_signal_but(int signo, const pid_t *spare, size_t n);
/* SIGKILL until nothing but spare is left (at most a few rounds). The number killed. */
int tree_kill(const pid_t *spare, size_t n);
/* Descendants of pid (pid itself included) only. */
int tree_signal_below(pid_t pid, int signo);
/* As tree_signal() and tree_kill(), of another process' descendants (root itself excluded). */
int tree_signal_under(pid_t root, int signo, const pid_t *spare, size_t n);
int tree_kill_under(pid_t root, const pid_t *spare, size_t n);

/* Processes remembered by pid and start time, so that another one with the same pid isn't taken for one of them. */
struct tree_list {
	struct tree_entry *v;
	size_t n;
};

/* The descendants of root that live now, less spare, in the place of what l held. */
void tree_list_take(struct tree_list *l, pid_t root, const pid_t *spare, size_t n);
/* SIGKILL to those of l that still live, and to their descendants. */
void tree_list_kill(const struct tree_list *l);
void tree_list_release(struct tree_list *l);

#endif
