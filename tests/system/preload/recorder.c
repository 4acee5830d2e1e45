/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in the test's libexec folder for each command of ours; static, so it runs in every chroot. Prints
 * the path that was executed, its arguments and the environment, a line each. `recorder exit N` exits N and
 * prints nothing; `recorder again PATH` execs PATH, as a translator does that wants the real command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "again")) {
		execl(argv[2], argv[2], (char *)NULL);
		printf("again errno=%d\n", errno);
		return 0;
	}
	printf("ran %s\n", (const char *)getauxval(AT_EXECFN));
	for (int i = 0; i < argc; i++)
		printf("arg %s\n", argv[i]);
	for (char **e = environ; *e; e++)
		printf("env %s\n", *e);
	return 0;
}
