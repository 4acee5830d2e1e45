/* SPDX-License-Identifier: Apache-2.0 */
#include "common/env.h"

#include "common/mem.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

void env_release(struct env *e)
{
	argvec_release(&e->vars);
}

void env_add_all(struct env *e, char *const *envp)
{
	for (; envp && *envp; envp++)
		argvec_push(&e->vars, *envp);
}

static size_t find(const struct env *e, const char *name, size_t len)
{
	for (size_t i = 0; i < e->vars.n; i++)
		if (!strncmp(e->vars.v[i], name, len) && e->vars.v[i][len] == '=')
			return i;
	return e->vars.n;
}

const char *env_get(const struct env *e, const char *name)
{
	size_t len = strlen(name);
	size_t i = find(e, name, len);

	return i < e->vars.n ? e->vars.v[i] + len + 1 : NULL;
}

static void set_take(struct env *e, char *pair, size_t len)
{
	size_t i = find(e, pair, len);

	if (i == e->vars.n) {
		argvec_push_take(&e->vars, pair);
		return;
	}
	free(e->vars.v[i]);
	e->vars.v[i] = pair;
}

void env_set(struct env *e, const char *name, const char *value)
{
	set_take(e, xasprintf("%s=%s", name, value), strlen(name));
}

void env_setf(struct env *e, const char *name, const char *fmt, ...)
{
	cleanup_free char *value = NULL;
	va_list ap;

	va_start(ap, fmt);
	value = xvasprintf(fmt, ap);
	va_end(ap);
	env_set(e, name, value);
}

static void remove_at(struct env *e, size_t i)
{
	free(e->vars.v[i]);
	memmove(&e->vars.v[i], &e->vars.v[i + 1], (e->vars.n - i) * sizeof(*e->vars.v));
	e->vars.n--;
}

void env_unset(struct env *e, const char *name)
{
	size_t len = strlen(name), i;

	/* an environment that came in may hold doubles: none may come to light */
	while ((i = find(e, name, len)) < e->vars.n)
		remove_at(e, i);
}

void env_unset_prefix(struct env *e, const char *prefix)
{
	for (size_t i = e->vars.n; i-- > 0;)
		if (!strncmp(e->vars.v[i], prefix, strlen(prefix)))
			remove_at(e, i);
}

void env_merge(struct env *e, const struct env *src)
{
	for (size_t i = 0; i < src->vars.n; i++) {
		const char *eq = strchr(src->vars.v[i], '=');

		if (eq)
			set_take(e, xstrdup(src->vars.v[i]), (size_t)(eq - src->vars.v[i]));
	}
}

void env_pack(const struct env *e, struct strbuf *out)
{
	for (size_t i = 0; i < e->vars.n; i++)
		strbuf_add(out, e->vars.v[i], strlen(e->vars.v[i]) + 1);
}

int env_unpack(struct env *e, const char *data, size_t n, struct error *err)
{
	if (n && data[n - 1] != '\0')
		return error_set(err, ERR_PROTOCOL, "environment: not NUL terminated");
	for (const char *end = data + n; data < end; data += strlen(data) + 1)
		argvec_push(&e->vars, data);
	return 0;
}

bool env_is_name(const char *name, size_t n)
{
	if (!n || isdigit((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}
