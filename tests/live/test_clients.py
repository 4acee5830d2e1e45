# SPDX-License-Identifier: Apache-2.0
"""Python clients of Slurm that know nothing of us, as users run them: submitit (PyPI)."""

import json
import pathlib
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUBMITIT = ["submitit==1.5.4", "cloudpickle==3.1.3", "typing_extensions==4.16.0"]

# alice's program. What it learns is printed as JSON, one line a step.
PROGRAM = """
import json, os, sys, time
import submitit

def work(x, delay=0):
    env = submitit.JobEnvironment()
    time.sleep(delay)
    return {"value": x * x, "rank": env.global_rank, "local": env.local_rank, "tasks": env.num_tasks, "node": env.node,
            "nodes": env.num_nodes, "names": env.hostnames, "host": os.uname().nodename, "job": env.job_id}

def fail():
    if submitit.JobEnvironment().global_rank == 1:
        raise ValueError("rank one has no luck")
    return "fine"

def settled(job):
    "The state once it is no longer one of a job that is there."
    for _ in range(200):
        job.watcher.clear()
        if job.watcher.is_done(job.job_id, mode="force"):
            break
        time.sleep(0.1)
    return job.state

def say(**what):
    print(json.dumps(what), flush=True)

executor = submitit.AutoExecutor(folder="log/%j", cluster="slurm")
"""


