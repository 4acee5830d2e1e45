/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/rank.h"

#include "common/mem.h"
#include "common/path.h"
#include "launcher/proto.h"
#include "launcher/stepenv.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

char *rank_resolve(const char *name, const struct env *env)
{
	const char *path = env_get(env, "PATH");
	cleanup_free char *dirs = NULL;
	char *save = NULL;

	if (name[0] == '/')
		return xstrdup(name);
	if (name[0] == '.') {
		cleanup_free char *cwd = getcwd(NULL, 0);

		return cwd ? path_join(cwd, name) : xstrdup(name);
	}
	dirs = xstrdup(path && *name ? path : "");
	for (char *d = strtok_r(dirs, ":", &save); d; d = strtok_r(NULL, ":", &save)) {
		cleanup_free char *full = path_join(d, name);
		struct stat st;

		if (stat(full, &st) == 0 && !S_ISDIR(st.st_mode))
			return steal_ptr(&full);
	}
	return xstrdup(name);
}

static void set_limits(const uint64_t *limits)
{
	for (int i = 0; i < HOSTSPEC_LIMITS; i++) {
		struct rlimit rl;
		rlim_t want = limits[i] == UINT64_MAX ? RLIM_INFINITY : (rlim_t)limits[i];

		if (getrlimit(i, &rl) < 0)
			continue;
		rl.rlim_cur = rl.rlim_max != RLIM_INFINITY && (want == RLIM_INFINITY || want > rl.rlim_max)
				      ? rl.rlim_max
				      : want;
		setrlimit(i, &rl);
	}
}

static void default_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &dfl, NULL);
}

static int place_fds(const int fds[3])
{
	int high[3];

	/* first out of the way of 0..2, so that none is overwritten before it is used */
	for (int i = 0; i < 3; i++) {
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(high[i], i) < 0)
			return -1;
	return 0;
}

static void NORETURN run_child(const struct rank_start *r, int status_fd)
{
	int code;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	default_signals();
	umask(r->umask);
	if (place_fds(r->fds) == 0) {
		set_limits(r->limits);
		stepenv_set_pid(r->envp, (int)getpid());
		sigprocmask(SIG_SETMASK, r->mask, NULL);
		execve(r->path, r->argv, r->envp);
	}
	code = errno;
	if (write(status_fd, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(code & 0xff);
}

pid_t rank_spawn(const struct rank_start *r, int *status_fd, struct error *err)
{
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) < 0)
		return error_errno(err, "pipe");
	pid = fork();
	if (pid == 0)
		run_child(r, p[1]);
	close(p[1]);
	if (pid < 0) {
		close(p[0]);
		return error_errno(err, "fork");
	}
	/* the child does it too: whoever is first, a signal to the group finds it */
	setpgid(pid, pid);
	*status_fd = p[0];
	return pid;
}
