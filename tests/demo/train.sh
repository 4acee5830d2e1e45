#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=00:10:00
#SBATCH --output=logs/%x-%j.out
set -euo pipefail
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
export MASTER_ADDR=$head MASTER_PORT=29500
srun --label --kill-on-bad-exit=1 python3 -u train.py
