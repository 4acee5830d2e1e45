# SPDX-License-Identifier: Apache-2.0
"""The queue's starter_method gets what the launcher gives qrsh: the real starter, fed the exact argv, starts the agent."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "system"))

from jobfile import BUILD  # noqa: E402
from stepjob import StepJob  # noqa: E402

HOSTS = (("n1", 1), ("n2", 1), ("n3", 1))
# What the engine does with a task on a queue with our starter_method: no shell, no login shell, the words as they are.
THROUGH_STARTER = """
for word; do printf '%s\\0' "$word"; done >"{folder}/$host.argv"
export SGE_STARTER_SHELL_PATH= SGE_STARTER_SHELL_START_MODE=unix_behavior SGE_STARTER_USE_LOGIN_SHELL=false
set -- env SGE_STARTER_SHELL_PATH= SGE_STARTER_SHELL_START_MODE=unix_behavior SGE_STARTER_USE_LOGIN_SHELL=false \\
    PE=slurm-on-ocs.1 {starter} "$@"
"""


def test_the_starter_starts_the_agent_by_the_launchers_own_words(tmp_path):
    extra = THROUGH_STARTER.format(folder=tmp_path, starter=BUILD / "starter")
    job = StepJob(tmp_path, "srun -l sh -c 'echo $SLURMD_NODENAME'\n", hosts=HOSTS, qrsh=extra)
    assert sorted(job.text().splitlines()) == ["0: n1", "1: n2", "2: n3"]
    for host in ("n2", "n3"):
        argv = (tmp_path / f"{host}.argv").read_bytes().split(b"\0")[:-1]
        assert [pathlib.Path(word.decode()).name for word in argv[:3]] == ["minder", "shim-launch", "agent"], argv
        assert all(word.isascii() and word.decode().isprintable() and b" " not in word for word in argv), argv
