# SPDX-License-Identifier: Apache-2.0
"""Native jobs: in a queue with our starter_method they run as they do in a queue without it."""

import json
import pathlib
import re

import pytest

PROBE = pathlib.Path(__file__).with_name("probe.py").read_text()
MODES = ["unix_behavior", "posix_compliant", "script_from_stdin"]
SHELLS = ["bash", "sh", "csh"]
QUEUES = {"with": "all.q", "without": "plain.q"}
CODES = iter(range(11, 90))


def set_queue(cluster, attribute, value):
    cluster.on("head", ["qconf", "-mattr", "queue", attribute, value, *QUEUES.values()], user="root", check=True)


@pytest.fixture
def folder(cluster, workdir):
    """The probe, and shells that the engine doesn't know as login shells."""
    starter = cluster.on("head", "qconf -sq all.q | grep starter_method", user="root", check=True).stdout
    assert starter.split()[1].endswith("/starter"), starter
    assert "NONE" in cluster.on("head", "qconf -sq plain.q | grep starter_method", user="root").stdout
    cluster.write(f"{workdir}/probe", PROBE, mode=0o755)
    for shell in SHELLS:
        (cluster.outside(workdir) / f"x{shell}").symlink_to(f"/bin/{shell}")
    return workdir


@pytest.fixture(params=MODES)
def mode(cluster, request):
    set_queue(cluster, "shell_start_mode", request.param)
    yield request.param
    set_queue(cluster, "shell_start_mode", "unix_behavior")


def masked(cluster, workdir, name, job, which):
    """The probe's answer without what differs from job to job and queue to queue."""
    text = cluster.read(f"{workdir}/{name}.{which}")
    text = text.replace(f"/{name}.{which}", f"/{name}.WHICH").replace(QUEUES[which], "QUEUE")
    if job:
        for kind in ("job_scripts/{}", "active_jobs/{}.", "/{}.1.QUEUE", "JOB_ID={}\""):
            text = text.replace(kind.format(job), kind.format("JOB"))
    found = json.loads(text)
    for process in found:
        process["environ"] = sorted(process["environ"])
        assert not any(line.startswith(("SGE_STARTER_", "SLURM_", "SOO_")) for line in process["environ"])
    return found


def compare(cluster, workdir, name, jobs):
    """Whether both answers are the same; the differences, readable."""
    one, other = (masked(cluster, workdir, name, job, which) for which, job in jobs.items())
    assert len(one) == len(other), f"{name}: {[p['argv'] for p in one]} != {[p['argv'] for p in other]}"
    for number, (ours, theirs) in enumerate(zip(one, other)):
        for fact in theirs:
            assert ours[fact] == theirs[fact], f"{name}, process {number}, {fact}"


def cases(folder):
    """Name, words of qsub, the script's text (None: -b y) and arguments."""
    for shell in SHELLS:
        for path in (f"/bin/{shell}", f"{folder}/x{shell}"):  # login or not
            name = path.rpartition("/")[2]
            yield f"script-{name}", ["-S", path], f"#!/bin/{shell}\n{folder}/probe OUT CODE\n", ["a b", "$HOME", "c"]
            yield f"binary-{name}", ["-S", path, "-b", "y"], None, ["x", "$HOME", "y  z"]
        yield f"noshell-{shell}", ["-S", f"/bin/{shell}", "-b", "y", "-shell", "n"], None, ["a b", "$HOME", "*"]


def submit(cluster, folder, name, words, text, arguments, code):
    """The case in both queues, on one host: {which: job id}."""
    jobs = {}
    for which, queue in QUEUES.items():
        out = f"{folder}/{name}.{which}"
        options = ["-terse", "-cwd", "-j", "y", "-o", f"{out}.log", "-q", f"{queue}@c1", "-N", f"n{name}", *words]
        if text is None:
            command = [f"{folder}/probe", out, code, *arguments]
        else:
            # every shell ends with its last command's code, also the one that reads its script from stdin
            path = f"{folder}/{name}.{which}.sh"
            cluster.write(path, text.replace("OUT", out).replace("CODE", str(code)), mode=0o755)
            command = [path, *arguments]
        result = cluster.on("head", ["qsub", *options, *command], cwd=folder, env={"PAIR": "a=b c"}, check=True)
        jobs[which] = int(result.stdout)
    return jobs


