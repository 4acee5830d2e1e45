/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/channel.h"

#include "common/fd.h"
#include "common/mem.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define READ_SIZE 65536
#define AUTH_PAYLOAD_MAX 128 /* before the proof nobody may send more than that at a time */
/* With a closed window the kernel probes at most every 120 s: only later than that is a silence one of the host. */
#define PROBE_SLACK_MS 130000

static void ended(struct channel *ch, const char *why)
{
	const struct channel_ops *ops = ch->ops;
	void *arg = ch->arg;

	channel_close(ch);
	ops->closed(arg, why);
}

static uint32_t wanted(const struct channel *ch)
{
	uint32_t ev = ch->paused ? 0 : EPOLLIN;

	return ch->out.len > ch->out_sent ? ev | EPOLLOUT : ev;
}

static void update_events(struct channel *ch)
{
	loop_fd_events(ch->loop, ch->fd, wanted(ch));
}

size_t channel_queued(const struct channel *ch)
{
	return ch->out.len - ch->out_sent;
}

bool channel_full(const struct channel *ch)
{
	return channel_queued(ch) > CHANNEL_HIGH;
}

bool channel_idle(const struct channel *ch)
{
	return channel_queued(ch) == 0;
}

/* 0, or -1 when the connection is gone. */
static int write_some(struct channel *ch)
{
	while (ch->out_sent < ch->out.len) {
		ssize_t k =
			send(ch->fd, ch->out.buf + ch->out_sent, ch->out.len - ch->out_sent, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && (errno == EAGAIN || errno == ENOTCONN))
			break;
		if (k < 0)
			return -1;
		ch->out_sent += (size_t)k;
	}
	if (ch->out_sent == ch->out.len) {
		strbuf_reset(&ch->out);
		ch->out_sent = 0;
	} else if (ch->out_sent > CHANNEL_HIGH) {
		memmove(ch->out.buf, ch->out.buf + ch->out_sent, ch->out.len - ch->out_sent);
		ch->out.len -= ch->out_sent;
		ch->out_sent = 0;
	}
	return 0;
}

static void on_flush(void *arg)
{
	struct channel *ch = arg;

	/* a failed write shows up as an error event with what the peer still had to say before it */
	if (write_some(ch) < 0) {
		strbuf_reset(&ch->out);
		ch->out_sent = 0;
	}
	update_events(ch);
}

void channel_flush(struct channel *ch)
{
	if (ch->state != CHANNEL_CLOSED)
		on_flush(ch);
}

static void queued(struct channel *ch)
{
	ch->sent_since_ping = true;
	if (channel_full(ch))
		ch->was_high = true;
	/* all frames of one round of the loop go out together */
	if (!ch->flush.active)
		loop_timer_set(ch->loop, &ch->flush, 0, on_flush, ch);
}

static void send_raw(struct channel *ch, uint8_t type, const void *payload, size_t n)
{
	proto_put(&ch->out, type, 0, 0, payload, n);
	queued(ch);
}

static void send_sealed(struct channel *ch, uint8_t type, uint8_t flags, uint32_t rank, const void *payload,
			size_t n)
{
	struct frame outer = { .type = FRAME_SEALED };
	unsigned char header[PROTO_HEADER];
	struct strbuf plain = STRBUF_INIT;
	size_t sealed = PROTO_HEADER + n + crypto_secretstream_xchacha20poly1305_ABYTES;

	proto_put(&plain, type, flags, rank, payload, n);
	outer.length = (uint32_t)sealed;
	proto_header(header, &outer);
	strbuf_add(&ch->out, header, sizeof(header));
	strbuf_reserve(&ch->out, sealed);
	auth_seal(ch->auth, plain.buf, plain.len, (unsigned char *)ch->out.buf + ch->out.len);
	ch->out.len += sealed;
	ch->out.buf[ch->out.len] = '\0';
	strbuf_release(&plain);
}

void channel_send(struct channel *ch, uint8_t type, uint8_t flags, uint32_t rank, const void *payload,
		  size_t n)
{
	if (ch->state != CHANNEL_OPEN)
		return;
	if (n > PROTO_PAYLOAD_MAX)
		return;
	if (ch->auth && ch->auth->sealed)
		send_sealed(ch, type, flags, rank, payload, n);
	else
		proto_put(&ch->out, type, flags, rank, payload, n);
	queued(ch);
}

