#%Module1.0
# SPDX-License-Identifier: Apache-2.0
proc ModulesHelp { } {
	puts stderr "Slurm's commands on Grid Engine: sbatch, srun, squeue, scancel, scontrol."
	puts stderr "Programs that call them by another path (/usr/bin/srun) reach ours too."
}
module-whatis "Slurm's command line on Grid Engine, @VERSION@"
conflict slurm slurm-on-ocs
prepend-path PATH @LIBEXECDIR@/bin
append-path LD_PRELOAD @LIBDIR@/libslurm_on_ocs.so
