# SPDX-License-Identifier: Apache-2.0
"""The cluster itself: what every other live test relies on."""

import os
import pathlib
import signal
import subprocess
import time

import pytest

from tests.live.cluster import Cluster
from tests.system.jobfile import ignored_by_make


@pytest.fixture(scope="module")
def bare():
    """A second cluster beside the first, one host, the engine alone."""
    second = Cluster(Cluster().name + "-2").up(1, PRODUCT=0)
    yield second
    second.down()


def test_hosts_are_apart(cluster):
    names = {cluster.on(host, "hostname").stdout for host in cluster.hosts}
    assert len(names) == 4
    cluster.on("c1", "echo here >/tmp/mark; echo here >/dev/shm/mark", check=True)
    assert cluster.on("c1", "cat /tmp/mark /dev/shm/mark").stdout == "here\nhere\n"
    assert cluster.on("c2", "cat /tmp/mark").returncode == 1
    assert cluster.on("c2", "cat /dev/shm/mark").returncode == 1
    assert any("sge_execd" in process.args for process in cluster.ps("c1"))
    assert not any("sge_execd" in process.args for process in cluster.ps("head"))
    assert cluster.on("c1", "python3 -c 'import socket; print(socket.gethostbyname(\"c3\"))'").stdout == "10.79.0.13\n"


def test_home_is_shared_and_private(cluster, workdir):
    cluster.on("c1", "echo text >file", cwd=workdir, check=True)
    assert cluster.read(f"{workdir}/file") == "text\n"
    assert cluster.on("c3", f"cat {workdir}/file").stdout == "text\n"
    refused = cluster.on("c3", f"cat {workdir}/file", user="bob")
    assert refused.returncode == 1 and "Permission denied" in refused.stderr


def test_machine_is_unchanged(cluster):
    assert cluster.hosts  # it is up
    passwd = pathlib.Path("/etc/passwd").read_text()
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    assert "10.79.0." not in pathlib.Path("/etc/hosts").read_text()
    assert "to-head" not in links and "alice:x:5001" not in passwd


def test_on_passes_stdin_exit_code_and_signals(cluster):
    assert cluster.on("c2", "cat; exit 7", stdin="in\n").stdout == "in\n"
    assert cluster.on("c2", "exit 7").returncode == 7
    assert cluster.on("c2", "kill -9 $$").returncode == -signal.SIGKILL
    ignored = cluster.on("c2", "grep SigIgn: /proc/self/status").stdout.split()
    assert ignored == ["SigIgn:", f"{ignored_by_make():016x}"]
    process = cluster.start("c2", ["sleep", "4711"])
    running = lambda: [line for line in cluster.ps("c2") if line.args == "sleep 4711"]
    cluster.wait_until(running, 10, "sleep doesn't start")
    process.terminate()
    process.communicate()
    cluster.wait_until(lambda: not running(), 10, "sleep lives on")


def test_timeout_ends_what_ignores_signals(cluster):
    with pytest.raises(subprocess.TimeoutExpired):
        cluster.on("c2", "trap '' TERM; while :; do sleep 0.1; done", timeout=1)
    assert not any("trap '' TERM" in process.args for process in cluster.ps("c2"))


def test_environment_of_a_command_is_clean(cluster, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    environment = cluster.on("head", ["env"], env={"ASKED": "a b"}).stdout.splitlines()
    names = {line.partition("=")[0] for line in environment}
    assert "SLURM_JOB_ID" not in names and "ASKED=a b" in environment
    assert {"SGE_ROOT", "SGE_CELL", "HOME", "USER", "PATH"} <= names


def test_native_job_runs_on_three_hosts(cluster, workdir):
    script = "#!/bin/sh\ncat $PE_HOSTFILE\n"
    # the stock queue of the test cell: our PEs and starter aren't in it
    job = cluster.qsub(script, ["-q", "plain.q", "-pe", "make", "6", "-o", "out", "-j", "y"], cwd=workdir)
    cluster.wait_job(job)
    assert [line.split()[:2] for line in cluster.read(f"{workdir}/out").splitlines()] == [
        ["c1", "2"], ["c2", "2"], ["c3", "2"]]
    assert cluster.qacct(job)[-1]["exit_status"] == "0"


def test_second_up_does_nothing(cluster):
    before = cluster.ps("head")
    started = time.monotonic()
    cluster.up(3)
    assert time.monotonic() - started < 1
    assert [process.pid for process in cluster.ps("head")] == [process.pid for process in before]


def kills_by_group(cluster):
    """Whether the engine kills a job by its additional group, by the configuration that a job gets."""
    job = cluster.qsub("#!/bin/sh\ngrep enable_addgrp_kill $SGE_JOB_SPOOL_DIR/config\n", ["-o", "addgrp", "-j", "y"])
    cluster.wait_job(job)
    path = f"{cluster.home()}/addgrp"
    answer = cluster.read(path)
    cluster.outside(path).unlink()
    return {"enable_addgrp_kill=1\n": True, "enable_addgrp_kill=0\n": False}[answer]


def test_addgrp_kill_changes_on_a_running_cluster(bare):
    assert not kills_by_group(bare)
    bare.up(1, PRODUCT=0, ADDGRP_KILL=1)
    assert kills_by_group(bare)
    bare.up(1, PRODUCT=0, ADDGRP_KILL=0)
    assert not kills_by_group(bare)


@pytest.mark.parametrize("host", ["head", "c1"])
def test_daemon_dies_and_comes_back(bare, host):
    bare.up(1, PRODUCT=0)  # a daemon that an earlier test left dead is started
    bare.qsub("#!/bin/sh\nexec sleep 4712\n")
    job_lives = lambda: any(process.args == "sleep 4712" for process in bare.ps("c1"))
    bare.wait_until(job_lives, 20, "no job")
    bare.kill_daemon(host)
    assert not any(daemon in process.args for process in bare.ps(host) for daemon in ("sge_qmaster", "sge_execd"))
    bare.start_daemon(host)
    # that its end is noticed too takes the engine 30 s (qmaster) or 60 s (execd): not waited for
    assert job_lives()


def test_dead_host_is_replaced(bare):
    bare.kill_host("c1")
    bare.up(1, PRODUCT=0)
    assert bare.on("c1", "hostname").stdout == "c1\n"


def test_down_leaves_nothing():
    name = Cluster().name + "-3"
    third = Cluster(name).up(1, PRODUCT=0)
    host_pid = int((third.state / "pid" / "c1").read_text().split()[0])
    third.down()
    assert not third.state.exists()
    Cluster.wait_until(lambda: not pathlib.Path(f"/proc/{host_pid}").exists(), 10, "host c1 lives on")
    assert f"soc.{name}." not in "\n".join(os.listdir("/run/netns"))
    mounts = pathlib.Path("/proc/self/mounts").read_text()
    assert f"/{name}/" not in mounts
