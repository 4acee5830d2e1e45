#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb.sh TARBALL NAME [OPTION...]: a Debian package in dist/; options are dpkg-buildpackage's.
set -eu
tarball=$1 name=$2
shift 2
work=build/deb
rm -rf "$work"
mkdir -p "$work" dist
tar -C "$work" -xzf "$tarball"
cp -R "$work/$name/packaging/debian" "$work/$name/debian"
version=${name##*-}
date=$(date -u -R -d "@$SOURCE_DATE_EPOCH")
sed -e "s|@VERSION@|$version|; s|@DATE@|$date|" "$work/$name/packaging/debian/changelog.in" >"$work/$name/debian/changelog"
rm "$work/$name/debian/changelog.in"
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES BUILD MODE RESULTS
(cd "$work/$name" && dpkg-buildpackage "$@")
mv "$work"/*.deb dist/
ls dist/*.deb
