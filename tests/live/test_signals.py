# SPDX-License-Identifier: Apache-2.0
"""What the engine does to a job reaches all that it started, with and without ENABLE_ADDGRP_KILL."""

import os

import pytest

from tests.live import tree


@pytest.fixture(params=[0, 1], ids=["addgrp-off", "addgrp-on"], scope="module")
def addgrp(cluster, request):
    """By itself the engine signals only its own child's process group; with this one all processes of the job."""
    cluster.up(3, ADDGRP_KILL=request.param)
    yield request.param
    cluster.up(3, ADDGRP_KILL=os.environ.get("ADDGRP_KILL", "0"))


@pytest.fixture
def token(cluster, workdir):
    """A name for processes; nothing of a failed test is left to the next one."""
    yield "t" + workdir.rpartition("-")[2].replace("_", "x")
    cluster.on("head", ["qdel", "-u", "alice"], user="root")


def start(cluster, workdir, token):
    """A job whose processes all run: its id and host."""
    job = cluster.sbatch(tree.script(token), ["-p", "all.q", "-o", "out"], cwd=workdir)
    host = tree.wait_ready(cluster, workdir)
    cluster.wait_until(lambda: set(tree.processes(cluster, host, token)) == tree.KINDS, 10,
                       lambda: f"there are only {tree.processes(cluster, host, token)}")
    return job, host


def wait_states(cluster, host, token, state):
    """Until all processes are in that state, and none is missing."""
    expected = dict.fromkeys(tree.KINDS, state)
    cluster.wait_until(lambda: tree.processes(cluster, host, token) == expected, 10,
                       lambda: f"{tree.processes(cluster, host, token)}")


def check_killed(cluster, job, host, token, addgrp):
    tree.wait_gone(cluster, host, token)
    cluster.wait_job(job)
    found = tree.events(cluster, job, host)
    assert "start" in found
    # with the additional group the engine may be faster than our pen
    assert "end" in found or addgrp
    if "end" in found:
        assert found["end"]["state"] == "KILLED_BY_ENGINE"


def test_qdel_kills_all(cluster, workdir, token, addgrp):
    job, host = start(cluster, workdir, token)
    cluster.on("head", ["qdel", job], check=True)
    check_killed(cluster, job, host, token, addgrp)


def test_h_rt_kills_all(cluster, workdir, token, addgrp):
    job = cluster.sbatch(tree.script(token), ["-H", "-p", "all.q", "-o", "out"], cwd=workdir)
    cluster.on("head", ["qalter", "-l", "h_rt=3", job], check=True)
    cluster.on("head", ["qrls", job], check=True)
    host = tree.wait_ready(cluster, workdir)
    assert tree.processes(cluster, host, token)
    check_killed(cluster, job, host, token, addgrp)
    assert cluster.qacct(job)[0]["failed"].startswith("37")


def test_suspend_stops_all_and_resume_continues_all(cluster, workdir, token, addgrp):
    job, host = start(cluster, workdir, token)
    cluster.on("head", ["qmod", "-sj", job], user="root", check=True)
    wait_states(cluster, host, token, "T")
    cluster.on("head", ["qmod", "-usj", job], user="root", check=True)
    wait_states(cluster, host, token, "S")
    cluster.on("head", ["qmod", "-sj", job], user="root", check=True)
    wait_states(cluster, host, token, "T")
    cluster.on("head", ["qdel", job], check=True)
    check_killed(cluster, job, host, token, addgrp)


def test_end_of_script_ends_what_it_left(cluster, workdir, token, addgrp):
    assert addgrp in (0, 1)
    job = cluster.sbatch(tree.script(token, "exit 5"), ["-p", "all.q", "-o", "out"], cwd=workdir)
    host = tree.wait_ready(cluster, workdir)
    cluster.wait_job(job)
    assert tree.processes(cluster, host, token) == {}
    assert cluster.qacct(job)[0]["exit_status"].split()[0] == "5"
    end = tree.events(cluster, job, host)["end"]
    assert (end["state"], end["code"], end["signal"]) == ("FAILED", 5, 0)


def kill_supervisor(cluster, host):
    found = [process for process in tree.ours(cluster, host)
             if " batch " in process.args and process.pgid == process.pid != process.sid]
    assert len(found) == 1, found
    cluster.on(host, ["kill", "-9", found[0].pid], user="root", check=True)
    cluster.wait_until(lambda: any(" guard " in p.args for p in tree.ours(cluster, host)), 5, "no guard")


def test_script_outlives_a_killed_supervisor(cluster, workdir, token, addgrp):
    assert addgrp in (0, 1)
    end = "while [ ! -e go ]; do sleep 0.1; done; echo went on >>out2; exit 7"
    job = cluster.sbatch(tree.script(token, end), ["-p", "all.q", "-o", "out"], cwd=workdir)
    host = tree.wait_ready(cluster, workdir)
    kill_supervisor(cluster, host)
    assert cluster.job_state(job)
    assert tree.KINDS - {"script"} == set(tree.processes(cluster, host, token))
    cluster.write(f"{workdir}/go", "")
    cluster.wait_job(job)
    assert cluster.read(f"{workdir}/out2") == "went on\n"
    record = cluster.qacct(job)[0]
    assert (record["failed"].split()[0], record["exit_status"].split()[0]) == ("0", "7")
    tree.wait_gone(cluster, host, token)


def test_the_engine_knows_the_end_without_a_supervisor(cluster, workdir, token, addgrp):
    """Our record has a start and no end: sacct and scontrol ask the engine's accounting."""
    assert addgrp in (0, 1)
    end = "while [ ! -e go ]; do sleep 0.1; done; exit 42"
    job = cluster.sbatch(tree.script(token, end), ["-p", "all.q", "-o", "out"], cwd=workdir)
    host = tree.wait_ready(cluster, workdir)
    kill_supervisor(cluster, host)
    cluster.write(f"{workdir}/go", "")
    cluster.wait_job(job)
    assert cluster.qacct(job)[0]["exit_status"].split()[0] == "42"
    assert "end" not in tree.events(cluster, job, host)
    ask = ["sacct", "-n", "-P", "-j", job, "-o", "JobID,State,ExitCode"]
    # a job without an end isn't shown at once: it may have been submitted after the engine was asked
    cluster.wait_until(lambda: cluster.on("head", ask).stdout, 20, "no row")
    rows = cluster.on("head", ask).stdout.splitlines()
    assert rows == [f"{job}|FAILED|42:0", f"{job}.batch|FAILED|42:0"]
    assert cluster.on("head", ["sacct", "-n", "-P", "-X", "-j", job, "-s", "F", "-o", "JobID"]).stdout == f"{job}\n"
    text = cluster.on("head", ["scontrol", "show", "job", job], check=True).stdout
    assert "JobState=FAILED Reason=NonZeroExitCode " in text
    assert " ExitCode=42:0\n" in text


def test_engine_reaches_the_script_without_its_supervisor(cluster, workdir, token, addgrp):
    assert addgrp in (0, 1)
    job, host = start(cluster, workdir, token)
    kill_supervisor(cluster, host)
    cluster.on("head", ["qmod", "-sj", job], user="root", check=True)
    wait_states(cluster, host, token, "T")
    cluster.on("head", ["qmod", "-usj", job], user="root", check=True)
    wait_states(cluster, host, token, "S")
    cluster.on("head", ["qdel", job], check=True)
    tree.wait_gone(cluster, host, token)
    cluster.wait_job(job)
