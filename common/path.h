/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, and files under a user's folder opened so that another user can't redirect them. */
#ifndef SOC_COMMON_PATH_H
#define SOC_COMMON_PATH_H

#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* The part after the last '/', borrowed. */
const char *path_basename(const char *path);
/* dir + "/" + name, or name alone where it is absolute. Caller frees. */
char *path_join(const char *dir, const char *name);
/* Folder of the running program (/proc/self/exe), so that an installation can stand anywhere. Caller frees. */
char *path_self_dir(struct error *err);
/* "<folder of the running program>/<name>". Caller frees. NULL with err. */
char *path_sibling(const char *name, struct error *err);
/* getcwd of any length; $PWD where it names the same folder (as Slurm reports it). Caller frees; NULL with err. */
char *path_cwd(struct error *err);
/* mkdir -p with mode for what is made. 0 or -1 with errno. */
int path_mkdirs(const char *path, mode_t mode);
/*
 * Opens (making it if need be, mode 0700) a folder that must be a real folder, owned by this user, writable by
 * nobody else. Returns a descriptor (O_PATH not used: *at calls and fsync work), or -1 with err.
 */
int path_open_private_dir(const char *path, bool make, struct error *err);
/* The same below a folder already open. */
int path_open_private_dirat(int dirfd, const char *name, bool make, struct error *err);
/* Is dir this user's or root's, and can nobody else rename or remove what this user makes in it? */
bool path_is_guarded(const char *dir);
/*
 * Opens a job's private folder, "slurm-on-ocs" in tmpdir ($TMPDIR; may be NULL). Its number can be guessed: where another
 * user has laid something in the way there, it is a folder of a random name in /tmp, and *made says to remove it.
 * *path is the caller's.
 */
int path_open_job_dir(const char *tmpdir, char **path, bool *made, struct error *err);
/* Opens a regular file below dirfd that owner owns (O_NOFOLLOW, no FIFO, no device); -1 with err. */
int path_open_ownedat(int dirfd, const char *name, uid_t owner, struct error *err);
/* Writes a new file (O_EXCL|O_NOFOLLOW, mode) below dirfd whole, fsync'ed if sync; on failure it is gone again. */
int path_write_newat(int dirfd, const char *name, mode_t mode, const void *data, size_t n, bool sync,
		     struct error *err);
/* Removes name below dirfd and, for a folder, all in it (never follows links). 0 or -1 with errno. */
int path_remove_treeat(int dirfd, const char *name);

#endif