@pytest.fixture(scope="session")
def submitit(cluster):
    """Where it lies for every host: {"PYTHONPATH": folder}. Fetched once, into build/."""
    store = ROOT / "build/venv" / SUBMITIT[0].replace("==", "-")
    if not (store / "done").exists():
        shutil.rmtree(store, ignore_errors=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", store / "venv"], check=True)
        subprocess.run([store / "venv/bin/pip", "-q", "install", "--disable-pip-version-check", "--no-deps", "--target",
                        store / "packages", *SUBMITIT], check=True)
        (store / "done").touch()
    shared = cluster.state / "python" / store.name
    if not shared.exists():
        shutil.copytree(store / "packages", shared)
    return {"PYTHONPATH": str(shared)}


def run(cluster, workdir, env, program, timeout=120):
    """What the program said: [dict, ...]."""
    cluster.write(f"{workdir}/program.py", PROGRAM + program)
    result = cluster.on("head", ["/usr/bin/python3", "program.py"], cwd=workdir, env=env, timeout=timeout)
    logs = "".join(f"--- {path.name}\n{path.read_text()}" for path in cluster.outside(workdir).glob("log/**/*.err"))
    assert result.returncode == 0, f"{result.stdout}{result.stderr}{logs}"
    assert "status may be inaccurate" not in result.stderr, result.stderr  # what submitit says where sacct failed
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_submitit_runs_a_function_on_two_hosts(cluster, workdir, submitit):
    (said,) = run(cluster, workdir, submitit, """
executor.update_parameters(nodes=2, tasks_per_node=2, timeout_min=5, name="two-hosts")
job = executor.submit(work, 7)
results = job.results()
say(job=job.job_id, results=results, state=settled(job), info=job.get_info())
""")
    results = said["results"]
    assert [r["rank"] for r in results] == [0, 1, 2, 3] and [r["local"] for r in results] == [0, 1, 0, 1]
    assert all(r["value"] == 49 and r["tasks"] == 4 and r["nodes"] == 2 and r["job"] == said["job"] for r in results)
    hosts = cluster.exec_hosts[:2]
    assert [r["host"] for r in results] == [hosts[r["node"]] for r in results] and {r["node"] for r in results} == {0, 1}
    assert all(r["names"] == hosts for r in results)
    assert said["state"] == "COMPLETED"
    assert said["info"] == {"JobID": said["job"], "State": "COMPLETED", "NodeList": "c[1-2]"}


def test_submitit_tells_an_exception_of_one_task(cluster, workdir, submitit):
    (said,) = run(cluster, workdir, submitit, """
executor.update_parameters(nodes=2, tasks_per_node=1, timeout_min=5)
job = executor.submit(fail)
error = job.exception()
say(error=str(error), kind=type(error).__name__, first=job.task(0).result(), state=settled(job))
""")
    assert said["kind"] == "FailedJobError" and "ValueError: rank one has no luck" in said["error"]
    assert said["first"] == "fine"
    assert said["state"] == "FAILED"


def test_submitit_arrays_and_cancel(cluster, workdir, submitit):
    """States while they wait and run, results of each element, and of one that was cancelled."""
    said = run(cluster, workdir, submitit, """
executor.update_parameters(timeout_min=5, slurm_array_parallelism=2)
jobs = executor.map_array(work, [1, 2, 3])
say(ids=[job.job_id for job in jobs], values=[job.result()["value"] for job in jobs], states=[settled(job) for job in jobs])
job = executor.submit(work, 5, delay=600)
while job.state != "RUNNING":
    job.watcher.clear()
    time.sleep(0.1)
say(running=job.state)
job.cancel()
state = settled(job)
job._results_timeout_s = 0
try:
    job.result()
except submitit.core.utils.UncompletedJobError as error:
    say(state=state, error=str(error))
""")
    array = said[0]["ids"][0].partition("_")[0]
    assert said[0] == {"ids": [f"{array}_{k}" for k in range(3)], "values": [1, 4, 9], "states": ["COMPLETED"] * 3}
    assert said[1] == {"running": "RUNNING"}
    uid = cluster.outside(cluster.home()).stat().st_uid
    assert said[2]["state"] == f"CANCELLED by {uid}"
    assert "has not produced any output" in said[2]["error"]


# --- sacct, which such clients poll ---

def sacct(cluster, workdir, *argv, user="alice"):
    result = cluster.on("head", ["sacct", *argv], cwd=workdir if user == "alice" else None, user=user)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


def test_sacct_lists_job_batch_and_steps(cluster, workdir):
    script = "#!/bin/bash\nsrun -N2 -n2 true\nsrun -N1 -n1 -J named bash -c 'exit 3'\nsrun -n1 -N1 sh -c 'kill -9 $$'\nexit 137\n"
    job = cluster.sbatch(script, ["-N2", "-J", "steps", "-A", "proj"], cwd=workdir)
    cluster.wait_job(job)
    lines = sacct(cluster, workdir, "-j", str(job), "-P", "-o",
                  "jobid,jobname,account,alloccpus,state,exitcode,derivedexitcode,ntasks,nnodes,nodelist").splitlines()
    assert lines == [
        "JobID|JobName|Account|AllocCPUS|State|ExitCode|DerivedExitCode|NTasks|NNodes|NodeList",
        f"{job}|steps|proj|2|FAILED|9:0|3:0||2|c[1-2]",
        f"{job}.batch|batch|proj|1|FAILED|9:0||1|1|c1",
        f"{job}.0|true|proj|2|COMPLETED|0:0||2|2|c[1-2]",
        f"{job}.1|named|proj|1|FAILED|3:0||1|1|c1",
        f"{job}.2|sh|proj|1|CANCELLED|0:9||1|1|c1",
    ]
    assert sacct(cluster, workdir, "-j", str(job), "-X", "-o", "jobid,state,exitcode").splitlines() == [
        "JobID             State ExitCode ", "------------ ---------- -------- ", f"{job:<12}     FAILED      9:0 "]
    assert sacct(cluster, workdir, "-nPj", f"{job}.1", "-o", "jobid,state") == f"{job}.1|FAILED\n"
    assert sacct(cluster, workdir, "-nP", "-j", str(job), "-o", "jobid", "-X", user="bob") == f"{job}\n"
    assert sacct(cluster, workdir, "-nPXo", "jobid", user="bob") == ""
    assert f"{job}\n" in sacct(cluster, workdir, "-nPXo", "jobid", "-s", "F", "--name=steps")


@pytest.mark.parametrize("script, options, how, job_state, batch_state, codes", [
    ("kill -9 $$", [], None, "FAILED", "CANCELLED", ("0:9", "0:9")),
    ("touch ready; sleep 600", [], "scancel", "CANCELLED by {uid}", "CANCELLED", ("0:0", "0:15")),
    ("trap 'exit 5' TERM; touch ready; sleep 600 & wait", [], "scancel", "CANCELLED by {uid}", "FAILED", ("0:0", "5:0")),
    ("true", ["-o", "/nosuch/x"], None, "FAILED", "CANCELLED", ("0:53", "0:53")),
])
def test_sacct_ends_as_slurms(cluster, workdir, script, options, how, job_state, batch_state, codes):
    job = cluster.sbatch(f"#!/bin/bash\n{script}\n", options, cwd=workdir)
    if how:
        cluster.wait_until(lambda: cluster.exists(f"{workdir}/ready"), 30, "the script doesn't start")
        assert sacct(cluster, workdir, "-nPj", str(job), "-o", "jobid,state,exitcode").splitlines() == [
            f"{job}|RUNNING|0:0", f"{job}.batch|RUNNING|0:0"]
        cluster.on("head", [how, str(job)], check=True)
    cluster.wait_job(job)
    uid = cluster.outside(cluster.home()).stat().st_uid
    assert sacct(cluster, workdir, "-nPj", str(job), "-o", "jobid,state,exitcode").splitlines() == [
        f"{job}|{job_state.format(uid=uid)}|{codes[0]}", f"{job}.batch|{batch_state}|{codes[1]}"]


def test_sacct_of_jobs_that_wait(cluster, workdir):
    job = cluster.sbatch("#!/bin/sh\n", ["-H", "-a", "3-5"], cwd=workdir)
    try:
        assert sacct(cluster, workdir, "-nPj", str(job), "-o", "jobid,state,exitcode,nodelist,start") == (
            f"{job}_[3-5]|PENDING|0:0|None assigned|Unknown\n")
    finally:
        cluster.on("head", ["scancel", str(job)], check=True)
    deadline = time.monotonic() + 10
    while "PENDING" in (text := sacct(cluster, workdir, "-nPj", str(job), "-o", "jobid,state")):
        assert time.monotonic() < deadline
    assert "CANCELLED" in text


@pytest.mark.parametrize("words, code, out, err", [
    ("-j 999999 -n", 0, "", ""),
    ("-j abc", 1, "", "sacct: fatal: Bad job/step specified: abc\n"),
    ("-o nosuch", 1, "", 'sacct: error: Invalid field requested: "nosuch"\n'),
    ("-u nosuch", 1, "", "sacct: error: Invalid user id: nosuch\n"),
    ("-s bogus", 1, "", "sacct: fatal: unrecognized job state value: bogus\n"),
    ("--bogus", 1, "", "sacct: unrecognized option '--bogus'\n"),
    ("stray words", 1, "", "Error: Unknown arguments: stray words\n"),
    ("-S 2020-01-02 -E 2020-01-01", 1, "", "sacct: error: Start time (2020-01-02) requested is after end time (2020-01-01).\n"),
    ("-S 2020-01-01 -E 2020-01-02 -nX", 0, "", ""),
    ("-S nonsense", 1, "", "sacct: error: Invalid time specification (pos=0): nonsense\n"),
])
def test_sacct_refuses_as_slurms(cluster, workdir, words, code, out, err):
    result = cluster.on("head", ["sacct", *words.split()], cwd=workdir)
    assert (result.returncode, result.stdout, result.stderr) == (code, out, err)


def test_sacct_knows_every_field(cluster, workdir):
    text = sacct(cluster, workdir, "--helpformat")
    names = text.split()
    assert len(names) == 109 and text.startswith("Account             AdminComment        AllocCPUS           AllocNodes         \n")
    job = cluster.sbatch("#!/bin/sh\n", cwd=workdir)
    cluster.wait_job(job)
    header, *rows = sacct(cluster, workdir, "-P", "-j", str(job), "-o", "ALL").splitlines()
    assert header == "|".join(names) and [row.count("|") for row in rows] == [108, 108]
