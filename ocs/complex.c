/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/complex.h"

#include "common/fd.h"
#include "common/mem.h"
#include "common/path.h"
#include "ocs/engine.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#define CACHE "complexes"
#define CACHE_MAX (1 << 20)

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

static int read_cache(struct complex_list *l, int dirfd)
{
	cleanup_fd int fd = dirfd < 0 ? -1 : path_open_ownedat(dirfd, CACHE, geteuid(), NULL);
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	time_t now = time(NULL);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_mtime > now || now - st.st_mtime > COMPLEX_CACHE_AGE ||
	    fd_read_to_eof(fd, CACHE_MAX, &text) < 0)
		return -1;
	if (complex_list_parse(l, text.buf, NULL) < 0)
		return -1;
	/* every cell has it: an empty or torn file is no list */
	if (complex_find(l, "slots"))
		return 0;
	complex_list_release(l);
	return -1;
}

static void write_cache(int dirfd, const struct strbuf *text)
{
	cleanup_free char *name = xasprintf(CACHE ".%ld", (long)getpid());

	if (dirfd < 0 || text->len > CACHE_MAX ||
	    path_write_newat(dirfd, name, 0600, text->buf, text->len, false, NULL) < 0)
		return;
	if (renameat(dirfd, name, dirfd, CACHE) < 0)
		unlinkat(dirfd, name, 0);
}

int complex_list_load(struct complex_list *l, const char *dir, bool fresh, int timeout, bool *cached,
		      struct error *err)
{
	cleanup_fd int dirfd = path_open_private_dir(dir, false, NULL);
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	*cached = !fresh && read_cache(l, dirfd) == 0;
	if (*cached)
		return 0;
	argvec_pushl(&argv, "qconf", "-sc", NULL);
	if (engine_ask(&argv, timeout, &answer, err) < 0 || complex_list_parse(l, answer.out.buf, err) < 0)
		return -1;
	write_cache(dirfd, &answer.out);
	return 0;
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
