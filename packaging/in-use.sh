#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# in-use: exit code 0, with the names, while queues of the engine start their jobs through the starter beside this file;
# without it those jobs couldn't start. 1 when none does, or, with a word about it, when the engine can't be asked.
set -u
here=$(cd "${0%/*}" && pwd -P)

command -v qconf >/dev/null 2>&1 || exit 1
queues=$(qconf -sql 2>/dev/null) || {
	echo "the engine doesn't answer: whether a queue uses $here is not known" >&2
	exit 1
}

# is_ours WORD: our starter, or a script of the installer's that calls it
is_ours() {
	case $1 in
	"$here"/*) return 0 ;;
	/*) grep -qsF "$here/" "$1" ;;
	*) return 1 ;;
	esac
}

used=
for queue in $queues; do
	# lines that end in a backslash go on; "NONE,[host=/path]" has values for single hosts
	words=$(qconf -sq "$queue" 2>/dev/null | sed -e ':a' -e '/\\$/N; s/\\\n//; ta' |
		sed -n 's/^starter_method *//p' | tr ',=[]' '    ')
	for word in $words; do
		if is_ours "$word"; then
			used="$used $queue"
			break
		fi
	done
done
[ -n "$used" ] || exit 1
echo "used by the starter_method of:$used"
