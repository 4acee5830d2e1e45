# SPDX-License-Identifier: Apache-2.0
"""Job arrays on the engine: any index set on its dense 1..N, and the ids in every command."""

import re

import pytest

SHOW = """#!/bin/bash
env | grep -E '^SLURM_(ARRAY_|JOB_ID|JOBID)' | sort
srun -n1 sh -c 'echo step $SLURM_JOB_ID $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_STEP_ID'
"""
WAIT = "#!/bin/bash\nexec sleep 300\n"


@pytest.fixture
def submit(cluster, workdir):
    jobs = []

    def submit(script, args=()):
        jobs.append(cluster.sbatch(script, ["-p", "all.q", *args], cwd=workdir))
        return jobs[-1]

    yield submit
    for job in jobs:
        cluster.on("head", ["qdel", job], user="root")
    for job in jobs:
        cluster.wait_job(job)


def squeue(cluster, job, letters, *args):
    return cluster.on("head", ["squeue", "-h", "-j", str(job), "-o", letters, *args]).stdout.split("\n")[:-1]


@pytest.mark.parametrize("text, indexes, step", [
    ("0-9:3%2", [0, 3, 6, 9], 3),
    ("1,7,3", [1, 3, 7], 1),
    ("[1-2]", [1, 2], 1),
    ("10-50:20", [10, 30, 50], 20),
    ("5,1-3,2", [1, 2, 3, 5], 1),
    ("0", [0], 1),
    ("123456,9", [9, 123456], 1),
])
def test_any_index_set_runs(cluster, workdir, submit, text, indexes, step):
    job = submit(SHOW, ["-a", text, "-o", "out.%A.%a", "-e", "%j.%3a.err"])
    cluster.wait_job(job, 90)
    for position, index in enumerate(indexes, 1):
        number = job * 100000 + position
        assert cluster.read(f"{workdir}/out.{job}.{index}").splitlines() == [
            f"SLURM_ARRAY_JOB_ID={job}", f"SLURM_ARRAY_TASK_COUNT={len(indexes)}", f"SLURM_ARRAY_TASK_ID={index}",
            f"SLURM_ARRAY_TASK_MAX={indexes[-1]}", f"SLURM_ARRAY_TASK_MIN={indexes[0]}", f"SLURM_ARRAY_TASK_STEP={step}",
            f"SLURM_JOBID={number}", f"SLURM_JOB_ID={number}", f"step {number} {job} {index} 0"]
        assert cluster.exists(f"{workdir}/{number}.{index:03}.err")
    files = [path.name for path in cluster.outside(workdir).iterdir() if path.name.startswith("out.")]
    assert len(files) == len(indexes)


def test_the_default_output_is_slurms(cluster, workdir, submit):
    job = submit("#!/bin/bash\necho $SLURM_ARRAY_TASK_ID\n", ["-a", "4,8"])
    cluster.wait_job(job)
    assert [cluster.read(f"{workdir}/slurm-{job}_{k}.out") for k in (4, 8)] == ["4\n", "8\n"]


def test_no_more_than_the_limit_run(cluster, submit):
    job = submit(WAIT, ["-a", "2-20:6%2", "-p", "all.q"])
    cluster.wait_until(lambda: squeue(cluster, job, "%T").count("RUNNING") == 2, 30, "two of them don't run")
    assert squeue(cluster, job, "%i|%K|%t|%r", "-S", "t") == [
        f"{job}_[14,20%2]|14,20%2|PD|JobArrayTaskLimit", f"{job}_2|2|R|None", f"{job}_8|8|R|None"]
    shown = cluster.on("head", ["scontrol", "show", "job", f"{job}_8"]).stdout
    assert f"JobId={job * 100000 + 2} ArrayJobId={job} ArrayTaskId=8 ArrayTaskThrottle=2 JobName=" in shown
    cluster.on("head", ["scancel", f"{job}_2"], check=True)
    cluster.wait_until(lambda: f"{job}_14" in squeue(cluster, job, "%i", "-t", "R"), 40, "the next doesn't start")


def test_every_name_of_an_element_is_understood(cluster, submit):
    job = submit(WAIT, ["-a", "1,5,9-11", "-H"])
    number = job * 100000
    for name, index in [(f"{job}_5", 5), (number + 2, 5), (f"{job}_11", 11), (number + 5, 11)]:
        assert squeue(cluster, name, "%i %A") == [f"{job}_{index} {number + (1, 5, 9, 10, 11).index(index) + 1}"]
    assert squeue(cluster, f"{job}_[5,9-10]", "%K") == ["5", "9", "10"]
    assert squeue(cluster, job, "%i") == [f"{job}_[1,5,9-11]"]
    assert squeue(cluster, job, "%i", "-r") == [f"{job}_{k}" for k in (1, 5, 9, 10, 11)]
    for name in (f"{job}_9", number + 3):
        shown = cluster.on("head", ["scontrol", "show", "job", str(name)]).stdout
        assert shown.startswith(f"JobId={number + 3} ArrayJobId={job} ArrayTaskId=9 JobName=")
    for name, left in [(f"{job}_5", "1,9-11"), (number + 1, "9-11"), (f"{job}_[9-10]", "11")]:
        cluster.on("head", ["scancel", str(name)], check=True)
        assert squeue(cluster, job, "%i", "-t", "PD") == [f"{job}_[{left}]"]
    gone = cluster.on("head", ["squeue", "-h", "-t", "CA", "-r", "-j", str(job), "-o", "%K"]).stdout.split()
    assert gone == ["1", "5", "9", "10"]


def test_steps_of_elements_are_told_apart(cluster, submit):
    job = submit("#!/bin/bash\nsrun -J deep sleep 300\n", ["-a", "3,6"])

    def steps():
        return sorted(cluster.on("head", ["squeue", "-s", "-h", "-o", "%i %j"]).stdout.split("\n")[:-1])

    wanted = [f"{job}_{k}.0 deep" for k in (3, 6)]
    cluster.wait_until(lambda: [s for s in steps() if s.endswith("deep")] == wanted, 40, lambda: str(steps()))
    cluster.on("head", ["scancel", f"{job}_3.0"], check=True)
    cluster.wait_until(lambda: f"{job}_3.0 deep" not in steps(), 40, "the step goes on")
    assert f"{job}_6.0 deep" in steps()


def test_too_much_is_refused_as_by_slurm(cluster):
    for text in ("4000001", "0-75000", "3-1", "1-", "x"):
        done = cluster.on("head", ["sbatch", "-a", text, "--wrap", "true"])
        assert (done.returncode, done.stdout) == (1, ""), text
        assert re.fullmatch("sbatch: error: Batch job submission failed: Invalid job array specification\n",
                            done.stderr), text
