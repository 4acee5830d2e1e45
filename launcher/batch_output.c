/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "common/path.h"
#include "launcher/batch.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_WIDTH 10
/* %a of a job without an array: Slurm's NO_VAL */
#define NO_TASK 4294967294u

struct words {
	const struct alloc *a;
	const struct jobspec *job;
};

static void add_number(struct strbuf *out, uint64_t v, unsigned width)
{
	strbuf_addf(out, "%0*" PRIu64, (int)(width > MAX_WIDTH ? MAX_WIDTH : width), v);
}

static uint64_t array_index(const struct words *w)
{
	uint32_t p = w->a->engine_task;

	return w->job->array_count && p && p <= w->job->array_count ? w->job->array_index[p - 1] : NO_TASK;
}

/* The word for letter c with its width; false: there is none, it stays as it is. */
static bool add_word(struct strbuf *out, const struct words *w, char c, unsigned width)
{
	switch (c) {
	case 'A':
		add_number(out, w->a->engine_id, width);
		return true;
	case 'a':
		add_number(out, array_index(w), width);
		return true;
	case 'j':
	case 'J': /* in the batch step without the step's id */
		add_number(out, w->a->job_id, width);
		return true;
	case 'n':
	case 't':
		add_number(out, 0, width);
		return true;
	case 'N':
		strbuf_addstr(out, w->a->hosts[0].node_name);
		return true;
	case 's':
		strbuf_addstr(out, "batch");
		return true;
	case 'u':
		strbuf_addstr(out, w->a->user);
		return true;
	case 'x':
		strbuf_addstr(out, w->job->name ? w->job->name : "");
		return true;
	case '%':
		strbuf_addch(out, '%');
		return true;
	}
	return false;
}

/* One level of backslashes off; nothing is expanded where there is one. */
static char *unescape(const char *pattern)
{
	struct strbuf out = STRBUF_INIT;

	for (; *pattern; pattern++) {
		if (*pattern == '\\' && pattern[1])
			pattern++;
		else if (*pattern == '\\')
			break;
		strbuf_addch(&out, *pattern);
	}
	return strbuf_steal(&out);
}

char *output_expand(const char *pattern, const struct alloc *a, const struct jobspec *job)
{
	struct words w = { a, job };
	struct strbuf out = STRBUF_INIT;

	if (strchr(pattern, '\\'))
		return unescape(pattern);
	while (*pattern) {
		const char *p = pattern;
		unsigned width = 0;

		if (*p++ == '%') {
			for (; isdigit((unsigned char)*p); p++)
				width = width > MAX_WIDTH ? width : width * 10 + (unsigned)(*p - '0');
			if (*p && add_word(&out, &w, *p, width)) {
				pattern = p + 1;
				continue;
			}
		}
		strbuf_addch(&out, *pattern++);
	}
	return strbuf_steal(&out);
}

/* The path of a pattern (NULL: fallback); relative ones are in the job's folder, even if that isn't there. */
static char *path_of(const struct batch *b, const char *pattern, const char *fallback)
{
	cleanup_free char *name = output_expand(pattern && *pattern ? pattern : fallback, &b->alloc, &b->job);

	return path_join(b->job.work_dir ? b->job.work_dir : "/", name);
}

static int open_output(const struct batch *b, const char *path, const char *which, struct error *err)
{
	/* a requeued job's first output is worth keeping; and an old run may still write for seconds */
	bool append = b->job.open_mode == 'a' || (b->job.open_mode != 't' && b->alloc.restart);
	mode_t old = umask((mode_t)b->job.umask);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | (append ? 0 : O_TRUNC),
		      0666);

	umask(old);
	if (fd < 0)
		return error_errno(err, "Could not open %s file %s", which, path);
	return fd;
}

int output_open(struct batch *b, struct error *err)
{
	const char *fallback = b->job.array_count ? "slurm-%A_%a.out" : "slurm-%j.out";
	cleanup_free char *in = path_of(b, b->job.std_in, "/dev/null");
	cleanup_free char *out = path_of(b, b->job.std_out, fallback);
	cleanup_free char *errors = NULL;

	b->std_fd[1] = open_output(b, out, "stdout", err);
	if (b->std_fd[1] < 0)
		return -1;
	if (b->job.std_err && *b->job.std_err)
		errors = path_of(b, b->job.std_err, fallback);
	if (!errors || !strcmp(errors, out))
		b->std_fd[2] = fcntl(b->std_fd[1], F_DUPFD_CLOEXEC, 3);
	else
		b->std_fd[2] = open_output(b, errors, "stderr", err);
	if (b->std_fd[2] < 0)
		return -1;
	b->std_fd[0] = open(in, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (b->std_fd[0] < 0)
		return error_errno(err, "Could not open stdin file %s", in);
	return 0;
}

int output_open_last_resort(const struct env *engine)
{
	static const char *const folders[] = { "SGE_O_WORKDIR", "SGE_O_HOME", "HOME" };
	const char *id = env_get(engine, "JOB_ID");

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		const char *dir = env_get(engine, folders[i]);
		cleanup_free char *path = dir ? xasprintf("%s/slurm-%s.out", dir, id ? id : "0") : NULL;
		int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
				     0644)
			      : -1;

		if (fd >= 0)
			return fd;
	}
	return -1;
}
