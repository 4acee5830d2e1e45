#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# distcheck.sh TARBALL NAME: a site without scdoc and git builds, tests, installs and removes it; nothing is left.
set -eu
tarball=$(realpath "$1")
work=build/distcheck
rm -rf "$work"
mkdir -p "$work"
tar -C "$work" -xzf "$tarball"
cd "$work/$2"
root=$(pwd)/root
# a make that calls us must not hand down its variables
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES BUILD MODE RESULTS
make_here() {
	make --no-print-directory SCDOC=/nonexistent PREFIX=/usr "$@"
}
make_here -j2 all
make_here check-unit
make_here -q all || {
	echo "distcheck: make builds something again the second time" >&2
	exit 1
}
make_here install DESTDIR="$root"
for file in usr/libexec/slurm-on-ocs/translate usr/libexec/slurm-on-ocs/bin/sbatch usr/bin/slurm-on-ocs \
	usr/lib/slurm-on-ocs/libslurm_on_ocs.so usr/libexec/slurm-on-ocs/man/man1/sbatch.1 \
	usr/share/man/man7/slurm-on-ocs.7 usr/share/slurm-on-ocs/slurm-on-ocs.conf; do
	[ -e "$root/$file" ] || {
		echo "distcheck: $file was not installed" >&2
		exit 1
	}
done
# every path in an installed text is one of this installation, and no template word is left
if grep -rIl -e '@[A-Z]*@' -e "$root" "$root"; then
	echo "distcheck: the files above hold a path or word of the build" >&2
	exit 1
fi
make_here uninstall DESTDIR="$root"
left=$(find "$root" ! -type d)
[ -z "$left" ] || {
	printf 'distcheck: uninstall left behind:\n%s\n' "$left" >&2
	exit 1
}
echo "distcheck: $1 is good"
