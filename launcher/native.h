/* SPDX-License-Identifier: Apache-2.0 */
/* A native Grid Engine job (started by qsub or qrsh) that the starter gives Slurm's variables. */
#ifndef SOC_LAUNCHER_NATIVE_H
#define SOC_LAUNCHER_NATIVE_H

/*
 * In a job of a PE of ours, or of one named in <libexec>/native-pes (root's file, one name a line), adds SLURM_*,
 * PATH and LD_PRELOAD to environ; anywhere else, and in jobs of sbatch, does nothing. words: what the engine runs.
 * Tasks of qrsh -inherit on other hosts don't know the job's hosts: they keep what their caller passed on.
 */
void native_enter(char **words);

#endif
