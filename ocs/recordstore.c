/* SPDX-License-Identifier: Apache-2.0 */
/* Which files hold a job's records, and the jobs already read. */
#include "common/fd.h"
#include "common/hash.h"
#include "common/mem.h"
#include "common/path.h"
#include "ocs/recordread.h"
#include "ocs/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	MAX_FILE = 16 << 20, /* bytes read of one file: some 50,000 steps */
	MAX_FILES = 1 << 20, /* of one user */
};

struct file {
	uint64_t id;
	char *name;
	bool is_element; /* "<id>.<task>.<host>.jsonl" */
};

/* A user's folder: its names, by id. */
struct user {
	uid_t uid;
	int fd; /* -1: none, or not his */
	struct file *files;
	size_t nfiles;
	UT_hash_handle hh;
};

struct job_key {
	uint64_t id;
	uint64_t uid;
};

struct job {
	struct job_key key;
	struct record_job records;
	enum record_detail detail;
	bool found;
	UT_hash_handle hh;
};

struct record_store {
	int fd; /* accounting_dir; -1: none */
	char *spool_root, *cluster;
	struct user *users;
	struct job *jobs;
};

struct record_store *record_store_new(const char *accounting_dir, const char *spool_root, const char *cluster)
{
	struct record_store *s = xcalloc(1, sizeof(*s));

	s->fd = accounting_dir ? open(accounting_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	s->spool_root = xstrdup(spool_root);
	s->cluster = xstrdup(cluster);
	return s;
}

static void user_free(struct user *u)
{
	if (u->fd >= 0)
		close(u->fd);
	for (size_t i = 0; i < u->nfiles; i++)
		free(u->files[i].name);
	free(u->files);
	free(u);
}

void record_store_free(struct record_store *s)
{
	struct user *u, *next_user;
	struct job *j, *next_job;

	if (!s)
		return;
	HASH_ITER (hh, s->users, u, next_user) {
		HASH_DEL(s->users, u);
		user_free(u);
	}
	HASH_ITER (hh, s->jobs, j, next_job) {
		HASH_DEL(s->jobs, j);
		record_job_release(&j->records);
		free(j);
	}
	if (s->fd >= 0)
		close(s->fd);
	free(s->spool_root);
	free(s->cluster);
	free(s);
}

/* "<id>[.<task>].<host>.jsonl" */
static bool parse_name(const char *name, struct file *f)
{
	size_t n = strlen(name), digits = strspn(name, "0123456789");
	const char *rest = name + digits + 1;

	if (digits == 0 || digits > 18 || name[digits] != '.' || n < 6 || strcmp(name + n - 6, ".jsonl"))
		return false;
	f->id = strtoull(name, NULL, 10);
	digits = strspn(rest, "0123456789");
	f->is_element = digits > 0 && rest[digits] == '.' && strcmp(rest + digits, ".jsonl");
	return true;
}

static int compare_files(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void list_files(struct user *u)
{
	int fd = dup(u->fd);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	size_t alloc = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)) && u->nfiles < MAX_FILES) {
		struct file f;

		if (!parse_name(e->d_name, &f))
			continue;
		if (u->nfiles == alloc) {
			alloc = alloc ? 2 * alloc : 64;
			u->files = xreallocarray(u->files, alloc, sizeof(*u->files));
		}
		f.name = xstrdup(e->d_name);
		u->files[u->nfiles++] = f;
	}
	closedir(d);
	if (u->nfiles)
		qsort(u->files, u->nfiles, sizeof(*u->files), compare_files);
}

