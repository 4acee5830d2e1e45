/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/proto.h"

#include "common/mem.h"
#include "common/pack.h"

#include <endian.h>
#include <string.h>

static const uint8_t known[] = {
	FRAME_CHALLENGE,    FRAME_HELLO,       FRAME_WELCOME,     FRAME_SEALED,       FRAME_PING,
	FRAME_PONG,         FRAME_SPEC,        FRAME_READY,       FRAME_START,        FRAME_OUT,
	FRAME_IN,           FRAME_SIG,         FRAME_RANK_EXIT,   FRAME_RANK_FAIL,    FRAME_NOTE,
	FRAME_HOST_DONE,    FRAME_IN_PAUSE,    FRAME_IN_RESUME,   FRAME_STEP_CREATE,  FRAME_STEP_GRANTED,
	FRAME_STEP_REFUSED, FRAME_STEP_WAIT,   FRAME_STEP_LAUNCH, FRAME_STEP_DONE,    FRAME_STEP_GONE,
	FRAME_STEP_LOST,    FRAME_STEP_SIGNAL, FRAME_STEPPER,     FRAME_STEPPER_EXIT, FRAME_STEPPERS_SIG,
	FRAME_AGENT_END,    FRAME_RELAY_OPEN,  FRAME_RELAY,       FRAME_RELAY_CLOSE,  FRAME_AGENT_READY,
	FRAME_CTL_CANCEL,   FRAME_CTL_SIGNAL,  FRAME_CTL_PING,    FRAME_CTL_OK,       FRAME_CTL_ERROR,
	FRAME_CTL_REQUEUE,
};

bool proto_known(uint8_t type)
{
	return memchr(known, type, sizeof(known)) != NULL;
}

void proto_header(unsigned char out[PROTO_HEADER], const struct frame *f)
{
	uint32_t rank = htobe32(f->rank);
	uint32_t length = htobe32(f->length);

	out[0] = f->type;
	out[1] = f->flags;
	memcpy(out + 2, &rank, 4);
	memcpy(out + 6, &length, 4);
}

long proto_parse(const void *data, size_t n, size_t max, struct frame *f, size_t *need, struct error *err)
{
	const unsigned char *p = data;
	uint32_t word;

	*need = 0;
	if (n < PROTO_HEADER)
		return 0;
	f->type = p[0];
	f->flags = p[1];
	memcpy(&word, p + 2, 4);
	f->rank = be32toh(word);
	memcpy(&word, p + 6, 4);
	f->length = be32toh(word);
	if (!proto_known(f->type))
		return error_set(err, ERR_PROTOCOL, "unknown message type %u", f->type);
	if (f->length > max)
		return error_set(err, ERR_PROTOCOL, "message type %u is too long (%u bytes)", f->type,
				 f->length);
	*need = PROTO_HEADER + (size_t)f->length;
	if (n < *need)
		return 0;
	f->payload = p + PROTO_HEADER;
	return (long)*need;
}

void proto_put(struct strbuf *out, uint8_t type, uint8_t flags, uint32_t rank, const void *payload, size_t n)
{
	struct frame f = { .type = type, .flags = flags, .rank = rank, .length = (uint32_t)n };
	unsigned char header[PROTO_HEADER];

	proto_header(header, &f);
	strbuf_add(out, header, sizeof(header));
	strbuf_add(out, payload, n);
}

static void pack_words(struct strbuf *out, const uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		pack_u32(out, v[i]);
}

/* n words of 4 bytes must still be there, so that a count can't make a huge allocation. */
static uint32_t *unpack_words(struct unpack *u, uint32_t n)
{
	uint32_t *v;

	if (u->bad || n > u->left / 4) {
		u->bad = true;
		return NULL;
	}
	v = xcalloc(n ? n : 1, sizeof(*v));
	for (uint32_t i = 0; i < n; i++)
		v[i] = unpack_u32(u);
	return v;
}

static void unpack_token(struct unpack *u, unsigned char token[PROTO_TOKEN])
{
	size_t n;
	const void *p = unpack_bytes(u, &n);

	if (n == PROTO_TOKEN)
		memcpy(token, p, PROTO_TOKEN);
	else
		u->bad = true;
}

static bool unpack_bool(struct unpack *u)
{
	return unpack_u8(u) != 0;
}

