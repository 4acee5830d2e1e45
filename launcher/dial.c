/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "launcher/net.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#define STAGGER_MS 250
#define AGAIN_MS 500
#define MAX_ADDRESSES 32

struct attempt {
	struct channel *channel;
	struct net_dial *dial;
	bool failed;
};

struct net_dial {
	struct loop *loop;
	struct net_dial_request rq;
	char *unix_path, *addresses;
	unsigned char key[AUTH_KEY];
	char *list[MAX_ADDRESSES]; /* pieces of addresses */
	size_t n, next;
	struct attempt attempts[MAX_ADDRESSES];
	struct loop_timer step, limit, gone;
	struct channel **out;
	net_dial_fn done;
	void *arg;
	char why[160];
};

static void free_channel_later(void *arg)
{
	free(arg);
}

void net_channel_free(struct channel *ch)
{
	struct loop *l = ch->loop;

	channel_close(ch);
	loop_timer_set(l, &ch->flush, 0, free_channel_later, ch);
}

static void free_dial(void *arg)
{
	struct net_dial *d = arg;

	free(d->unix_path);
	free(d->addresses);
	sodium_memzero(d->key, sizeof(d->key));
	free(d);
}

static void drop_attempts(struct net_dial *d)
{
	for (size_t i = 0; i < d->n; i++) {
		if (d->attempts[i].channel)
			net_channel_free(d->attempts[i].channel);
		d->attempts[i] = (struct attempt){ 0 };
	}
}

void net_dial_cancel(struct net_dial *d)
{
	drop_attempts(d);
	loop_timer_cancel(d->loop, &d->step);
	loop_timer_cancel(d->loop, &d->limit);
	loop_timer_set(d->loop, &d->gone, 0, free_dial, d);
}

static void finish(struct net_dial *d, struct channel *ch)
{
	net_dial_fn done = d->done;
	void *arg = d->arg;
	char why[sizeof(d->why)];

	memcpy(why, d->why, sizeof(why));
	*d->out = ch;
	net_dial_cancel(d);
	done(arg, ch, ch ? NULL : why);
}

static void next_attempt(void *arg);

static void attempt_open(void *arg)
{
	struct attempt *a = arg;
	struct net_dial *d = a->dial;
	struct channel *ch = a->channel;

	a->channel = NULL;
	ch->ops = d->rq.ops;
	ch->arg = d->rq.arg;
	finish(d, ch);
}

static void attempt_closed(void *arg, const char *why)
{
	struct attempt *a = arg;
	struct net_dial *d = a->dial;

	snprintf(d->why, sizeof(d->why), "%s: %s", d->unix_path ? d->unix_path : d->list[a - d->attempts],
		 why);
	net_channel_free(a->channel);
	a->channel = NULL;
	a->failed = true;
	loop_timer_set(d->loop, &d->step, 0, next_attempt, d);
}

static void attempt_frame(void *arg, const struct frame *f)
{
	(void)arg;
	(void)f;
}

static const struct channel_ops attempt_ops = {
	.open = attempt_open,
	.frame = attempt_frame,
	.closed = attempt_closed,
};

static int connect_to(const char *address, uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	bool six = inet_pton(AF_INET6, address, &in6.sin6_addr) == 1;
	const struct sockaddr *sa = six ? (const struct sockaddr *)&in6 : (const struct sockaddr *)&in4;
	cleanup_fd int fd = -1;

	if (!six && inet_pton(AF_INET, address, &in4.sin_addr) != 1) {
		errno = EINVAL;
		return -1;
	}
	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, sa, six ? sizeof(in6) : sizeof(in4)) < 0 && errno != EINPROGRESS)
		return -1;
	return steal_fd(&fd);
}

static void begin_attempt(struct net_dial *d, struct attempt *a, const char *address)
{
	struct error err = ERROR_INIT;
	int fd = d->unix_path ? net_connect_unix(d->unix_path, &err) : connect_to(address, d->rq.port);

	*a = (struct attempt){ .dial = d };
	if (fd < 0) {
		snprintf(d->why, sizeof(d->why), "%s: %s", d->unix_path ? d->unix_path : address,
			 strerror(errno));
		a->failed = true;
		return;
	}
	a->channel = xcalloc(1, sizeof(*a->channel));
	if (channel_dial(a->channel, d->loop, fd, !d->unix_path, d->rq.auth_ms, &d->rq.who, d->key,
			 &attempt_ops, a, NULL) < 0) {
		free(a->channel);
		a->channel = NULL;
		a->failed = true;
	}
}

/* Begins the next one; behind the last, waits for those under way, then starts all over. */
static void next_attempt(void *arg)
{
	struct net_dial *d = arg;
	bool all_failed = true;

	if (d->next < d->n) {
		struct attempt *a = &d->attempts[d->next];

		begin_attempt(d, a, d->list[d->next]);
		d->next++;
		loop_timer_set(d->loop, &d->step, a->failed ? 0 : STAGGER_MS, next_attempt, d);
		return;
	}
	for (size_t i = 0; i < d->n; i++)
		all_failed = all_failed && d->attempts[i].failed;
	if (!all_failed)
		return;
	d->next = 0;
	loop_timer_set(d->loop, &d->step, AGAIN_MS, next_attempt, d);
}

static void on_limit(void *arg)
{
	finish(arg, NULL);
}

static void split_addresses(struct net_dial *d)
{
	char *save = NULL;

	if (d->unix_path) {
		d->list[d->n++] = d->unix_path;
		return;
	}
	for (char *s = strtok_r(d->addresses, ",", &save); s && d->n < MAX_ADDRESSES;
	     s = strtok_r(NULL, ",", &save))
		d->list[d->n++] = s;
}

struct net_dial *net_dial_start(struct loop *l, const struct net_dial_request *rq, struct channel **ch,
				net_dial_fn done, void *arg, struct error *err)
{
	struct net_dial *d;

	if (!rq->unix_path && (!rq->addresses || !*rq->addresses)) {
		error_set(err, ERR_PROTOCOL, "no address to dial");
		return NULL;
	}
	d = xcalloc(1, sizeof(*d));
	d->loop = l;
	d->rq = *rq;
	d->unix_path = xstrdup(rq->unix_path);
	d->addresses = xstrdup(rq->addresses ? rq->addresses : "");
	memcpy(d->key, rq->key, AUTH_KEY);
	d->out = ch;
	d->done = done;
	d->arg = arg;
	split_addresses(d);
	loop_timer_set(l, &d->limit, rq->timeout_ms, on_limit, d);
	/* the first one at once: a step that waits a round of the loop for nothing would be slower for nothing */
	next_attempt(d);
	return d;
}