void channel_send_parts(struct channel *ch, uint8_t type, uint32_t rank, const void *payload, size_t n)
{
	const char *p = payload;

	for (; n > PROTO_PAYLOAD_MAX; p += PROTO_PAYLOAD_MAX, n -= PROTO_PAYLOAD_MAX)
		channel_send(ch, type, FRAME_MORE, rank, p, PROTO_PAYLOAD_MAX);
	channel_send(ch, type, 0, rank, p, n);
}

static void opened(struct channel *ch)
{
	ch->state = CHANNEL_OPEN;
	ch->last_heard = loop_now();
	loop_timer_cancel(ch->loop, &ch->deadline);
	ch->ops->open(ch->arg);
}

static int take_hello(struct channel *ch, const struct frame *f, struct error *err)
{
	unsigned char out[AUTH_WELCOME];
	const unsigned char *key;

	if (auth_read_hello(ch->auth, f->payload, f->length, err) < 0)
		return -1;
	key = ch->ops->key(ch->arg, &ch->auth->who);
	if (!key)
		return error_set(err, ERR_PROTOCOL, "hello: nobody that we wait for");
	memcpy(ch->auth->key, key, AUTH_KEY);
	if (auth_welcome(ch->auth, f->payload, f->length, out, err) < 0)
		return -1;
	send_raw(ch, FRAME_WELCOME, out, sizeof(out));
	opened(ch);
	return 0;
}

static int take_auth(struct channel *ch, const struct frame *f, struct error *err)
{
	unsigned char out[AUTH_HELLO];

	if (ch->state == CHANNEL_WAIT_HELLO && f->type == FRAME_HELLO)
		return take_hello(ch, f, err);
	if (ch->state == CHANNEL_WAIT_CHALLENGE && f->type == FRAME_CHALLENGE) {
		if (auth_hello(ch->auth, f->payload, f->length, out, err) < 0)
			return -1;
		send_raw(ch, FRAME_HELLO, out, sizeof(out));
		ch->state = CHANNEL_WAIT_WELCOME;
		return 0;
	}
	if (ch->state == CHANNEL_WAIT_WELCOME && f->type == FRAME_WELCOME) {
		if (auth_finish(ch->auth, f->payload, f->length, err) < 0)
			return -1;
		opened(ch);
		return 0;
	}
	return error_set(err, ERR_PROTOCOL, "message type %u out of turn", f->type);
}

static void deliver(struct channel *ch, const struct frame *f)
{
	ch->last_heard = loop_now();
	if (f->type == FRAME_PING)
		channel_send(ch, FRAME_PONG, 0, 0, NULL, 0);
	else if (f->type != FRAME_PONG)
		ch->ops->frame(ch->arg, f);
}

static int take_sealed(struct channel *ch, const struct frame *f, struct error *err)
{
	cleanup_free unsigned char *plain = NULL;
	struct frame inner;
	size_t n, need;

	if (f->type != FRAME_SEALED)
		return error_set(err, ERR_PROTOCOL, "message type %u in the clear", f->type);
	plain = xmalloc(f->length + 1);
	if (auth_open(ch->auth, f->payload, f->length, plain, &n, err) < 0)
		return -1;
	if (proto_parse(plain, n, PROTO_PAYLOAD_MAX, &inner, &need, err) != (long)n || !n)
		return error_set(err, ERR_PROTOCOL, "a sealed message isn't one message");
	deliver(ch, &inner);
	return 0;
}

static int take_frame(struct channel *ch, const struct frame *f, struct error *err)
{
	if (ch->state != CHANNEL_OPEN)
		return take_auth(ch, f, err);
	if (ch->auth && ch->auth->sealed)
		return take_sealed(ch, f, err);
	deliver(ch, f);
	return 0;
}

static size_t limit_of(const struct channel *ch)
{
	if (ch->state != CHANNEL_OPEN)
		return AUTH_PAYLOAD_MAX;
	return ch->auth && ch->auth->sealed ? PROTO_SEALED_MAX : PROTO_PAYLOAD_MAX;
}

