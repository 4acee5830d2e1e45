/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the engine run beside the loop: its input given, the end of what it prints kept. */
#ifndef SOC_LAUNCHER_TOOL_H
#define SOC_LAUNCHER_TOOL_H

#include "common/argvec.h"
#include "launcher/loop.h"

struct tool;
/* status of wait4; text: the last TOOL_TEXT bytes of stdout and stderr. The tool is freed behind the call. */
typedef void (*tool_fn)(void *arg, int status, const char *text);

#define TOOL_TEXT 4096

/* input (short: it must fit a pipe) is written at once, then EOF. envp is borrowed for the call. */
struct tool *tool_start(struct loop *l, const char *program, const struct argvec *argv, char *const *envp,
			const void *input, size_t n, tool_fn fn, void *arg, struct error *err);
pid_t tool_pid(const struct tool *t);
/* Sends signo; fn is still called when it has ended. */
void tool_signal(const struct tool *t, int signo);
/* Nobody waits for it any more; it isn't killed. */
void tool_forget(struct tool *t);

#endif
