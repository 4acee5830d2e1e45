# SPDX-License-Identifier: Apache-2.0
"""squeue and scontrol on real jobs."""

import re

import pytest

LONG = "#!/bin/bash\nexec sleep 300\n"


def squeue(cluster, *args, **kwargs):
    return cluster.on("head", ["squeue", *args], **kwargs)


def field(cluster, job, letters, *args):
    """The value of a format for one job, "" when it isn't listed."""
    return squeue(cluster, "-h", "-j", job, "-o", letters, *args).stdout.strip()


@pytest.fixture
def submit(cluster, workdir):
    """sbatch or qsub; what it submitted is gone after the test."""
    jobs = []

    def submit(script, args=(), native=False):
        jobs.append((cluster.qsub if native else cluster.sbatch)(script, args, cwd=workdir))
        return jobs[-1]

    yield submit
    for job in jobs:
        cluster.on("head", ["qdel", job], user="root")
    for job in jobs:
        cluster.wait_job(job)


def test_a_job_shows_right_after_sbatch(cluster, submit):
    for _ in range(5):
        job = submit(LONG, ["-H", "-J", "fresh"])
        assert field(cluster, job, "%i %j %u %T %r") == f"{job} fresh alice PENDING JobHeldUser"


def test_a_running_job_shows_where_it_is(cluster, submit):
    job = submit(LONG, ["-N3", "--ntasks-per-node=2", "-t10", "-J", "wide", "--comment=a b", "-p", "all.q"])
    cluster.wait_running(job)
    assert field(cluster, job, "%t|%D|%C|%N|%B|%P|%l|%k") == "R|3|6|c[1-3]|c1|all.q|10:00|a b"
    line = squeue(cluster, "-j", job).stdout.splitlines()
    assert line[0] == "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
    assert re.fullmatch(rf" *{job}     all.q     wide    alice  R +0:\d\d +3 c\[1-3\]", line[1])


def test_elements_of_an_array_have_slurms_indices(cluster, submit):
    job = submit(LONG, ["-n1", "--array=5,9,13", "-H"])
    assert field(cluster, job, "%i %A %K") == f"{job}_[5,9,13] {job} 5,9,13"
    assert field(cluster, job, "%i", "-r").split() == [f"{job}_{k}" for k in (5, 9, 13)]
    cluster.on("head", ["scontrol", "release", job], check=True)
    cluster.wait_until(lambda: field(cluster, job, "%t").split() == ["R"] * 3, 30, "three running elements")
    assert field(cluster, job, "%i %A %F %K").splitlines() == [
        f"{job}_{index} {job * 100000 + position} {job} {index}" for position, index in ((1, 5), (2, 9), (3, 13))]
    # each by either of its names
    assert field(cluster, f"{job}_9", "%i") == f"{job}_9"
    assert field(cluster, job * 100000 + 2, "%i") == f"{job}_9"


def test_why_jobs_wait(cluster, submit):
    first = submit(LONG, ["-H"])
    waits = submit(LONG, ["-hold_jid", str(first)], native=True)
    both = submit(LONG, ["-h", "-hold_jid", str(first)], native=True)
    admin = submit(LONG, ["-h"], native=True)
    cluster.on("head", ["scontrol", "hold", admin], user="root", check=True)
    cluster.on("head", ["qrls", "-h", "u", admin], check=True)
    large = submit(LONG, ["-pe", "smp", "4", "-l", "gpu=9", "-q", "plain.q", "-p", "0"], native=True)
    after = submit(LONG, ["-pe", "smp", "4", "-l", "gpu=9", "-q", "plain.q", "-p", "-10"], native=True)
    assert field(cluster, first, "%r") == "JobHeldUser"
    assert field(cluster, waits, "%r %R %E") == f"Dependency (Dependency) afterany:{first}(unfulfilled)"
    assert field(cluster, both, "%r") == "JobHeldUser"
    assert field(cluster, admin, "%r") == "JobHeldAdmin"
    cluster.wait_until(lambda: field(cluster, large, "%r") == "Resources", 20, "the first waits for resources")
    cluster.wait_until(lambda: field(cluster, after, "%r") == "Priority", 20, "the second waits for the first")


