-- SPDX-License-Identifier: Apache-2.0
help([[Slurm's commands on Grid Engine: sbatch, srun, squeue, scancel, scontrol.
Programs that call them by another path (/usr/bin/srun) reach ours too.]])
whatis("Slurm's command line on Grid Engine, @VERSION@")
conflict("slurm")
prepend_path("PATH", "@LIBEXECDIR@/bin")
append_path("LD_PRELOAD", "@LIBDIR@/libslurm_on_ocs.so")
