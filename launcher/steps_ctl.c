/* SPDX-License-Identifier: Apache-2.0 */
/* Commands from outside the job: the file that says how to reach the supervisor, and `shim-launch ctl`. */
#include "common/log.h"
#include "common/mem.h"
#include "common/pack.h"
#include "common/path.h"
#include "launcher/steps_private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CONTROL_NAME 24

/* "control", or "control.<task>": the elements of an array share their spool folder, each has a supervisor. */
static void control_name(const struct steps *s, char name[static CONTROL_NAME])
{
	if (s->cfg.alloc->engine_task)
		snprintf(name, CONTROL_NAME, "control.%u", s->cfg.alloc->engine_task);
	else
		snprintf(name, CONTROL_NAME, "control");
}

static const char control_magic[] = "slurm-on-ocs-control-1";

struct ctl {
	struct steps *steps;
	struct net_caller *caller;
	struct ctl *next;
};

/* "MAGIC ADDRESSES PORT KEY\n"; complete or not there, and only the user's. */
int ctl_write_file(struct steps *s, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	char key[AUTH_KEY * 2 + 1];
	cleanup_fd int dirfd = path_open_private_dir(s->cfg.spool_dir, false, err);
	cleanup_free char *temp = NULL;
	char name[CONTROL_NAME];
	int rc;

	if (dirfd < 0)
		return -1;
	control_name(s, name);
	randombytes_buf(s->ctl_key, sizeof(s->ctl_key));
	sodium_bin2hex(key, sizeof(key), s->ctl_key, sizeof(s->ctl_key));
	strbuf_addf(&text, "%s %s %u %s\n", control_magic, s->addresses, s->port, key);
	sodium_memzero(key, sizeof(key));
	temp = xasprintf("%s.%s.%d", name, s->cfg.host, (int)getpid());
	unlinkat(dirfd, temp, 0);
	rc = path_write_newat(dirfd, temp, 0600, text.buf, text.len, false, err);
	sodium_memzero(text.buf, text.len);
	if (rc == 0 && renameat(dirfd, temp, dirfd, name) < 0)
		rc = error_errno(err, "%s/%s", s->cfg.spool_dir, name);
	return rc;
}

static void drop(struct ctl *c)
{
	for (struct ctl **p = &c->steps->ctls; *p; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			break;
		}
	}
	net_caller_free(c->caller);
	free(c);
}

void ctl_free_all(struct steps *s)
{
	while (s->ctls)
		drop(s->ctls);
}

static void reply(struct ctl *c, const char *problem)
{
	if (problem)
		channel_send(&c->caller->channel, FRAME_CTL_ERROR, 0, 0, problem, strlen(problem));
	else
		channel_send(&c->caller->channel, FRAME_CTL_OK, 0, 0, NULL, 0);
}

/* NULL, or what is wrong. */
static const char *do_signal(struct steps *s, uint32_t signo, int64_t target)
{
	struct step *st;

	if (signo >= NSIG)
		return "no such signal";
	if (target == CTL_BATCH || target == CTL_FULL) {
		s->cfg.hooks.signal_batch(s->cfg.hooks.arg, (int)signo, target == CTL_FULL);
		return NULL;
	}
	st = target >= 0 && target < UINT32_MAX ? step_by_id(s, (uint32_t)target) : NULL;
	if (!st || st->done)
		return "Invalid job id specified";
	/* an end is srun's business: it says so and counts the ranks */
	if (st->client && (signo == SIGKILL || signo == SIGTERM))
		client_send(st->client, FRAME_STEP_SIGNAL, 0, signo, NULL, 0);
	else
		step_signal(st, (int)signo);
	return NULL;
}

static void on_frame(void *arg, const struct frame *f)
{
	struct ctl *c = arg;
	struct steps *s = c->steps;
	struct unpack u = UNPACK_INIT(f->payload, f->length);
	bool has_number = f->type == FRAME_CTL_CANCEL || f->type == FRAME_CTL_SIGNAL;
	uint32_t first = has_number ? unpack_u32(&u) : 0;
	int64_t target = f->type == FRAME_CTL_SIGNAL ? (int64_t)unpack_u64(&u) : 0;

	if (unpack_done(&u, "command", NULL) < 0) {
		reply(c, "malformed command");
		return;
	}
	switch (f->type) {
	case FRAME_CTL_PING:
		reply(c, NULL);
		break;
	case FRAME_CTL_CANCEL:
		reply(c, NULL);
		s->cfg.hooks.cancel(s->cfg.hooks.arg, first);
		break;
	case FRAME_CTL_SIGNAL:
		reply(c, do_signal(s, first, target));
		break;
	case FRAME_CTL_REQUEUE:
		reply(c, s->cfg.hooks.requeue(s->cfg.hooks.arg));
		break;
	default:
		reply(c, "no such command");
	}
}

static void on_closed(void *arg, const char *why)
{
	(void)why;
	drop(arg);
}

static const struct channel_ops ctl_ops = { .frame = on_frame, .closed = on_closed };

void *ctl_connected(struct steps *s, struct net_caller *caller, const struct channel_ops **ops)
{
	struct ctl *c = xcalloc(1, sizeof(*c));

	*c = (struct ctl){ .steps = s, .caller = caller, .next = s->ctls };
	s->ctls = c;
	*ops = &ctl_ops;
	return c;
}
