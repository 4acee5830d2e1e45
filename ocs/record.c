/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/record.h"

#include "common/path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the valid UTF-8 sequence at s (shortest form, no surrogates, at most U+10FFFF); 0: none. */
static size_t utf8_length(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return (s[1] & 0xc0) == 0x80 ? 2 : 0;
	if (s[0] >= 0xe0 && s[0] <= 0xef) {
		unsigned char low = s[0] == 0xe0 ? 0xa0 : 0x80, high = s[0] == 0xed ? 0x9f : 0xbf;

		return s[1] >= low && s[1] <= high && (s[2] & 0xc0) == 0x80 ? 3 : 0;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		unsigned char low = s[0] == 0xf0 ? 0x90 : 0x80, high = s[0] == 0xf4 ? 0x8f : 0xbf;

		return s[1] >= low && s[1] <= high && (s[2] & 0xc0) == 0x80 && (s[3] & 0xc0) == 0x80 ? 4 : 0;
	}
	return 0;
}

static void add_string(struct strbuf *out, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	strbuf_addch(out, '"');
	while (*s) {
		size_t n = utf8_length(s);

		if (!n)
			strbuf_addstr(out, REPLACEMENT);
		else if (*s == '"' || *s == '\\')
			strbuf_addf(out, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			strbuf_addf(out, "\\u%04x", *s);
		else
			strbuf_add(out, s, n);
		s += n ? n : 1;
	}
	strbuf_addch(out, '"');
}

static void add_key(struct record *r, const char *key)
{
	strbuf_addch(&r->json, r->json.len ? ',' : '{');
	add_string(&r->json, key);
	strbuf_addch(&r->json, ':');
}

void record_begin(struct record *r, const char *event, uint64_t job, uint32_t task, uint32_t restart)
{
	struct timespec now;

	strbuf_init(&r->json);
	clock_gettime(CLOCK_REALTIME, &now);
	record_int(r, "v", 1);
	record_str(r, "event", event);
	add_key(r, "time");
	strbuf_addf(&r->json, "%" PRId64 ".%06ld", (int64_t)now.tv_sec, now.tv_nsec / 1000);
	record_int(r, "job", (int64_t)job);
	record_int(r, "task", task);
	record_int(r, "restart", restart);
}

void record_str(struct record *r, const char *key, const char *value)
{
	add_key(r, key);
	if (value)
		add_string(&r->json, value);
	else
		strbuf_addstr(&r->json, "null");
}

void record_int(struct record *r, const char *key, int64_t value)
{
	add_key(r, key);
	strbuf_addf(&r->json, "%" PRId64, value);
}

void record_real(struct record *r, const char *key, double value)
{
	add_key(r, key);
	/* JSON has neither NaN nor infinity */
	if (isfinite(value))
		strbuf_addf(&r->json, "%.6f", value);
	else
		strbuf_addstr(&r->json, "null");
}

void record_strings(struct record *r, const char *key, char *const *values, size_t n)
{
	add_key(r, key);
	strbuf_addch(&r->json, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			strbuf_addch(&r->json, ',');
		add_string(&r->json, values[i]);
	}
	strbuf_addch(&r->json, ']');
}

void record_numbers(struct record *r, const char *key, const uint32_t *values, size_t n)
{
	add_key(r, key);
	strbuf_addch(&r->json, '[');
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&r->json, "%s%" PRIu32, i ? "," : "", values[i]);
	strbuf_addch(&r->json, ']');
}

void record_release(struct record *r)
{
	strbuf_release(&r->json);
}

/* <accounting_dir>/<uid>: the site's folder is open to all (sticky), so what is in it may be somebody else's. */
static int open_user_dir(const char *accounting_dir)
{
	cleanup_fd int dir = open(accounting_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[16];
	bool made;
	int fd;

	if (dir < 0)
		return -1;
	snprintf(name, sizeof(name), "%u", (unsigned)geteuid());
	made = mkdirat(dir, name, 0700) == 0;
	fd = path_open_private_dirat(dir, name, false, NULL);
	/* whatever the user's umask is: sacct of others must read it */
	if (fd >= 0 && made)
		fchmod(fd, 0755);
	return fd;
}

int record_open_dir(const char *accounting_dir, const char *spool_dir, struct error *err)
{
	int fd = accounting_dir && *accounting_dir ? open_user_dir(accounting_dir) : -1;

	return fd >= 0 ? fd : path_open_private_dir(spool_dir, false, err);
}

/* A host's name as part of a file name. */
static void add_host(struct strbuf *name, const char *host)
{
	for (; *host; host++)
		strbuf_addch(name, *host == '/' ? '_' : *host);
}

int record_append(struct record *r, int dirfd, uint64_t job, uint32_t task, const char *host,
		  struct error *err)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;
	cleanup_fd int fd = -1;
	struct stat st;
	ssize_t n;

	strbuf_addf(&name, "%" PRIu64, job);
	if (task)
		strbuf_addf(&name, ".%" PRIu32, task);
	strbuf_addch(&name, '.');
	add_host(&name, host);
	strbuf_addstr(&name, ".jsonl");
	strbuf_addstr(&r->json, "}\n");
	fd = openat(dirfd, name.buf,
		    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, "cannot open %s", name.buf);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return error_set(err, ERR_SYSTEM, "%s: not a regular file of ours", name.buf);
	if ((st.st_mode & 07777) != 0644)
		fchmod(fd, 0644);
	/* one write: lines of two runs of a job, which may overlap for seconds, never mix */
	n = write(fd, r->json.buf, r->json.len);
	if (n < 0)
		return error_errno(err, "cannot write %s", name.buf);
	if ((size_t)n < r->json.len)
		return error_set(err, ERR_SYSTEM, "cannot write %s: no space left", name.buf);
	return 0;
}
