# SPDX-License-Identifier: Apache-2.0
"""The life of a batch job on the real engine: start, output, ends, records."""

import json

import pytest

from tests.live import tree


def run(cluster, workdir, text, *options, queue="all.q"):
    """Runs a script of sbatch to its end: the job's id and host."""
    script = f"#!/bin/bash\nhostname >host\n{text}\n"
    job = cluster.sbatch(script, ["-p", queue, *options], cwd=workdir)
    cluster.wait_job(job)
    return job, cluster.read(f"{workdir}/host").strip()


@pytest.mark.parametrize("queue", ["all.q", "plain.q"])
@pytest.mark.parametrize("end,exit_status,code,signo", [
    ("exit 0", 0, 0, 0),
    ("exit 3", 3, 3, 0),
    ("exit 255", 255, 255, 0),
    ("exit 99", 1, 99, 0),
    ("kill -SEGV $$", 139, 0, 11),
])
def test_end_of_the_script_is_the_jobs(cluster, workdir, queue, end, exit_status, code, signo):
    """In a queue with our starter and in one without it."""
    job, host = run(cluster, workdir, f"echo hello\n{end}", queue=queue)
    assert cluster.read(f"{workdir}/slurm-{job}.out") == "hello\n"
    record = cluster.qacct(job)[0]
    assert (record["failed"].split()[0], record["exit_status"].split()[0]) == ("0", str(exit_status))
    found = tree.events(cluster, job, host)
    state = "FAILED" if code or signo else "COMPLETED"
    assert (found["end"]["state"], found["end"]["code"], found["end"]["signal"]) == (state, code, signo)
    assert (found["start"]["host"], found["start"]["nodes"], found["start"]["slots"]) == (host, [host], [1])


def test_output_that_cannot_be_opened(cluster, workdir):
    script = "#!/bin/bash\ntouch ran\n"
    job = cluster.sbatch(script, ["-p", "all.q", "-o", "missing/out"], cwd=workdir)
    cluster.wait_job(job)
    assert not cluster.exists(f"{workdir}/ran")
    assert cluster.qacct(job)[0]["exit_status"].split()[0] == "1"
    ends = [end for host in cluster.exec_hosts for end in tree.records(cluster, job, host) if end["event"] == "end"]
    assert [(end["state"], end["code"], end["signal"], end["reason"]) for end in ends] == \
        [("FAILED", 0, 53, "JobLaunchFailure")]
    assert "Could not open stdout file" in cluster.read(f"{workdir}/slurm-{job}.out")


def test_environment_of_a_job_on_three_hosts(cluster, workdir):
    job, host = run(cluster, workdir, "python3 -c 'import json, os; print(json.dumps(dict(os.environ)))'",
                    "-N3", "--ntasks-per-node=2", "-J", "name", "--export=ALL,SOME=a b")
    found = json.loads(cluster.read(f"{workdir}/slurm-{job}.out"))
    expected = {"SLURM_JOB_ID": str(job), "SLURM_JOB_NODELIST": "c[1-3]", "SLURM_NNODES": "3", "SLURM_NTASKS": "6",
                "SLURM_NTASKS_PER_NODE": "2", "SLURM_TASKS_PER_NODE": "2(x3)", "SLURM_JOB_CPUS_PER_NODE": "2(x3)",
                "SLURM_JOB_NAME": "name", "SLURM_SUBMIT_DIR": workdir, "SLURM_SUBMIT_HOST": "head",
                "SLURM_JOB_USER": "alice", "SLURM_JOB_PARTITION": "all.q", "SLURMD_NODENAME": host, "SOME": "a b"}
    assert {name: found.get(name) for name in expected} == expected
    assert found["TMPDIR"].endswith(f"/{job}.1.all.q")
    assert found["PATH"].split(":")[0].endswith("/libexec/slurm-on-ocs/bin")
    assert found["LD_PRELOAD"].endswith("/libslurm_on_ocs.so")


def test_array_elements(cluster, workdir):
    script = "#!/bin/sh\necho $SLURM_JOB_ID $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_MAX\n"
    job = cluster.sbatch(script, ["-p", "all.q", "-a", "0-4:2"], cwd=workdir)
    cluster.wait_job(job)
    for position, index in enumerate((0, 2, 4), 1):
        assert cluster.read(f"{workdir}/slurm-{job}_{index}.out") == f"{job}{position:05d} {job} {index} 4\n"


def test_nothing_is_left_behind(cluster, workdir):
    job, host = run(cluster, workdir, "sleep 300 & setsid sleep 301 & echo $SOO_JOB_DIR >dir")
    assert not tree.ours(cluster, host)
    assert not [p for p in cluster.ps(host) if p.args.startswith("sleep 30")]
    folder = cluster.read(f"{workdir}/dir").strip()
    assert not cluster.exists(folder, host)
    spool = cluster.outside(cluster.home()) / ".slurm-on-ocs"
    assert not list(spool.glob(f"*/by-id/{job}"))


def test_program_of_ours_that_is_gone(cluster, workdir):
    """A job whose installation was removed meanwhile says so, and ends."""
    job = cluster.sbatch("#!/bin/sh\ntouch ran\n", ["-H", "-p", "plain.q"], cwd=workdir)
    stub = next((cluster.outside(cluster.home()) / ".slurm-on-ocs").glob(f"*/by-id/{job}/job"))
    stub.unlink()
    cluster.on("head", ["qrls", job], check=True)
    cluster.wait_job(job)
    assert not cluster.exists(f"{workdir}/ran")
    said = cluster.read(f"{workdir}/slurm-{job}.out")
    assert said.count("\n") == 1 and "job: " in said
    assert cluster.qacct(job)[0]["exit_status"].split()[0] == "1"


def test_native_job_in_our_pe(cluster, workdir):
    """A plain qsub job in a PE of ours has Slurm's variables, tasks on other hosts theirs."""
    script = ("#!/bin/bash\nenv -0 >env\nhost=$(sed -n 2p $PE_HOSTFILE | cut -d' ' -f1)\n"
              "qrsh=$SGE_BINARY_PATH/qrsh\n$qrsh -inherit -noshell $host /usr/bin/env -0 </dev/null >task\nexit 9\n")
    job = cluster.qsub(script, ["-q", "all.q", "-pe", "slurm-on-ocs.2", "4", "-o", "/dev/null", "-j", "y"], cwd=workdir)
    cluster.wait_job(job)

    def variables(name):
        return dict(line.split("=", 1) for line in cluster.read(f"{workdir}/{name}").split("\0")[:-1])

    batch, task = variables("env"), variables("task")
    expected = {"SLURM_ON_OCS_NATIVE": "1", "SLURM_JOB_ID": str(job), "SLURM_NNODES": "2", "SLURM_NTASKS": "4",
                "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_JOB_PARTITION": "all.q"}
    assert {name: batch.get(name) for name in expected} == expected
    assert batch["LD_PRELOAD"] == task["LD_PRELOAD"] and batch["LD_PRELOAD"].endswith("/libslurm_on_ocs.so")
    assert (task["SLURM_ON_OCS_NATIVE"], task["SLURM_JOB_ID"]) == ("1", str(job))
    assert task["SLURMD_NODENAME"] != batch["SLURMD_NODENAME"]
    assert cluster.qacct(job)[-1]["exit_status"].split()[0] == "9"
