/* SPDX-License-Identifier: Apache-2.0 */
/* print_conf sample|manual: what conf/keys.c says about every key, as slurm-on-ocs.conf or as scdoc. Build
 * time only. */
#include "conf/conf.h"

#include <string.h>

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";
	cleanup_free char *text = NULL;

	if (!strcmp(what, "sample"))
		text = conf_sample();
	else if (!strcmp(what, "manual"))
		text = conf_manual();
	if (!text) {
		fputs("usage: print_conf sample|manual\n", stderr);
		return 1;
	}
	fputs(text, stdout);
	return fclose(stdout) ? 1 : 0;
}
