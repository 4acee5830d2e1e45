/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the ranks of one host: files and pipes, output to srun or to shared files, input from srun. */
#include "common/fd.h"
#include "common/mem.h"
#include "launcher/filename.h"
#include "launcher/stepper_private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>

#define READ_SIZE 65536
#define LINE_MAX_BYTES 65536 /* a longer line is passed on in pieces */
#define INPUT_HIGH (1024 * 1024)
#define INPUT_LOW (128 * 1024)

/* --- opening --- */

static int open_null(int flags)
{
	return open("/dev/null", flags | O_CLOEXEC);
}

static int make_pipe(int *ours, int *theirs, bool ours_reads)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -1;
	*ours = p[!ours_reads];
	*theirs = p[ours_reads];
	return fd_set_nonblock(*ours, true);
}

/* -u: a terminal, so that the C library of the program writes line by line; bytes pass as they are. */
static int make_pty(int *ours, int *theirs)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int zero = 0;
	struct termios tio;

	if (master < 0)
		return -1;
	if (ioctl(master, TIOCSPTLCK, &zero) == 0)
		*theirs = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*theirs < 0) {
		close(master);
		return -1;
	}
	if (tcgetattr(*theirs, &tio) == 0) {
		tio.c_oflag &= ~(tcflag_t)OPOST;
		tcsetattr(*theirs, TCSANOW, &tio);
	}
	*ours = master;
	return fd_set_nonblock(master, true);
}

static int out_flags(const struct stepper *s)
{
	return O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_APPEND |
	       (s->spec.open_mode == 'a' ? 0 : O_TRUNC);
}

/* The file at path, opened once for all ranks of the host. */
static struct shared_file *shared_file(struct stepper *s, char *path)
{
	struct shared_file *f = s->files;

	while (f && strcmp(f->path, path))
		f = f->next;
	if (!f) {
		int fd = open(path, out_flags(s), 0666);

		if (fd < 0)
			return NULL;
		f = xcalloc(1, sizeof(*f));
		*f = (struct shared_file){ .path = xstrdup(path), .fd = fd, .next = s->files };
		s->files = f;
	}
	return f;
}

static bool wants(const struct stream_spec *spec, const struct task *t)
{
	return spec->only == RANK_ALL || spec->only == t->id;
}

static int open_piped(struct task *t, struct stream *st, int *theirs, bool is_stdout)
{
	st->task = t;
	if (is_stdout && t->stepper->spec.unbuffered && make_pty(&st->fd, theirs) == 0)
		return 0;
	return make_pipe(&st->fd, theirs, true);
}

/* One output stream of a rank; *theirs is what the rank gets. */
static int open_output(struct task *t, const struct stream_spec *spec, struct stream *st, int *theirs,
		       bool is_err)
{
	struct stepper *s = t->stepper;
	cleanup_free char *path = NULL;

	st->is_err = is_err;
	if (spec->kind == STREAM_NULL || (spec->kind == STREAM_SRUN && !wants(spec, t))) {
		*theirs = open_null(O_WRONLY);
		return *theirs < 0 ? -1 : 0;
	}
	if (spec->kind == STREAM_SRUN)
		return open_piped(t, st, theirs, !is_err);
	path = filename_of_rank(spec->pattern, s->spec.node, s->spec.node_index, t->id);
	if (filename_is_per_rank(spec->pattern) && !s->spec.label) {
		/* its own: the rank writes there without us */
		struct shared_file *f = shared_file(s, path);

		*theirs = f ? fcntl(f->fd, F_DUPFD_CLOEXEC, 3) : -1;
		if (is_err || s->spec.err.kind == STREAM_STDOUT)
			t->err_file = f ? f->fd : -1;
		return *theirs < 0 ? -1 : 0;
	}
	st->file = shared_file(s, path);
	return st->file ? open_piped(t, st, theirs, !is_err) : -1;
}

static int open_input(struct task *t, const struct stream_spec *spec)
{
	const struct hostspec *hs = &t->stepper->spec;
	cleanup_free char *path = NULL;

	if (spec->kind == STREAM_FILE) {
		path = filename_of_rank(spec->pattern, hs->node, hs->node_index, t->id);
		t->child_fds[0] = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	} else if (spec->kind == STREAM_NULL || !wants(spec, t)) {
		t->child_fds[0] = open_null(O_RDONLY);
	} else if (make_pipe(&t->in_fd, &t->child_fds[0], false) < 0) {
		return -1;
	}
	return t->child_fds[0] < 0 ? -1 : 0;
}

static int open_task(struct task *t, struct error *err)
{
	const struct hostspec *hs = &t->stepper->spec;

	t->out.task = t->err.task = t;
	if (open_input(t, &hs->in) < 0)
		return error_errno(err, "stdin");
	if (open_output(t, &hs->out, &t->out, &t->child_fds[1], false) < 0)
		return error_errno(err, "stdout");
	if (hs->err.kind == STREAM_STDOUT)
		t->child_fds[2] = fcntl(t->child_fds[1], F_DUPFD_CLOEXEC, 3);
	else if (open_output(t, &hs->err, &t->err, &t->child_fds[2], true) < 0)
		return error_errno(err, "stderr");
	if (t->child_fds[2] < 0)
		return error_errno(err, "stderr");
	return 0;
}

