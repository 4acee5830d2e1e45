# SPDX-License-Identifier: Apache-2.0
"""in_job.py LATER FIRST-SIDE: runs inside a job of ours, on its first host, and prints times as JSON.

{"qrsh": [s...], "first": s, "later": [s...], "later_one": [s...]}: one task started by the engine's qrsh -inherit on
another host (a few times: now and then it takes a second longer); the first step, one task on each host; the next ones;
steps of one task on one host. FIRST-SIDE says which of the first two is taken first (what the engine learns of a host by
one of them may help the other).
"""

import json
import os
import sys

import timing

QRSHS = 4


def main(later, first_side):
    hosts = int(os.environ["SLURM_JOB_NUM_NODES"])
    qrsh = os.path.join(os.environ["SGE_BINARY_PATH"], "qrsh")
    other = [line.split()[0] for line in open(os.environ["PE_HOSTFILE"], encoding="ascii")][-1]
    step = ["srun", f"--nodes={hosts}", f"--ntasks={hosts}", "--ntasks-per-node=1", "true"]
    sides = {
        "qrsh": lambda: [timing.seconds_of([qrsh, "-inherit", other, "true"]) for _ in range(QRSHS)],
        "first": lambda: timing.seconds_of(step),
    }
    result = {name: sides[name]() for name in (sides if first_side == "qrsh" else reversed(sides))}
    result["later"] = [timing.seconds_of(step) for _ in range(int(later))]
    one = ["srun", "--nodes=1", "--ntasks=1", "true"]
    result["later_one"] = [timing.seconds_of(one) for _ in range(int(later))]
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
