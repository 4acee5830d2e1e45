/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srun: a step in the job that it is called in. It parses, and hands everything else to `shim-launch step`, of which
 * this process becomes the image: no child, no configuration, no question to anybody on the way.
 */
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "translate/applet.h"
#include "translate/step.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

extern char **environ;

/* A variable of the job; NULL where it is missing or empty. */
static const char *variable(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

/* The job must be the one that we are in: its supervisor is the only one that starts steps for us. */
static int check_job(const struct srun *s, struct error *err)
{
	const char *own = variable("SLURM_JOB_ID");

	if (!own)
		return error_set(
			err, ERR_VALUE,
			"not inside a job (SLURM_JOB_ID is not set), and there are no allocations without one "
			"here: submit a script that calls srun with sbatch");
	if (s->job_id && strcmp(s->job_id, own))
		return error_set(err, ERR_VALUE,
				 "--jobid=%s: this is job %s, and srun starts steps of its own job only",
				 s->job_id, own);
	return 0;
}

/* "a : b" starts two programs as one step in Slurm; it mustn't become an argument of a. */
static int check_words(char *const *words, struct error *err)
{
	for (; *words; words++)
		if (!strcmp(*words, ":"))
			return error_set(
				err, ERR_VALUE,
				"\":\" separates the parts of a heterogeneous step, which don't exist here: "
				"start one srun for each part");
	return 0;
}

static int fill_spec(struct srun *s, char *const *words, struct error *err)
{
	mode_t mask = umask(0);

	umask(mask);
	s->spec.umask = mask;
	s->spec.propagate_umask = true;
	s->spec.cwd = path_cwd(NULL);
	if (!s->spec.cwd)
		return error_set(err, ERR_USAGE, "getcwd failed: %s", strerror(errno));
	for (; *words; words++)
		argvec_push(&s->spec.argv, *words);
	srun_environment(s->export_spec, environ, &s->spec.env);
	return 0;
}

/* The request on a descriptor that nobody can change any more; it stays open over the exec. */
static int write_spec(const struct stepspec *spec, struct error *err)
{
	cleanup_strbuf struct strbuf data = STRBUF_INIT;
	cleanup_fd int fd = memfd_create("step", MFD_ALLOW_SEALING);

	stepspec_pack(spec, &data);
	if (fd < 0 || fd_write_all(fd, data.buf, data.len) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return error_errno(err, "cannot write the step's request");
	return steal_fd(&fd);
}

static int become_launcher(const struct stepspec *spec, struct error *err)
{
	cleanup_free char *program = path_sibling("shim-launch", err);
	char number[16];
	char *argv[] = { program, (char *)"step", number, NULL };
	int fd;

	if (!program)
		return -1;
	fd = write_spec(spec, err);
	if (fd < 0)
		return -1;
	snprintf(number, sizeof(number), "%d", fd);
	fflush(stdout);
	execve(program, argv, environ);
	error_errno(err, "cannot run %s", program);
	close(fd);
	return -1;
}

/* 0, OPT_DONE, or -1; words is the command. */
static int parse(struct srun *s, struct opt_run *run, int argc, char **argv, char ***words, struct error *err)
{
	int first = argc;
	int rc = opt_parse_env(run, environ, err);

	if (rc == 0)
		rc = opt_parse_cli(run, argc, argv, false, &first, err);
	if (rc != 0)
		return rc;
	*words = argv + first;
	if (s->mpi && !strcmp(s->mpi, "list")) {
		srun_list_mpi();
		return OPT_DONE;
	}
	return srun_settle(s, err);
}

static int start_step(struct srun *s, char *const *words, struct error *err)
{
	log_set_level(s->spec.verbosity);
	if (s->begin)
		log_error("--begin is ignored because nodes are already allocated.");
	if (check_words(words, err) < 0 || check_job(s, err) < 0 || fill_spec(s, words, err) < 0)
		return -1;
	return become_launcher(&s->spec, err);
}

static int run_srun(int argc, char **argv)
{
	struct srun s;
	struct opt_run run;
	struct error err = ERROR_INIT;
	char **words = NULL;
	int rc;

	srun_init(&s, environ);
	opt_run_init(&run, &srun_tool, &s, NULL);
	rc = parse(&s, &run, argc, argv, &words, &err);
	if (rc == 0 && !*words) {
		log_fatal("No command given to execute.");
		rc = 1;
	} else if (rc == 0) {
		start_step(&s, words, &err);
		rc = opt_fail(&run, &err);
	} else {
		rc = rc == OPT_DONE ? 0 : opt_fail(&run, &err);
	}
	opt_run_release(&run);
	srun_release(&s);
	return rc;
}

const struct applet srun_applet = { "srun", run_srun, &srun_tool };
