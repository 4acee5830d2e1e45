#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deps.sh [GROUP]...: installs the Debian packages that are needed: build, test, lint, package
# (the files in packaging/deps); these four without an argument. "clients": of make check-clients.
# Does nothing, and needs no root, when all are there.
set -euo pipefail
lists=$(cd "${BASH_SOURCE[0]%/*}/deps" && pwd)
policy=/usr/sbin/policy-rc.d

die() {
	printf 'deps.sh: %s\n' "$*" >&2
	exit 1
}

# wanted_packages GROUP...
wanted_packages() {
	local group
	for group in "$@"; do
		[ -f "$lists/$group" ] || die "no group \"$group\"; there are: $(ls -C "$lists")"
		sed 's/#.*//' "$lists/$group"
	done | awk 'NF' | sort -u
}

# missing_packages PACKAGE...
missing_packages() {
	{
		# unknown packages make it fail, and are just what we look for
		dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || :
		printf 'wanted %s\n' "$@"
	} | awk '$1 == "installed" { have[$2] = 1 } $1 == "wanted" && !($2 in have) { print $2 }'
}

# forbid_daemons: a package that brings a daemon (the engine's do) must not start it here. One
# run at a time, or the first to end would take the others' policy away.
forbid_daemons() {
	exec {lock}<"$lists"
	flock "$lock"
	[ ! -e $policy ] || return 0
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
}

install_packages() {
	local apt=(apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
	export DEBIAN_FRONTEND=noninteractive
	forbid_daemons
	# an old list may be good enough, the installation tells
	"${apt[@]}" update || printf 'deps.sh: package lists not updated\n' >&2
	"${apt[@]}" install -y --no-install-recommends "$@" >/dev/null
}

main() {
	local names wanted missing
	command -v dpkg-query >/dev/null || die "not a Debian system; install what the files in $lists name"
	[ $# -gt 0 ] || set -- build test lint package
	names=$(wanted_packages "$@")
	mapfile -t wanted <<<"$names"
	mapfile -t missing < <(missing_packages "${wanted[@]}")
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] || die "run as root, to install: ${missing[*]}"
	install_packages "${missing[@]}"
	mapfile -t missing < <(missing_packages "${wanted[@]}")
	[ ${#missing[@]} = 0 ] || die "not installed: ${missing[*]}"
}

main "$@"
