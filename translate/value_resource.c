/* SPDX-License-Identifier: Apache-2.0 */
/* Values of sbatch's options about hosts and resources. */
#include "translate/request.h"

#include "common/fd.h"
#include "common/hostlist.h"
#include "common/mem.h"
#include "common/size.h"
#include "common/strbuf.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#define NODEFILE_MAX (1u << 20) /* bytes */
#define HOSTS_MAX 65536

static int invalid(const struct opt_context *ctx, struct error *err)
{
	return error_set(err, ERR_USAGE, "Invalid --%s specification", ctx->row->name);
}

int parse_size(const struct opt_context *ctx, struct error *err)
{
	struct size_request *size = ctx->field;
	uint64_t mib;

	if (size_parse_mib(ctx->value, &mib, NULL) < 0)
		return invalid(ctx, err);
	*size = (struct size_request){ mib, ctx->origin == OPT_FROM_ENV };
	return 0;
}

/* --- counted lists --- */

void counted_list_release(struct counted_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].type);
	}
	free(l->v);
	free(l->text);
	*l = (struct counted_list){ 0 };
}

/* A decimal number with Slurm's k and m (1024s) behind it, and nothing else. */
static int read_count(const char *s, uint32_t *count)
{
	size_t digits = strspn(s, "0123456789");
	uint64_t n = 0;

	if (!digits || digits > 9)
		return -1;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (uint64_t)(s[i] - '0');
	s += digits;
	if (tolower((unsigned char)*s) == 'k')
		n *= 1024;
	else if (tolower((unsigned char)*s) == 'm')
		n *= 1024 * 1024;
	if (n > INT32_MAX || (*s && s[1]) || (*s && !strchr("kKmM", *s)))
		return -1;
	*count = (uint32_t)n;
	return 0;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Equal ones are added up, as Slurm does. -1: with and without a type. */
static int add_counted(struct counted_list *l, const char *name, const char *type, uint32_t count)
{
	for (size_t i = 0; i < l->n; i++) {
		struct counted *c = &l->v[i];

		if (strcmp(c->name, name))
			continue;
		if (!c->type != !type)
			return -1;
		if (same(c->type, type)) {
			c->count = count > INT32_MAX - c->count ? INT32_MAX : c->count + count;
			return 0;
		}
	}
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct counted){ xstrdup(name), xstrdup(type), count };
	return 0;
}

static bool is_name(const char *s)
{
	return isalnum((unsigned char)*s) &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == strlen(s);
}

/* name[:type][:count]; name NULL: it is in the item. -1: malformed, -2: with and without a type. */
static int add_item(struct counted_list *l, const char *name, char *item)
{
	char *part[3] = { item, NULL, NULL };
	size_t n = 1;
	uint32_t count = 1;

	for (char *p = item; *p; p++)
		if (*p == ':') {
			if (n == ARRAY_SIZE(part))
				return -1;
			*p = '\0';
			part[n++] = p + 1;
		}
	if (isdigit((unsigned char)*part[n - 1]) || !*part[n - 1]) {
		if (read_count(part[n - 1], &count) < 0)
			return -1;
		n--;
	}
	if (!name) {
		if (!n || !is_name(part[0]))
			return -1;
		name = part[0];
		memmove(part, part + 1, sizeof(*part) * 2);
		n--;
	}
	if (n > 1 || (n && !is_name(part[0])))
		return -1;
	return add_counted(l, name, n ? part[0] : NULL, count) < 0 ? -2 : 0;
}

static const char *skip_prefix(const char *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(s, prefix, n) ? s : s + n;
}

/* name: of all items; NULL: each has its own, behind an optional "gres:". */
static int parse_counted(const struct opt_context *ctx, const char *name, struct error *err)
{
	struct counted_list found = { .text = xstrdup(ctx->value) };
	int rc = 0;

	for (const char *p = ctx->value; rc == 0 && *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		cleanup_free char *item = xstrndup(p, n);
		const char *bare = name ? item : skip_prefix(skip_prefix(item, "gres:"), "gres/");
		cleanup_free char *copy = xstrdup(bare);

		rc = add_item(&found, name, copy);
		p += n;
	}
	if (rc < 0) {
		counted_list_release(&found);
		return error_set(err, ERR_VALUE,
				 rc == -2
					 ? "Invalid GRES specification (with and without type identification)"
					 : "Invalid generic resource (gres) specification");
	}
	counted_list_release(ctx->field);
	*(struct counted_list *)ctx->field = found;
	return 0;
}

