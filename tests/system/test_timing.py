# SPDX-License-Identifier: Apache-2.0
"""The supervisor, without an engine: requeue, restarts, deadlines, the warning before the limit."""

import os
import re
import subprocess
import time

import pytest

from tests.system.jobfile import BUILD, Job
from tests.system.test_batch import script, wait_for

REQUEUED = r"slurmstepd: error: \*\*\* JOB 77 ON node1 CANCELLED AT \S+ DUE TO JOB REQUEUE \*\*\*\n"


def ctl(job, *words):
    return subprocess.run([BUILD / "shim-launch", "ctl", job.spool, *words], capture_output=True, text=True,
                          timeout=20, check=False)


def ended(job):
    return [line for line in job.records() if line["event"] == "end"]


def test_requeue_ends_mildly_with_the_code_that_starts_a_job_again(tmp_path):
    job = Job(tmp_path, script("trap 'echo TERM; exit 3' TERM\ntouch up\nsleep 30 & wait"), requeue=1)
    with job.start() as process:
        wait_for((job.work / "up").exists)
        assert ctl(job, "requeue").returncode == 0
        assert process.wait(20) == 99
    assert re.fullmatch(REQUEUED + "TERM\n", job.output())
    assert [(end["state"], end["code"], end["restart"]) for end in ended(job)] == [("REQUEUED", 3, 0)]
    assert (job.spool / "script").exists()


def test_requeue_kills_what_ignores_term(tmp_path):
    job = Job(tmp_path, script("trap '' TERM\ntouch up\nwhile :; do sleep 0.1; done"), requeue=1, kill_wait=1)
    with job.start() as process:
        wait_for((job.work / "up").exists)
        assert ctl(job, "requeue").returncode == 0
        assert process.wait(20) == 99
    assert [(end["state"], end["signal"]) for end in ended(job)] == [("REQUEUED", 9)]


def test_a_job_that_may_not_be_requeued_goes_on(tmp_path):
    job = Job(tmp_path, script("touch up; while [ ! -e go ]; do sleep 0.05; done; exit 5"))
    with job.start() as process:
        wait_for((job.work / "up").exists)
        answer = ctl(job, "requeue")
        (job.work / "go").touch()
        assert process.wait(20) == 5
    assert (answer.returncode, answer.stderr) == (
        1, "scancel: error: Requested operation is presently disabled\n")


@pytest.mark.parametrize("code", [99, 100])
def test_codes_of_the_engine_are_ordinary_ones(tmp_path, code):
    job = Job(tmp_path, script(f"exit {code}"), requeue=1)
    assert job.run().returncode == 1
    assert [(end["state"], end["code"]) for end in ended(job)] == [("FAILED", code)]


def test_restarts_are_counted_and_output_is_kept(tmp_path):
    """The engine's RESTARTED is 1 for every further run."""
    job = Job(tmp_path, script("echo ${SLURM_RESTART_COUNT-none}; sleep 0.3; kill -9 $PPID; sleep 0.5"), requeue=1)
    job.run()
    job.env["RESTARTED"] = "1"
    job.run()
    (job.spool / "script").write_text(script("echo ${SLURM_RESTART_COUNT-none}"))
    assert job.run().returncode == 0
    assert job.output() == "none\n1\n2\n"
    assert {line["restart"] for line in job.records() if line["event"] == "start"} == {0, 1, 2}


def test_open_mode_truncate_holds_after_a_restart(tmp_path):
    job = Job(tmp_path, script("echo run"), open_mode=ord("t"), engine={"RESTARTED": "1"})
    (job.work / "slurm-77.out").write_text("old\n")
    job.run()
    assert job.output() == "run\n"


# --- deadline ---

def test_job_that_comes_too_late_does_not_start(tmp_path):
    job = Job(tmp_path, script("touch ran"), deadline=int(time.time()) + 30, time_limit=60)
    assert job.run().returncode == 1
    assert not (job.work / "ran").exists()
    assert [(end["state"], end["reason"], end["code"]) for end in ended(job)] == [("DEADLINE", "DeadLine", 0)]


def test_least_time_counts_for_the_deadline(tmp_path):
    job = Job(tmp_path, script("touch ran"), deadline=int(time.time()) + 30, time_limit=60, time_min=20)
    assert job.run().returncode == 0
    assert (job.work / "ran").exists()


def test_job_ends_at_its_deadline(tmp_path):
    started = time.time()
    job = Job(tmp_path, script("sleep 30"), deadline=int(started) + 2)
    job.run()
    assert 1 <= time.time() - started < 6
    assert "DUE TO TIME LIMIT ***" in job.output()
    assert [end["state"] for end in ended(job)] == ["DEADLINE"]


# --- signal ---

def test_warning_continues_what_is_stopped(tmp_path):
    body = "trap 'echo warned; exit 4' USR1\nkill -STOP $$\nsleep 10 & wait"
    job = Job(tmp_path, script(body), time_limit=12, signal_number=10, signal_before=11, signal_batch_only=1)
    started = time.time()
    assert job.run().returncode == 4
    assert job.output() == "warned\n" and time.time() - started < 5


def test_warning_comes_once_and_on_the_second(tmp_path):
    body = ("trap 'echo $(($(date +%s%N) - t))' USR1\nt=$(date +%s%N)\n"
            "for i in $(seq 40); do sleep 0.1; done")
    job = Job(tmp_path, script(body), time_limit=9, signal_number=10, signal_before=7, signal_batch_only=1)
    job.run()
    assert job.output().count("\n") == 1, job.output()
    when = job.output()
    assert 1.7e9 < int(when) < 2.6e9


def test_warning_without_b_is_not_for_the_script(tmp_path):
    job = Job(tmp_path, script("sleep 2; echo alive"), time_limit=5, signal_number=10, signal_before=4)
    assert job.run().returncode == 0
    assert job.output() == "alive\n"


def test_nobody_else_can_announce_a_requeue(tmp_path):
    """99 without the supervisor's word is 1, whoever says it: also where the script lives on without it."""
    job = Job(tmp_path, script("kill -9 $PPID; sleep 0.5; exit 99"), requeue=1)
    assert job.run().returncode == 1
    assert os.path.exists(job.spool / "script")


# --- the login environment ---

def login_shell(folder, text):
    """A shell of the account's that is started as a login shell, and then runs what it is given."""
    path = folder / "shell"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_login_environment_of_the_jobs_host(tmp_path):
    """A shell here; what was exported wins over it, and what is the engine's and Slurm's over both."""
    shell = login_shell(tmp_path, "echo noise; export FROM_LOGIN=1 MINE=login JOB_ID=5 SLURM_JOB_ID=5; exec /bin/sh \"$@\"")
    job = Job(tmp_path, script("echo $FROM_LOGIN $MINE $JOB_ID $SLURM_JOB_ID"), env={"MINE": "exported"},
              engine={"SHELL": shell}, get_user_env=1)
    assert job.run().returncode == 0
    assert job.output() == "1 exported 77 77\n"


def test_no_login_shell_where_nobody_asked(tmp_path):
    shell = login_shell(tmp_path, f"touch {tmp_path}/called; exec /bin/sh \"$@\"")
    assert Job(tmp_path, script("true"), engine={"SHELL": shell}).run().returncode == 0
    assert not (tmp_path / "called").exists()


def test_account_without_a_shell(tmp_path):
    job = Job(tmp_path, script("echo runs"), engine={"SHELL": "/usr/sbin/nologin"}, get_user_env=1)
    assert job.run().returncode == 0
    first, last = job.output().splitlines()
    assert first.startswith("slurmstepd: error: Failed to load the login environment: ") and last == "runs"
