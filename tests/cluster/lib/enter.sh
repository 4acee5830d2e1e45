# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Entering a host. Sourced by `on` and `up`, kept small because each `on` pays for it.

CLUSTER=${CLUSTER:-soc}
CLUSTERS=/opt/slurm-on-ocs-cluster
STATE=$CLUSTERS/$CLUSTER

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# load_environment: sets ENGINE_ENV, STOCK_PATH and SITE_PATH as `up` wrote them
load_environment() {
	[ -r "$STATE/environment" ] || die "cluster $CLUSTER is not up"
	# shellcheck source=/dev/null
	. "$STATE/environment"
}

# host_pid HOST: sets pid to the machine's id of HOST's PID 1; fails when that process is gone,
# also if its id has been given to another one since (the start time tells).
host_pid() {
	local start fields
	read -r pid start 2>/dev/null <"$STATE/pid/$1" || return 1
	read -ra fields 2>/dev/null <"/proc/$pid/stat" || return 1
	[ "${fields[21]}" = "$start" ]
}

# find_user USER: sets uid, gid and home from the cluster's own passwd file
find_user() {
	local name
	while IFS=: read -r name _ uid gid _ home _; do
		[ "$name" != "$1" ] || return 0
	done <"$STATE/etc/passwd"
	return 1
}

# enter USER HOST PATH COMMAND...: becomes COMMAND there. Clean environment, default signal
# actions, the caller's directory where it exists there (else HOME), the caller's descriptors.
# nsenter forks (a PID namespace holds for children only); the child dies with it.
enter() {
	local user=$1 host=$2 path=$3 pid uid gid home
	shift 3
	host_pid "$host" || die "cluster $CLUSTER has no running host $host"
	find_user "$user" || die "cluster $CLUSTER has no user $user"
	# shellcheck disable=SC2016  # expanded by the inner shell
	exec nsenter -t "$pid" -n -u -m -p -- \
		setpriv --pdeathsig TERM --reuid="$uid" --regid="$gid" --init-groups \
		env -i --default-signal HOME="$home" USER="$user" LOGNAME="$user" SHELL=/bin/bash \
		TERM="${TERM:-dumb}" LANG=C.UTF-8 PATH="$path" "${ENGINE_ENV[@]}" \
		sh -c 'cd "$1" 2>/dev/null || cd; shift; exec "$@"' sh "$PWD" "$@"
}