/* Anybody can make a folder with another user's number: only that user's own counts. */
static int open_user_dir(const struct record_store *s, uid_t uid)
{
	char name[32];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%lu", (unsigned long)uid);
	fd = s->fd < 0 ? -1 : openat(s->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != uid)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct user *user_of(struct record_store *s, uid_t uid)
{
	struct user *u;

	HASH_FIND(hh, s->users, &uid, sizeof(uid), u);
	if (u)
		return u;
	u = xcalloc(1, sizeof(*u));
	u->uid = uid;
	u->fd = open_user_dir(s, uid);
	if (u->fd >= 0)
		list_files(u);
	HASH_ADD(hh, s->users, uid, sizeof(u->uid), u);
	return u;
}

/* Index of the first file of job id, or of the next one. */
static size_t first_file(const struct user *u, uint64_t id)
{
	size_t low = 0, high = u->nfiles;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (u->files[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void read_file(struct record_job *j, int dirfd, const char *name, uid_t owner)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	cleanup_fd int fd = path_open_ownedat(dirfd, name, owner, NULL);

	/* Past MAX_FILE the first part is still good. */
	if (fd < 0 || (fd_read_to_eof(fd, MAX_FILE, &text) < 0 && errno != EFBIG))
		return;
	for (const char *p = text.buf; *p;) {
		size_t n = strcspn(p, "\n");

		record_parse_line(j, p, n);
		p += n + (p[n] == '\n');
	}
}

static bool read_files(struct record_job *j, const struct user *u, enum record_detail detail)
{
	size_t first = first_file(u, j->id);
	bool any = false;

	for (size_t i = first; i < u->nfiles && u->files[i].id == j->id; i++) {
		any = true;
		if (detail == RECORD_ALL || !u->files[i].is_element)
			read_file(j, u->fd, u->files[i].name, u->uid);
	}
	/* A submit host whose name starts with a number looks like an element. */
	for (size_t i = first; any && !j->has_submit && i < u->nfiles && u->files[i].id == j->id; i++)
		if (detail == RECORD_SUBMIT && u->files[i].is_element)
			read_file(j, u->fd, u->files[i].name, u->uid);
	return any;
}

/* Where the site has no accounting folder: the job's own spool folder, which only its owner can read. */
static bool read_spool(const struct record_store *s, struct record_job *j)
{
	cleanup_spool struct spool spool = SPOOL_INIT;
	struct user u = { .uid = j->uid };
	bool any;

	if (!s->spool_root || !s->cluster || j->uid != geteuid() ||
	    spool_open_job(&spool, s->spool_root, s->cluster, j->id, NULL) < 0)
		return false;
	u.fd = spool.fd;
	list_files(&u);
	any = read_files(j, &u, RECORD_ALL);
	for (size_t i = 0; i < u.nfiles; i++)
		free(u.files[i].name);
	free(u.files);
	return any;
}

static void read_job(struct record_store *s, struct job *j)
{
	struct record_job fresh = { .id = j->key.id,
				    .uid = (uid_t)j->key.uid,
				    .nodes = RECORD_UNSET,
				    .ntasks = RECORD_UNSET,
				    .cpus_per_task = RECORD_UNSET,
				    .time_limit = RECORD_UNSET };

	record_job_release(&j->records);
	j->records = fresh;
	j->found = read_files(&j->records, user_of(s, (uid_t)j->key.uid), j->detail) ||
		   read_spool(s, &j->records);
	record_forget_earlier(&j->records);
}

const struct record_job *record_store_job(struct record_store *s, uid_t user, uint64_t id,
					  enum record_detail detail)
{
	struct job_key key = { .id = id, .uid = user };
	struct job *j;

	HASH_FIND(hh, s->jobs, &key, sizeof(key), j);
	if (!j) {
		j = xcalloc(1, sizeof(*j));
		j->key = key;
		j->detail = detail;
		read_job(s, j);
		HASH_ADD(hh, s->jobs, key, sizeof(j->key), j);
	} else if (j->detail < detail) {
		j->detail = detail;
		read_job(s, j);
	}
	return j->found ? &j->records : NULL;
}

static int compare_ids_down(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

/* The caller's jobs that have a spool folder: on a site without accounting folder there is nothing else. */
static void spool_ids(const struct record_store *s, uint64_t **ids, size_t *n)
{
	cleanup_free char *path = xasprintf("%s/%s/by-id", s->spool_root, s->cluster);
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t digits = strspn(e->d_name, "0123456789");

		if (digits == 0 || digits > 18 || e->d_name[digits])
			continue;
		*ids = xreallocarray(*ids, *n + 1, sizeof(**ids));
		(*ids)[(*n)++] = strtoull(e->d_name, NULL, 10);
	}
	if (d)
		closedir(d);
	if (*n)
		qsort(*ids, *n, sizeof(**ids), compare_ids_down);
	if (*n > RECORD_SCAN_MAX)
		*n = RECORD_SCAN_MAX;
}

void record_store_recent(struct record_store *s, uid_t user, time_t since, uint64_t **ids, size_t *n)
{
	struct user *u = user_of(s, user);
	size_t seen = 0;
	uint64_t last = 0;

	*ids = NULL;
	*n = 0;
	if (u->fd < 0 && s->spool_root && s->cluster && user == geteuid())
		spool_ids(s, ids, n);
	for (size_t i = u->nfiles; i-- > 0;) {
		const struct file *f = &u->files[i];
		struct stat st;

		if (f->id != last && ++seen > RECORD_SCAN_MAX)
			return;
		last = f->id;
		if ((*n && (*ids)[*n - 1] == f->id) ||
		    fstatat(u->fd, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtime < since)
			continue;
		*ids = xreallocarray(*ids, *n + 1, sizeof(**ids));
		(*ids)[(*n)++] = f->id;
	}
}

void record_store_users(struct record_store *s, uid_t **users, size_t *n)
{
	int fd = s->fd < 0 ? -1 : openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	*users = NULL;
	*n = 0;
	while (d && (e = readdir(d))) {
		size_t digits = strspn(e->d_name, "0123456789");

		if (digits == 0 || digits > 10 || e->d_name[digits])
			continue;
		*users = xreallocarray(*users, *n + 1, sizeof(**users));
		(*users)[(*n)++] = (uid_t)strtoul(e->d_name, NULL, 10);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	/* Without the site's folder there is only what we have ourselves. */
	if (!*n) {
		*users = xcalloc(1, sizeof(**users));
		(*users)[(*n)++] = geteuid();
	}
}

static bool has_files(struct record_store *s, uid_t user, uint64_t id)
{
	const struct user *u = user_of(s, user);
	size_t at = first_file(u, id);

	return at < u->nfiles && u->files[at].id == id;
}

/* The caller's own first: another user may put a file of any number into his folder. */
bool record_store_owner(struct record_store *s, uint64_t id, uid_t *owner)
{
	uid_t *users;
	size_t n;
	bool found;

	*owner = geteuid();
	if (has_files(s, *owner, id) || record_store_job(s, *owner, id, RECORD_SUBMIT))
		return true;
	record_store_users(s, &users, &n);
	found = false;
	for (size_t i = 0; i < n && !found; i++) {
		*owner = users[i];
		found = has_files(s, users[i], id);
	}
	free(users);
	return found;
}
