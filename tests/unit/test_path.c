/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fd.h"
#include "common/mem.h"
#include "common/path.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/test_path.XXXXXX";
static int root_fd = -1;

static void enter(void)
{
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(root_fd, 0);
}

static void leave(void)
{
	if (chdir("/") < 0 || path_remove_treeat(AT_FDCWD, root) < 0)
		cr_assert_fail("cannot remove %s", root);
}

TestSuite(path, .init = enter, .fini = leave);

Test(path, words)
{
	static const struct {
		const char *dir, *name, *joined;
	} rows[] = { { "/a", "b", "/a/b" }, { "/a/", "b", "/a/b" }, { "/a", "/b", "/b" }, { "", "b", "/b" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_free char *joined = path_join(rows[i].dir, rows[i].name);

		cr_expect_str_eq(joined, rows[i].joined);
	}
	cr_expect_str_eq(path_basename("/a/b"), "b");
	cr_expect_str_eq(path_basename("b"), "b");
	cr_expect_str_eq(path_basename("a/"), "");
}

Test(path, self)
{
	cleanup_free char *dir = path_self_dir(NULL);
	cleanup_free char *sibling = path_sibling("minder", NULL);
	cleanup_strbuf struct strbuf want = STRBUF_INIT;

	cr_assert_eq(dir[0], '/');
	strbuf_addf(&want, "%s/minder", dir);
	cr_expect_str_eq(sibling, want.buf);
}

/* $PWD counts only while it names this very folder: the user's name for it, symbolic links and all. */
Test(path, cwd)
{
	cleanup_free char *real = NULL, *linked = NULL, *wrong = NULL;
	cleanup_strbuf struct strbuf link = STRBUF_INIT;

	strbuf_addf(&link, "%s/link", root);
	cr_assert_eq(mkdir("dir", 0700), 0);
	cr_assert_eq(symlink("dir", "link"), 0);
	cr_assert_eq(chdir("dir"), 0);
	unsetenv("PWD");
	real = path_cwd(NULL);
	cr_expect_eq(strcmp(real + strlen(real) - 4, "/dir"), 0, "%s", real);
	setenv("PWD", link.buf, 1);
	linked = path_cwd(NULL);
	cr_expect_str_eq(linked, link.buf);
	setenv("PWD", "/", 1);
	wrong = path_cwd(NULL);
	cr_expect_str_eq(wrong, real);
}

Test(path, mkdirs)
{
	struct stat st;

	cr_expect_eq(path_mkdirs("a/b/c", 0750), 0);
	cr_expect_eq(path_mkdirs("a/b/c/", 0750), 0);
	cr_expect_eq(stat("a/b/c", &st), 0);
	cr_expect(S_ISDIR(st.st_mode));
	cr_expect_eq(path_mkdirs("", 0750), -1);
	cr_expect_eq(close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	cr_expect_eq(path_mkdirs("file/x", 0750), -1);
	cr_expect_eq(errno, ENOTDIR);
}

Test(path, a_private_folder_is_real_and_closed_to_others)
{
	struct error err = ERROR_INIT;
	struct stat st;
	int fd;

	umask(0);
	fd = path_open_private_dir("p", true, &err);
	cr_assert_geq(fd, 0, "%s", err.text);
	cr_expect_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0700);
	cr_expect_eq(path_open_private_dirat(root_fd, "none", false, &err), -1);
	cr_expect_eq(chmod("p", 0720), 0);
	cr_expect_eq(path_open_private_dir("p", true, &err), -1);
	cr_expect_str_eq(err.text, "p: writable by others (mode 0720); chmod go-w it");
	cr_expect_eq(chmod("p", 0700), 0);
	cr_expect_eq(symlink("p", "l"), 0);
	cr_expect_eq(path_open_private_dir("l", true, &err), -1);
	cr_expect_eq(mkfifo("fifo", 0600), 0);
	cr_expect_eq(path_open_private_dir("fifo", true, &err), -1);
}

Test(path, a_guarded_folder_is_ours_and_what_is_in_it_stays)
{
	static const struct {
		const char *name;
		mode_t mode;
		bool guarded;
	} rows[] = {
		{ "closed", 0700, true },     { "readable", 0755, true }, { "group", 0770, false },
		{ "open", 0777, false },      { "sticky", 01777, true },  { "link", 0, true },
		{ "link-to-open", 0, false }, { "file", 0, false },       { "nothing", 0, false },
	};

	for (size_t i = 0; i < 5; i++)
		cr_assert(mkdir(rows[i].name, 0700) == 0 && chmod(rows[i].name, rows[i].mode) == 0);
	cr_assert(symlink("closed", "link") == 0 && symlink("open", "link-to-open") == 0);
	close(open("file", O_CREAT | O_WRONLY, 0600));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(path_is_guarded(rows[i].name), rows[i].guarded, "%s", rows[i].name);
	if (geteuid() == 0) {
		cr_assert(lchown("link", 1234, 1234) == 0 && chown("readable", 1234, 1234) == 0);
		cr_expect_not(path_is_guarded("link"), "another user's link");
		cr_expect_not(path_is_guarded("readable"), "another user's folder");
	}
}

/* Where it was made, by what lies in the way: below TMPDIR, or elsewhere. */
static void open_job_dir(const char *tmpdir, bool below)
{
	struct error err = ERROR_INIT;
	cleanup_free char *path = NULL;
	struct stat st;
	bool made;
	int fd = path_open_job_dir(tmpdir, &path, &made, &err);

	cr_assert_geq(fd, 0, "%s", err.text);
	cr_expect_eq(made, !below);
	cr_expect_eq(!strncmp(path, "/tmp/slurm-on-ocs-", 18), !below, "%s", path);
	cr_assert(fstat(fd, &st) == 0 && st.st_uid == geteuid());
	cr_expect_eq(st.st_mode & 07777, 0700);
	close(fd);
	if (made)
		path_remove_treeat(AT_FDCWD, path);
}

Test(path, a_jobs_folder_is_where_nobody_laid_anything)
{
	cleanup_free char *tmp = path_join(root, "job");
	cleanup_free char *below = path_join(tmp, "slurm-on-ocs");

	open_job_dir(NULL, false);
	open_job_dir("relative", false);
	open_job_dir(tmp, false); /* there is no such folder */
	cr_assert_eq(mkdir(tmp, 0755), 0);
	open_job_dir(tmp, true);
	open_job_dir(tmp, true); /* a second run of the job on the host */
	cr_assert(rmdir(below) == 0 && symlink("/tmp", below) == 0);
	open_job_dir(tmp, false);
	cr_assert(unlink(below) == 0 && chmod(tmp, 0777) == 0);
	open_job_dir(tmp, false);
	cr_expect_eq(access(below, F_OK), -1);
}

Test(path, an_owned_file_is_no_link_and_no_fifo)
{
	struct error err = ERROR_INIT;
	int fd;

	cr_assert_eq(path_write_newat(root_fd, "f", 0600, "hi", 2, true, &err), 0);
	fd = path_open_ownedat(root_fd, "f", geteuid(), &err);
	cr_assert_geq(fd, 0);
	close(fd);
	cr_expect_eq(path_open_ownedat(root_fd, "f", geteuid() + 1, &err), -1);
	cr_expect_eq(err.code, ERR_PROTOCOL);
	cr_expect_eq(symlink("f", "l"), 0);
	cr_expect_eq(path_open_ownedat(root_fd, "l", geteuid(), &err), -1);
	cr_expect_eq(mkfifo("fifo", 0600), 0);
	cr_expect_eq(path_open_ownedat(root_fd, "fifo", geteuid(), &err), -1, "and it doesn't hang");
}

Test(path, a_new_file_never_replaces)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_INIT;

	cr_expect_eq(path_write_newat(root_fd, "f", 0600, "one", 3, false, &err), 0);
	cr_expect_eq(path_write_newat(root_fd, "f", 0600, "two", 3, false, &err), -1);
	cr_expect_str_eq(err.text, "cannot make f: File exists");
	cr_expect_eq(symlink("target", "l"), 0);
	cr_expect_eq(path_write_newat(root_fd, "l", 0600, "x", 1, false, &err), -1);
	cr_expect_eq(access("target", F_OK), -1);
	cr_expect_eq(fd_read_file(root_fd, "f", 10, &sb, &err), 0);
	cr_expect_str_eq(sb.buf, "one");
}

Test(path, remove_tree_follows_no_link)
{
	cr_assert_eq(path_mkdirs("t/u", 0700), 0);
	cr_assert_eq(path_mkdirs("keep", 0700), 0);
	cr_assert_eq(path_write_newat(root_fd, "keep/f", 0600, "", 0, false, NULL), 0);
	cr_assert_eq(path_write_newat(root_fd, "t/u/f", 0400, "", 0, false, NULL), 0);
	cr_assert_eq(symlink("../keep", "t/link"), 0);
	cr_expect_eq(path_remove_treeat(root_fd, "t"), 0);
	cr_expect_eq(access("t", F_OK), -1);
	cr_expect_eq(access("keep/f", F_OK), 0);
	cr_expect_eq(path_remove_treeat(root_fd, "t"), -1);
	cr_expect_eq(errno, ENOENT);
}
