/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/net.h"

#include "common/fd.h"
#include "common/mem.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define ACCEPT_RETRY_MS 100
#define BACKLOG 1024

static bool is_loopback(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)sa)->sin_addr.s_addr) >> 24) == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)sa)->sin6_addr);
}

static void add_address(struct strbuf *out, const struct sockaddr *sa)
{
	char text[INET6_ADDRSTRLEN];
	const void *bits = sa->sa_family == AF_INET
				   ? (const void *)&((const struct sockaddr_in *)sa)->sin_addr
				   : (const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr;

	if (!inet_ntop(sa->sa_family, bits, text, sizeof(text)))
		return;
	if (out->len)
		strbuf_addch(out, ',');
	strbuf_addstr(out, text);
}

static void collect(struct strbuf *out, const struct ifaddrs *all, const char *interface, int family,
		    bool loopback)
{
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		if (!a->ifa_addr || a->ifa_addr->sa_family != family || !(a->ifa_flags & IFF_UP))
			continue;
		if (interface && strcmp(interface, a->ifa_name))
			continue;
		if (is_loopback(a->ifa_addr) != loopback)
			continue;
		if (family == AF_INET6 &&
		    IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)a->ifa_addr)->sin6_addr))
			continue;
		add_address(out, a->ifa_addr);
	}
}

char *net_addresses(const char *interface, struct error *err)
{
	struct strbuf out = STRBUF_INIT;
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0) {
		error_errno(err, "network interfaces");
		return NULL;
	}
	collect(&out, all, interface, AF_INET, false);
	collect(&out, all, interface, AF_INET6, false);
	if (!out.len) {
		collect(&out, all, interface, AF_INET, true);
		collect(&out, all, interface, AF_INET6, true);
	}
	freeifaddrs(all);
	if (!out.len) {
		strbuf_release(&out);
		error_set(err, ERR_SYSTEM,
			  interface ? "interface %s has no address" : "no network interface is up%s",
			  interface ? interface : "");
		return NULL;
	}
	return strbuf_steal(&out);
}

char *net_first_address(const char *addresses)
{
	return xstrndup(addresses, strcspn(addresses, ","));
}

/* IPv6 and IPv4 in one socket; IPv4 alone where the kernel has no IPv6. */
static int tcp_socket(sa_family_t *family)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int off = 0, on = 1;

	*family = AF_INET6;
	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	} else {
		*family = AF_INET;
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	/* connections of steps that are over hold their port for a minute, and a loop of srun needs more ports than there
	 * are; one that somebody listens on is refused all the same */
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return fd;
}

static int bind_port(int fd, sa_family_t family, uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in4 = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (family == AF_INET6)
		return bind(fd, (struct sockaddr *)&in6, sizeof(in6));
	return bind(fd, (struct sockaddr *)&in4, sizeof(in4));
}

int net_listen_tcp(uint16_t first, uint16_t last, uint16_t *port, struct error *err)
{
	uint32_t n = (uint32_t)last - first + 1;
	uint32_t start;

	if (last < first)
		return error_set(err, ERR_CONF, "the port range %u-%u is empty", first, last);
	start = randombytes_uniform(n);
	for (uint32_t i = 0; i < n; i++) {
		cleanup_fd int fd = -1;
		sa_family_t family;

		*port = (uint16_t)(first + (start + i) % n);
		fd = tcp_socket(&family);
		if (fd < 0)
			return error_errno(err, "socket");
		if (bind_port(fd, family, *port) == 0 && listen(fd, BACKLOG) == 0)
			return steal_fd(&fd);
		if (errno != EADDRINUSE && errno != EACCES)
			return error_errno(err, "port %u", *port);
	}
	return error_set(err, ERR_SYSTEM,
			 "no free port from %u to %u; see port_first and port_last in slurm-on-ocs.conf",
			 first, last);
}

/* A path too long for sun_path is reached through its folder's descriptor. */
static int unix_address(struct sockaddr_un *sun, int dirfd, const char *name, struct error *err)
{
	int n = snprintf(sun->sun_path, sizeof(sun->sun_path), "/proc/self/fd/%d/%s", dirfd, name);

	sun->sun_family = AF_UNIX;
	if (n < 0 || (size_t)n >= sizeof(sun->sun_path))
		return error_set(err, ERR_SYSTEM, "socket name %s is too long", name);
	return 0;
}

int net_listen_unix(const char *dir, const char *name, struct error *err)
{
	cleanup_fd int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sun;
	mode_t mask;
	int rc;

	if (dirfd < 0 || fd < 0)
		return error_errno(err, "%s", dir);
	if (unix_address(&sun, dirfd, name, err) < 0)
		return -1;
	unlinkat(dirfd, name, 0);
	mask = umask(0177);
	rc = bind(fd, (struct sockaddr *)&sun, sizeof(sun));
	umask(mask);
	if (rc < 0 || listen(fd, BACKLOG) < 0)
		return error_errno(err, "%s/%s", dir, name);
	return steal_fd(&fd);
}

