# SPDX-License-Identifier: Apache-2.0
"""When jobs run on the real engine: --begin, --deadline, --time, --signal, requeue, --wait, and who is told."""

import re
import time

import pytest

from tests.live import tree
from tests.live.test_sbatch import job_of, output, run, submit


def show(cluster, job, host="head"):
    """scontrol's fields of a job, as a dict."""
    text = cluster.on(host, ["scontrol", "show", "job", job], check=True).stdout
    return dict(re.findall(r"(\S+?)=(\S*)", text))


def ends(cluster, job):
    """All end records of a job, oldest first."""
    found = [line for host in cluster.exec_hosts for line in tree.records(cluster, job, host) if line["event"] == "end"]
    return sorted(found, key=lambda line: line["time"])


def wait_for_text(cluster, path, text, timeout=30):
    cluster.wait_until(lambda: cluster.exists(path) and text in cluster.read(path), timeout,
                       lambda: f"no {text!r} in {path}")


# --- begin ---

def test_begin(cluster, workdir):
    began = int(time.time()) + 6
    job = job_of(submit(cluster, workdir, "--begin=now+6", "--wrap", "date +%s"))
    fields = show(cluster, job)
    assert (fields["JobState"], fields["Reason"]) == ("PENDING", "BeginTime")
    assert time.mktime(time.strptime(fields["EligibleTime"], "%Y-%m-%dT%H:%M:%S")) >= began
    assert cluster.on("head", ["squeue", "-h", "-j", job, "-o", "%t %r"]).stdout == "PD BeginTime\n"
    cluster.wait_job(job)
    assert int(output(cluster, workdir, job)) >= began


# --- limits ---

def test_time_limit(cluster, workdir):
    """TERM at the limit, KILL after KillWait, TIMEOUT everywhere."""
    script = ("#!/bin/bash\n#SBATCH -t 1\ntrap 'echo caught' TERM\nsrun sleep 200 &\ntouch up\n"
              "while :; do sleep 0.2; done\n")
    cluster.write(f"{workdir}/s.sh", script)
    job = job_of(submit(cluster, workdir, "-o", "out", "s.sh"))
    assert show(cluster, job)["TimeLimit"] == "00:01:00"
    cluster.wait_job(job, timeout=150)
    text = cluster.read(f"{workdir}/out")
    assert re.search(rf"slurmstepd: error: \*\*\* JOB {job} ON c\d CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*\n", text)
    assert "caught" in text
    (end,) = ends(cluster, job)
    assert (end["state"], end["signal"]) == ("TIMEOUT", 9)
    fields = show(cluster, job)
    assert (fields["JobState"], fields["Reason"], fields["ExitCode"]) == ("TIMEOUT", "TimeLimit", "0:9")
    states = cluster.on("head", ["squeue", "-h", "-t", "all", "-j", job, "-o", "%T"]).stdout
    assert states == "TIMEOUT\n"


def test_signal_to_the_script(cluster, workdir):
    body = "trap 'echo warned after $SECONDS; exit 9' USR1; for i in $(seq 300); do sleep 0.1; done"
    cluster.write(f"{workdir}/s.sh", f"#!/bin/bash\n{body}\n")
    job = run(cluster, workdir, "-t1", "--signal=B:USR1@57", "s.sh")
    assert output(cluster, workdir, job) in ("warned after 2\n", "warned after 3\n", "warned after 4\n")
    assert [(end["state"], end["code"]) for end in ends(cluster, job)] == [("FAILED", 9)]


def test_signal_to_the_steps_alone(cluster, workdir):
    cluster.write(f"{workdir}/s.sh", "#!/bin/bash\nsrun bash -c 'trap \"echo step warned; exit 0\" USR2; touch up; "
                                     "for i in $(seq 100); do sleep 0.1; done'\necho script lives\n")
    job = run(cluster, workdir, "-N2", "-t1", "--signal=USR2@55", "s.sh")
    # (each bash says also that the signal ended its sleep)
    lines = [line for line in output(cluster, workdir, job).splitlines() if line != "User defined signal 2"]
    assert lines == ["step warned", "step warned", "script lives"]


