#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rpm.sh TARBALL VERSION [OPTION...]: an RPM package in dist/; options are rpmbuild's (--nodeps where the
# libraries aren't RPMs).
set -eu
tarball=$1 version=$2
shift 2
work=$(pwd)/build/rpm
rm -rf "$work"
mkdir -p "$work/SOURCES" "$work/SPECS" dist
cp "$tarball" "$work/SOURCES/"
sed "s|@VERSION@|$version|" packaging/rpm/slurm-on-ocs.spec.in >"$work/SPECS/slurm-on-ocs.spec"
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES BUILD MODE RESULTS
rpmbuild -bb --define "_topdir $work" "$@" "$work/SPECS/slurm-on-ocs.spec"
find "$work/RPMS" -name '*.rpm' -exec mv {} dist/ \;
ls dist/*.rpm
