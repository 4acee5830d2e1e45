# SPDX-License-Identifier: Apache-2.0
"""Steps on the real engine against the same steps under Slurm 22.05 (tests/golden/srun/steps.jsonl): exit code, both
streams, line by line in any order. Only listed literals are replaced: ids, hosts by position, times, pipes, KillWait."""

import collections
import json
import pathlib
import re

import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "srun"
HOSTS = 4  # names of the recordings: n1 to n4

# Runs in the job: every case in a folder of its own geometry's files, one after the other.
REPLAY = r"""
import json, os, subprocess
done = []
for case in json.load(open("cases.json")):
    env = {**os.environ, **case.get("env", {})}
    feed = {"input": case["stdin"]} if "stdin" in case else {"stdin": subprocess.DEVNULL}
    try:
        p = subprocess.run(case["argv"], env=env, capture_output=True, text=True, errors="replace", timeout=30, **feed)
        done.append([case["id"], p.returncode, p.stdout, p.stderr])
    except subprocess.TimeoutExpired:
        done.append([case["id"], "no end within 30 s", "", ""])
json.dump(done, open("done.json", "w"))
"""

# Where we differ, and why.
DIFFERENCES = {
    "D2_srun_N1_n4-0033": "which task dies of -K before it has printed is a race",
    "D2_srun_N1_n4-0054": "-i none gives tasks /dev/null, Slurm a pipe that is closed",
    **dict.fromkeys(("D3_srun_N2_n2-0034", "D3_srun_N2_n2-0035", "D3_srun_N2_n2-0037"),
                    "the line about the cancelled step is printed though the first host has no task left"),
}


def load(which):
    header, cases = {}, []
    for line in (GOLDEN / "steps.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "allocation" in record:
            current = record
        elif record["id"].startswith(which):
            header = current
            cases.append(record)
    return header["files"], cases


def to_ours(word, hosts):
    """n1 of the recordings is the job's first host."""
    for number, host in enumerate(hosts, 1):
        word = re.sub(rf"(?<![-\w])n{number}\b", host, word)
    return word


def lines(text, hosts):
    """The lines with what may differ replaced, counted."""
    for number, host in enumerate(hosts, 1):
        text = re.sub(rf"\b{host}\b", f"n{number}", text)
    for pattern, name in ((r"StepId=\d+\.\d+", "StepId=J.S"), (r"STEP \d+\.\d+", "STEP J.S"), (r"\b[Jj]ob \d+", "job J"),
                          (r"slurmstepd-n\d", "slurmstepd"), (r"AT \d{4}-\d\d-\d\dT[\d:]+", "AT T"), (r"pipe:\[\d+\]", "pipe"),
                          (r"Waiting up to \d+ seconds", "Waiting up to K seconds"),
                          (r"/lab/work/D\d\w+|/home/alice/[\w-]+", "/W")):
        text = re.sub(pattern, name, text)
    return collections.Counter(text.splitlines())


@pytest.mark.parametrize("which, options", [("D2", ["-N1", "-n4"]), ("D3", ["-N2", "-n2"])])
def test_as_slurm(cluster, workdir, which, options):
    files, cases = load(which)
    hosts = cluster.exec_hosts[:HOSTS]
    for name, text in files.items():
        cluster.write(f"{workdir}/{name}", text, mode=0o755 if name.endswith(".sh") else 0o644)
    ours = [{**case, "argv": [to_ours(word, hosts) for word in case["argv"]]} for case in cases]
    cluster.write(f"{workdir}/cases.json", json.dumps(ours))
    cluster.write(f"{workdir}/replay.py", REPLAY)
    job = cluster.sbatch("#!/bin/bash\nulimit -c 0\nexec python3 replay.py\n", options, cwd=workdir)
    cluster.wait_job(job, timeout=180)
    done = json.loads(cluster.read(f"{workdir}/done.json"))
    wrong = []
    for case, (ident, code, out, err) in zip(cases, done, strict=True):
        assert case["id"] == ident
        slurm = (case["rc"], lines(case["stdout"], []), lines(case["stderr"], []))
        here = (code, lines(out, hosts), lines(err, hosts))
        if slurm != here and (ident not in DIFFERENCES or code != case["rc"]):
            wrong.append(f"{ident} {case['name']} {case['argv'][:8]}\n  Slurm: {slurm}\n  here:  {here}")
    assert not wrong, f"{len(wrong)} of {len(cases)} differ\n" + "\n".join(wrong)
    assert len(cases) > 25
