# SPDX-License-Identifier: Apache-2.0
"""scontrol show hostnames|hostlist|hostlistsorted against what Slurm 22.05 printed (hostlist/cases.jsonl).

The one difference allowed: where Slurm prints its own help (stdout is "(usage)" in the cases) ours is printed.
"""

import json
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("BUILD", "build/release")).absolute()
CASES = pathlib.Path(__file__).with_name("hostlist") / "cases.jsonl"
LAB = "/lab/work"  # where the lab had the files of names


def load():
    groups = {}
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        groups.setdefault(case["name"], []).append(case)
    return groups


GROUPS = load()


@pytest.fixture(scope="module")
def scontrol(tmp_path_factory):
    link = tmp_path_factory.mktemp("bin") / "scontrol"
    link.symlink_to(BUILD / "translate")
    return link


def run(scontrol, case, folder):
    """(rc, stdout, stderr) of a case, the lab's paths put back."""
    for name, text in case.get("files", {}).items():
        (folder / name.removeprefix(LAB + "/")).write_text(text, encoding="utf-8")
    argv = [word.replace(LAB, str(folder)) for word in case["argv"][1:]]
    done = subprocess.run(["scontrol", *argv], executable=scontrol, env=case.get("env", {}), cwd=folder,
                          capture_output=True, text=True, encoding="utf-8", timeout=20, check=False)
    return done.returncode, done.stdout.replace(str(folder), LAB), done.stderr.replace(str(folder), LAB)


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_as_slurm(scontrol, tmp_path, group):
    wrong = []
    for case in GROUPS[group]:
        rc, out, err = run(scontrol, case, tmp_path)
        if case["stdout"] == "(usage)\n":
            out = "(usage)\n" if "show" in out else out
        if (rc, out, err) != (case["rc"], case["stdout"], case["stderr"]):
            wrong.append(f"{case['id']} {str(case['argv'])[:200]}\n"
                         f"  Slurm: {case['rc']} {case['stdout'][:200]!r} {case['stderr'][:200]!r}\n"
                         f"  here:  {rc} {out[:200]!r} {err[:200]!r}")
    assert not wrong, f"{len(wrong)} of {len(GROUPS[group])} differ\n" + "\n".join(wrong[:10])


def test_the_cases_are_all_there():
    assert sum(map(len, GROUPS.values())) >= 1030
    assert {"hostnames", "hostlist", "hostlistsorted", "scontrol-spelling", "hostlist-file"} <= set(GROUPS)


@pytest.mark.parametrize("disposition", ["default", "ignored"])
def test_a_reader_that_has_seen_enough(scontrol, tmp_path, disposition):
    """More than a pipe holds into head -n1: silent, and no failure even under pipefail."""
    script = 'set -o pipefail; scontrol show hostnames "n[1-60000]" | head -n1'
    if disposition == "ignored":
        script = "trap '' PIPE; " + script
    done = subprocess.run(["bash", "-c", script], env={"PATH": f"{scontrol.parent}:/usr/bin:/bin"}, cwd=tmp_path,
                          capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "n1\n", "")


def test_a_full_disk_is_told(scontrol):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([scontrol, "show", "hostnames", "n[1-3]"], stdout=full, stderr=subprocess.PIPE, env={},
                              text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert done.stderr == "scontrol: error: write: No space left on device\n"


def test_needs_no_configuration_and_no_engine(scontrol, tmp_path):
    """A broken slurm-on-ocs.conf must not stop a job's script at its first line."""
    broken = tmp_path / "broken.conf"
    broken.write_text("}", encoding="utf-8")
    done = subprocess.run([scontrol, "show", "hostnames", "a,b"], env={"SLURM_ON_OCS_CONF": str(broken)},
                          capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\nb\n", "")
