/* SPDX-License-Identifier: Apache-2.0 */
/* srun's streams: where output goes, with labels and without blocking the loop; where input comes from. */
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "launcher/filename.h"
#include "launcher/step_private.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#define SINK_HIGH (1024 * 1024)
#define INPUT_CHUNK 65536

static void sink_write(struct sink *k);

/* --- what -i, -o and -e mean --- */

/* Slurm takes "none" and "all" by their first letters, in any case. */
static bool is_word(const char *text, const char *word)
{
	return !strncasecmp(text, word, strlen(word));
}

/* A number below ntasks; "" counts as 0, and what isn't a number at all as a file name. */
static bool is_task(const struct srun *s, const char *text, uint32_t *task)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*text && (*text < '0' || *text > '9'))
		return false;
	*task = (uint32_t)v;
	return !*end && v < s->g.layout.ntasks;
}

static char *full_name(struct srun *s, const char *pattern)
{
	const struct filename_step fs = {
		.job_id = s->g.job_id,
		.step_id = s->g.step_id,
		.job_name = env_get(&s->spec.env, "SLURM_JOB_NAME"),
		.user = getenv("SLURM_JOB_USER") ? getenv("SLURM_JOB_USER") : getenv("USER"),
		.array_job = getenv("SLURM_ARRAY_JOB_ID"),
		.array_task = getenv("SLURM_ARRAY_TASK_ID"),
	};
	cleanup_free char *name = filename_of_step(pattern, &fs);

	return path_join(s->spec.cwd, name);
}

static int open_sink(struct srun *s, struct sink *k, const char *path, const char *what, struct error *err)
{
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_APPEND |
			      (s->spec.open_mode == 'a' ? 0 : O_TRUNC),
		      0666);

	if (fd < 0)
		return error_errno(err, "Could not open %s file", what);
	k->fd = fd;
	k->own = true;
	return 0;
}

/* One of -o and -e; NULL or "all": as it comes. */
static int settle_output(struct srun *s, const char *text, struct stream_spec *spec, struct sink *k, int fd,
			 const char *what, struct error *err)
{
	cleanup_free char *path = NULL;

	*spec = (struct stream_spec){ .kind = STREAM_SRUN, .only = RANK_ALL };
	*k = (struct sink){ .srun = s, .fd = fd, .queue = STRBUF_INIT };
	if (!text || is_word(text, "all") || !strcmp(text, "-") || !strcmp(text, "-1"))
		return 0;
	if (is_word(text, "none") || !strcmp(text, "/dev/null")) {
		spec->kind = STREAM_NULL;
		return 0;
	}
	if (is_task(s, text, &spec->only))
		return 0;
	spec->only = RANK_ALL;
	path = full_name(s, text);
	if (!filename_is_local(text))
		return open_sink(s, k, path, what, err);
	spec->kind = STREAM_FILE;
	spec->pattern = steal_ptr(&path);
	return 0;
}

/* stderr follows a stdout that was sent somewhere, but -o all and no -o leave the two apart. */
static bool err_follows(const struct srun *s)
{
	const char *out = s->spec.std_out;
	const char *err = s->spec.std_err;

	if (err)
		return out && !strcmp(out, err) && !is_word(err, "all") && !is_word(err, "none");
	return out && !is_word(out, "all") && strcmp(out, "-") && strcmp(out, "-1");
}

static int settle_input(struct srun *s, struct stream_spec *spec, struct error *err)
{
	const char *text = s->spec.std_in;
	cleanup_free char *path = NULL;

	*spec = (struct stream_spec){ .kind = STREAM_SRUN, .only = RANK_ALL };
	s->in = (struct srun_input){ .fd = STDIN_FILENO, .only = RANK_ALL };
	if (!text || is_word(text, "all") || !strcmp(text, "-") || !strcmp(text, "-1"))
		return 0;
	if (is_word(text, "none") || !strcmp(text, "/dev/null")) {
		spec->kind = STREAM_NULL;
		s->in.fd = -1;
		return 0;
	}
	if (is_task(s, text, &spec->only)) {
		s->in.only = spec->only;
		return 0;
	}
	spec->only = RANK_ALL;
	path = full_name(s, text);
	if (filename_is_local(text)) {
		spec->kind = STREAM_FILE;
		spec->pattern = steal_ptr(&path);
		s->in.fd = -1;
		return 0;
	}
	s->in.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	s->in.own = true;
	if (s->in.fd < 0)
		return error_errno(err, "Could not open stdin file");
	return 0;
}

