/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/hostnames.h"

#include "common/fd.h"
#include "common/hostlist.h"
#include "common/log.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

#define FILE_MAX (64u << 20) /* of a file of names */

enum entity { NONE, HOSTNAMES, HOSTLIST, HOSTLISTSORTED };

/* Is word an abbreviation, of at least min letters, of full? Any case. */
static bool abbreviates(const char *word, const char *full, size_t min)
{
	size_t n = strlen(word);

	return n >= min && n <= strlen(full) && !strncasecmp(word, full, n);
}

static enum entity entity_of(const char *word)
{
	if (abbreviates(word, "hostnames", 5))
		return HOSTNAMES;
	if (abbreviates(word, "hostlist", 5))
		return HOSTLIST;
	if (abbreviates(word, "hostlistsorted", 9))
		return HOSTLISTSORTED;
	return NONE;
}

/*
 * Writes it all. A reader who has seen enough (| head -n1) is no error: nothing is said, the code stays, and SIGPIPE
 * doesn't end a script that runs under pipefail.
 */
static int print(const struct strbuf *out)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
	if (fd_write_all(STDOUT_FILENO, out->buf, out->len) == 0 || errno == EPIPE)
		return 0;
	log_error("write: %s", strerror(errno));
	return 1;
}

/* The two lines that Slurm has for a list that it can't read; log lines are cut, this one isn't. */
static void complain(const char *text, const struct error *err)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (err->text[0])
		log_error("_parse_single_range: %s", err->text);
	strbuf_addf(&line, "Invalid hostlist: %s\n", text);
	if (fd_write_all(STDERR_FILENO, line.buf, line.len) < 0)
		return;
}

/* A bad list is not a failure here: Slurm exits 0 with an empty stdout. */
static int show_hostnames(const char *text)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct error err = ERROR_INIT;

	if (!text)
		text = getenv("SLURM_NODELIST"); /* not SLURM_JOB_NODELIST: 22.05 doesn't read it */
	if (!text) {
		log_error("host list is empty");
		return 0;
	}
	if (hostlist_parse(&hl, text, &err) < 0) {
		complain(text, &err);
		return 0;
	}
	for (size_t i = 0; i < hl.names.n; i++) {
		strbuf_addstr(&out, hl.names.v[i]);
		strbuf_addch(&out, '\n');
	}
	return print(&out);
}

static int show_hostlist(const char *text, bool sorted)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;
	cleanup_strbuf struct strbuf content = STRBUF_INIT;
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	cleanup_free char *ranged = NULL;
	struct error err = ERROR_INIT;

	if (text[0] == '/') {
		if (fd_read_file(AT_FDCWD, text, FILE_MAX, &content, NULL) < 0) {
			log_bare("Can not open %s", text);
			return 1;
		}
		text = content.buf;
	}
	if (hostlist_parse(&hl, text, &err) < 0) {
		complain(text, &err);
		return 1;
	}
	if (sorted)
		hostlist_sort(&hl);
	ranged = hostlist_ranged(&hl);
	strbuf_addstr(&out, ranged);
	strbuf_addch(&out, '\n');
	return print(&out);
}

bool hostnames_show(int argc, char *const *argv, void (*usage)(void), int *exit_code)
{
	enum entity entity = argc >= 2 && abbreviates(argv[0], "show", 3) ? entity_of(argv[1]) : NONE;

	if (entity == NONE)
		return false;
	*exit_code = 1;
	if (argc > 3) {
		log_bare("too many arguments for keyword:%s", argv[0]);
	} else if (entity == HOSTNAMES) {
		*exit_code = show_hostnames(argc > 2 ? argv[2] : NULL);
	} else if (argc == 2) {
		usage();
		log_bare("invalid encode argument");
	} else {
		*exit_code = show_hostlist(argv[2], entity == HOSTLISTSORTED);
	}
	return true;
}
