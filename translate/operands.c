/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/operands.h"

#include <string.h>

int operands_parse(struct opt_run *run, int argc, char **argv, struct argvec *words, struct error *err)
{
	char *name = argv[0];

	while (argc > 1) {
		int first = 0;
		int rc = opt_parse_cli(run, argc, argv, false, &first, err);

		if (rc != 0)
			return rc;
		if (first > 1 && !strcmp(argv[first - 1], "--")) {
			for (; first < argc; first++)
				argvec_push(words, argv[first]);
			return 0;
		}
		if (first >= argc)
			return 0;
		argvec_push(words, argv[first]);
		/* What is behind the word is the next command line; getopt's messages begin with its first element. */
		argc -= first;
		argv += first;
		argv[0] = name;
	}
	return 0;
}
