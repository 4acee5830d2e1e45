# SPDX-License-Identifier: Apache-2.0
"""scancel on real jobs: the supervisor is asked first, the engine does the rest."""

import pytest

LONG = "#!/bin/bash\nexec sleep 300\n"
# ends by itself on SIGTERM, and tells
POLITE = """#!/bin/bash
trap 'echo term >>told.$SLURM_ARRAY_TASK_ID; exit 5' TERM
trap 'echo usr1 >>told.$SLURM_ARRAY_TASK_ID' USR1
echo ready >ready.$SLURM_ARRAY_TASK_ID
while :; do sleep 0.2; done
"""


@pytest.fixture
def submit(cluster, workdir):
    jobs = []

    def submit(script, args=(), native=False, user="alice", cwd=workdir):
        jobs.append((cluster.qsub if native else cluster.sbatch)(script, args, user=user, cwd=cwd))
        return jobs[-1]

    yield submit
    for job in jobs:
        cluster.on("head", ["qdel", job], user="root")
    for job in jobs:
        cluster.wait_job(job)


def scancel(cluster, *args, **kwargs):
    return cluster.on("head", ["scancel", *map(str, args)], **kwargs)


def state(cluster, job):
    return cluster.on("head", ["squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T"]).stdout.strip()


def wait_file(cluster, path):
    cluster.wait_until(lambda: cluster.exists(path), 90, f"no {path}")


def test_a_running_job_is_asked_to_end(cluster, workdir, submit):
    job = submit(POLITE)
    wait_file(cluster, f"{workdir}/ready.")
    result = scancel(cluster, job, env={"SLURM_ON_OCS_TRACE": "1"})
    assert result.returncode == 0
    assert " cancel " in result.stderr and "+ qdel" not in result.stderr
    cluster.wait_job(job)
    assert cluster.read(f"{workdir}/told.") == "term\n"
    assert state(cluster, job) == "CANCELLED"


def test_no_step_begins_in_a_cancelled_job(cluster, workdir, submit):
    # the word to end goes to all that the script has started by then, so srun comes a little later
    job = submit("""#!/bin/bash
trap 'sleep 0.5; sleep 0.5; srun touch late; echo $? >code' TERM
touch ready
sleep 30 & wait
""", ["-o", "out"])
    wait_file(cluster, f"{workdir}/ready")
    assert scancel(cluster, job).returncode == 0
    cluster.wait_job(job)
    assert cluster.read(f"{workdir}/code") == "1\n"
    assert not cluster.exists(f"{workdir}/late")
    want = f"srun: error: Unable to create step for job {job}: Job/step already completing or completed\n"
    assert want in cluster.read(f"{workdir}/out")


def test_one_element_is_cancelled_and_no_other(cluster, workdir, submit):
    job = submit(POLITE, ["-n1", "--array=4,6,8"])
    for index in (4, 6, 8):
        wait_file(cluster, f"{workdir}/ready.{index}")
    assert scancel(cluster, f"{job}_6").returncode == 0
    wait_file(cluster, f"{workdir}/told.6")
    assert scancel(cluster, job * 100000 + 1).returncode == 0  # the first element's own number
    wait_file(cluster, f"{workdir}/told.4")
    assert not cluster.exists(f"{workdir}/told.8")
    cluster.wait_until(lambda: state(cluster, f"{job}_6") == "CANCELLED", 30, "element 6 is cancelled")
    assert state(cluster, f"{job}_8") == "RUNNING"
    # an index that the array doesn't have is nobody's
    assert scancel(cluster, f"{job}_2").returncode == 0
    assert state(cluster, f"{job}_8") == "RUNNING"


def test_a_signal_goes_where_it_is_sent(cluster, workdir, submit):
    job = submit(POLITE)
    wait_file(cluster, f"{workdir}/ready.")
    assert scancel(cluster, job, "--signal", "USR1").returncode == 0  # to the steps: there is none
    assert scancel(cluster, "--batch", "--signal=SIGUSR1", job).returncode == 0
    wait_file(cluster, f"{workdir}/told.")
    assert cluster.read(f"{workdir}/told.") == "usr1\n"
    assert state(cluster, job) == "RUNNING"


def test_pending_jobs_go_in_one_qdel(cluster, submit):
    jobs = [submit(LONG, ["-H"]), submit(LONG, ["-h"], native=True), submit(LONG, ["-H", "--array=1-5"])]
    result = scancel(cluster, *jobs, env={"SLURM_ON_OCS_TRACE": "1"})
    assert result.returncode == 0
    qdels = [line for line in result.stderr.splitlines() if line.startswith("+ qdel")]
    assert len(qdels) == 1, result.stderr
    for job in jobs:
        cluster.wait_job(job)
    assert state(cluster, jobs[0]) == "CANCELLED"


def test_a_native_job_is_deleted(cluster, submit):
    job = submit(LONG, native=True)
    cluster.wait_running(job)
    result = scancel(cluster, "-v", job)
    assert (result.returncode, result.stderr) == (0, f"scancel: Terminating job {job}\n")
    cluster.wait_job(job)


def test_another_users_job_is_left_alone(cluster, submit):
    job = submit(LONG, ["-h"], native=True)
    result = scancel(cluster, job, user="bob")
    assert (result.returncode, result.stderr) == (
        210, f"scancel: error: Kill job error on job id {job}: Access/permission denied\n")
    assert cluster.job_state(job) == "hqw"


def test_filters_choose_jobs(cluster, submit):
    doomed = submit(LONG, ["-H", "-J", "doomed"])
    spared = submit(LONG, ["-H", "-J", "spared"])
    assert scancel(cluster, "-n", "doomed", "-t", "RUNNING").returncode == 0
    assert cluster.is_known(doomed)
    assert scancel(cluster, "--me", "--name=doomed", "-t", "PD").returncode == 0
    cluster.wait_job(doomed)
    assert cluster.is_known(spared)


def test_what_is_not_there(cluster):
    assert (lambda r: (r.returncode, r.stderr))(scancel(cluster, 999999)) == (0, "")
    result = scancel(cluster, "-s", "USR1", 999999)
    assert (result.returncode, result.stderr) == (
        1, "scancel: error: Kill job error on job id 999999: Invalid job id specified\n")
    assert scancel(cluster, "-Q", "-s", "USR1", 999999).stderr == ""
    result = scancel(cluster)
    assert (result.returncode, result.stderr) == (1, "scancel: error: No job identification provided\n")
    result = scancel(cluster, "-u", "nosuch")
    assert (result.returncode, result.stderr) == (1, "scancel: error: Invalid user name: nosuch\n")