void step_create_pack(const struct step_create *c, struct strbuf *out)
{
	const struct layout_request *w = &c->want;

	pack_u32(out, w->min_nodes);
	pack_u32(out, w->max_nodes);
	pack_u32(out, w->ntasks);
	pack_u32(out, w->cpus_per_task);
	pack_u32(out, w->ntasks_per_node);
	pack_u32(out, w->relative);
	pack_u8(out, w->distribution);
	pack_u8(out, w->pack);
	pack_u32(out, w->plane_size);
	pack_str(out, w->nodelist);
	pack_str(out, w->exclude);
	pack_u8(out, w->overcommit);
	pack_u8(out, w->exact);
	pack_u8(out, w->overlap);
	pack_u8(out, c->immediate);
	pack_str(out, c->name);
	pack_str(out, c->command);
	pack_str(out, c->host);
	pack_u32(out, c->pid);
}

int step_create_unpack(struct step_create *c, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);
	struct layout_request *w = &c->want;

	*c = (struct step_create){ 0 };
	w->min_nodes = unpack_u32(&u);
	w->max_nodes = unpack_u32(&u);
	w->ntasks = unpack_u32(&u);
	w->cpus_per_task = unpack_u32(&u);
	w->ntasks_per_node = unpack_u32(&u);
	w->relative = unpack_u32(&u);
	w->distribution = unpack_u8(&u);
	w->pack = unpack_bool(&u);
	w->plane_size = unpack_u32(&u);
	w->nodelist = unpack_str(&u);
	w->exclude = unpack_str(&u);
	w->overcommit = unpack_bool(&u);
	w->exact = unpack_bool(&u);
	w->overlap = unpack_bool(&u);
	c->immediate = unpack_bool(&u);
	c->name = unpack_str(&u);
	c->command = unpack_str(&u);
	c->host = unpack_str(&u);
	c->pid = unpack_u32(&u);
	return unpack_done(&u, "step request", err);
}

void step_create_release(struct step_create *c)
{
	layout_request_release(&c->want);
	free(c->name);
	free(c->command);
	free(c->host);
	*c = (struct step_create){ 0 };
}

static void layout_pack(const struct layout *l, struct strbuf *out)
{
	pack_u32(out, l->nnodes);
	pack_u32(out, l->ntasks);
	pack_u8(out, l->distribution);
	pack_words(out, l->node, l->nnodes);
	pack_words(out, l->tasks, l->nnodes);
	pack_words(out, l->cpus, l->nnodes);
	for (uint32_t i = 0; i < l->nnodes; i++)
		pack_words(out, l->ranks[i], l->tasks[i]);
}

static void layout_unpack(struct unpack *u, struct layout *l)
{
	uint64_t sum = 0;

	l->nnodes = unpack_u32(u);
	l->ntasks = unpack_u32(u);
	l->distribution = unpack_u8(u);
	l->node = unpack_words(u, l->nnodes);
	l->tasks = unpack_words(u, l->nnodes);
	l->cpus = unpack_words(u, l->nnodes);
	if (u->bad) {
		l->nnodes = 0;
		return;
	}
	l->ranks = xcalloc(l->nnodes ? l->nnodes : 1, sizeof(*l->ranks));
	for (uint32_t i = 0; i < l->nnodes && !u->bad; i++) {
		l->ranks[i] = unpack_words(u, l->tasks[i]);
		for (uint32_t k = 0; !u->bad && k < l->tasks[i]; k++)
			u->bad = l->ranks[i][k] >= l->ntasks;
		sum += l->tasks[i];
	}
	if (sum != l->ntasks)
		u->bad = true;
}

void step_granted_pack(const struct step_granted *g, struct strbuf *out)
{
	pack_u32(out, g->step_id);
	pack_u64(out, g->job_id);
	pack_str(out, g->job_nodelist);
	pack_str(out, g->job_cpus_per_node);
	layout_pack(&g->layout, out);
	for (uint32_t i = 0; i < g->nhosts; i++) {
		pack_str(out, g->hosts[i].name);
		pack_u32(out, g->hosts[i].job_index);
		pack_u32(out, g->hosts[i].cpus);
		pack_u8(out, g->hosts[i].local);
		pack_bytes(out, g->hosts[i].token, PROTO_TOKEN);
	}
	pack_str(out, g->srun_host);
	pack_u16(out, g->port_first);
	pack_u16(out, g->port_last);
	pack_u32(out, g->launch_timeout);
	pack_u32(out, g->control_timeout);
	pack_u32(out, g->ping_interval);
	pack_u32(out, g->auth_timeout);
	pack_u32(out, g->kill_wait);
	pack_u8(out, g->kill_on_bad_exit);
	pack_str(out, g->interface);
}

