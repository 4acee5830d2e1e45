#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dist.sh NAME PAGE...: dist/NAME.tar.gz of the tracked files and the built manual pages (in docs/man/).
# Reproducible: order, owners and times don't depend on who runs it where.
set -eu
name=$1
shift
[ $# -gt 0 ] || {
	echo "dist: no manual pages were built: scdoc is missing" >&2
	exit 1
}
stage=build/dist/$name
rm -rf "$stage"
mkdir -p "$stage/docs/man" dist
git ls-files -z | tar --null -T - -cf - | tar -C "$stage" -xf -
cp "$@" "$stage/docs/man/"
tar -C build/dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
	--mode=u=rwX,go=rX -cf - "$name" | gzip -9n >"dist/$name.tar.gz.new"
mv "dist/$name.tar.gz.new" "dist/$name.tar.gz"
echo "dist/$name.tar.gz"