def test_deadline_too_late(cluster, workdir):
    job = job_of(submit(cluster, workdir, "-H", "-t1", "--deadline=now+3", "-o", "out", "--wrap", "touch ran"))
    assert show(cluster, job)["Deadline"] != "N/A"
    time.sleep(3)
    cluster.on("head", ["scontrol", "release", job], check=True)
    cluster.wait_job(job)
    assert not cluster.exists(f"{workdir}/ran")
    fields = show(cluster, job)
    assert (fields["JobState"], fields["Reason"]) == ("DEADLINE", "DeadLine")


# --- requeue ---

REQUEUE = """#!/bin/bash
echo run ${SLURM_RESTART_COUNT:-0}
trap 'echo TERM; exit 1' TERM
[ "${SLURM_RESTART_COUNT:-0}" = 2 ] && exit 3
touch up.${SLURM_RESTART_COUNT:-0}
%s
sleep 60 & wait
"""


def expect_runs(text, job):
    """The runs one after the other; what else is there comes from srun, and from bash whose children were ended."""
    line = rf"slurmstepd: error: \*\*\* JOB {job} ON c\d CANCELLED AT \S+ DUE TO JOB REQUEUE \*\*\*"
    lines = [re.sub(line, "requeue", word) for word in text.splitlines()]
    expected = ["run 0", "requeue", "TERM", "run 1", "requeue", "TERM", "run 2"]
    assert [word for word in lines if word in expected] == expected, text


@pytest.mark.parametrize("options", [[], ["-N3", "--ntasks-per-node=2"]])
def test_requeue_from_outside(cluster, workdir, options):
    """Two times: runs don't overlap, the output is kept, the restarts are counted, the last end is the job's."""
    cluster.write(f"{workdir}/s.sh", REQUEUE % "srun sleep 60 &")
    job = job_of(submit(cluster, workdir, "-o", "out", *options, "s.sh"))
    for number in (0, 1):
        cluster.wait_until(lambda n=number: cluster.exists(f"{workdir}/up.{n}"), 40, lambda: cluster.explain(job))
        result = cluster.on("head", ["scontrol", "requeue", job])
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    cluster.wait_job(job)
    expect_runs(cluster.read(f"{workdir}/out"), job)
    assert [(end["restart"], end["state"]) for end in ends(cluster, job)] == [
        (0, "REQUEUED"), (1, "REQUEUED"), (2, "FAILED")]
    fields = show(cluster, job)
    assert (fields["JobState"], fields["Restarts"], fields["Requeue"], fields["ExitCode"]) == ("FAILED", "2", "1", "3:0")
    spool = cluster.outside(cluster.home()) / ".slurm-on-ocs"
    assert not list(spool.glob(f"*/by-id/{job}"))


def test_requeue_from_inside(cluster, workdir):
    cluster.write(f"{workdir}/s.sh", REQUEUE % "scontrol requeue $SLURM_JOB_ID")
    job = run(cluster, workdir, "-o", "out", "s.sh")
    expect_runs(cluster.read(f"{workdir}/out"), job)


def test_requeue_of_an_array_element(cluster, workdir):
    cluster.write(f"{workdir}/s.sh", "#!/bin/bash\n[ -n \"$SLURM_RESTART_COUNT\" ] && exit 5\n"
                                     "touch up.$SLURM_ARRAY_TASK_ID; [ $SLURM_ARRAY_TASK_ID = 3 ] || exit 0; sleep 60\n")
    job = job_of(submit(cluster, workdir, "-a", "1,3", "-o", "%a", "s.sh"))
    cluster.wait_until(lambda: cluster.exists(f"{workdir}/up.3"), 30, "not up")
    cluster.on("head", ["scontrol", "requeue", f"{job}_3"], check=True)
    cluster.wait_job(job)
    assert show(cluster, f"{job}_1")["JobState"] == "COMPLETED"
    fields = show(cluster, f"{job}_3")
    assert (fields["JobState"], fields["ExitCode"], fields["Restarts"]) == ("FAILED", "5:0", "1")


