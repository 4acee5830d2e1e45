# SPDX-License-Identifier: Apache-2.0
"""sbatch run against the fake clients of this folder, and what it left: qsub's words and the job file."""

import base64
import dataclasses
import json
import os
import pathlib
import subprocess

FAKE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build/release")).absolute()
UNSET = 0xFFFFFFFF
INFINITE = 0x7FFFFFFFFFFFFFFF
STRINGS = ["name", "partition", "account", "qos", "comment", "command", "submit_dir", "submit_host", "submit_addr",
           "work_dir", "std_in", "std_out", "std_err", "export_env", "distribution", "gpus",
           "gpus_per_node", "gpus_per_task", "gpu_maps", "interface",
           "container_runtimes", "accounting_dir", "cluster_name"]


class Unpacker:
    """Reads what common/pack.h writes; independent of the C code."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, size):
        value = int.from_bytes(self.data[self.at:self.at + size], "big")
        self.at += size
        assert self.at <= len(self.data), "job file: too short"
        return value

    def string(self):
        size = self.number(4)
        if size == UNSET:
            return None
        self.at += size
        assert self.at <= len(self.data), "job file: too short"
        return self.data[self.at - size:self.at].decode("utf-8", "surrogateescape")


def read_job_file(path):
    """The job file as a dict; the layout is version 1 of ocs/jobspec.h."""
    u = Unpacker(pathlib.Path(path).read_bytes())
    assert u.string() == "slurm-on-ocs job"
    assert u.number(4) == 1
    job = {name: u.string() for name in STRINGS}
    for name, size in [("open_mode", 1), ("umask", 4), ("export_none_env", 1), ("get_user_env", 1), ("min_nodes", 4),
                       ("max_nodes", 4), ("ntasks", 4), ("ntasks_per_node", 4), ("cpus_per_task", 4),
                       ("slots_per_host", 4), ("overcommit", 1), ("exclusive", 1), ("mem_per_node_mib", 4),
                       ("mem_per_cpu_mib", 4), ("mem_per_gpu_mib", 4), ("cpus_per_gpu", 4), ("time_limit", 8),
                       ("signal_number", 4), ("signal_before", 4),
                       ("signal_batch_only", 1)]:
        job[name] = u.number(size)
    job["array_index"] = [u.number(4) for _ in range(u.number(4))]
    job["array_step"] = u.number(4)
    job["requeue"] = u.number(1)
    job["deadline"] = u.number(8)
    job["time_min"] = u.number(8)
    for name in ["port_first", "port_last"]:
        job[name] = u.number(2)
    for name in ["launch_timeout", "control_timeout", "ping_interval", "auth_timeout", "race_retry", "slot_retry",
                 "kill_wait", "launch_window"]:
        job[name] = u.number(4)
    job["kill_on_bad_exit"] = u.number(1)
    assert u.at == len(u.data), "job file: something behind its end"
    return job


@dataclasses.dataclass
class Result:
    rc: int
    stdout: str
    stderr: str
    calls: list  # of qsub: a list of words each
    spools: list  # folders of jobs that are left


class FakeEngine:
    """A home, a working folder and fake clients, all below one temporary folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.home = self.folder / "home"
        self.cwd = self.folder / "work"
        self.log = self.folder / "fake"
        for path in (self.home, self.cwd, self.log):
            path.mkdir()
        self.link = self.folder / "sbatch"
        self.link.symlink_to(BUILD / "translate")
        self.env = {
            "PATH": f"{FAKE}:/usr/bin:/bin", "HOME": str(self.home), "USER": "bob", "LOGNAME": "bob",
            "SHELL": "/bin/bash", "LANG": "C.UTF-8", "SGE_BINARY_PATH": str(FAKE), "SGE_ROOT": str(self.folder),
            "SGE_CELL": "default", "SGE_CLUSTER_NAME": "lab", "SGE_FAKE_DIR": str(self.log),
            "SLURM_ON_OCS_CONF": str(self.folder / "slurm-on-ocs.conf"),
        }
        (self.folder / "slurm-on-ocs.conf").write_text(
            'cluster_name = "lab";\nmax_array_size = 1001;\ntmp_complex = "scratch";\n'
            'gres = ( { name = "gpu:a100"; complex = "gpu_a100"; } );\n')

    @property
    def spool(self):
        return self.home / ".slurm-on-ocs" / "lab"

    def run(self, argv, env=None, stdin="", cwd=None, timeout=20):
        for old in self.log.glob("qsub.*"):
            old.unlink()
        before = self._spools()
        done = subprocess.run([argv[0], *argv[1:]], executable=self.link, env={**self.env, **(env or {})},
                              cwd=cwd or self.cwd, input=stdin.encode("utf-8", "surrogateescape"),
                              capture_output=True, timeout=timeout, check=False)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace"), self.calls(),
                      sorted(self._spools() - before))

    def will_end(self, ends):
        """Job 17 will be found to have ended: {task: (code, signal)}, task 0 being a job without array."""
        records = self.folder / "default" / "common" / "slurm-on-ocs" / "acct" / str(os.getuid())
        records.mkdir(parents=True, exist_ok=True)
        for task, (code, signo) in ends.items():
            line = {"v": 1, "event": "end", "time": 2e9, "job": 17, "task": task, "restart": 0, "state": "FAILED",
                    "code": code, "signal": signo}
            name = f"17.{task}.node1.jsonl" if task else "17.node1.jsonl"
            (records / name).write_text(json.dumps(line) + "\n")

    def calls(self):
        numbered = sorted(self.log.glob("qsub.[0-9]*"), key=lambda p: int(p.name.split(".")[1]))
        return [p.read_text("utf-8", "surrogateescape").split("\0")[:-1] for p in numbered
                if p.suffix != ".env"]

    def _spools(self):
        return set(self.spool.glob("*-*-*-*-*")) if self.spool.is_dir() else set()


def context(spool):
    """The public part of the request, out of the options file that qsub got."""
    words = (pathlib.Path(spool) / "options").read_text().split()
    assert words[0] == "-ac" and words[1].startswith("soo=")
    text = words[1].removeprefix("soo=")
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
