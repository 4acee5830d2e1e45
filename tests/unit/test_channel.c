/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/channel.h"

#include "common/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

struct end {
	struct channel ch;
	struct loop *loop;
	unsigned char key[AUTH_KEY];
	bool have_key, opened, closed, echo;
	char why[160];
	size_t frames, bytes;
	uint8_t last_type;
	uint32_t last_rank;
	size_t stop_at; /* bytes after which the loop ends */
	int drained;
};

static const unsigned char *key_of(void *arg, const struct auth_who *who)
{
	struct end *e = arg;

	return e->have_key && who->id == 7 ? e->key : NULL;
}

static void on_open(void *arg)
{
	((struct end *)arg)->opened = true;
}

static void on_frame(void *arg, const struct frame *f)
{
	struct end *e = arg;

	e->frames++;
	e->bytes += f->length;
	e->last_type = f->type;
	e->last_rank = f->rank;
	if (e->echo)
		channel_send(&e->ch, f->type, f->flags, f->rank, f->payload, f->length);
	if (e->stop_at && e->bytes >= e->stop_at)
		loop_stop(e->loop);
}

static void on_closed(void *arg, const char *why)
{
	struct end *e = arg;

	e->closed = true;
	snprintf(e->why, sizeof(e->why), "%s", why);
	loop_stop(e->loop);
}

static void on_drained(void *arg)
{
	((struct end *)arg)->drained++;
}

static const struct channel_ops ops = { key_of, on_open, on_frame, on_closed, on_drained };

static void stop(void *arg)
{
	loop_stop(arg);
}

static void run_for(struct loop *l, int ms)
{
	struct loop_timer t = { 0 };

	l->stop = false;
	loop_timer_set(l, &t, ms, stop, l);
	cr_assert_eq(loop_run(l, NULL), 0);
	loop_timer_cancel(l, &t);
}

static void make_loop(struct loop *l)
{
	sigset_t none;

	sigemptyset(&none);
	cr_assert_eq(auth_init(NULL), 0);
	cr_assert_eq(loop_init(l, &none, NULL, NULL, NULL), 0);
}

static void make_pair(struct loop *l, struct end *a, struct end *b, bool sealed, bool same_key)
{
	struct auth_who who = { AUTH_STEPPER, 7, 1 };
	int fds[2];

	make_loop(l);
	*a = (struct end){ .loop = l, .have_key = true };
	*b = (struct end){ .loop = l };
	memset(a->key, 1, AUTH_KEY);
	memset(b->key, same_key ? 1 : 2, AUTH_KEY);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert_eq(channel_listen(&a->ch, l, fds[0], sealed, 500, &ops, a, NULL), 0);
	cr_assert_eq(channel_dial(&b->ch, l, fds[1], sealed, 500, &who, b->key, &ops, b, NULL), 0);
}

static void finish(struct loop *l, struct end *a, struct end *b)
{
	channel_close(&a->ch);
	channel_close(&b->ch);
	loop_release(l);
}

Test(channel, proved_ends_exchange_frames)
{
	for (int sealed = 0; sealed < 2; sealed++) {
		struct loop l;
		struct end a, b;

		make_pair(&l, &a, &b, sealed, true);
		run_for(&l, 50);
		cr_assert(a.opened && b.opened);
		a.echo = true;
		channel_send(&b.ch, FRAME_OUT, 0, 9, "hello", 5);
		run_for(&l, 50);
		cr_expect_eq(b.frames, 1);
		cr_expect_eq(b.last_type, FRAME_OUT);
		cr_expect_eq(b.last_rank, 9);
		finish(&l, &a, &b);
	}
}

Test(channel, nothing_is_delivered_before_the_proof)
{
	struct loop l;
	struct end a, b;

	make_pair(&l, &a, &b, true, false);
	run_for(&l, 50);
	cr_expect(!a.opened && !b.opened && a.closed);
	cr_expect_str_eq(a.why, "hello: wrong proof");
	finish(&l, &a, &b);
	make_pair(&l, &a, &b, true, true);
	a.have_key = false;
	run_for(&l, 50);
	cr_expect_str_eq(a.why, "hello: nobody that we wait for");
	finish(&l, &a, &b);
}

/* A raw peer that sends what it likes. */
static void stranger(const void *bytes, size_t n, const char *why)
{
	struct loop l;
	struct end a = { 0 };
	char got[256];
	int fds[2];
	ssize_t k;

	make_loop(&l);
	a.loop = &l;
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert_eq(channel_listen(&a.ch, &l, fds[0], true, 200, &ops, &a, NULL), 0);
	cr_assert_eq(write(fds[1], bytes, n), (ssize_t)n);
	run_for(&l, 400);
	cr_expect(a.closed);
	cr_expect_str_eq(a.why, why);
	cr_expect_eq(a.frames, 0);
	k = recv(fds[1], got, sizeof(got), MSG_DONTWAIT);
	cr_expect(k == 0 || k == PROTO_HEADER + AUTH_NONCE, "the stranger got %zd bytes", k);
	close(fds[1]);
	loop_release(&l);
}

Test(channel, strangers_get_a_nonce_and_no_more)
{
	stranger("", 0, "no proof in time");
	stranger("GET / HTTP/1.0\r\n\r\n", 18, "unknown message type 71");
	stranger("\x0d\0\0\0\0\0\0\0\0\1x", 11, "message type 13 out of turn");
	stranger("\x02\0\0\0\0\0\0\x10\0\0", 10, "message type 2 is too long (1048576 bytes)");
	stranger("\x02\0\0\0\0\0\0\0\0\1x", 11, "hello: malformed");
}

Test(channel, many_bytes_come_whole_and_in_order)
{
	size_t n = (size_t)5 * 1024 * 1024 + 3;
	char *data = xmalloc(n);
	struct loop l;
	struct end a, b;

	memset(data, 'x', n);
	make_pair(&l, &a, &b, true, true);
	run_for(&l, 50);
	channel_send_parts(&b.ch, FRAME_SPEC, 0, data, n);
	cr_expect(channel_full(&b.ch));
	a.stop_at = n;
	run_for(&l, 5000);
	cr_expect_eq(a.bytes, n);
	cr_expect_eq(a.frames, 6);
	cr_expect_geq(b.drained, 1);
	free(data);
	finish(&l, &a, &b);
}

Test(channel, a_paused_reader_gets_its_frames_later)
{
	struct loop l;
	struct end a, b;

	make_pair(&l, &a, &b, false, true);
	run_for(&l, 50);
	channel_pause(&a.ch, true);
	for (int i = 0; i < 3; i++)
		channel_send(&b.ch, FRAME_OUT, 0, 0, "abc", 3);
	run_for(&l, 50);
	cr_expect_eq(a.frames, 0);
	channel_close(&b.ch);
	run_for(&l, 50);
	cr_expect_eq(a.frames, 0);
	channel_pause(&a.ch, false);
	run_for(&l, 50);
	cr_expect_eq(a.frames, 3);
	cr_expect(a.closed);
	finish(&l, &a, &b);
}

Test(channel, pings_are_answered_and_not_delivered)
{
	struct loop l;
	struct end a, b;

	make_pair(&l, &a, &b, true, true);
	run_for(&l, 50);
	channel_keepalive(&b.ch, 20, 1000);
	run_for(&l, 100);
	cr_expect_eq(a.frames + b.frames, 0);
	cr_expect_geq(a.ch.last_heard, loop_now() - 60);
	cr_expect_geq(b.ch.last_heard, loop_now() - 60);
	finish(&l, &a, &b);
}