static void unpack_hosts(struct unpack *u, struct step_granted *g)
{
	if (u->bad)
		return;
	g->hosts = xcalloc(g->layout.nnodes ? g->layout.nnodes : 1, sizeof(*g->hosts));
	g->nhosts = g->layout.nnodes;
	for (uint32_t i = 0; i < g->nhosts && !u->bad; i++) {
		g->hosts[i].name = unpack_str(u);
		g->hosts[i].job_index = unpack_u32(u);
		g->hosts[i].cpus = unpack_u32(u);
		g->hosts[i].local = unpack_bool(u);
		unpack_token(u, g->hosts[i].token);
		if (!g->hosts[i].name)
			u->bad = true;
	}
}

int step_granted_unpack(struct step_granted *g, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);

	*g = (struct step_granted){ 0 };
	g->step_id = unpack_u32(&u);
	g->job_id = unpack_u64(&u);
	g->job_nodelist = unpack_str(&u);
	g->job_cpus_per_node = unpack_str(&u);
	layout_unpack(&u, &g->layout);
	unpack_hosts(&u, g);
	g->srun_host = unpack_str(&u);
	g->port_first = unpack_u16(&u);
	g->port_last = unpack_u16(&u);
	g->launch_timeout = unpack_u32(&u);
	g->control_timeout = unpack_u32(&u);
	g->ping_interval = unpack_u32(&u);
	g->auth_timeout = unpack_u32(&u);
	g->kill_wait = unpack_u32(&u);
	g->kill_on_bad_exit = unpack_bool(&u);
	g->interface = unpack_str(&u);
	return unpack_done(&u, "step grant", err);
}

void step_granted_release(struct step_granted *g)
{
	for (uint32_t i = 0; i < g->nhosts; i++)
		free(g->hosts[i].name);
	free(g->hosts);
	free(g->job_nodelist);
	free(g->job_cpus_per_node);
	free(g->srun_host);
	free(g->interface);
	layout_release(&g->layout);
	*g = (struct step_granted){ 0 };
}

void step_launch_pack(const struct step_launch *l, struct strbuf *out)
{
	pack_str(out, l->addresses);
	pack_u16(out, l->port);
	pack_str(out, l->unix_path);
}

int step_launch_unpack(struct step_launch *l, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);

	l->addresses = unpack_str(&u);
	l->port = unpack_u16(&u);
	l->unix_path = unpack_str(&u);
	return unpack_done(&u, "step launch", err);
}

void step_launch_release(struct step_launch *l)
{
	free(l->addresses);
	free(l->unix_path);
	*l = (struct step_launch){ 0 };
}

void step_done_pack(const struct step_done *d, struct strbuf *out)
{
	pack_str(out, d->state);
	pack_u32(out, d->code);
	pack_u32(out, d->signal);
	pack_u64(out, d->utime_us);
	pack_u64(out, d->stime_us);
	pack_u64(out, d->maxrss_kib);
}

int step_done_unpack(struct step_done *d, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);

	d->state = unpack_str(&u);
	d->code = unpack_u32(&u);
	d->signal = unpack_u32(&u);
	d->utime_us = unpack_u64(&u);
	d->stime_us = unpack_u64(&u);
	d->maxrss_kib = unpack_u64(&u);
	if (!d->state)
		u.bad = true;
	return unpack_done(&u, "step end", err);
}

void step_done_release(struct step_done *d)
{
	free(d->state);
	*d = (struct step_done){ 0 };
}

void stepper_start_pack(const struct stepper_start *s, struct strbuf *out)
{
	pack_u32(out, s->step_id);
	pack_u32(out, s->host_index);
	pack_bytes(out, s->token, PROTO_TOKEN);
	pack_str(out, s->addresses);
	pack_u16(out, s->port);
	pack_str(out, s->unix_path);
	pack_u32(out, s->control_timeout);
	pack_u32(out, s->ping_interval);
	pack_u32(out, s->auth_timeout);
}

