/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that carries frames: reading, parsing, the proof of both ends, encryption, a bounded queue of output
 * with back-pressure, and pings. The owner's callbacks get whole frames only after the peer has proved itself.
 */
#ifndef SOC_LAUNCHER_CHANNEL_H
#define SOC_LAUNCHER_CHANNEL_H

#include "launcher/auth.h"
#include "launcher/loop.h"
#include "launcher/proto.h"

struct channel;

struct channel_ops {
	/* listener only: the key for who (AUTH_KEY bytes, borrowed), NULL: nobody we wait for */
	const unsigned char *(*key)(void *arg, const struct auth_who *who);
	void (*open)(void *arg); /* both ends are proved; not called for plain channels */
	void (*frame)(void *arg, const struct frame *f);
	void (*closed)(void *arg,
		       const char *why); /* EOF, error or a bad peer; the channel is already released */
	void (*drained)(void *arg);      /* the queue fell below CHANNEL_LOW again; may be NULL */
};

enum channel_state {
	CHANNEL_CLOSED,
	CHANNEL_WAIT_CHALLENGE,
	CHANNEL_WAIT_HELLO,
	CHANNEL_WAIT_WELCOME,
	CHANNEL_OPEN
};

#define CHANNEL_HIGH (1024 * 1024) /* queued bytes above which a sender should stop producing */
#define CHANNEL_LOW (256 * 1024)

struct channel {
	struct loop *loop;
	int fd;
	enum channel_state state;
	const struct channel_ops *ops;
	void *arg;
	struct auth *auth; /* NULL: plain (Unix socket whose peer is this user) */
	struct strbuf in;
	struct strbuf out;
	size_t out_sent; /* bytes of out already written */
	bool paused, busy, was_high;
	struct loop_timer flush, deadline, ping;
	uint32_t ping_ms, silence_ms;
	bool sent_since_ping, tcp;
	int64_t last_tick;
	int64_t last_heard; /* ms: when the peer's process (not only its kernel) last said something */
};

/* fd is the channel's from now on (nonblocking, close-on-exec). A plain channel is open at once. */
int channel_plain(struct channel *ch, struct loop *l, int fd, const struct channel_ops *ops, void *arg,
		  struct error *err);
/* Sends the challenge; the peer has auth_ms to prove itself. */
int channel_listen(struct channel *ch, struct loop *l, int fd, bool sealed, uint32_t auth_ms,
		   const struct channel_ops *ops, void *arg, struct error *err);
/* fd may still be connecting. */
int channel_dial(struct channel *ch, struct loop *l, int fd, bool sealed, uint32_t auth_ms,
		 const struct auth_who *who, const unsigned char key[AUTH_KEY], const struct channel_ops *ops,
		 void *arg, struct error *err);
/* Pings when nothing else was sent for interval_ms; a peer whose kernel is silent for silence_ms is lost (TCP). */
void channel_keepalive(struct channel *ch, uint32_t interval_ms, uint32_t silence_ms);
void channel_send(struct channel *ch, uint8_t type, uint8_t flags, uint32_t rank, const void *payload,
		  size_t n);
/* A payload of any size, cut into frames with FRAME_MORE on all but the last. */
void channel_send_parts(struct channel *ch, uint8_t type, uint32_t rank, const void *payload, size_t n);
bool channel_full(const struct channel *ch); /* more than CHANNEL_HIGH is queued */
bool channel_idle(const struct channel *ch); /* nothing is queued */
size_t channel_queued(const struct channel *ch);
void channel_pause(struct channel *ch, bool paused); /* stop reading: the peer's queue fills up */
/* Writes what can be written now (before an exit). */
void channel_flush(struct channel *ch);
void channel_close(struct channel *ch); /* no callback */
/* Who is at the other end of a Unix socket: 0 when it is this user (or root). */
int channel_peer_is_us(int fd);

#endif
