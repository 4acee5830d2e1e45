/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/hosts.h"

#include "common/mem.h"

#include <string.h>

#define FAILED "Batch job submission failed: "

void host_choice_release(struct host_choice *c)
{
	free(c->request);
	free(c->master);
	*c = (struct host_choice){ NULL, NULL };
}

/* The engine's name of a host; NULL where there is none, or more than one by its short name. */
static const char *engine_name(const struct argvec *known, const char *name, size_t n)
{
	const char *found = NULL;

	for (size_t i = 0; i < known->n; i++) {
		const char *host = known->v[i];

		if (strncmp(host, name, n))
			continue;
		if (!host[n])
			return host;
		if (host[n] == '.' && found)
			return NULL;
		if (host[n] == '.')
			found = host;
	}
	return found;
}

/* The hosts of list (names with commas; NULL: none) as the engine calls them. */
static int translate(struct argvec *out, const char *list, const struct argvec *known, struct error *err)
{
	for (const char *p = list ? list : ""; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		const char *host = engine_name(known, p, n);

		if (!host)
			return error_set(err, ERR_VALUE, FAILED "Invalid node name specified");
		argvec_push(out, host);
		p += n;
	}
	return 0;
}

static bool has(const struct argvec *av, const char *name)
{
	for (size_t i = 0; i < av->n; i++)
		if (!strcmp(av->v[i], name))
			return true;
	return false;
}

/* "a|b" */
static char *alternatives(const struct argvec *hosts)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < hosts->n; i++)
		strbuf_addf(&out, "%s%s", i ? "|" : "", hosts->v[i]);
	return strbuf_steal(&out);
}

static char *all_but(const struct argvec *hosts)
{
	cleanup_free char *list = alternatives(hosts);

	return xasprintf(hosts->n > 1 ? "!(%s)" : "!%s", list);
}

int hosts_choose(struct host_choice *c, const struct request *r, const struct geometry *g,
		 const struct argvec *known, const struct argvec *allowed, struct error *err)
{
	cleanup_argvec struct argvec wanted = ARGVEC_INIT, excluded = ARGVEC_INIT;

	if (translate(&wanted, r->nodelist, known, err) < 0 ||
	    translate(&excluded, r->exclude, known, err) < 0)
		return -1;
	for (size_t i = 0; i < wanted.n; i++)
		if (has(&excluded, wanted.v[i]))
			return error_set(err, ERR_VALUE, FAILED "Invalid node name specified");
	for (size_t i = 0; allowed && i < known->n; i++)
		if (!has(allowed, known->v[i]) && !has(&excluded, known->v[i]))
			argvec_push(&excluded, known->v[i]);
	for (size_t i = 0; i < wanted.n; i++)
		if (has(&excluded, wanted.v[i]))
			return geometry_refuse(r, 0, err);
	if (!wanted.n || g->max_hosts > wanted.n) {
		if (excluded.n && excluded.n + g->min_hosts > known->n)
			return geometry_refuse(r, 0, err);
		if (excluded.n)
			c->request = all_but(&excluded);
	} else {
		c->request = alternatives(&wanted);
	}
	if (!wanted.n || g->max_hosts <= wanted.n)
		return 0;
	if (wanted.n > 1)
		return error_set(
			err, ERR_VALUE,
			FAILED
			"--nodelist names %zu hosts for a job of %u: the engine can promise one host of "
			"a larger job, or all; name one, or as many as --nodes says",
			wanted.n, g->max_hosts);
	c->master = xstrdup(wanted.v[0]);
	return 0;
}