int net_connect_unix(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	cleanup_fd int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un sun;

	if (dirfd < 0 || fd < 0)
		return error_errno(err, "%s", path);
	if (unix_address(&sun, dirfd, slash ? slash + 1 : path, err) < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
		return error_errno(err, "%s", path);
	if (fd_set_nonblock(fd, true) < 0)
		return error_errno(err, "%s", path);
	return steal_fd(&fd);
}

/* --- listeners --- */

static void unlink_caller(struct net_caller *c)
{
	struct net_listener *nl = c->listener;

	if (!nl)
		return;
	for (struct net_caller **p = &nl->callers; *p; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			nl->ncallers--;
			break;
		}
	}
	c->listener = NULL;
}

static void free_later(void *arg)
{
	free(arg);
}

void net_caller_free(struct net_caller *c)
{
	struct loop *l = c->channel.loop;

	unlink_caller(c);
	channel_close(&c->channel);
	/* a callback of the channel may be on the stack: its memory goes after this round */
	loop_timer_set(l, &c->channel.flush, 0, free_later, c);
}

static const unsigned char *caller_key(void *arg, const struct auth_who *who)
{
	struct net_caller *c = arg;

	return c->listener ? c->listener->ops->key(c->listener->arg, who) : NULL;
}

static void caller_open(void *arg)
{
	struct net_caller *c = arg;
	struct net_listener *nl = c->listener;
	struct auth_who who = c->channel.auth->who;

	unlink_caller(c);
	sodium_memzero(c->channel.auth->key, AUTH_KEY);
	c->owner = nl->ops->proved(nl->arg, c, &who, &c->ops);
	if (!c->owner)
		net_caller_free(c);
}

static void caller_frame(void *arg, const struct frame *f)
{
	struct net_caller *c = arg;

	if (c->owner)
		c->ops->frame(c->owner, f);
}

static void caller_closed(void *arg, const char *why)
{
	struct net_caller *c = arg;

	if (c->owner)
		c->ops->closed(c->owner, why);
	else
		net_caller_free(c);
}

static void caller_drained(void *arg)
{
	struct net_caller *c = arg;

	if (c->owner && c->ops->drained)
		c->ops->drained(c->owner);
}

static const struct channel_ops caller_ops = {
	.key = caller_key,
	.open = caller_open,
	.frame = caller_frame,
	.closed = caller_closed,
	.drained = caller_drained,
};

static void add_caller(struct net_listener *nl, int fd)
{
	struct net_caller *c;
	struct net_caller **last = &nl->callers;

	if (nl->ncallers >= NET_UNPROVED)
		net_caller_free(nl->callers);
	c = xcalloc(1, sizeof(*c));
	if (channel_listen(&c->channel, nl->loop, fd, !nl->is_unix, nl->auth_ms, &caller_ops, c, NULL) < 0) {
		free(c);
		return;
	}
	c->listener = nl;
	while (*last)
		last = &(*last)->next;
	*last = c;
	nl->ncallers++;
}

static void accept_again(void *arg)
{
	struct net_listener *nl = arg;

	loop_fd_events(nl->loop, nl->fd, EPOLLIN);
}

static void on_accept(void *arg, uint32_t events)
{
	struct net_listener *nl = arg;

	(void)events;
	/* some at a time: a flood of strangers must not keep the loop from its other work */
	for (int i = 0; i < NET_UNPROVED; i++) {
		int fd = accept4(nl->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
			loop_fd_events(nl->loop, nl->fd, 0);
			loop_timer_set(nl->loop, &nl->retry, ACCEPT_RETRY_MS, accept_again, nl);
		}
		if (fd < 0)
			return;
		if (nl->is_unix && channel_peer_is_us(fd) < 0)
			close(fd);
		else if (nl->is_unix && nl->ops->unix_peer)
			nl->ops->unix_peer(nl->arg, fd);
		else
			add_caller(nl, fd);
	}
}

int net_listener_start(struct net_listener *nl, struct loop *l, int fd, bool is_unix, uint32_t auth_ms,
		       const struct net_listener_ops *ops, void *arg, struct error *err)
{
	*nl = (struct net_listener){
		.loop = l, .fd = fd, .is_unix = is_unix, .auth_ms = auth_ms, .ops = ops, .arg = arg
	};
	return loop_fd_add(l, fd, EPOLLIN, on_accept, nl, err);
}

void net_listener_stop(struct net_listener *nl)
{
	if (!nl->loop)
		return;
	/* not from a caller's own callback: their memory can go at once, there may be no later round of the loop */
	while (nl->callers) {
		struct net_caller *c = nl->callers;

		unlink_caller(c);
		channel_close(&c->channel);
		free(c);
	}
	loop_timer_cancel(nl->loop, &nl->retry);
	loop_fd_remove(nl->loop, nl->fd);
	close(nl->fd);
	*nl = (struct net_listener){ .fd = -1 };
}
