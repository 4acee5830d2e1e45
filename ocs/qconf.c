/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/qconf.h"

#include "common/fd.h"
#include "common/mem.h"
#include "ocs/engine.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

enum { NAME_WIDTH = 21 }; /* of the attribute's column, as the engine prints queues */

void qconf_object_release(struct qconf_object *o)
{
	argvec_release(&o->names);
	argvec_release(&o->values);
}

/* The text with every "backslash, newline, indent" taken out. */
static void join_lines(const char *text, struct strbuf *out)
{
	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && (p[1] == '\n' || (p[1] == '\r' && p[2] == '\n'))) {
			p += p[1] == '\r' ? 2 : 1;
			p += strspn(p + 1, " \t");
		} else {
			strbuf_addch(out, *p);
		}
	}
}

/* One line of a joined text; comments and empty lines are nothing. */
static int parse_line(struct qconf_object *o, const char *line, size_t len, struct error *err)
{
	size_t n;

	while (len && strchr(" \t\r", line[len - 1]))
		len--;
	if (len == 0 || *line == '#')
		return 0;
	n = strcspn(line, " \t");
	if (n == 0 || n > len)
		n = len;
	for (size_t i = 0; i < n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", line[i]))
			return error_set(err, ERR_ENGINE, "qconf: not an attribute: %.*s",
					 (int)(len < 60 ? len : 60), line);
	argvec_push_take(&o->names, xstrndup(line, n));
	line += n;
	len -= n;
	while (len && (*line == ' ' || *line == '\t'))
		line++, len--;
	argvec_push_take(&o->values, xstrndup(line, len));
	return 0;
}

int qconf_parse(const char *text, struct qconf_object *o, struct error *err)
{
	cleanup_strbuf struct strbuf joined = STRBUF_INIT;

	join_lines(text, &joined);
	for (const char *p = joined.buf; *p;) {
		size_t n = strcspn(p, "\n");

		if (parse_line(o, p, n, err) < 0)
			return -1;
		p += n + (p[n] == '\n');
	}
	if (!o->names.n)
		return error_set(err, ERR_ENGINE, "qconf: an empty answer");
	return 0;
}

static long find(const struct qconf_object *o, const char *attribute)
{
	for (size_t i = 0; i < o->names.n; i++)
		if (!strcmp(o->names.v[i], attribute))
			return (long)i;
	return -1;
}

const char *qconf_get(const struct qconf_object *o, const char *attribute)
{
	long i = find(o, attribute);

	return i < 0 ? NULL : o->values.v[i];
}

void qconf_set(struct qconf_object *o, const char *attribute, const char *value)
{
	long i = find(o, attribute);

	if (i < 0) {
		argvec_push(&o->names, attribute);
		argvec_push(&o->values, value);
	} else {
		replace_str(&o->values.v[i], value);
	}
}

void qconf_format(const struct qconf_object *o, struct strbuf *out)
{
	for (size_t i = 0; i < o->names.n; i++)
		strbuf_addf(out, "%-*s %s\n", NAME_WIDTH, o->names.v[i], o->values.v[i]);
}

static int ask(const char *option, const char *name, struct engine_answer *answer, struct error *err)
{
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	argvec_pushl(&argv, "qconf", option, name, NULL);
	return engine_ask(&argv, QCONF_TIMEOUT, answer, err);
}

int qconf_show(const char *option, const char *name, struct qconf_object *o, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;

	if (ask(option, name, &answer, err) < 0)
		return -1;
	return qconf_parse(answer.out.buf, o, err);
}

int qconf_list(const char *option, struct argvec *out, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	argvec_pushl(&argv, "qconf", option, NULL);
	if (engine_run(&argv, NULL, QCONF_TIMEOUT, &answer, err) < 0)
		return -1;
	/* An empty list: 'no parallel environment defined', exit code 1. */
	if (answer.code != 0 && strstr(answer.err.buf, "no ") && strstr(answer.err.buf, "defined"))
		return 0;
	if (answer.code != 0) {
		engine_refusal(&answer, err);
		return error_wrap(err, "qconf");
	}
	for (const char *p = answer.out.buf; *p;) {
		size_t n = strcspn(p, "\n");

		if (n)
			argvec_push_take(out, xstrndup(p, n));
		p += n + (p[n] == '\n');
	}
	return 0;
}

int qconf_do(const char *option, const char *name, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;

	return ask(option, name, &answer, err);
}

int qconf_store(const char *option, const struct qconf_object *o, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	cleanup_free char *path = xasprintf("%s/slurm-on-ocs.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	cleanup_fd int fd = mkostemp(path, O_CLOEXEC);
	int rc;

	if (fd < 0)
		return error_errno(err, "%s", path);
	qconf_format(o, &text);
	if (fd_write_all(fd, text.buf, text.len) < 0)
		rc = error_errno(err, "%s", path);
	else
		rc = qconf_do(option, path, err);
	unlink(path);
	return rc;
}

/* The length of "[...]" at p; 0 when it doesn't end. */
static size_t bracket_length(const char *p)
{
	const char *end = strchr(p, ']');

	return end ? (size_t)(end - p) + 1 : 0;
}

static void add_part(struct qconf_object *parts, const char *name, size_t nname, const char *value,
		     size_t nvalue)
{
	argvec_push_take(&parts->names, xstrndup(name, nname));
	argvec_push_take(&parts->values, xstrndup(value, nvalue));
}

int qconf_split_hosts(const char *value, struct qconf_object *parts, struct error *err)
{
	const char *open = strchr(value, '[');
	size_t n = open ? (size_t)(open - value) : strlen(value);

	while (n && strchr(", \t", value[n - 1]))
		n--;
	add_part(parts, "", 0, value, n);
	while (open) {
		size_t len = bracket_length(open);
		const char *equal = len ? memchr(open, '=', len) : NULL;
		const char *next;

		if (!equal)
			return error_set(err, ERR_ENGINE, "qconf: can't read \"%s\"", value);
		add_part(parts, open + 1, (size_t)(equal - open) - 1, equal + 1,
			 (size_t)(open + len - equal) - 2);
		next = open + len + strspn(open + len, ", \t");
		if (*next && *next != '[')
			return error_set(err, ERR_ENGINE, "qconf: can't read \"%s\"", value);
		open = *next ? next : NULL;
	}
	return 0;
}

char *qconf_join_hosts(const struct qconf_object *parts)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < parts->names.n; i++) {
		if (i == 0)
			strbuf_addstr(&out, parts->values.v[0]);
		else
			strbuf_addf(&out, ",[%s=%s]", parts->names.v[i], parts->values.v[i]);
	}
	return strbuf_steal(&out);
}

