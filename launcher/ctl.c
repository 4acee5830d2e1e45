/* SPDX-License-Identifier: Apache-2.0 */
/* `shim-launch ctl SPOOLDIR [task=N] VERB...`: a command to a running job, or to an element of an array. 0: done;
 * 1: refused; 3: nobody answers. */
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/pack.h"
#include "common/path.h"
#include "launcher/net.h"
#include "launcher/steps.h"

#include <fcntl.h>
#include <string.h>

#define ANSWER_MS 2000
#define CONTROL_MAX 16384

enum { CTL_DONE = 0, CTL_REFUSED = 1, CTL_NOBODY = 3 };

struct ctl_run {
	struct loop loop;
	struct net_dial *dial; /* NULL: over */
	struct channel *channel;
	struct loop_timer limit;
	struct frame command;
	struct strbuf payload;
	int code;
};

static int usage(void)
{
	log_error(
		"usage: shim-launch ctl SPOOLDIR [task=N] cancel UID | signal N batch|full|STEP | requeue | ping");
	return CTL_REFUSED;
}

static bool parse_number(const char *text, uint32_t *out)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	*out = (uint32_t)v;
	return *text >= '0' && *text <= '9' && !*end && !errno && v < UINT32_MAX;
}

static bool parse_target(const char *text, int64_t *out)
{
	uint32_t step = 0;

	if (!strcmp(text, "batch"))
		*out = CTL_BATCH;
	else if (!strcmp(text, "full"))
		*out = CTL_FULL;
	else if (parse_number(text, &step))
		*out = step;
	else
		return false;
	return true;
}

static bool parse_command(struct ctl_run *r, int argc, char **argv)
{
	uint32_t n = 0;
	int64_t target = 0;

	if (argc == 1 && !strcmp(argv[0], "ping")) {
		r->command.type = FRAME_CTL_PING;
		return true;
	}
	if (argc == 1 && !strcmp(argv[0], "requeue")) {
		r->command.type = FRAME_CTL_REQUEUE;
		return true;
	}
	if (argc == 2 && !strcmp(argv[0], "cancel") && parse_number(argv[1], &n)) {
		r->command.type = FRAME_CTL_CANCEL;
		pack_u32(&r->payload, n);
		return true;
	}
	if (argc == 3 && !strcmp(argv[0], "signal") && parse_number(argv[1], &n) &&
	    parse_target(argv[2], &target)) {
		r->command.type = FRAME_CTL_SIGNAL;
		pack_u32(&r->payload, n);
		pack_u64(&r->payload, (uint64_t)target);
		return true;
	}
	return false;
}

static void on_frame(void *arg, const struct frame *f)
{
	struct ctl_run *r = arg;

	if (f->type == FRAME_CTL_OK)
		r->code = CTL_DONE;
	else if (f->type == FRAME_CTL_ERROR) {
		r->code = CTL_REFUSED;
		log_error("%.*s", (int)f->length, (const char *)f->payload);
	}
	loop_stop(&r->loop);
}

static void on_closed(void *arg, const char *why)
{
	struct ctl_run *r = arg;

	(void)why;
	loop_stop(&r->loop);
}

static void on_limit(void *arg)
{
	struct ctl_run *r = arg;

	loop_stop(&r->loop);
}

static void on_dialed(void *arg, struct channel *ch, const char *why)
{
	struct ctl_run *r = arg;

	(void)why;
	r->dial = NULL;
	if (!ch) {
		loop_stop(&r->loop);
		return;
	}
	channel_send(ch, r->command.type, 0, 0, r->payload.buf, r->payload.len);
}

static const struct channel_ops ops = { .frame = on_frame, .closed = on_closed };

/* What was dialed is freed by the loop, in a last round. */
static void hang_up(struct ctl_run *r)
{
	if (r->dial)
		net_dial_cancel(r->dial);
	if (r->channel)
		net_channel_free(r->channel);
	loop_timer_set(&r->loop, &r->limit, 0, on_limit, r);
	r->loop.stop = false;
	loop_run(&r->loop, NULL);
	loop_release(&r->loop);
}

/* Splits "MAGIC ADDRESSES PORT KEY" into its words. */
static int read_control(const char *dir, const char *name, struct strbuf *text, char *words[4],
			struct error *err)
{
	cleanup_fd int dirfd = path_open_private_dir(dir, false, err);
	cleanup_fd int fd = dirfd < 0 ? -1 : path_open_ownedat(dirfd, name, geteuid(), err);
	char *save = NULL;

	if (fd < 0)
		return -1;
	if (fd_read_to_eof(fd, CONTROL_MAX, text) < 0) {
		error_errno(err, "%s/%s", dir, name);
		return -1;
	}
	for (int i = 0; i < 4; i++) {
		words[i] = strtok_r(i ? NULL : text->buf, " \n", &save);
		if (!words[i]) {
			error_set(err, ERR_PROTOCOL, "%s/%s: malformed", dir, name);
			return -1;
		}
	}
	if (strcmp(words[0], "slurm-on-ocs-control-1"))
		return error_set(err, ERR_PROTOCOL, "%s/%s: of another version", dir, name);
	return 0;
}

static int run(struct ctl_run *r, const char *dir, const char *name, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	unsigned char key[AUTH_KEY];
	char *words[4];
	uint32_t port;
	size_t n;
	sigset_t none;
	int rc;
	struct net_dial_request rq = { .who = { .kind = AUTH_CTL },
				       .auth_ms = ANSWER_MS,
				       .timeout_ms = ANSWER_MS,
				       .ops = &ops,
				       .arg = r,
				       .key = key };

	if (read_control(dir, name, &text, words, err) < 0)
		return -1;
	if (!parse_number(words[2], &port) || port > UINT16_MAX ||
	    sodium_hex2bin(key, sizeof(key), words[3], strlen(words[3]), NULL, &n, NULL) < 0 ||
	    n != sizeof(key))
		return error_set(err, ERR_PROTOCOL, "%s/%s: malformed", dir, name);
	rq.addresses = words[1];
	rq.port = (uint16_t)port;
	sigemptyset(&none);
	if (loop_init(&r->loop, &none, NULL, NULL, err) < 0)
		return -1;
	loop_timer_set(&r->loop, &r->limit, ANSWER_MS, on_limit, r);
	r->dial = net_dial_start(&r->loop, &rq, &r->channel, on_dialed, r, err);
	rc = r->dial ? loop_run(&r->loop, err) : -1;
	hang_up(r);
	return rc;
}

/* "control", or "control.N" of array element N. */
static bool control_name(const char *word, char *name, size_t size)
{
	uint32_t task;

	if (strncmp(word, "task=", 5) || !parse_number(word + 5, &task))
		return false;
	snprintf(name, size, "control.%u", task);
	return true;
}

int ctl_main(int argc, char **argv)
{
	struct ctl_run r = { .payload = STRBUF_INIT, .code = CTL_NOBODY };
	struct error err = ERROR_INIT;
	char name[32] = "control";
	int verb = argc > 2 && control_name(argv[2], name, sizeof(name)) ? 3 : 2;

	if (argc <= verb || !parse_command(&r, argc - verb, argv + verb))
		return usage();
	if (auth_init(&err) < 0) {
		log_error("%s", err.text);
		return CTL_REFUSED;
	}
	if (run(&r, argv[1], name, &err) < 0)
		log_debug("%s", err.text);
	strbuf_release(&r.payload);
	return r.code;
}
