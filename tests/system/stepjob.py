# SPDX-License-Identifier: Apache-2.0
"""A job whose script calls srun, without an engine: the real supervisor, agents, steppers and srun on this machine.

The other hosts of the job are this machine too: qrsh is a script that sets up what the engine sets for a task on that
host (an own TMPDIR above all) and execs the agent's command line, as the engine's shepherd would.
"""

import os
import pathlib
import subprocess
import time

from jobfile import BUILD, Job

QRSH = """#!/bin/sh
# qrsh -inherit -noshell HOST COMMAND...
printf '%s\\n' "$*" >>{folder}/qrsh.log
env >{folder}/qrsh.env
[ "$1 $2" = "-inherit -noshell" ] || {{ echo "error: unknown option" >&2; exit 1; }}
host=$3
shift 3
{extra}
mkdir -p "{folder}/$host.tmp"
exec env -i PATH=/usr/bin:/bin HOME="$HOME" USER=tester LOGNAME=tester JOB_ID="$JOB_ID" SGE_TASK_ID=undefined \\
    HOSTNAME="$host" TMPDIR="{folder}/$host.tmp" TMP="{folder}/$host.tmp" SGE_PE_TASK_ID="1.$host" setsid -w "$@"
"""


class StepJob(Job):
    """script: sh. hosts: [(name, slots)]."""

    def __init__(self, folder, script, hosts=(("n1", 4),), qrsh="", engine=None, **fields):
        folder = pathlib.Path(folder)
        self.tools = folder / "tools"
        self.tools.mkdir()
        (self.tools / "srun").symlink_to(BUILD / "translate")
        (self.tools / "qrsh").write_text(QRSH.format(folder=folder, extra=qrsh))
        (self.tools / "qrsh").chmod(0o755)
        path = f"{self.tools}:/usr/local/bin:/usr/bin:/bin"
        fields = {"interface": "lo", **fields}
        super().__init__(folder, "#!/bin/bash\n" + script, env={"PATH": path, "HOME": str(folder)}, hosts=list(hosts),
                         engine={"SGE_BINARY_PATH": str(self.tools), **(engine or {})}, **fields)

    def text(self, timeout=60, code=0):
        """Runs the job and gives all that it printed."""
        done = self.run(timeout)
        text = self.output()
        assert done.returncode == code, f"exit code {done.returncode}\n{text}\n{done.stdout}"
        return text

    def steps(self, host="n1"):
        return [r for r in self.records(host) if r["event"].startswith("step_")]


def steps(tmp_path, script, code=0, timeout=60, **args):
    return StepJob(tmp_path, script, **args).text(timeout, code)


def find(marker):
    """Processes whose command line or environment of start holds the marker: pid -> command line."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if marker in line and int(entry.name) != os.getpid():
            found[int(entry.name)] = line
    return found


def wait_for(condition, timeout=15):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        got = condition()
        if got:
            return got
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def run_shell(command, **args):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, **args)
