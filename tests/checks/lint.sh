#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [CHECK...]: what needs no judgement in a review. All checks run; the last line names those that failed.
#   LINT_SINCE=REV: clang-format and clang-tidy only look at files changed since REV
set -u
cd "${BASH_SOURCE[0]%/*}/../.." || exit 1
CHECKS=(format shell spelling rules build tidy cppcheck)
CODE=(common conf ocs translate launcher preload docs)
JOBS=$(nproc)

# files PATTERN...: tracked and new files, not those removed
files() {
	git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

changed() {
	if [ -n "${LINT_SINCE:-}" ]; then
		comm -12 <(files "$@") <(git diff --name-only "$LINT_SINCE" -- | sort)
	else
		files "$@"
	fi
}

check_format() {
	changed '*.c' '*.h' | xargs -r clang-format --dry-run -Werror 2>&1 |
		sed -n 's/^\([^ ]*\): error: code should be clang-formatted.*/\1: run make format/p' |
		sort -t: -k1,1 -u | awk '{ print; bad = 1 } END { exit bad }'
}

shell_files() {
	files '*.sh'
	files . | while read -r file; do
		case $file in *.sh | *.c | *.h | *.py | tests/fuzz/corpus/* | tests/golden/*/*) continue ;; esac
		head -c 64 "$file" 2>/dev/null | tr -d '\0' | grep -qE '^#!/bin/(ba|da)?sh' && echo "$file"
	done
}

check_shell() {
	shell_files | grep -v '\.csh$' | sort -u | xargs shellcheck -x
}

check_spelling() {
	files '*.c' '*.h' '*.def' '*.md' '*.scd' '*.sh' '*.mk' '*.py' Makefile |
		xargs codespell --ignore-words=tests/checks/codespell.words
}

check_rules() {
	"${PYTHON:-/usr/bin/python3}" -B -m pytest -q -p no:cacheprovider --rootdir=. -c tests/pytest.ini \
		tests/contract/test_layers.py tests/contract/test_headers.py
}

check_build() {
	local compiler failed=0
	for compiler in gcc clang; do
		make --no-print-directory -k -s -j "$JOBS" BUILD="build/lint-$compiler" CC="$compiler" WERROR=1 \
			all test-programs || failed=1
	done
	return $failed
}

# tidy FILE: one a process (clang-tidy 14 mixes up va_lists of several files): clang-tidy, without its remarks on how many warnings of system headers it left out
tidy() {
	clang-tidy --quiet "$@" -- -std=gnu11 -I. -D_GNU_SOURCE -DVERSION='"0"' -DLIBEXECDIR='"/l"' -DSYSCONFDIR='"/etc"' \
		2> >(grep -v 'warnings generated' >&2)
}

check_tidy() {
	export -f tidy
	changed "${CODE[@]/%//*.c}" | xargs -r -P "$JOBS" -n 1 bash -c 'tidy "$@"' tidy
}

check_cppcheck() {
	cppcheck -q -j "$JOBS" --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 -I. -D_GNU_SOURCE \
		-D'ElfW(x)=Elf64_##x' --suppress=missingInclude --suppressions-list=tests/checks/cppcheck.suppress \
		"${CODE[@]}" 2>&1
}

failed=()
for check in "${@:-${CHECKS[@]}}"; do
	echo "--- $check"
	"check_$check" || failed+=("$check")
done
if ((${#failed[@]})); then
	echo "lint: failed: ${failed[*]}"
	exit 1
fi
echo "lint: all passed"
