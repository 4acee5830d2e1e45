/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/tool.h"

#include "common/fd.h"
#include "common/mem.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

/* Output that somebody else still holds open after the end is waited for that long. */
#define DRAIN_MS 200

struct tool {
	struct loop *loop;
	struct loop_child child;
	struct loop_timer drain;
	pid_t pid;
	int fd; /* its output; -1: at its end */
	bool ended, forgotten;
	int status;
	struct strbuf text;
	tool_fn fn;
	void *arg;
};

static void close_output(struct tool *t)
{
	if (t->fd < 0)
		return;
	loop_fd_remove(t->loop, t->fd);
	close(t->fd);
	t->fd = -1;
}

static void finish(void *arg)
{
	struct tool *t = arg;

	close_output(t);
	loop_timer_cancel(t->loop, &t->drain);
	if (!t->forgotten)
		t->fn(t->arg, t->status, t->text.buf);
	strbuf_release(&t->text);
	free(t);
}

static void keep_tail(struct strbuf *sb)
{
	if (sb->len <= TOOL_TEXT)
		return;
	memmove(sb->buf, sb->buf + sb->len - TOOL_TEXT, TOOL_TEXT);
	sb->len = TOOL_TEXT;
	sb->buf[sb->len] = '\0';
}

static void on_output(void *arg, uint32_t events)
{
	struct tool *t = arg;
	char buf[TOOL_TEXT];
	ssize_t k = read(t->fd, buf, sizeof(buf));

	(void)events;
	if (k > 0) {
		strbuf_add(&t->text, buf, (size_t)k);
		keep_tail(&t->text);
		return;
	}
	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close_output(t);
	if (t->ended)
		finish(t);
}

static void on_end(void *arg, pid_t pid, int status, const struct rusage *ru)
{
	struct tool *t = arg;

	(void)pid;
	(void)ru;
	if (WIFSTOPPED(status) || WIFCONTINUED(status))
		return;
	t->ended = true;
	t->status = status;
	if (t->fd < 0)
		finish(t);
	else
		loop_timer_set(t->loop, &t->drain, DRAIN_MS, finish, t);
}

/* The parent has prepared everything; only calls that are safe after fork. */
static void NORETURN run_child(const struct tool *t, const char *program, char *const *argv,
			       char *const *envp, int in, int out)
{
	static const char text[] = "cannot run it\n";

	sigprocmask(SIG_SETMASK, &t->loop->original_mask, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
		execve(program, argv, envp);
	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(126);
	_exit(127);
}

static int start(struct tool *t, const char *program, const struct argvec *argv, char *const *envp,
		 const void *input, size_t n, struct error *err)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
		cleanup_closep(&in[0]);
		cleanup_closep(&in[1]);
		return error_errno(err, "pipe");
	}
	t->pid = fork();
	if (t->pid == 0)
		run_child(t, program, argv->v, envp, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	if (t->pid < 0) {
		close(in[1]);
		close(out[0]);
		return error_errno(err, "fork");
	}
	/* shorter than a pipe: never blocks; a child that is gone already says so itself */
	if (n && write(in[1], input, n) < 0)
		errno = 0;
	close(in[1]);
	t->fd = out[0];
	fd_set_nonblock(t->fd, true);
	loop_child_add(t->loop, &t->child, t->pid, on_end, t);
	return loop_fd_add(t->loop, t->fd, EPOLLIN, on_output, t, err);
}

struct tool *tool_start(struct loop *l, const char *program, const struct argvec *argv, char *const *envp,
			const void *input, size_t n, tool_fn fn, void *arg, struct error *err)
{
	struct tool *t = xcalloc(1, sizeof(*t));

	*t = (struct tool){ .loop = l, .fd = -1, .text = STRBUF_INIT, .fn = fn, .arg = arg };
	if (start(t, program, argv, envp, input, n, err) < 0) {
		free(t);
		return NULL;
	}
	return t;
}

pid_t tool_pid(const struct tool *t)
{
	return t->ended ? -1 : t->pid;
}

void tool_signal(const struct tool *t, int signo)
{
	if (!t->ended)
		kill(t->pid, signo);
}

void tool_forget(struct tool *t)
{
	t->forgotten = true;
}
