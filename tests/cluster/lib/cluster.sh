# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What `up`, `down` and `refresh` share: settings, locking, waiting.
# shellcheck disable=SC2034  # the settings are used by those

# shellcheck source=tests/cluster/lib/enter.sh
. "${BASH_SOURCE[0]%/*}/enter.sh"

CLUSTER_DIR=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
REPO=$(cd "$CLUSTER_DIR/../.." && pwd)
SLOTS=${SLOTS:-4}
GPUS=${GPUS:-4}
ADDGRP_KILL=${ADDGRP_KILL:-0}
ENGINE_ROOT=${ENGINE_ROOT:-}
PRODUCT=${PRODUCT:-1}
SITE=$STATE/site
MAX_HOSTS=200

check_settings() {
	[ "$(id -u)" = 0 ] || die "must be root: hosts are namespaces"
	# also the name of network namespaces and SGE_CLUSTER_NAME, which starts with a letter
	[[ $CLUSTER =~ ^[a-z][a-z0-9-]{0,30}$ ]] || die "CLUSTER=\"$CLUSTER\": want a letter, then letters, digits, -"
	local name
	for name in SLOTS GPUS; do
		[[ ${!name} =~ ^[0-9]+$ ]] || die "$name=\"${!name}\" is not a number"
	done
	[[ $ADDGRP_KILL =~ ^(0|1|default)$ ]] || die "ADDGRP_KILL=\"$ADDGRP_KILL\": want 0, 1 or default"
	[[ $PRODUCT =~ ^[01]$ ]] || die "PRODUCT=\"$PRODUCT\": want 0 or 1"
	[ -z "$ENGINE_ROOT" ] || [ -d "$ENGINE_ROOT/bin/lx-amd64" ] ||
		die "ENGINE_ROOT=\"$ENGINE_ROOT\" holds no bin/lx-amd64"
}

# lock_cluster: one `up`, `down` or `refresh` of this cluster at a time. The lock is the state
# folder itself, so nothing is left behind; `down` may have removed it while we waited.
lock_cluster() {
	while :; do
		mkdir -p "$STATE"
		exec {LOCK}<"$STATE"
		flock "$LOCK"
		[ "/proc/$$/fd/$LOCK" -ef "$STATE" ] && return
		exec {LOCK}<&-
	done
}

# wait_until SECONDS COMMAND...: polls COMMAND; fails when it still does after SECONDS
wait_until() {
	local limit=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		((SECONDS < limit)) || return 1
		sleep 0.05
	done
}

# run_on PATH [USER@]HOST COMMAND...
run_on() {
	local path=$1 target=$2 user=root
	shift 2
	case $target in *@*) user=${target%@*} ;; esac
	(enter "$user" "${target#*@}" "$path" "$@") {LOCK}<&-
}

# on_stock [USER@]HOST COMMAND...: without our commands on PATH, as a site's boot starts daemons
on_stock() {
	load_environment
	run_on "$STOCK_PATH" "$@"
}

# on_site [USER@]HOST COMMAND...: as `on`
on_site() {
	load_environment
	run_on "$SITE_PATH" "$@"
}

# render TEMPLATE [NAME=VALUE]...: a file of config/ with @NAME@ replaced
render() {
	local template=$CLUSTER_DIR/config/$1 text pair
	shift
	text=$(<"$template")
	for pair in STATE="$STATE" SLOTS="$SLOTS" GPUS="$GPUS" "$@"; do
		text=${text//@${pair%%=*}@/${pair#*=}}
	done
	printf '%s\n' "$text"
}
