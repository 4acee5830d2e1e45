/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of the conversation with one srun. */
#include "common/log.h"
#include "common/mem.h"
#include "launcher/steps_private.h"

#include <string.h>

void client_send(struct client *c, uint8_t type, uint8_t flags, uint32_t rank, const void *payload, size_t n)
{
	struct strbuf frame = STRBUF_INIT;

	if (c->dead)
		return;
	if (!c->agent) {
		channel_send(&c->channel, type, flags, rank, payload, n);
		return;
	}
	proto_put(&frame, type, flags, rank, payload, n);
	agent_send(c->agent, FRAME_RELAY, 0, c->relay, frame.buf, frame.len);
	strbuf_release(&frame);
}

static void refuse(struct client *c, const char *text)
{
	client_send(c, FRAME_STEP_REFUSED, 0, 0, text, strlen(text));
}

static void take_create(struct client *c, const struct frame *f)
{
	struct steps *s = c->steps;
	struct step *st;
	struct step **last = &s->steps;
	struct error err = ERROR_INIT;

	if (c->step) {
		client_gone(c);
		return;
	}
	st = xcalloc(1, sizeof(*st));
	st->steps = s;
	if (step_create_unpack(&st->request, f->payload, f->length, &err) < 0) {
		step_create_release(&st->request);
		free(st);
		refuse(c, err.text);
		return;
	}
	st->client = c;
	c->step = st;
	while (*last)
		last = &(*last)->next;
	*last = st;
	if (s->closed)
		refuse(c, "Job/step already completing or completed");
	else
		step_try(st, false);
}

static void take_launch(struct client *c, const struct frame *f)
{
	struct error err = ERROR_INIT;

	if (!c->step || c->step->state != STEP_GRANTED || c->step->launch.unix_path ||
	    c->step->launch.addresses ||
	    step_launch_unpack(&c->step->launch, f->payload, f->length, &err) < 0) {
		client_gone(c);
		return;
	}
	step_launch(c->step);
}

static void take_done(struct client *c, const struct frame *f)
{
	struct step *st = c->step;
	struct error err = ERROR_INIT;

	if (!st || st->state != STEP_GRANTED || st->done ||
	    step_done_unpack(&st->result, f->payload, f->length, &err) < 0) {
		client_gone(c);
		return;
	}
	st->done = true;
	step_release(st);
	client_send(c, FRAME_STEP_GONE, 0, 0, NULL, 0);
	step_check(st);
}

void client_frame(struct client *c, const struct frame *f)
{
	if (c->dead)
		return;
	switch (f->type) {
	case FRAME_STEP_CREATE:
		take_create(c, f);
		break;
	case FRAME_STEP_LAUNCH:
		take_launch(c, f);
		break;
	case FRAME_STEP_DONE:
		take_done(c, f);
		break;
	default:
		client_gone(c);
	}
}

static void free_client(void *arg)
{
	free(arg);
}

void client_gone(struct client *c)
{
	struct step *st = c->step;

	if (c->dead)
		return;
	c->dead = true;
	for (struct client **p = &c->steps->clients; *p; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			break;
		}
	}
	if (c->agent)
		agent_send(c->agent, FRAME_RELAY_CLOSE, 0, c->relay, NULL, 0);
	else
		channel_close(&c->channel);
	loop_timer_set(c->steps->cfg.loop, &c->gone, 0, free_client, c);
	if (st) {
		st->client = NULL;
		if (st->state == STEP_GRANTED && !st->done)
			step_signal(st, STEPPER_ORPHANED);
		step_check(st);
	}
}

static void on_frame(void *arg, const struct frame *f)
{
	client_frame(arg, f);
}

static void on_closed(void *arg, const char *why)
{
	(void)why;
	client_gone(arg);
}

static const struct channel_ops client_ops = { .frame = on_frame, .closed = on_closed };

static struct client *add_client(struct steps *s, struct agent *a, uint32_t relay)
{
	struct client *c = xcalloc(1, sizeof(*c));

	*c = (struct client){
		.steps = s, .agent = a, .relay = relay, .host = a ? a->host : 0, .next = s->clients
	};
	s->clients = c;
	return c;
}

void client_new_local(struct steps *s, int fd)
{
	struct client *c = add_client(s, NULL, 0);

	if (channel_plain(&c->channel, s->cfg.loop, fd, &client_ops, c, NULL) < 0) {
		s->clients = c->next;
		free(c);
	}
}

struct client *client_new_relayed(struct steps *s, struct agent *a, uint32_t relay)
{
	return add_client(s, a, relay);
}

struct client *client_of_relay(const struct steps *s, const struct agent *a, uint32_t relay)
{
	struct client *c = s->clients;

	while (c && (c->agent != a || c->relay != relay))
		c = c->next;
	return c;
}
