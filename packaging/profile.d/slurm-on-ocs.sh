# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC1091
# Slurm's commands for login shells: copy to /etc/profile.d/ on login hosts. LD_PRELOAD is not set here: inside jobs
# the queue's starter does it; outside the modulefile, for those who load it.
case ":${PATH}:" in
*:@LIBEXECDIR@/bin:*) ;;
*) PATH=@LIBEXECDIR@/bin:${PATH} ;;
esac
export PATH
if [ -n "${BASH_VERSION:-}" ] && [ -n "${PS1:-}" ] && [ -r "@DATADIR@/completion.bash" ]; then
	. "@DATADIR@/completion.bash"
fi