int streams_open(struct stepper *s, uint32_t *failed, struct error *err)
{
	*failed = RANK_ALL;
	for (uint32_t i = 0; i < s->ntasks; i++) {
		if (open_task(&s->tasks[i], err) < 0) {
			*failed = s->tasks[i].id;
			return -1;
		}
	}
	return 0;
}

/* --- output --- */

static int label_width(const struct stepper *s)
{
	return snprintf(NULL, 0, "%u", s->spec.ntasks - 1);
}

/* Lines with labels, into one buffer, so that one write has whole lines. */
static void add_labelled(const struct stepper *s, struct stream *st, struct strbuf *out, const char *p,
			 size_t n)
{
	const char *end = p + n;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl + 1 : end;

		if (!st->midline)
			strbuf_addf(out, "%*u: ", label_width(s), st->task->id);
		strbuf_add(out, p, (size_t)(stop - p));
		st->midline = !nl;
		p = stop;
	}
}

static void write_file(struct stream *st, const char *p, size_t n, bool eof)
{
	struct stepper *s = st->task->stepper;
	struct strbuf text = STRBUF_INIT;

	if (s->spec.label) {
		add_labelled(s, st, &text, p, n);
		if (eof && st->midline)
			strbuf_addch(&text, '\n');
	} else {
		strbuf_add(&text, p, n);
	}
	/* a full disk must not end the rank: its output is lost, as it would be for a write of its own */
	if (text.len && fd_write_all(st->file->fd, text.buf, text.len) < 0)
		errno = 0;
	strbuf_release(&text);
}

static void emit(struct stream *st, const char *p, size_t n, bool eof)
{
	struct stepper *s = st->task->stepper;
	uint8_t flags = (uint8_t)((st->is_err ? FRAME_STDERR : 0) | (eof ? FRAME_EOF : 0));

	if (!n && !eof)
		return;
	if (st->file)
		write_file(st, p, n, eof);
	else if (s->channel)
		channel_send(s->channel, FRAME_OUT, flags, st->task->id, p, n);
}

/* How much of what is held can go: whole lines, but of a lone rank, whose bytes nothing can come between, all. */
static size_t ready_bytes(const struct stepper *s, const struct strbuf *held)
{
	const char *nl;

	if (s->spec.unbuffered || (s->spec.ntasks == 1 && !s->spec.label) || held->len >= LINE_MAX_BYTES)
		return held->len;
	nl = memrchr(held->buf, '\n', held->len);
	return nl ? (size_t)(nl + 1 - held->buf) : 0;
}

static void pass_on(struct stream *st)
{
	size_t n = ready_bytes(st->task->stepper, &st->held);

	if (!n)
		return;
	emit(st, st->held.buf, n, false);
	memmove(st->held.buf, st->held.buf + n, st->held.len - n);
	st->held.len -= n;
}

static void end_stream(struct stream *st)
{
	struct stepper *s = st->task->stepper;

	loop_fd_remove(&s->loop, st->fd);
	close(st->fd);
	st->fd = -1;
	if (st->held.len)
		emit(st, st->held.buf, st->held.len, true);
	strbuf_release(&st->held);
	s->open_streams--;
	stepper_stream_ended(s);
}

/* 1: got bytes, 0: nothing now, -1: at its end (which a pty says by EIO). */
static int read_stream(struct stream *st)
{
	ssize_t k;

	strbuf_reserve(&st->held, READ_SIZE);
	k = read(st->fd, st->held.buf + st->held.len, READ_SIZE);
	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (k <= 0)
		return -1;
	st->held.len += (size_t)k;
	return 1;
}

static bool must_wait(const struct stream *st)
{
	const struct stepper *s = st->task->stepper;

	return !st->file && s->channel && channel_full(s->channel);
}

static void on_output(void *arg, uint32_t events)
{
	struct stream *st = arg;
	struct stepper *s = st->task->stepper;
	int rc;

	(void)events;
	if (must_wait(st)) {
		/* removed, not only masked: a hang-up would be reported again and again */
		loop_fd_remove(&s->loop, st->fd);
		st->paused = true;
		return;
	}
	rc = read_stream(st);
	if (rc > 0)
		pass_on(st);
	if (rc < 0)
		end_stream(st);
}

void streams_resume(struct stepper *s)
{
	for (uint32_t i = 0; i < s->ntasks; i++) {
		struct stream *both[] = { &s->tasks[i].out, &s->tasks[i].err };

		for (int k = 0; k < 2; k++) {
			if (!both[k]->paused || both[k]->fd < 0)
				continue;
			both[k]->paused = false;
			loop_fd_add(&s->loop, both[k]->fd, EPOLLIN, on_output, both[k], NULL);
		}
	}
}