static bool can_poll(const struct srun *s, int fd)
{
	struct epoll_event ev = { .events = 0 };

	if (fd < 0 || epoll_ctl(s->loop.epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return false;
	epoll_ctl(s->loop.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	return true;
}

int io_open(struct srun *s, struct error *err)
{
	if (settle_output(s, s->spec.std_out, &s->common.out, &s->out, STDOUT_FILENO, "stdout", err) < 0)
		return -1;
	if (err_follows(s)) {
		s->common.err = (struct stream_spec){ .kind = STREAM_STDOUT, .only = RANK_ALL };
		s->err = (struct sink){ .srun = s, .fd = -1, .queue = STRBUF_INIT };
	} else if (settle_output(s, s->spec.std_err, &s->common.err, &s->err, STDERR_FILENO, "stderr", err) <
		   0) {
		return -1;
	}
	if (settle_input(s, &s->common.in, err) < 0)
		return -1;
	s->out.pollable = can_poll(s, s->out.fd);
	s->err.pollable = can_poll(s, s->err.fd);
	s->in.pollable = can_poll(s, s->in.fd);
	return 0;
}

/* --- output --- */

/* Slurm goes on when its own reader is gone: the ranks' output is dropped, their end still counts. */
static void sink_dead(struct sink *k)
{
	if (k->watched)
		loop_fd_remove(&k->srun->loop, k->fd);
	if (k->own)
		close(k->fd);
	k->watched = false;
	k->fd = -1;
	strbuf_release(&k->queue);
	k->sent = 0;
}

static void after_write(struct sink *k)
{
	struct srun *s = k->srun;

	if (k->queue.len - k->sent < SINK_HIGH / 4)
		hosts_resume(s);
	if (k->queue.len == k->sent)
		step_finish_if_done(s);
}

static void on_writable(void *arg, uint32_t events)
{
	struct sink *k = arg;

	if ((events & EPOLLERR) && !(events & EPOLLOUT))
		sink_dead(k);
	else
		sink_write(k);
	after_write(k);
}

/* Without O_NONBLOCK, which would be the shell's too: a pipe that poll calls writable takes PIPE_BUF bytes at once. */
static bool ready(const struct sink *k)
{
	struct pollfd p = { .fd = k->fd, .events = POLLOUT };

	return !k->pollable || poll(&p, 1, 0) > 0;
}

static void watch(struct sink *k)
{
	if (!k->watched && loop_fd_add(&k->srun->loop, k->fd, EPOLLOUT, on_writable, k, NULL) == 0)
		k->watched = true;
}

static void sink_write(struct sink *k)
{
	while (k->fd >= 0 && k->sent < k->queue.len) {
		size_t n = k->queue.len - k->sent;
		ssize_t w;

		if (!ready(k)) {
			watch(k);
			return;
		}
		w = write(k->fd, k->queue.buf + k->sent, k->pollable && n > PIPE_BUF ? PIPE_BUF : n);
		if (w < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (w < 0) {
			sink_dead(k);
			return;
		}
		k->sent += (size_t)w;
	}
	strbuf_reset(&k->queue);
	k->sent = 0;
	if (k->watched)
		loop_fd_remove(&k->srun->loop, k->fd);
	k->watched = false;
}

/* One label a line. A line that somebody else's bytes would cut gets its end first. */
static void add_labelled(struct srun *s, struct sink *k, uint32_t rank, const struct frame *f)
{
	uint64_t owner = (uint64_t)rank << 1 | ((f->flags & FRAME_STDERR) != 0);
	int width = snprintf(NULL, 0, "%u", s->g.layout.ntasks - 1);
	const char *p = (const char *)f->payload;
	const char *end = p + f->length;

	if (k->midline && k->owner != owner && f->length) {
		strbuf_addch(&k->queue, '\n');
		k->midline = false;
	}
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl + 1 : end;

		if (!k->midline)
			strbuf_addf(&k->queue, "%*u: ", width, rank);
		strbuf_add(&k->queue, p, (size_t)(stop - p));
		k->midline = !nl;
		p = stop;
	}
	k->owner = owner;
	if (k->midline && (s->spec.unbuffered || (f->flags & FRAME_EOF))) {
		strbuf_addch(&k->queue, '\n');
		k->midline = false;
	}
}

bool io_output(struct srun *s, uint32_t rank, const struct frame *f)
{
	struct sink *k = f->flags & FRAME_STDERR ? &s->err : &s->out;

	if (k->fd < 0)
		return true;
	if (s->spec.label)
		add_labelled(s, k, rank, f);
	else
		strbuf_add(&k->queue, f->payload, f->length);
	if (!k->watched)
		sink_write(k);
	return k->queue.len - k->sent < SINK_HIGH;
}

bool io_flushed(const struct srun *s)
{
	return s->out.queue.len == s->out.sent && s->err.queue.len == s->err.sent;
}

/* --- input --- */

static bool takes_input(const struct srun *s, const struct srun_host *h)
{
	if (h->state != HOST_RUNNING || !h->caller || h->in_nobody)
		return false;
	return s->in.only == RANK_ALL || s->tasks[s->in.only].host == h->index;
}

/* 1: every reader has room, 0: one hasn't, -1: there is none. */
static int readers_ready(const struct srun *s)
{
	int rc = -1;

	for (uint32_t i = 0; i < s->g.nhosts; i++) {
		const struct srun_host *h = &s->hosts[i];

		if (!takes_input(s, h))
			continue;
		if (h->in_paused || channel_full(&h->caller->channel))
			return 0;
		rc = 1;
	}
	return rc;
}

static void send_input(struct srun *s, const void *data, size_t n, bool eof)
{
	for (uint32_t i = 0; i < s->g.nhosts; i++)
		if (takes_input(s, &s->hosts[i]))
			channel_send(&s->hosts[i].caller->channel, FRAME_IN, eof ? FRAME_EOF : 0, s->in.only,
				     data, n);
}

static void stop_watching(struct srun *s)
{
	if (s->in.watched)
		loop_fd_remove(&s->loop, s->in.fd);
	s->in.watched = false;
	loop_timer_cancel(&s->loop, &s->in.again);
}

static void end_input(struct srun *s, bool tell)
{
	stop_watching(s);
	s->in.ended = true;
	if (tell)
		send_input(s, NULL, 0, true);
}

static void read_input(struct srun *s)
{
	static char buf[INPUT_CHUNK];
	ssize_t k = read(s->in.fd, buf, sizeof(buf));

	if (k < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (k < 0 && errno == EIO) {
		/* a terminal whose foreground is somebody else's: no input, but not its end either */
		end_input(s, false);
		return;
	}
	if (k <= 0)
		end_input(s, true);
	else
		send_input(s, buf, (size_t)k, false);
}

static void on_input(void *arg, uint32_t events)
{
	struct srun *s = arg;

	(void)events;
	read_input(s);
	io_input_again(s);
}

static void on_again(void *arg)
{
	on_input(arg, 0);
}

void io_input_again(struct srun *s)
{
	int readiness;

	if (!s->started || s->in.ended || s->in.fd < 0)
		return;
	readiness = readers_ready(s);
	if (readiness < 0) {
		end_input(s, false);
		return;
	}
	if (!readiness) {
		stop_watching(s);
		return;
	}
	if (!s->in.pollable) {
		/* a file is always ready */
		if (!s->in.again.active)
			loop_timer_set(&s->loop, &s->in.again, 0, on_again, s);
	} else if (!s->in.watched && loop_fd_add(&s->loop, s->in.fd, EPOLLIN, on_input, s, NULL) == 0) {
		s->in.watched = true;
	}
}

void io_start(struct srun *s)
{
	struct pollfd p = { .fd = s->in.fd, .events = POLLIN };

	if (s->in.fd < 0)
		return;
	/* what is there already is taken at once, before any rank can be over: `while read; do srun; done` reads one line */
	if (poll(&p, 1, 0) > 0)
		read_input(s);
	io_input_again(s);
}

void io_close(struct srun *s)
{
	sink_write(&s->out);
	sink_write(&s->err);
	if (s->out.own && s->out.fd >= 0)
		close(s->out.fd);
	if (s->err.own && s->err.fd >= 0)
		close(s->err.fd);
}
