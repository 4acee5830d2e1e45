#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh install|uninstall: what `make install` does, into DESTDIR and the folders that make exports.
#
# Jobs run programs of ours while a site upgrades: a file is put in place by one rename, never truncated or absent.
# Nothing is enabled: profile.d script, modulefiles, sample configuration are templates below DATADIR.
set -eu

: "${DESTDIR=}" "${PREFIX:?}" "${LIBDIR:?}" "${LIBEXECDIR:?}" "${BINDIR:?}" "${MANDIR:?}" "${DATADIR:?}" "${SYSCONFDIR:?}"
: "${PROGRAMS:?}" "${COMMANDS:?}" "${PAGES=}" "${STRIP=strip}" "${BUILD:?}" "${VERSION:?}"

die() {
	echo "install: $*" >&2
	exit 1
}

# put MODE SOURCE FOLDER [NAME]
put() {
	target=$DESTDIR$3/${4:-${2##*/}}
	mkdir -p "${target%/*}"
	cp -f "$2" "$target.new"
	chmod "$1" "$target.new"
	mv -f "$target.new" "$target"
}

# put_program MODE SOURCE FOLDER: without its debug information, unless STRIP=:
put_program() {
	target=$DESTDIR$3/${2##*/}
	mkdir -p "${target%/*}"
	cp -f "$2" "$target.new"
	chmod "$1" "$target.new"
	$STRIP "$target.new"
	mv -f "$target.new" "$target"
}

# put_link TEXT PATH
put_link() {
	mkdir -p "$DESTDIR${2%/*}"
	rm -f "$DESTDIR$2.new"
	ln -s "$1" "$DESTDIR$2.new"
	mv -fT "$DESTDIR$2.new" "$DESTDIR$2"
}

# put_template SOURCE FOLDER NAME: with the folders of this installation in it
put_template() {
	sed -e "s|@LIBEXECDIR@|$LIBEXECDIR|g; s|@LIBDIR@|$LIBDIR|g; s|@BINDIR@|$BINDIR|g; s|@MANDIR@|$MANDIR|g" \
		-e "s|@DATADIR@|$DATADIR|g; s|@SYSCONFDIR@|$SYSCONFDIR|g; s|@VERSION@|$VERSION|g" "$1" >"$BUILD/template"
	put 0644 "$BUILD/template" "$2" "$3"
	rm -f "$BUILD/template"
}

# relative FOLDER TARGET: TARGET as seen from FOLDER
relative() {
	realpath -m --relative-to="$1" "$2"
}

# page_folder PAGE: sbatch(1) and its like may be Slurm's own in MANDIR; man(1) finds ours beside the folder that is on
# PATH, so who has our commands reads our pages
page_folder() {
	case ${1##*/} in
	slurm-on-ocs*) echo "$MANDIR/man${1##*.}" ;;
	*) echo "$LIBEXECDIR/man/man${1##*.}" ;;
	esac
}

do_install() {
	for program in $PROGRAMS; do
		case $program in
		*.so) put_program 0644 "$program" "$LIBDIR" ;;
		*) put_program 0755 "$program" "$LIBEXECDIR" ;;
		esac
	done
	for command in $COMMANDS; do
		put_link ../translate "$LIBEXECDIR/bin/$command"
	done
	# a command that this version doesn't have any more
	for link in "$DESTDIR$LIBEXECDIR"/bin/*; do
		case " $COMMANDS " in
		*" ${link##*/} "*) ;;
		*) [ ! -L "$link" ] || rm -f "$link" ;;
		esac
	done
	# the starter, which opens no configuration, finds the library by this
	put_link "$(relative "$LIBEXECDIR" "$LIBDIR")" "$LIBEXECDIR/libdir"
	put 0755 packaging/in-use.sh "$LIBEXECDIR" in-use
	put_link "$(relative "$BINDIR" "$LIBEXECDIR/translate")" "$BINDIR/slurm-on-ocs"
	put 0644 "$BUILD/docs/slurm-on-ocs.conf" "$DATADIR"
	put 0644 "$BUILD/docs/slurm-on-ocs.bash" "$DATADIR" completion.bash
	put_template packaging/profile.d/slurm-on-ocs.sh "$DATADIR/profile.d" slurm-on-ocs.sh
	put_template packaging/profile.d/slurm-on-ocs.csh "$DATADIR/profile.d" slurm-on-ocs.csh
	put_template packaging/modulefile/slurm-on-ocs.tcl "$DATADIR/modulefiles/slurm-on-ocs" "$VERSION"
	put_template packaging/modulefile/slurm-on-ocs.lua "$DATADIR/modulefiles/slurm-on-ocs" "$VERSION.lua"
	for page in $PAGES; do
		put 0644 "$page" "$(page_folder "$page")"
	done
}

# What do_install put there, by name; a folder goes when nothing of somebody else's is in it.
do_uninstall() {
	if [ -z "$DESTDIR" ] && [ "${FORCE:-0}" != 1 ] && [ -x "$LIBEXECDIR/in-use" ] && "$LIBEXECDIR/in-use"; then
		die "$LIBEXECDIR is in use: run \`slurm-on-ocs uninstall --apply\` first, or set FORCE=1"
	fi
	for program in $PROGRAMS; do
		case $program in
		*.so) rm -f "$DESTDIR$LIBDIR/${program##*/}" ;;
		*) rm -f "$DESTDIR$LIBEXECDIR/${program##*/}" ;;
		esac
	done
	for command in $COMMANDS; do
		rm -f "$DESTDIR$LIBEXECDIR/bin/$command"
	done
	rm -f "$DESTDIR$LIBEXECDIR/libdir" "$DESTDIR$LIBEXECDIR/in-use" "$DESTDIR$BINDIR/slurm-on-ocs"
	rm -f "$DESTDIR$DATADIR/slurm-on-ocs.conf" "$DESTDIR$DATADIR/completion.bash"
	rm -f "$DESTDIR$DATADIR/profile.d/slurm-on-ocs.sh" "$DESTDIR$DATADIR/profile.d/slurm-on-ocs.csh"
	rm -f "$DESTDIR$DATADIR/modulefiles/slurm-on-ocs/$VERSION" "$DESTDIR$DATADIR/modulefiles/slurm-on-ocs/$VERSION.lua"
	for page in $PAGES; do
		rm -f "$DESTDIR$(page_folder "$page")/${page##*/}"
	done
	for folder in "$LIBEXECDIR/bin" "$LIBEXECDIR/man/man1" "$LIBEXECDIR/man" "$LIBEXECDIR" "$LIBDIR" "$DATADIR/profile.d" \
		"$DATADIR/modulefiles/slurm-on-ocs" "$DATADIR/modulefiles" "$DATADIR"; do
		[ ! -d "$DESTDIR$folder" ] || rmdir --ignore-fail-on-non-empty "$DESTDIR$folder"
	done
}

case ${1:-} in
install) do_install ;;
uninstall) do_uninstall ;;
*) die "usage: install.sh install|uninstall" ;;
esac