/* Hands out the whole frames of ch->in. 0, -1 with err for a bad peer; the owner may close the channel on the way. */
static int parse_input(struct channel *ch, struct error *err)
{
	size_t done = 0;
	int rc = 0;

	while (ch->state != CHANNEL_CLOSED && !ch->paused) {
		struct frame f;
		size_t need;
		long k = proto_parse(ch->in.buf + done, ch->in.len - done, limit_of(ch), &f, &need, err);

		if (k <= 0) {
			rc = (int)k;
			break;
		}
		done += (size_t)k;
		rc = take_frame(ch, &f, err);
		if (rc < 0)
			break;
	}
	memmove(ch->in.buf, ch->in.buf + done, ch->in.len - done);
	ch->in.len -= done;
	return rc;
}

/* The input buffer is in use while frames are handed out: closing from a callback must not free it then. */
static void run_input(struct channel *ch)
{
	struct error err = ERROR_INIT;
	int rc;

	ch->busy = true;
	rc = parse_input(ch, &err);
	ch->busy = false;
	if (ch->state == CHANNEL_CLOSED) {
		strbuf_release(&ch->in);
		return;
	}
	if (rc < 0)
		ended(ch, err.text);
}

static void on_readable(struct channel *ch)
{
	char why[128] = "";
	ssize_t k;

	strbuf_reserve(&ch->in, READ_SIZE);
	k = recv(ch->fd, ch->in.buf + ch->in.len, READ_SIZE, 0);
	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (k > 0) {
		ch->in.len += (size_t)k;
		run_input(ch);
		return;
	}
	if (k < 0)
		snprintf(why, sizeof(why), "%s", strerror(errno));
	ended(ch, k == 0 ? "connection closed" : why);
}

static void on_event(void *arg, uint32_t events)
{
	struct channel *ch = arg;

	if (events & EPOLLOUT) {
		on_flush(ch);
		if (ch->was_high && channel_queued(ch) < CHANNEL_LOW) {
			ch->was_high = false;
			if (ch->ops->drained)
				ch->ops->drained(ch->arg);
			if (ch->state == CHANNEL_CLOSED)
				return;
		}
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		if (!ch->paused)
			on_readable(ch);
		else if (events & (EPOLLHUP | EPOLLERR))
			/* a paused reader has bytes left: they are read when it goes on, the hang-up comes again then */
			loop_fd_remove(ch->loop, ch->fd);
	}
}

static void on_deadline(void *arg)
{
	ended(arg, "no proof in time");
}

static int start(struct channel *ch, struct loop *l, int fd, const struct channel_ops *ops, void *arg,
		 struct error *err)
{
	int one = 1;
	int domain = 0;
	socklen_t len = sizeof(domain);

	*ch = (struct channel){
		.loop = l, .fd = fd, .ops = ops, .arg = arg, .in = STRBUF_INIT, .out = STRBUF_INIT
	};
	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	ch->tcp = domain == AF_INET || domain == AF_INET6;
	if (ch->tcp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fd_set_nonblock(fd, true) < 0 || loop_fd_add(l, fd, EPOLLIN, on_event, ch, err) < 0) {
		close(fd);
		ch->fd = -1;
		return error_wrap(err, "connection");
	}
	return 0;
}

int channel_plain(struct channel *ch, struct loop *l, int fd, const struct channel_ops *ops, void *arg,
		  struct error *err)
{
	if (start(ch, l, fd, ops, arg, err) < 0)
		return -1;
	ch->state = CHANNEL_OPEN;
	return 0;
}

static void begin_auth(struct channel *ch, bool sealed, uint32_t auth_ms)
{
	ch->auth = xcalloc(1, sizeof(*ch->auth));
	ch->auth->sealed = sealed;
	loop_timer_set(ch->loop, &ch->deadline, auth_ms, on_deadline, ch);
}

int channel_listen(struct channel *ch, struct loop *l, int fd, bool sealed, uint32_t auth_ms,
		   const struct channel_ops *ops, void *arg, struct error *err)
{
	unsigned char nonce[AUTH_NONCE];

	if (start(ch, l, fd, ops, arg, err) < 0)
		return -1;
	begin_auth(ch, sealed, auth_ms);
	ch->state = CHANNEL_WAIT_HELLO;
	auth_challenge(ch->auth, nonce);
	send_raw(ch, FRAME_CHALLENGE, nonce, sizeof(nonce));
	return 0;
}

