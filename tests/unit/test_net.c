/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/net.h"

#include "common/fd.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Any one port that is free. */
static int listen_somewhere(uint16_t *port)
{
	int fd = -1;

	cr_assert_eq(auth_init(NULL), 0);
	fd = net_listen_tcp(20000, 30000, port, NULL);
	cr_assert_geq(fd, 0);
	return fd;
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return fd;
}

static int accept_from(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	cr_assert_eq(poll(&p, 1, 5000), 1);
	return accept(listener, NULL, NULL);
}

Test(net, a_port_that_is_listened_on_is_taken)
{
	uint16_t port, other;
	int fd = listen_somewhere(&port);

	cr_expect_eq(net_listen_tcp(port, port, &other, NULL), -1);
	close(fd);
}

/* srun closes first, so its end of each connection stays in TIME_WAIT. */
Test(net, connections_that_are_over_hold_no_port)
{
	uint16_t port, again;
	int listener = listen_somewhere(&port);
	int client = connect_to(port);
	int server = accept_from(listener);
	char c;

	cr_assert_geq(server, 0);
	close(server);
	close(listener);
	cr_expect_eq(read(client, &c, 1), 0);
	close(client);
	listener = net_listen_tcp(port, port, &again, NULL);
	cr_expect_geq(listener, 0, "port %u is still held", port);
	close(listener);
}