int parse_gres(const struct opt_context *ctx, struct error *err)
{
	if (!*ctx->value && ctx->origin != OPT_FROM_ENV)
		return error_set(
			err, ERR_VALUE,
			"Batch job submission failed: Invalid Trackable RESource (TRES) specification");
	if (!strcasecmp(ctx->value, "none")) {
		counted_list_release(ctx->field);
		return 0;
	}
	return parse_counted(ctx, NULL, err);
}

int parse_gpus(const struct opt_context *ctx, struct error *err)
{
	return parse_counted(ctx, "gpu", err);
}

/* name[@server][:count], also with "=" */
int parse_licenses(const struct opt_context *ctx, struct error *err)
{
	struct counted_list found = { .text = xstrdup(ctx->value) };
	bool bad = false;

	for (const char *p = ctx->value; !bad && *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		cleanup_free char *item = xstrndup(p, n);
		char *number = strpbrk(item, ":=");
		uint32_t count = 1;

		if (number)
			*number++ = '\0';
		bad = !is_name(item) || (number && read_count(number, &count) < 0);
		if (!bad)
			add_counted(&found, item, NULL, count);
		p += n;
	}
	if (bad) {
		counted_list_release(&found);
		return error_set(err, ERR_VALUE,
				 "Batch job submission failed: Invalid license specification");
	}
	counted_list_release(ctx->field);
	*(struct counted_list *)ctx->field = found;
	return 0;
}

/* --- hosts --- */

int check_exclusive(const struct opt_context *ctx, struct error *err)
{
	if (ctx->value && strcasecmp(ctx->value, "user") && strcasecmp(ctx->value, "mcs"))
		return invalid(ctx, err);
	return 0;
}

/* "user" and "mcs" share hosts with the own jobs; the engine knows only the whole. */
int parse_exclusive(const struct opt_context *ctx, struct error *err)
{
	if (check_exclusive(ctx, err) < 0)
		return -1;
	*(bool *)ctx->field = true;
	return 0;
}

/* Host names from text, each once, in its order. */
static int set_hosts(char **field, const char *text, struct error *err)
{
	cleanup_hostlist struct hostlist given = HOSTLIST_INIT, once = HOSTLIST_INIT;
	cleanup_strbuf struct strbuf out = STRBUF_INIT;

	if (hostlist_parse(&given, text, NULL) < 0 || given.names.n > HOSTS_MAX)
		return error_set(err, ERR_VALUE, "Batch job submission failed: Invalid node name specified");
	for (size_t i = 0; i < given.names.n; i++) {
		if (hostlist_find(&once, given.names.v[i]) >= 0)
			continue;
		hostlist_push(&once, given.names.v[i]);
		strbuf_addf(&out, "%s%s", out.len ? "," : "", given.names.v[i]);
	}
	free(*field);
	*field = strbuf_steal(&out);
	return 0;
}

static int read_nodefile(const char *path, char **field, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (fd_read_file(AT_FDCWD, path, NODEFILE_MAX, &text, err) < 0)
		return -1;
	while (text.len && isspace((unsigned char)text.buf[text.len - 1]))
		text.buf[--text.len] = '\0';
	for (char *p = text.buf; *p; p++)
		if (isspace((unsigned char)*p))
			*p = ',';
	return set_hosts(field, text.buf, err);
}

/* A value with a slash names a file, as in Slurm. */
int parse_nodelist(const struct opt_context *ctx, struct error *err)
{
	if (strchr(ctx->value, '/'))
		return read_nodefile(ctx->value, ctx->field, err);
	return set_hosts(ctx->field, ctx->value, err);
}

int parse_nodefile(const struct opt_context *ctx, struct error *err)
{
	return read_nodefile(ctx->value, ctx->field, err);
}