def test_requeuehold(cluster, workdir):
    cluster.write(f"{workdir}/s.sh", REQUEUE % "")
    job = job_of(submit(cluster, workdir, "-o", "out", "s.sh"))
    cluster.wait_until(lambda: cluster.exists(f"{workdir}/up.0"), 30, "not up")
    cluster.on("head", ["scontrol", "requeuehold", job], check=True)
    cluster.wait_until(lambda: show(cluster, job)["JobState"] == "PENDING", 20, lambda: cluster.explain(job))
    fields = show(cluster, job)
    assert (fields["Reason"], fields["Restarts"]) == ("JobHeldUser", "1")
    cluster.on("head", ["scancel", job], check=True)
    cluster.wait_job(job)
    assert show(cluster, job)["JobState"] == "CANCELLED"
    assert not cluster.exists(f"{workdir}/up.1")


def test_what_cannot_be_requeued(cluster, workdir):
    def requeue(job):
        result = cluster.on("head", ["scontrol", "requeue", job])
        return result.returncode, result.stdout, result.stderr

    held = job_of(submit(cluster, workdir, "-H", "--wrap", "true"))
    assert requeue(held) == (1, "", f"Job is pending execution for job {held}\n")
    assert requeue(999999) == (1, "", "Invalid job id specified for job 999999\n")
    job = job_of(submit(cluster, workdir, "--no-requeue", "--wrap", "touch up; sleep 60"))
    cluster.wait_until(lambda: cluster.exists(f"{workdir}/up"), 30, "not up")
    assert requeue(job) == (1, "", f"Requested operation is presently disabled for job {job}\n")
    other = cluster.on("head", ["scontrol", "requeue", job], user="bob")
    assert other.returncode == 1 and other.stderr.endswith(f" for job {job}\n")
    assert cluster.job_state(job) in ("t", "r")
    cluster.on("head", ["scancel", job, held], check=True)


def test_the_engines_own_reschedule(cluster, workdir):
    """qmod -rj: by default a job may be started again; the new run has the spool folder and a number of its own."""
    cluster.write(f"{workdir}/s.sh", "#!/bin/bash\necho run ${SLURM_RESTART_COUNT:-0}\n"
                                     "[ -n \"$SLURM_RESTART_COUNT\" ] && exit 4\ntouch up; sleep 60\n")
    job = job_of(submit(cluster, workdir, "-o", "out", "s.sh"))
    cluster.wait_until(lambda: cluster.exists(f"{workdir}/up"), 30, "not up")
    answer = cluster.on("head", ["qmod", "-rj", job], check=True)
    assert "rescheduling" in answer.stdout, answer.stdout + answer.stderr
    cluster.wait_job(job)
    assert cluster.read(f"{workdir}/out").startswith("run 0\n") and "run 1\n" in cluster.read(f"{workdir}/out")
    fields = show(cluster, job)
    assert (fields["JobState"], fields["ExitCode"], fields["Restarts"]) == ("FAILED", "4:0", "1")


@pytest.mark.parametrize("code", [99, 100])
def test_codes_of_the_engine_are_ordinary_ones(cluster, workdir, code):
    job = run(cluster, workdir, "-o", "out", "--wrap", f"echo once; exit {code}")
    assert cluster.read(f"{workdir}/out") == "once\n"
    fields = show(cluster, job)
    assert (fields["JobState"], fields["ExitCode"]) == ("FAILED", f"{code}:0")


# --- wait ---

@pytest.mark.parametrize("options, command, code", [
    ([], "true", 0),
    ([], "sleep 2; exit 3", 3),
    ([], "kill -9 $$", 1),
    (["-a", "0-3"], "exit $SLURM_ARRAY_TASK_ID", 3),
    (["-N2"], "exit 4", 4),
])
def test_wait(cluster, workdir, options, command, code):
    result = submit(cluster, workdir, "-W", *options, "--wrap", command)
    assert (result.returncode, result.stderr) == (code, "")
    assert re.fullmatch(r"Submitted batch job \d+\n", result.stdout)


