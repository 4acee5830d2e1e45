/* SPDX-License-Identifier: Apache-2.0 */
#include "common/spawn.h"

#include "common/fd.h"
#include "common/log.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { PIPE_IN, PIPE_OUT, PIPE_ERR, PIPE_STATUS, PIPES };

struct run {
	struct spawn *s;
	int parent[PIPES]; /* our ends; -1: not used or done */
	int child[PIPES];
	size_t written;
	bool truncated;
	pid_t pid;
	struct sigaction sigpipe; /* the caller's, for the child */
};

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_ends(int *fds)
{
	for (int i = 0; i < PIPES; i++)
		close_end(&fds[i]);
}

/* The same descriptor at 3 or above: a caller without stdin gets pipes there, which the child's dup2 would run over. */
static int above_stdio(int fd)
{
	int moved = fd;

	if (fd >= 0 && fd < 3) {
		moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		close_end(&fd);
	}
	return moved;
}

static int make_pipe(struct run *r, int which, int child_end)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -1;
	r->parent[which] = p[!child_end];
	r->child[which] = above_stdio(p[child_end]);
	if (r->child[which] < 0)
		return -1;
	return which == PIPE_STATUS ? 0 : fd_set_nonblock(r->parent[which], true);
}

static int make_pipes(struct run *r)
{
	if (make_pipe(r, PIPE_STATUS, 1) < 0)
		return -1;
	if (r->s->input_len && make_pipe(r, PIPE_IN, 0) < 0)
		return -1;
	if (r->s->out && make_pipe(r, PIPE_OUT, 1) < 0)
		return -1;
	if (r->s->err && make_pipe(r, PIPE_ERR, 1) < 0)
		return -1;
	if (!r->s->input_len)
		r->child[PIPE_IN] = above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));
	return r->child[PIPE_IN] < 0 ? -1 : 0;
}

/* Only async-signal-safe calls: the errno of a failure goes up the status pipe. */
static void NORETURN child_run(const struct run *r)
{
	sigset_t none;
	int code;

	sigaction(SIGPIPE, &r->sigpipe, NULL);
	sigemptyset(&none); /* a caller that reads its signals from a descriptor has them blocked */
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(r->child[PIPE_IN], 0) >= 0 && (r->child[PIPE_OUT] < 0 || dup2(r->child[PIPE_OUT], 1) >= 0) &&
	    (r->child[PIPE_ERR] < 0 || dup2(r->child[PIPE_ERR], 2) >= 0) &&
	    (!r->s->cwd || chdir(r->s->cwd) == 0))
		execve(r->s->program, r->s->argv->v, r->s->envp ? r->s->envp : environ);
	code = errno;
	if (write(r->child[PIPE_STATUS], &code, sizeof(code)) < 0) {
		/* the parent sees an exit without a word */
	}
	_exit(127);
}

static int start(struct run *r, struct error *err)
{
	int code = 0;

	if (make_pipes(r) < 0)
		return error_errno(err, "pipe");
	r->pid = fork();
	if (r->pid < 0)
		return error_errno(err, "fork");
	if (r->pid == 0)
		child_run(r);
	close_ends(r->child);
	if (fd_read_full(r->parent[PIPE_STATUS], &code, sizeof(code)) == sizeof(code)) {
		waitpid(r->pid, NULL, 0);
		r->pid = -1;
		errno = code;
		return error_errno(err, "cannot run %s", r->s->program);
	}
	close_end(&r->parent[PIPE_STATUS]);
	return 0;
}

/* One read of an output pipe; 0 while it goes on. */
static void take_output(struct run *r, int which, struct strbuf *out, size_t max)
{
	ssize_t k;

	strbuf_reserve(out, 65536);
	k = read(r->parent[which], out->buf + out->len, 65536);
	if (k < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (k > 0 && out->len + (size_t)k > max)
		r->truncated = true;
	if (k <= 0 || r->truncated) {
		close_end(&r->parent[which]);
		return;
	}
	out->len += (size_t)k;
	out->buf[out->len] = '\0';
}

static void give_input(struct run *r)
{
	ssize_t k = write(r->parent[PIPE_IN], (const char *)r->s->input + r->written,
			  r->s->input_len - r->written);

	if (k > 0)
		r->written += (size_t)k;
	if ((k < 0 && errno != EINTR && errno != EAGAIN) || r->written == r->s->input_len)
		close_end(&r->parent[PIPE_IN]);
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Moves bytes until both output pipes are at their end. -1: time is up. */
static int pump(struct run *r)
{
	long deadline = r->s->timeout_ms ? now_ms() + r->s->timeout_ms : 0;
	size_t max = r->s->max_output ? r->s->max_output : 64u << 20;

	while (r->parent[PIPE_IN] >= 0 || r->parent[PIPE_OUT] >= 0 || r->parent[PIPE_ERR] >= 0) {
		struct pollfd p[3] = { { r->parent[PIPE_IN], POLLOUT, 0 },
				       { r->parent[PIPE_OUT], POLLIN, 0 },
				       { r->parent[PIPE_ERR], POLLIN, 0 } };
		long left = deadline ? deadline - now_ms() : -1;

		if (deadline && left <= 0)
			return -1;
		if (poll(p, 3, (int)left) < 0 && errno != EINTR)
			return -1;
		if (p[0].revents)
			give_input(r);
		if (p[1].revents)
			take_output(r, PIPE_OUT, r->s->out, max);
		if (p[2].revents)
			take_output(r, PIPE_ERR, r->s->err, max);
	}
	return 0;
}

static void trace(const struct spawn *s)
{
	const char *on = getenv("SLURM_ON_OCS_TRACE");
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (!s->trace || !on || strcmp(on, "1"))
		return;
	strbuf_addstr(&line, "+ ");
	argvec_quote(s->argv, &line);
	strbuf_addch(&line, '\n');
	if (fd_write_all(STDERR_FILENO, line.buf, line.len) < 0)
		return;
}

int spawn_run(struct spawn *s, struct error *err)
{
	struct run r = { .s = s, .parent = { -1, -1, -1, -1 }, .child = { -1, -1, -1, -1 }, .pid = -1 };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int rc;

	trace(s);
	sigaction(SIGPIPE, &ignore, &r.sigpipe);
	rc = start(&r, err);
	if (rc == 0 && pump(&r) < 0) {
		kill(r.pid, SIGKILL);
		rc = error_set(err, ERR_ENGINE, "%s: no answer within %d s", s->program,
			       s->timeout_ms / 1000);
	}
	if (rc == 0 && r.truncated) {
		kill(r.pid, SIGKILL);
		rc = error_set(err, ERR_ENGINE, "%s: printed too much", s->program);
	}
	close_ends(r.parent);
	close_ends(r.child);
	sigaction(SIGPIPE, &r.sigpipe, NULL);
	if (r.pid > 0)
		while (waitpid(r.pid, &s->status, 0) < 0 && errno == EINTR)
			continue;
	return rc;
}

int spawn_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