static void drain(struct stream *st)
{
	int rc = 1;

	while (st->fd >= 0 && !st->paused && !must_wait(st) && rc > 0) {
		rc = read_stream(st);
		if (rc > 0)
			pass_on(st);
		if (rc < 0)
			end_stream(st);
	}
}

void streams_drain(struct task *t)
{
	drain(&t->out);
	drain(&t->err);
}

void stream_say(struct task *t, const char *text)
{
	struct stepper *s = t->stepper;
	struct stream *st = s->spec.err.kind == STREAM_STDOUT ? &t->out : &t->err;

	if (st->fd < 0 && t->err_file >= 0) {
		if (fd_write_all(t->err_file, text, strlen(text)) < 0)
			errno = 0;
		return;
	}
	if (st->fd < 0)
		return; /* /dev/null */
	strbuf_addstr(&st->held, text);
	pass_on(st);
}

/* --- input --- */

static void on_input_room(void *arg, uint32_t events);

static uint64_t most_queued(const struct stepper *s)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < s->ntasks; i++) {
		size_t n = s->tasks[i].in.len - s->tasks[i].in_sent;

		most = n > most ? n : most;
	}
	return most;
}

static void tell_flow(struct stepper *s)
{
	uint64_t most = most_queued(s);
	bool anybody = false;

	if (!s->channel)
		return;
	if (!s->in_paused && most > INPUT_HIGH) {
		s->in_paused = true;
		channel_send(s->channel, FRAME_IN_PAUSE, 0, RANK_ALL, NULL, 0);
	} else if (s->in_paused && most < INPUT_LOW) {
		s->in_paused = false;
		channel_send(s->channel, FRAME_IN_RESUME, 0, RANK_ALL, NULL, 0);
	}
	for (uint32_t i = 0; i < s->ntasks; i++)
		anybody = anybody || s->tasks[i].in_fd >= 0;
	if (!anybody && !s->in_nobody) {
		s->in_nobody = true;
		channel_send(s->channel, FRAME_IN_PAUSE, FRAME_EOF, RANK_ALL, NULL, 0);
	}
}

void input_close(struct task *t)
{
	if (t->in_fd < 0)
		return;
	loop_fd_remove(&t->stepper->loop, t->in_fd);
	close(t->in_fd);
	t->in_fd = -1;
	strbuf_release(&t->in);
	t->in_sent = 0;
	tell_flow(t->stepper);
}

static void write_input(struct task *t)
{
	while (t->in_sent < t->in.len) {
		ssize_t k = write(t->in_fd, t->in.buf + t->in_sent, t->in.len - t->in_sent);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && errno == EAGAIN) {
			loop_fd_events(&t->stepper->loop, t->in_fd, EPOLLOUT);
			tell_flow(t->stepper);
			return;
		}
		if (k < 0) { /* the rank closed it: what comes is for nobody */
			input_close(t);
			return;
		}
		t->in_sent += (size_t)k;
	}
	strbuf_reset(&t->in);
	t->in_sent = 0;
	if (t->in_eof)
		input_close(t);
	else
		loop_fd_events(&t->stepper->loop, t->in_fd, 0);
	tell_flow(t->stepper);
}

static void on_input_room(void *arg, uint32_t events)
{
	struct task *t = arg;

	/* no reader is left */
	if (events & EPOLLERR)
		input_close(t);
	else
		write_input(t);
}

void input_take(struct stepper *s, const struct frame *f)
{
	for (uint32_t i = 0; i < s->ntasks; i++) {
		struct task *t = &s->tasks[i];

		if (t->in_fd < 0 || (f->rank != RANK_ALL && f->rank != t->id))
			continue;
		strbuf_add(&t->in, f->payload, f->length);
		t->in_eof = t->in_eof || (f->flags & FRAME_EOF);
		if (t->started)
			write_input(t);
	}
}

/* --- start and end --- */

static void watch(struct stream *st)
{
	struct stepper *s = st->task->stepper;

	if (st->fd < 0)
		return;
	s->open_streams++;
	loop_fd_add(&s->loop, st->fd, EPOLLIN, on_output, st, NULL);
}

void streams_start(struct task *t)
{
	for (int i = 0; i < 3; i++) {
		close(t->child_fds[i]);
		t->child_fds[i] = -1;
	}
	watch(&t->out);
	watch(&t->err);
	if (t->in_fd < 0)
		return;
	loop_fd_add(&t->stepper->loop, t->in_fd, 0, on_input_room, t, NULL);
	if (t->in.len || t->in_eof)
		write_input(t);
}

void streams_close(struct stepper *s)
{
	while (s->files) {
		struct shared_file *f = s->files;

		s->files = f->next;
		close(f->fd);
		free(f->path);
		free(f);
	}
}