def test_wait_for_jobs_that_are_cancelled(cluster, workdir):
    """While it runs: 1. While it waits: 0, as Slurm has it; this takes one question to the engine."""
    for options, by, code in ((["-o", "up"], "scancel", 1), (["-H"], "scancel", 0), (["-o", "up2"], "qdel", 1)):
        process = cluster.start("head", ["sbatch", "-W", "-J", "waited", *options, "--wrap", "sleep 100"], cwd=workdir)
        job = int(process.stdout.readline().split()[-1])
        if "-H" not in options:
            cluster.wait_until(lambda o=options: cluster.exists(f"{workdir}/{o[1]}"), 30, "not up")
        cluster.on("head", [by, job], check=True)
        assert process.wait(60) == code, (by, options)


def test_wait_asks_the_engine_sparingly(cluster, workdir):
    result = submit(cluster, workdir, "-W", "--wrap", "sleep 4", env={"SLURM_ON_OCS_TRACE": "1"})
    assert result.returncode == 0
    assert [line.split()[1] for line in result.stderr.splitlines() if line.startswith("+ ")].count("qstat") == 0


# --- the rest ---

def test_test_only_says_slurms_line(cluster, workdir):
    result = submit(cluster, workdir, "--test-only", "-N3", "--ntasks-per-node=2", "-p", "all.q", "--wrap", "true")
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == "sbatch: Job 0 to start at N/A using 6 processors on nodes N/A in partition all.q\n"
    result = submit(cluster, workdir, "--test-only", "-N9", "--wrap", "true")
    assert (result.returncode, result.stdout, result.stderr) == (
        1, "", "allocation failure: Requested node configuration is not available\n")


def test_mail_is_asked_of_the_engine(cluster, workdir):
    job = job_of(submit(cluster, workdir, "-H", "--mail-type=BEGIN,FAIL", "--mail-user=a@example.org", "--wrap", "true"))
    text = cluster.on("head", ["qstat", "-j", job]).stdout
    cluster.on("head", ["qdel", job], check=True)
    assert re.search(r"mail_options: +ab\n", text) and re.search(r"mail_list: +a@example.org\n", text)


def test_nice_account_and_comment(cluster, workdir):
    job = job_of(submit(cluster, workdir, "-H", "--nice=50", "-A", "proj", "--comment=a b", "-q", "fast", "--wrap", "true"))
    fields = show(cluster, job)
    text = cluster.on("head", ["qstat", "-j", job]).stdout
    cluster.on("head", ["qdel", job], check=True)
    assert (fields["Nice"], fields["Account"], fields["QOS"]) == ("50", "proj", "fast")
    assert re.search(r"priority: +-50\n", text) and re.search(r"account: +proj\n", text)


def test_reservation_by_name(cluster, workdir):
    grant = cluster.on("head", ["qrsub", "-N", "ours", "-u", "alice", "-d", "120", "-q", "all.q@c3"], user="root", check=True)
    number = re.search(r"\d+", grant.stdout)[0]
    try:
        job = run(cluster, workdir, "--reservation=ours", "--wrap", "hostname")
        assert output(cluster, workdir, job) == "c3\n"
        refused = submit(cluster, workdir, "--reservation=nosuch", "--wrap", "true")
        assert (refused.returncode, refused.stderr) == (
            1, "sbatch: error: Batch job submission failed: Requested reservation is invalid\n")
    finally:
        cluster.on("head", ["qrdel", number], user="root")


def test_export_file(cluster, workdir):
    cluster.write(f"{workdir}/vars", "FROM_FILE=a\nb\0OVER=file\0")
    command = f"OVER=mine exec sbatch --parsable --export-file=3 --wrap 'echo \"$FROM_FILE $OVER\"' 3<{workdir}/vars"
    job = int(cluster.on("head", command, cwd=workdir, check=True).stdout)
    cluster.wait_job(job)
    assert output(cluster, workdir, job) == "a\nb file\n"


def test_login_environment_of_the_jobs_host(cluster, workdir):
    """What a profile of the execution host says, not one of the host where sbatch runs."""
    profile = f"{cluster.home()}/.profile"
    cluster.write(profile, "export PROFILE_OF=$(hostname)\n")
    try:
        job = run(cluster, workdir, "--export=NONE", "--wrap", "echo $PROFILE_OF $SLURMD_NODENAME", env={"MINE": "1"})
    finally:
        cluster.outside(profile).unlink()
    where, host = output(cluster, workdir, job).split()
    assert where == host != "head"
