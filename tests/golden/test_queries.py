# SPDX-License-Identifier: Apache-2.0
"""squeue, scancel and scontrol against what Slurm 22.05 printed for the same jobs (cases.jsonl of each folder).

Replaced are the user, the elapsed times and, in scontrol's block, the values listed in UNKNOWN, which the engine
doesn't have. Lines are compared without their order, but where the case is about the order.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest

from tests.golden import fake_cell

BUILD = pathlib.Path(os.environ.get("BUILD", "build/release")).absolute()
GOLDEN = pathlib.Path(__file__).parent


def cases(tool):
    return [json.loads(line) for line in (GOLDEN / tool / "cases.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return fake_cell.make(tmp_path_factory.mktemp("cell"))


def run(tmp_path, environment, argv, env):
    link = tmp_path / argv[0]
    link.symlink_to(BUILD / "translate")
    done = subprocess.run([argv[0], *[word.replace("bob", fake_cell.ME.pw_name) for word in argv[1:]]], executable=link,
                          env={**environment, **env}, capture_output=True, text=True, timeout=20, check=False)
    return done.returncode, done.stdout, done.stderr


def comparable(text, ordered):
    lines = re.sub(r"\b0:\d\d\b", "0:00", text).splitlines()
    return lines if ordered else sorted(lines)


@pytest.mark.parametrize("case", cases("squeue"), ids=lambda case: case["id"])
def test_squeue(tmp_path, environment, case):
    code, out, err = run(tmp_path, environment, case["argv"], case["env"])
    ordered = "i" in case["argv"][-1] and "-S" in case["argv"]
    assert (code, err) == (case["rc"], case["stderr"])
    assert comparable(out, ordered) == comparable(fake_cell.here(case["stdout"]), ordered)


@pytest.mark.parametrize("case", cases("scancel") + cases("scontrol"), ids=lambda case: case["id"])
def test_messages(tmp_path, environment, case):
    assert run(tmp_path, environment, case["argv"], case["env"]) == (case["rc"], case["stdout"], case["stderr"])


# values of the lab's that nothing here can know; each a regular expression of the whole word
UNKNOWN = ["Priority=\\S+", "Requeue=\\d", "RunTime=\\S+", "SubmitTime=\\S+", "EligibleTime=\\S+", "AccrueTime=\\S+",
           "StartTime=\\S+", "EndTime=\\S+", "LastSchedEval=\\S+", "AllocNode:Sid=\\S+", "ReqNodeList=\\S+",
           "TRES=\\S+", "MinMemory(CPU|Node)=\\S+"]


def test_scontrol_show_job(tmp_path, environment):
    """Every line and key of Slurm's block, in its order."""
    code, out, err = run(tmp_path, environment, ["scontrol", "show", "job", "1394"], {})
    assert (code, err) == (0, "")
    want = fake_cell.here((GOLDEN / "scontrol" / "show_job.txt").read_text(encoding="utf-8"))
    for pattern in UNKNOWN:
        out, want = (re.sub(pattern, "(unknown)", text) for text in (out, want))
    assert out.splitlines() == want.splitlines()


def test_scontrol_one_line(tmp_path, environment):
    _, block, _ = run(tmp_path / ".", environment, ["scontrol", "show", "job", "1394"], {})
    (tmp_path / "scontrol").unlink()
    _, line, _ = run(tmp_path, environment, ["scontrol", "-o", "show", "job", "1394"], {})
    assert line.count("\n") == 1
    assert line.split() == block.split()
