/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the control plane: our numeric addresses, listeners, and dialing several addresses at once. No names. */
#ifndef SOC_LAUNCHER_NET_H
#define SOC_LAUNCHER_NET_H

#include "launcher/channel.h"

/*
 * "192.0.2.1,2001:db8::1": every address of an interface that is up, IPv4 first; interface: only that one (its loopback
 * addresses too). Loopback and link-local addresses are left out where there is any other. Caller frees; NULL with err.
 */
char *net_addresses(const char *interface, struct error *err);
/* The first of net_addresses(), for display. Caller frees. */
char *net_first_address(const char *addresses);

/* TCP on all interfaces, a free port of first..last (tried from a random one on), backlog for a burst. The descriptor. */
int net_listen_tcp(uint16_t first, uint16_t last, uint16_t *port, struct error *err);
/* A Unix socket (0600) at dir/name, whatever the path's length; a leftover is replaced. */
int net_listen_unix(const char *dir, const char *name, struct error *err);
int net_connect_unix(const char *path, struct error *err);

/*
 * Unproved callers of a listener. At most NET_UNPROVED at a time: the oldest is dropped for a new one, so that a
 * stranger costs nothing and keeps nobody out.
 */
#define NET_UNPROVED 64

struct net_listener;
struct net_caller {
	struct channel channel;
	struct net_listener *listener;
	struct net_caller *next; /* older ones first */
	void *owner;             /* set by proved(): gets the ops of the listener's user from then on */
	const struct channel_ops *ops;
};

struct net_listener_ops {
	const unsigned char *(*key)(void *arg, const struct auth_who *who);
	/* The caller proved itself. Returns the channel's owner and sets *ops; NULL: hang up. */
	void *(*proved)(void *arg, struct net_caller *caller, const struct auth_who *who,
			const struct channel_ops **ops);
	/* fd of a Unix listener was accepted and is this user's; NULL ops->unix_peer: handled as TCP, without encryption */
	void (*unix_peer)(void *arg, int fd);
};

struct net_listener {
	struct loop *loop;
	int fd;
	bool is_unix;
	uint32_t auth_ms;
	const struct net_listener_ops *ops;
	void *arg;
	struct net_caller *callers; /* unproved, oldest first */
	size_t ncallers;
	struct loop_timer retry; /* accept failed for want of descriptors */
};

int net_listener_start(struct net_listener *nl, struct loop *l, int fd, bool is_unix, uint32_t auth_ms,
		       const struct net_listener_ops *ops, void *arg, struct error *err);
void net_listener_stop(struct net_listener *nl);
/* Closes and frees a proved caller's channel. Safe inside its own callbacks. */
void net_caller_free(struct net_caller *c);

/*
 * Dials every address of list, a quarter of a second apart (at once when one fails), until one proves itself; after all
 * failed it starts again, until timeout. done() gets the caller's channel, or NULL with why.
 */
struct net_dial;
typedef void (*net_dial_fn)(void *arg, struct channel *ch, const char *why);
struct net_dial_request {
	const char *unix_path; /* tried alone when set */
	const char *addresses;
	uint16_t port;
	struct auth_who who;
	const unsigned char *key;
	uint32_t auth_ms, timeout_ms;
	const struct channel_ops *ops; /* of the channel that is handed over */
	void *arg;
};
/* *ch is filled before done(arg, ch, NULL) is called; it must stay valid. The request's strings are copied. */
struct net_dial *net_dial_start(struct loop *l, const struct net_dial_request *rq, struct channel **ch,
				net_dial_fn done, void *arg, struct error *err);
void net_dial_cancel(struct net_dial *d);
void net_channel_free(struct channel *ch); /* a channel that net_dial_start handed out */

#endif
