# SPDX-License-Identifier: Apache-2.0
"""The cluster of tests/cluster for tests: commands on its hosts, jobs, processes and files.

    cluster.on("head", "squeue -h", user="bob").stdout
    job = cluster.sbatch("#!/bin/bash\nhostname\n", ["-N2"], cwd=workdir)
    cluster.wait_job(job)
    cluster.read(f"{workdir}/slurm-{job}.out")
"""

import dataclasses
import itertools
import os
import pathlib
import re
import signal
import subprocess
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "cluster"
CLUSTERS = pathlib.Path("/opt/slurm-on-ocs-cluster")
POLL = 0.05  # seconds; one look costs the engine about 7 ms


@dataclasses.dataclass
class Process:
    """One line of ps; the ids are those of the host's own PID namespace."""

    pid: int
    ppid: int
    pgid: int
    sid: int
    user: str
    state: str  # as in ps(1): R, S, T, Z, ... with its modifiers
    args: str


class Cluster:
    def __init__(self, name=None):
        self.name = name or os.environ.get("CLUSTER") or "soc"
        self.state = CLUSTERS / self.name
        self.script_numbers = itertools.count(1)

    # --- the cluster as a whole ---

    def up(self, hosts=3, **settings):
        """Brings it up, or leaves a healthy one alone. Settings: tests/cluster/README.md; up(3, ADDGRP_KILL=1)."""
        self._script("up", str(hosts), **settings)
        return self

    def down(self):
        self._script("down")

    def _script(self, script, *args, **settings):
        environment = dict(os.environ, CLUSTER=self.name, **{key: str(value) for key, value in settings.items()})
        result = subprocess.run([SCRIPTS / script, *args], env=environment, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=300, check=False)
        assert result.returncode == 0, f"tests/cluster/{script} failed: {result.stdout}{result.stderr}"

    @property
    def hosts(self):
        """["head", "c1", "c2", ...]"""
        shape = re.match(r"hosts=(\d+)", (self.state / "shape").read_text())
        return ["head", *self.host_names(int(shape[1]))]

    @property
    def exec_hosts(self):
        return self.hosts[1:]

    @staticmethod
    def host_names(count):
        return [f"c{number}" for number in range(1, count + 1)]

    def kill_host(self, host):
        """As by the power switch. The cluster is a broken one then: up() builds a new one."""
        os.kill(int((self.state / "pid" / host).read_text().split()[0]), signal.SIGKILL)

    def kill_daemon(self, host):
        """The engine's daemon dies there (qmaster on the head, else execd); what it started lives on."""
        self.on(host, ["pkill", "-KILL", "-x", self._daemon(host)], user="root", check=True)
        self.wait_until(lambda: self.on(host, ["pgrep", "-x", self._daemon(host)], user="root").returncode, 30,
                        f"{self._daemon(host)} on {host} is still there")

    def start_daemon(self, host):
        """Starts it again as at boot, with nothing of ours on its PATH, and waits until it answers."""
        stock_path = re.search(r"^STOCK_PATH=(\S+)$", (self.state / "environment").read_text(), re.M)[1]
        self.on(host, ["env", f"PATH={stock_path}", self._daemon(host)], user="root", check=True)
        probe = ["qconf", "-sh"] if host == "head" else ["qping", "-info", host, "6445", "execd", "1"]
        self.wait_until(lambda: self.on("head", probe, user="root", timeout=10).returncode == 0, 90,
                        f"{self._daemon(host)} on {host} doesn't answer")

    @staticmethod
    def _daemon(host):
        return "sge_qmaster" if host == "head" else "sge_execd"

    # --- commands ---

    def command(self, host, cmd, user="alice", env=None, cwd=None):
        """The argv that runs cmd on host: a list as it is, a string by bash. cwd is the user's home by default."""
        words = ["bash", "-c", cmd] if isinstance(cmd, str) else [str(word) for word in cmd]
        variables = [f"{name}={value}" for name, value in (env or {}).items()]
        return [str(SCRIPTS / "on"), f"{user}@{host}", "env", "-C", str(cwd or self.home(user)), *variables, *words]

    def start(self, host, cmd, user="alice", env=None, cwd=None, **popen):
        """Popen of cmd on host, in a session of its own. Its death takes cmd with it (by SIGTERM)."""
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                 "errors": "surrogateescape", "start_new_session": True, **popen}
        return subprocess.Popen(self.command(host, cmd, user, env, cwd),
                                env=dict(os.environ, CLUSTER=self.name), **popen)

    def on(self, host, cmd, user="alice", stdin=None, timeout=60, env=None, cwd=None, check=False):
        """Runs cmd to its end: CompletedProcess with text. check: a failure fails the test with what cmd said."""
        popen = {"stdin": subprocess.PIPE} if stdin is not None else {}
        with self.start(host, cmd, user, env, cwd, **popen) as process:
            try:
                out, err = process.communicate(stdin, timeout)
            except BaseException:  # a timeout, or the test run is ended
                # cmd is in the process group of `on`; it may ignore the SIGTERM that it would get
                os.killpg(process.pid, signal.SIGKILL)
                raise
        result = subprocess.CompletedProcess(cmd, process.returncode, out, err)
        if check:
            assert result.returncode == 0, f"{user}@{host} {cmd!r}: exit code {result.returncode}\n{out}{err}"
        return result

    # --- jobs ---

    def sbatch(self, script, args=(), host="head", user="alice", cwd=None, env=None):
        """Submits the text of a script with our sbatch; the job id."""
        path = self._write_script(script, user, cwd)
        words = ["sbatch", "--parsable", *args, path]
        result = self.on(host, words, user=user, cwd=cwd, env=env, check=True)
        match = re.match(r"(\d+)(;\S+)?$", result.stdout.strip())
        assert match, f"sbatch --parsable printed {result.stdout!r} {result.stderr!r}"
        return int(match[1])

    def qsub(self, script, args=(), host="head", user="alice", cwd=None, env=None):
        """Submits the text of a script as a native job, with the engine's own qsub; the job id."""
        path = self._write_script(script, user, cwd)
        words = ["qsub", "-terse", "-cwd", *args, path]
        result = self.on(host, words, user=user, cwd=cwd, env=env, check=True)
        match = re.match(r"\d+", result.stdout)
        assert match, f"qsub -terse printed {result.stdout!r} {result.stderr!r}"
        return int(match[0])

    def _write_script(self, script, user, cwd):
        path = f"{cwd or self.home(user)}/script-{os.getpid()}-{next(self.script_numbers)}.sh"
        self.write(path, script, user=user, mode=0o755)
        return path

    def is_known(self, job):
        """Whether the engine still has the job, waiting or running."""
        result = self.on("head", ["qstat", "-j", job], user="root")
        # (a qmaster that doesn't answer fails too, but knows the job)
        return "do not exist" not in result.stdout + result.stderr

    def wait_job(self, job, timeout=60):
        """Until the engine has forgotten the job."""
        self.wait_until(lambda: not self.is_known(job), timeout,
                        lambda: f"job {job} is still there:\n{self.explain(job)}")

    def wait_running(self, job, timeout=30):
        self.wait_until(lambda: "r" in self.job_state(job), timeout,
                        lambda: f"job {job} doesn't run:\n{self.explain(job)}")

    def job_state(self, job):
        """The engine's letters: qw, r, hqw, Eqw, s, dr, ...; "" for an unknown job. For a job of one task."""
        for line in self.on("head", ["qstat", "-u", "*"], user="root").stdout.splitlines():
            fields = line.split()
            if fields and fields[0] == str(job):
                return fields[4]
        return ""

    def explain(self, job):
        """What the engine says of a job, for a failing test."""
        status = self.on("head", ["qstat", "-j", job], user="root")
        messages = (self.state / "qmaster" / "messages").read_text(errors="replace").splitlines()
        return status.stdout + status.stderr + "\n".join(messages[-10:])

    def qacct(self, job, timeout=20):
        """The job's accounting records, each a dict of strings. They are written a moment after the job's end."""
        result = None

        def has_record():
            nonlocal result
            result = self.on("head", ["qacct", "-j", job], user="root")
            return result.returncode == 0

        self.wait_until(has_record, timeout, lambda: f"no accounting of job {job}: {result.stderr}")
        records = []
        for line in result.stdout.splitlines():
            if line.startswith("====="):
                records.append({})
            elif line.strip():
                name, _, value = line.partition(" ")
                records[-1][name] = value.strip()
        return records

    @staticmethod
    def wait_until(condition, timeout, what):
        """Polls condition until it is true, and returns what it gave. what: a text, or a function that gives one."""
        deadline = time.monotonic() + timeout
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {timeout} s: {what() if callable(what) else what}")
            time.sleep(POLL)
        return found

    # --- processes and files ---

    def ps(self, host):
        """All processes of the host, but the ps that looked."""
        columns = "pid=,ppid=,pgid=,sid=,user:32=,stat=,args="
        result = self.on(host, ["ps", "-ww", "-eo", columns], user="root", check=True)
        processes = []
        for line in result.stdout.splitlines():
            *ids, user, state, args = line.split(maxsplit=6)
            processes.append(Process(*map(int, ids), user, state, args))
        return [process for process in processes if columns not in process.args]

    def outside(self, path, host="head"):
        """Where the machine has a file of a host: a pathlib.Path that works here, as root."""
        path = pathlib.PurePosixPath(path)
        mounts = {"/home": "home", "/tmp": f"host/{host}/tmp", self.state / "local": f"host/{host}/local"}
        for inside, place in mounts.items():
            if path.is_relative_to(inside):
                return self.state / place / path.relative_to(inside)
        return pathlib.Path(path)

    def home(self, user="alice"):
        return self._account(user)[5]

    def _account(self, user):
        for line in (self.state / "etc" / "passwd").read_text().splitlines():
            fields = line.split(":")
            if fields[0] == user:
                return fields
        raise KeyError(f"no user {user} in cluster {self.name}")

    def exists(self, path, host="head"):
        return self.outside(path, host).exists()

    def read(self, path, host="head"):
        return self.outside(path, host).read_text(errors="surrogateescape")

    def write(self, path, text, user="alice", mode=0o644, host="head"):
        """Writes a file that belongs to user; its folder must be there."""
        self.outside(path, host).write_text(text, errors="surrogateescape")
        self.give(path, user, mode, host)

    def mkdir(self, path, user="alice", mode=0o755, host="head"):
        self.outside(path, host).mkdir()
        self.give(path, user, mode, host)

    def give(self, path, user="alice", mode=0o755, host="head"):
        """Makes a file or folder the user's."""
        place = self.outside(path, host)
        _, _, uid, gid, *_ = self._account(user)
        os.chown(place, int(uid), int(gid))
        place.chmod(mode)
