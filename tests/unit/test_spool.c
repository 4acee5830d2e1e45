/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/spool.h"

#include "common/mem.h"
#include "common/path.h"
#include "common/strbuf.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HOUR 3600

static char root[64];

static void start(void)
{
	strcpy(root, "/tmp/soc-spool-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
}

static void finish(void)
{
	path_remove_treeat(AT_FDCWD, root);
}

TestSuite(spool, .init = start, .fini = finish);

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void age(const char *path, int seconds)
{
	struct timespec times[2] = { { time(NULL) - seconds, 0 }, { time(NULL) - seconds, 0 } };

	cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

Test(spool, create_link_open_remove)
{
	cleanup_spool struct spool a = SPOOL_INIT, b = SPOOL_INIT, c = SPOOL_INIT;
	cleanup_free char *link = xasprintf("%s/new/cl/by-id/42", root), *below = xasprintf("%s/new", root);
	struct error err = ERROR_INIT;
	struct stat st;

	cr_assert_eq(spool_create(&a, below, "cl", &err), 0, "%s", err.text);
	cr_expect_eq(strlen(a.uuid), 36);
	cr_assert_eq(stat(a.dir, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0700);
	cr_assert_eq(spool_link_job(&a, 42, &err), 0, "%s", err.text);
	cr_expect_eq(spool_link_job(&a, 42, &err), 0, "twice is no error: %s", err.text);
	cr_assert_eq(spool_open_job(&b, below, "cl", 42, &err), 0, "%s", err.text);
	cr_expect_str_eq(b.uuid, a.uuid);
	cr_expect_str_eq(b.dir, a.dir);
	cr_assert_eq(spool_open(&c, a.dir, &err), 0, "%s", err.text);
	cr_expect_eq(spool_remove(&b, &err), 0, "%s", err.text);
	cr_expect_not(exists(a.dir));
	cr_expect_not(exists(link));
}

static int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	cr_assert_not_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* umask 0777: the owner himself may not enter what he makes; root always may, so not as root. */
Test(spool, a_folder_that_cannot_be_entered_is_not_left)
{
	cleanup_free char *cluster = xasprintf("%s/lab", root);
	struct spool s;
	int before;

	if (geteuid() == 0) {
		cr_assert_eq(chown(root, 65534, (gid_t)-1), 0);
		cr_assert_eq(seteuid(65534), 0);
	}
	cr_assert_eq(spool_create(&s, root, "lab", NULL), 0);
	spool_release(&s);
	before = entries(cluster);
	umask(0777);
	cr_expect_eq(spool_create(&s, root, "lab", NULL), -1);
	umask(022);
	cr_expect_eq(entries(cluster), before);
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
}

Test(spool, an_old_jobs_link_gives_way)
{
	cleanup_spool struct spool a = SPOOL_INIT, b = SPOOL_INIT, c = SPOOL_INIT;
	struct error err = ERROR_INIT;

	cr_assert_eq(spool_create(&a, root, "cl", &err), 0, "%s", err.text);
	cr_assert_eq(spool_create(&b, root, "cl", &err), 0, "%s", err.text);
	cr_expect_str_neq(a.uuid, b.uuid);
	cr_assert_eq(spool_link_job(&a, 1, &err), 0);
	cr_assert_eq(spool_link_job(&b, 1, &err), 0);
	cr_assert_eq(spool_open_job(&c, root, "cl", 1, &err), 0, "%s", err.text);
	cr_expect_str_eq(c.uuid, b.uuid);
}

Test(spool, what_is_refused)
{
	static const char *const names[] = { "", ".", "..", "a/b", "/x" };
	cleanup_free char *shared = xasprintf("%s/shared", root);
	struct spool s;
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		cr_expect_eq(spool_create(&s, root, names[i], &err), -1, "\"%s\"", names[i]);
	cr_assert_eq(mkdir(shared, 0777), 0);
	cr_assert_eq(chmod(shared, 0777), 0);
	cr_expect_eq(spool_create(&s, shared, "cl", &err), -1, "a folder that others may write in");
	cr_expect_eq(spool_open(&s, root, &err), -1, "no uuid");
	cr_expect_eq(spool_open(&s, "relative", &err), -1);
	cr_expect_eq(spool_open_job(&s, root, "nosuch", 1, &err), -1);
}

Test(spool, a_link_to_elsewhere_is_not_followed)
{
	cleanup_spool struct spool a = SPOOL_INIT;
	cleanup_free char *link = xasprintf("%s/cl/by-id/7", root);
	struct spool s;
	struct error err = ERROR_INIT;

	cr_assert_eq(spool_create(&a, root, "cl", &err), 0);
	cr_assert_eq(spool_link_job(&a, 1, &err), 0);
	cr_assert_eq(symlink("../../../etc", link), 0);
	cr_expect_eq(spool_open_job(&s, root, "cl", 7, &err), -1);
}

/* --- sweeping --- */

struct engine {
	uint64_t known;
	bool knows_unlinked;
	int asked;
};

static bool is_known(uint64_t job_id, void *arg)
{
	struct engine *e = arg;

	e->asked++;
	return job_id ? job_id == e->known : e->knows_unlinked;
}

/* A folder with one file, all of it as old as said; id 0: not linked. */
static char *make_job(uint64_t id, int seconds)
{
	cleanup_spool struct spool s = SPOOL_INIT;
	cleanup_free char *file = NULL;
	struct error err = ERROR_INIT;

	cr_assert_eq(spool_create(&s, root, "cl", &err), 0, "%s", err.text);
	cr_assert_eq(path_write_newat(s.fd, "job", 0600, "x", 1, false, &err), 0);
	if (id)
		cr_assert_eq(spool_link_job(&s, id, &err), 0);
	file = xasprintf("%s/job", s.dir);
	age(file, seconds);
	age(s.dir, seconds);
	return xstrdup(s.dir);
}

Test(spool, sweep_takes_what_nobody_needs)
{
	struct engine e = { .known = 2 };
	cleanup_free char *over = make_job(1, 30 * HOUR), *running = make_job(2, 30 * HOUR);
	cleanup_free char *young = make_job(3, HOUR), *orphan = make_job(0, 30 * HOUR),
			  *fresh = make_job(0, 0);
	cleanup_free char *link = xasprintf("%s/cl/by-id/1", root), *kept = xasprintf("%s/cl/by-id/2", root);

	spool_sweep(root, "cl", HOUR, 24 * HOUR, is_known, &e);
	cr_expect_not(exists(over));
	cr_expect_not(exists(link));
	cr_expect_not(exists(orphan));
	cr_expect(exists(running));
	cr_expect(exists(kept));
	cr_expect(exists(young));
	cr_expect(exists(fresh));
}

Test(spool, sweep_comes_once_an_hour)
{
	struct engine e = { .known = 0 };
	cleanup_free char *first = make_job(1, 30 * HOUR), *second = NULL,
			  *stamp = xasprintf("%s/cl/swept", root);

	spool_sweep(root, "cl", HOUR, 24 * HOUR, is_known, &e);
	cr_expect_not(exists(first));
	second = make_job(1, 30 * HOUR);
	spool_sweep(root, "cl", HOUR, 24 * HOUR, is_known, &e);
	cr_expect(exists(second));
	age(stamp, 2 * HOUR);
	spool_sweep(root, "cl", HOUR, 24 * HOUR, is_known, &e);
	cr_expect_not(exists(second));
}

Test(spool, sweep_asks_nobody_about_young_folders)
{
	struct engine e = { .known = 0 };
	cleanup_free char *young = make_job(1, HOUR), *other = make_job(0, HOUR);

	spool_sweep(root, "cl", HOUR, 24 * HOUR, is_known, &e);
	cr_expect_eq(e.asked, 0);
	cr_expect(exists(young));
	cr_expect(exists(other));
}

Test(spool, sweep_leaves_orphans_that_may_be_a_job)
{
	struct engine e = { .knows_unlinked = true };
	cleanup_free char *orphan = make_job(0, 30 * HOUR);

	spool_sweep(root, "cl", HOUR, 24 * HOUR, is_known, &e);
	cr_expect(exists(orphan));
}

Test(spool, sweep_keeps_to_its_cluster)
{
	struct engine e = { .known = 0 };
	cleanup_spool struct spool other = SPOOL_INIT;
	cleanup_free char *mine = make_job(1, 30 * HOUR);
	struct error err = ERROR_INIT;

	cr_assert_eq(spool_create(&other, root, "other", &err), 0);
	age(other.dir, 30 * HOUR);
	spool_sweep(root, "cl", HOUR, 24 * HOUR, is_known, &e);
	cr_expect_not(exists(mine));
	cr_expect(exists(other.dir));
}