int stepper_start_unpack(struct stepper_start *s, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);

	s->step_id = unpack_u32(&u);
	s->host_index = unpack_u32(&u);
	unpack_token(&u, s->token);
	s->addresses = unpack_str(&u);
	s->port = unpack_u16(&u);
	s->unix_path = unpack_str(&u);
	s->control_timeout = unpack_u32(&u);
	s->ping_interval = unpack_u32(&u);
	s->auth_timeout = unpack_u32(&u);
	return unpack_done(&u, "stepper order", err);
}

void stepper_start_release(struct stepper_start *s)
{
	free(s->addresses);
	free(s->unix_path);
	*s = (struct stepper_start){ 0 };
}

static void stream_pack(const struct stream_spec *s, struct strbuf *out)
{
	pack_u8(out, s->kind);
	pack_u32(out, s->only);
	pack_str(out, s->pattern);
}

static void stream_unpack(struct unpack *u, struct stream_spec *s)
{
	s->kind = unpack_u8(u);
	s->only = unpack_u32(u);
	s->pattern = unpack_str(u);
	if (s->kind > STREAM_STDOUT || (s->kind == STREAM_FILE && !s->pattern))
		u->bad = true;
}

void hostspec_pack(const struct hostspec *s, struct strbuf *out)
{
	struct strbuf env = STRBUF_INIT;

	pack_u32(out, s->step_id);
	pack_u32(out, s->ntasks);
	pack_u64(out, s->job_id);
	pack_argv(out, &s->argv);
	env_pack(&s->env, &env);
	pack_bytes(out, env.buf, env.len);
	strbuf_release(&env);
	pack_str(out, s->cwd);
	pack_u32(out, s->umask);
	pack_u8(out, s->label);
	pack_u8(out, s->unbuffered);
	pack_u8(out, s->open_mode);
	stream_pack(&s->in, out);
	stream_pack(&s->out, out);
	stream_pack(&s->err, out);
	for (int i = 0; i < HOSTSPEC_LIMITS; i++)
		pack_u64(out, s->limits[i]);
	pack_str(out, s->node);
	pack_u32(out, s->node_index);
	pack_u32(out, s->cpus);
	pack_u32(out, s->nranks);
	pack_words(out, s->ranks, s->nranks);
}

int hostspec_unpack(struct hostspec *s, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);
	const void *env;
	size_t len;

	*s = (struct hostspec){ 0 };
	s->step_id = unpack_u32(&u);
	s->ntasks = unpack_u32(&u);
	s->job_id = unpack_u64(&u);
	unpack_argv(&u, &s->argv);
	env = unpack_bytes(&u, &len);
	if (!u.bad && env_unpack(&s->env, env, len, NULL) < 0)
		u.bad = true;
	s->cwd = unpack_str(&u);
	s->umask = unpack_u32(&u);
	s->label = unpack_bool(&u);
	s->unbuffered = unpack_bool(&u);
	s->open_mode = unpack_u8(&u);
	stream_unpack(&u, &s->in);
	stream_unpack(&u, &s->out);
	stream_unpack(&u, &s->err);
	for (int i = 0; i < HOSTSPEC_LIMITS; i++)
		s->limits[i] = unpack_u64(&u);
	s->node = unpack_str(&u);
	s->node_index = unpack_u32(&u);
	s->cpus = unpack_u32(&u);
	s->nranks = unpack_u32(&u);
	s->ranks = unpack_words(&u, s->nranks);
	if (!s->argv.n || !s->cwd || !s->node || !s->nranks)
		u.bad = true;
	return unpack_done(&u, "step description", err);
}

void hostspec_release(struct hostspec *s)
{
	argvec_release(&s->argv);
	env_release(&s->env);
	free(s->cwd);
	free(s->in.pattern);
	free(s->out.pattern);
	free(s->err.pattern);
	free(s->node);
	free(s->ranks);
	*s = (struct hostspec){ 0 };
}

void rank_exit_pack(const struct rank_exit *e, struct strbuf *out)
{
	pack_u32(out, e->status);
	pack_u64(out, e->utime_us);
	pack_u64(out, e->stime_us);
	pack_u64(out, e->maxrss_kib);
}

int rank_exit_unpack(struct rank_exit *e, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);

	e->status = unpack_u32(&u);
	e->utime_us = unpack_u64(&u);
	e->stime_us = unpack_u64(&u);
	e->maxrss_kib = unpack_u64(&u);
	return unpack_done(&u, "end of a rank", err);
}
