# SPDX-License-Identifier: Apache-2.0
# Slurm's commands for login shells of the csh family: copy to /etc/profile.d/ on login hosts.
if ( ":${PATH}:" !~ *:@LIBEXECDIR@/bin:* ) then
	setenv PATH "@LIBEXECDIR@/bin:${PATH}"
endif