def test_a_job_that_is_over_is_known_for_a_while(cluster, submit):
    job = submit("#!/bin/bash\nexit 7\n", ["-J", "seven"])
    cluster.wait_job(job)
    assert field(cluster, job, "%i") == ""
    assert squeue(cluster, "-j", job).returncode == 0
    assert field(cluster, job, "%T %r %R %j %P", "-t", "all") == "FAILED NonZeroExitCode (NonZeroExitCode) seven all.q"
    assert field(cluster, job, "%T", "--states=CD") == ""
    shown = cluster.on("head", ["scontrol", "-o", "show", "job", job]).stdout
    assert f"JobId={job} JobName=seven " in shown
    assert " JobState=FAILED Reason=NonZeroExitCode " in shown and " ExitCode=7:0 " in shown


def test_an_unknown_id_alone_is_an_error(cluster, submit):
    result = squeue(cluster, "-j", "999999")
    assert (result.returncode, result.stdout, result.stderr) == (
        1, "", "slurm_load_jobs error: Invalid job id specified\n")
    job = submit(LONG, ["-H"])
    result = squeue(cluster, "-h", "-o", "%i", "-j", f"999999,{job}")
    assert (result.returncode, result.stdout) == (0, f"{job}\n")


def test_an_engine_that_is_down_is_an_error(cluster):
    for command in (["squeue"], ["squeue", "-h", "--me"], ["scancel", "--me"], ["scontrol", "show", "job"]):
        result = cluster.on("head", command, env={"SGE_QMASTER_PORT": "1"})
        assert result.returncode == 1, command
        assert result.stdout == ""
        assert "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n" in result.stderr


def test_trace_shows_the_engines_commands(cluster):
    result = squeue(cluster, "--me", env={"SLURM_ON_OCS_TRACE": "1"})
    commands = [line[2:] for line in result.stderr.splitlines() if line.startswith("+ ")]
    assert commands == ["qstat -u alice -xml -r -g t"]
    # pasteable: it runs as it stands, where the engine's clients are on PATH
    assert "<job_info" in cluster.on("head", commands[0]).stdout


def test_filters_choose_jobs(cluster, submit):
    one = submit(LONG, ["-H", "-J", "filter-a", "-p", "all.q"])
    two = submit(LONG, ["-H", "-J", "filter-b", "-p", "plain.q"])
    ids = {str(one), str(two)}

    def listed(*args):
        return set(squeue(cluster, "-h", "-o", "%i", *args).stdout.split()) & ids

    assert listed() == listed("--me") == listed("-u", "alice,bob") == listed("-t", "PD") == ids
    assert listed("-u", "bob") == listed("-t", "R") == listed("-A", "nosuch") == set()
    assert listed("-n", "filter-b") == listed("-p", "plain.q") == {str(two)}
    result = squeue(cluster, "-h", "-u", "nosuch")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "squeue: error: Invalid user: nosuch\n\n")
    assert squeue(cluster, "-t", "bogus").returncode == 1


def test_steps_are_listed_while_they_run(cluster, submit):
    job = submit("#!/bin/bash\nsrun -n2 -J waiter sleep 300\n", ["-N2", "-n2"])
    cluster.wait_until(lambda: f"{job}.0" in squeue(cluster, "-h", "-s", "-o", "%i").stdout, 30, "step 0")
    lines = squeue(cluster, "-h", "-s", "-j", job, "-o", "%i %j %N").stdout.splitlines()
    assert lines == [f"{job}.0 waiter c[1-2]", f"{job}.batch batch c1"]


def test_hold_and_release(cluster, submit):
    job = submit(LONG, ["-pe", "smp", "1", "-l", "gpu=9"], native=True)

    def scontrol(*args, user="alice"):
        return cluster.on("head", ["scontrol", *args], user=user)

    assert scontrol("hold", str(job)).returncode == 0
    assert field(cluster, job, "%r") == "JobHeldUser"
    assert scontrol("release", f"job={job}").returncode == 0
    assert field(cluster, job, "%r") != "JobHeldUser"
    denied = scontrol("hold", str(job), user="bob")
    assert (denied.returncode, denied.stderr) == (
        1, f"Access/permission denied for job {job}\nslurm_suspend error: Access/permission denied\n")
    unknown = scontrol("hold", "999999")
    assert (unknown.returncode, unknown.stderr) == (
        1, "Invalid job id specified for job 999999\nslurm_suspend error: Invalid job id specified\n")