def test_batch_job_is_started_as_by_the_engine(cluster, folder, mode):
    submitted = {}
    for number, (name, words, text, arguments) in enumerate(cases(folder)):
        submitted[name] = (submit(cluster, folder, name, words, text, arguments, 11 + number), 11 + number)
    for jobs, _ in submitted.values():
        for job in jobs.values():
            cluster.wait_job(job, 120)
    for name, (jobs, code) in submitted.items():
        logs = {which: cluster.read(f"{folder}/{name}.{which}.log").replace(f".{which}", "") for which in jobs}
        assert logs["with"] == logs["without"], name
        codes = {which: cluster.qacct(job)[0]["exit_status"].split()[0] for which, job in jobs.items()}
        assert codes["with"] == codes["without"], f"{name}: {codes} {logs}"
        probed = [cluster.exists(f"{folder}/{name}.{which}") for which in jobs]
        assert probed[0] == probed[1], f"{name}: {logs}"
        # (a command without a shell becomes a script for stdin, and loses its arguments as a command line)
        assert all(probed) == (not name.startswith("noshell") or mode != "script_from_stdin"), name
        if all(probed):
            assert codes["with"] == str(code), f"{name}: {logs}"
            compare(cluster, folder, name, jobs)


QRSH = {
    "words": ([], ["a b", "$HOME", "c"]),
    "line": ([], None),
    "noshell": (["-noshell"], ["a b", "$HOME", "*"]),
}


@pytest.mark.parametrize("kind", QRSH)
def test_qrsh_command_is_started_as_by_the_engine(cluster, folder, kind):
    options, arguments = QRSH[kind]
    name, codes = f"qrsh-{kind}", {}
    for which, queue in QUEUES.items():
        out = f"{folder}/{name}.{which}"
        command = [f"{folder}/probe", out, "23", *(arguments or [])]
        if arguments is None:
            command = [f"echo $HOME; {folder}/probe {out} 23 'a  b'; exit 24"]
        result = cluster.on("head", ["qrsh", "-cwd", "-now", "n", *options, "-q", f"{queue}@c1", *command], cwd=folder)
        codes[which] = (result.returncode, result.stdout)
    assert codes["with"] == codes["without"]
    assert codes["with"][0] == (24 if arguments is None else 23), codes
    text = cluster.read(f"{folder}/{name}.with") + cluster.read(f"{folder}/{name}.without")
    jobs = {which: None for which in QUEUES}
    for which in QUEUES:  # the ids of interactive jobs are in their environment
        path = f"{folder}/{name}.{which}"
        job = re.search(r'"JOB_ID=(\d+)"', cluster.read(path))[1]
        jobs[which] = job
        cluster.write(path, re.sub(r'QRSH_PORT=[^"]*', "QRSH_PORT=", cluster.read(path)))
    assert text and jobs["with"] != jobs["without"]
    compare(cluster, folder, name, jobs)


@pytest.mark.parametrize("kind", QRSH)
def test_qrsh_inherit_task_is_started_as_by_the_engine(cluster, folder, kind):
    options, arguments = QRSH[kind]
    name, jobs = f"inherit-{kind}", {}
    for which, queue in QUEUES.items():
        out = f"{folder}/{name}.{which}"
        words = " ".join(f"'{word}'" for word in arguments or [])
        command = f"{folder}/probe {out} 23 {words}"
        if arguments is None:
            command = f"'echo $HOME; {folder}/probe {out} 23; exit 24'"
        script = (f"#!/bin/sh\nfor host in $(sed -n 2p $PE_HOSTFILE); do break; done\n"
                  f"$SGE_BINARY_PATH/qrsh -inherit {' '.join(options)} $host {command} </dev/null\necho code $?\n")
        jobs[which] = cluster.qsub(script, ["-q", queue, "-pe", "make", "2", "-j", "y", "-o", f"{out}.log"],
                                   cwd=folder)
    for which, job in jobs.items():
        cluster.wait_job(job)
        path = f"{folder}/{name}.{which}"
        assert cluster.read(f"{path}.log").endswith("code 24\n" if arguments is None else "code 23\n")
        cluster.write(path, re.sub(r'QRSH_PORT=[^"]*', "QRSH_PORT=", cluster.read(path)))
    compare(cluster, folder, name, jobs)