/* The next word of a list; its length, 0 at the end. */
static size_t next_word(const char **p)
{
	*p += strspn(*p, " \t,");
	return strcspn(*p, " \t,");
}

static bool is_none(const char *word, size_t n)
{
	return n == 4 && !strncasecmp(word, "none", 4);
}

bool qconf_list_has(const char *list, const char *word)
{
	size_t n;

	for (const char *p = list; (n = next_word(&p)); p += n)
		if (strlen(word) == n && !strncmp(p, word, n))
			return true;
	return false;
}

char *qconf_list_add(const char *list, const char *word)
{
	const char *p = list;
	size_t n = next_word(&p);

	if (n == 0 || is_none(p, n))
		return xstrdup(word);
	if (qconf_list_has(list, word))
		return xstrdup(list);
	return xasprintf("%s %s", list, word);
}

char *qconf_list_remove(const char *list, const char *word)
{
	struct strbuf out = STRBUF_INIT;
	size_t n;

	for (const char *p = list; (n = next_word(&p)); p += n) {
		if (strlen(word) == n && !strncmp(p, word, n))
			continue;
		if (out.len)
			strbuf_addch(&out, ' ');
		strbuf_add(&out, p, n);
	}
	if (!out.len)
		strbuf_addstr(&out, "NONE");
	return strbuf_steal(&out);
}
