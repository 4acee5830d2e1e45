/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/complex.h"

#include "common/mem.h"
#include "ocs/engine.h"

#include <string.h>
#include <strings.h>

void complex_list_release(struct complex_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].shortcut);
		free(l->v[i].type);
		free(l->v[i].relop);
	}
	free(l->v);
	*l = (struct complex_list)COMPLEX_LIST_INIT;
}

/* The next word of the line at *p; its length, 0 at the line's end. */
static size_t next_word(const char **p)
{
	*p += strspn(*p, " \t\r");
	return strcspn(*p, " \t\r\n");
}

static enum complex_count read_count(const char *word)
{
	if (!strcasecmp(word, "YES"))
		return COMPLEX_SLOT;
	if (!strcasecmp(word, "HOST"))
		return COMPLEX_HOST;
	return strcasecmp(word, "JOB") ? COMPLEX_FIXED : COMPLEX_JOB;
}

/* name shortcut type relop requestable consumable [default urgency] */
static int add_line(struct complex_list *l, const char *line, struct error *err)
{
	char *words[6] = { NULL };
	struct complex *c;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = next_word(&line);

		if (!n) {
			while (i)
				free(words[--i]);
			return error_set(err, ERR_ENGINE, "qconf -sc: a line that is no complex");
		}
		words[i] = xstrndup(line, n);
		line += n;
	}
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	c = &l->v[l->n++];
	*c = (struct complex){ .name = words[0], .shortcut = words[1], .type = words[2], .relop = words[3] };
	/* FORCED: only jobs that ask for it get there */
	c->requestable = strcasecmp(words[4], "NO") != 0;
	c->count = read_count(words[5]);
	free(words[4]);
	free(words[5]);
	return 0;
}

int complex_list_parse(struct complex_list *l, const char *text, struct error *err)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *p = line;

		if (!next_word(&p) || *p == '#')
			continue;
		if (add_line(l, line, err) < 0) {
			complex_list_release(l);
			return -1;
		}
	}
	return 0;
}

int complex_list_load(struct complex_list *l, int timeout, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	argvec_pushl(&argv, "qconf", "-sc", NULL);
	if (engine_ask(&argv, timeout, &answer, err) < 0)
		return -1;
	return complex_list_parse(l, answer.out.buf, err);
}

const struct complex *complex_find(const struct complex_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, name) || !strcmp(l->v[i].shortcut, name))
			return &l->v[i];
	return NULL;
}

bool complex_is_reserved(const struct complex *c)
{
	return c->requestable && c->count != COMPLEX_FIXED && !strcmp(c->relop, "<=");
}
