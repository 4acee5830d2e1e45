/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which command is this? By the file that was executed (AT_EXECFN: argv[0] is the caller's to choose, and preload's
 * callers leave it as it was), then by argv[0]; "translate NAME args..." works too.
 */
#include "common/log.h"
#include "common/path.h"
#include "translate/applet.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

/* A program started with a standard stream closed would write into whatever it opens first. */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Exit code after the answer was flushed: a full disk is an error, a reader that went away is not worth a line. */
static int finish_stdout(int code)
{
	int error;

	applet_flush();
	error = applet_flush_error();
	if (fclose(stdout) != 0 && !error)
		error = errno;
	/* EBADF: it was closed by the caller, who wants no answer. */
	if (!error || error == EBADF)
		return code;
	if (error != EPIPE)
		log_error("write error: %s", strerror(error));
	return code ? code : 1;
}

static int run(const struct applet *applet, int argc, char **argv)
{
	log_open(applet->name, LOG_NORMAL);
	return finish_stdout(applet->run(argc, argv));
}

static int list_rows(int argc, char **argv)
{
	const struct applet *a;

	for (size_t i = 0; (a = applet_at(i)); i++)
		if (a->options && (argc < 3 || !strcmp(argv[2], a->name)))
			opt_print_rows(a->options, stdout);
	return finish_stdout(0);
}

int main(int argc, char **argv)
{
	const char *execfn = (const char *)getauxval(AT_EXECFN);
	const struct applet *applet = NULL;

	fill_standard_streams();
	if (execfn)
		applet = applet_find(path_basename(execfn));
	if (!applet && argc > 0)
		applet = applet_find(path_basename(argv[0]));
	if (applet)
		return run(applet, argc, argv);
	log_open("translate", LOG_NORMAL);
	if (argc >= 2 && !strcmp(argv[1], "--rows"))
		return list_rows(argc, argv);
	if (argc >= 2 && (applet = applet_find(argv[1])))
		return run(applet, argc - 1, argv + 1);
	if (argc >= 2)
		log_error("%s: no such command", argv[1]);
	else
		log_error("call it by the name of a command, or as: translate COMMAND [ARGUMENT...]");
	return 1;
}