int channel_dial(struct channel *ch, struct loop *l, int fd, bool sealed, uint32_t auth_ms,
		 const struct auth_who *who, const unsigned char key[AUTH_KEY], const struct channel_ops *ops,
		 void *arg, struct error *err)
{
	if (start(ch, l, fd, ops, arg, err) < 0)
		return -1;
	begin_auth(ch, sealed, auth_ms);
	ch->state = CHANNEL_WAIT_CHALLENGE;
	ch->auth->who = *who;
	memcpy(ch->auth->key, key, AUTH_KEY);
	return 0;
}

/* How long the peer's kernel has said nothing, ms. It answers for a stopped process too: only a lost host is silent. */
static int64_t silence(const struct channel *ch)
{
	struct tcp_info ti;
	socklen_t len = sizeof(ti);
	int64_t ms;

	memset(&ti, 0, sizeof(ti));
	if (getsockopt(ch->fd, IPPROTO_TCP, TCP_INFO, &ti, &len) < 0)
		return 0;
	ms = ti.tcpi_last_ack_recv < ti.tcpi_last_data_recv ? ti.tcpi_last_ack_recv : ti.tcpi_last_data_recv;
	if (!ti.tcpi_unacked && !channel_idle(ch))
		ms -= PROBE_SLACK_MS;
	return ms;
}

static void on_ping(void *arg)
{
	struct channel *ch = arg;
	int64_t now = loop_now();
	bool late = now - ch->last_tick > 2 * (int64_t)ch->ping_ms;

	ch->last_tick = now;
	loop_timer_set(ch->loop, &ch->ping, ch->ping_ms, on_ping, ch);
	/* after a stop of this process itself nothing can be concluded before the next round */
	if (ch->tcp && ch->silence_ms && !late && silence(ch) > ch->silence_ms) {
		ended(ch, "the host no longer answers");
		return;
	}
	if (!ch->sent_since_ping && channel_idle(ch))
		channel_send(ch, FRAME_PING, 0, 0, NULL, 0);
	ch->sent_since_ping = false;
}

void channel_keepalive(struct channel *ch, uint32_t interval_ms, uint32_t silence_ms)
{
	ch->ping_ms = interval_ms;
	ch->silence_ms = silence_ms;
	ch->last_tick = loop_now();
	loop_timer_set(ch->loop, &ch->ping, interval_ms, on_ping, ch);
}

static void on_resume(void *arg)
{
	run_input(arg);
}

void channel_pause(struct channel *ch, bool paused)
{
	if (ch->state == CHANNEL_CLOSED || ch->paused == paused)
		return;
	ch->paused = paused;
	if (paused) {
		update_events(ch);
		return;
	}
	/* the watch may have been taken away by a hang-up while paused */
	loop_fd_remove(ch->loop, ch->fd);
	loop_fd_add(ch->loop, ch->fd, wanted(ch), on_event, ch, NULL);
	/* frames may be waiting in the buffer, with nothing new to come */
	if (!ch->busy && !ch->deadline.active)
		loop_timer_set(ch->loop, &ch->deadline, 0, on_resume, ch);
}

void channel_close(struct channel *ch)
{
	if (ch->state == CHANNEL_CLOSED)
		return;
	ch->state = CHANNEL_CLOSED;
	loop_timer_cancel(ch->loop, &ch->flush);
	loop_timer_cancel(ch->loop, &ch->deadline);
	loop_timer_cancel(ch->loop, &ch->ping);
	loop_fd_remove(ch->loop, ch->fd);
	close(ch->fd);
	ch->fd = -1;
	if (ch->auth) {
		auth_wipe(ch->auth);
		free(ch->auth);
		ch->auth = NULL;
	}
	strbuf_release(&ch->out);
	ch->out_sent = 0;
	if (!ch->busy)
		strbuf_release(&ch->in);
}

int channel_peer_is_us(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -1;
	return cred.uid == geteuid() || cred.uid == 0 ? 0 : -1;
}
