/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All descendants of this process by a walk of /proc, setsid and double-forked ones too (the process is a child
 * subreaper, so none escapes to init). Repeated until a walk finds nothing new.
 */
#ifndef SOC_LAUNCHER_TREE_H
#define SOC_LAUNCHER_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Sends signo to every descendant but those in spare[0..n) (their children are signalled). The number signalled. */
int tree_signal(int signo, const pid_t *spare, size_t n);
/* SIGKILL until nothing but spare is left (at most a few rounds). The number killed. */
int tree_kill(const pid_t *spare, size_t n);
/* Descendants of pid (pid itself included) only. */
int tree_signal_below(pid_t pid, int signo);

#endif
