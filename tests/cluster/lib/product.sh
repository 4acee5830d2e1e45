# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Our build on the cluster, put there the way a site does it: make install, then
# `slurm-on-ocs install --apply` as root on the head.

BUILD=${BUILD:-build/release}
PROGRAMS=(translate shim-launch minder starter libslurm_on_ocs.so)

build_folder() {
	case $BUILD in
	/*) echo "$BUILD" ;;
	*) echo "$REPO/$BUILD" ;;
	esac
}

# is_installed: nothing of the build is younger than what the site has
is_installed() {
	local build program
	build=$(build_folder)
	[ "$(cat "$STATE/installed" 2>/dev/null)" = "$build" ] || return 1
	for program in "${PROGRAMS[@]}"; do
		[ -e "$build/$program" ] && [ ! "$build/$program" -nt "$STATE/installed" ] || return 1
	done
}

# install_product: `make install` also builds what is missing or old. What a calling make put
# into the environment must not reach that one.
install_product() {
	local build log=$STATE/install.log
	build=$(build_folder)
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u MAKEOVERRIDES -u DESTDIR \
		make --no-print-directory -j"$(nproc)" -C "$REPO" BUILD="$BUILD" PREFIX="$SITE" SYSCONFDIR="$SITE/etc" install \
		>"$log" 2>&1 {LOCK}<&- ||
		die "make install failed (PRODUCT=0 brings the bare engine): $(tail -n 15 "$log")"
	on_site head "$SITE/bin/slurm-on-ocs" install --apply --queue all.q >>"$log" 2>&1 ||
		die "slurm-on-ocs install failed: $(tail -n 15 "$log")"
	echo "$build" >"$STATE/installed"
	echo "cluster $CLUSTER: installed $BUILD"
}
