# SPDX-License-Identifier: Apache-2.0
"""slurm-on-ocs install in cells made of files: engines that aren't here, and failures half-way."""

import json
import os
import pathlib
import pwd
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("BUILD", "build/release")).absolute()
ME = pwd.getpwuid(os.geteuid()).pw_name
QUEUE = "qname      {name}\nslots      4,[c1=2]\npe_list    make\nstarter_method NONE\nh_rt       INFINITY\n"
PE = "pe_name    make\nslots      9\nallocation_rule $round_robin\ncontrol_slaves TRUE\njob_is_first_task FALSE\n"

# objects are files of $SGE_ROOT/pe and $SGE_ROOT/queue; a file "broken" there names the option that fails
QCONF = """
cd "$SGE_ROOT" || exit 1
[ -n "$2" ] && grep -qx -e "$1" broken 2>/dev/null && { echo "denied: broken" >&2; exit 1; }
case $1 in
-sm) cat managers ;;
-sql) ls queue ;;
-spl) ls pe ;;
-sq) cat "queue/$2" 2>/dev/null || { echo "No cluster queue matches the phrase \\"$2\\"" >&2; exit 1; } ;;
-sp) cat "pe/$2" ;;
-Ap) name=$(awk '$1 == "pe_name" { print $2 }' "$2"); cat "$2" >"pe/$name" ;;
-Mq) name=$(awk '$1 == "qname" { print $2 }' "$2"); cat "$2" >"queue/$name" ;;
-dp) grep -q -w -e "$2" queue/* && { echo "denied: \\"$2\\" is still referenced" >&2; exit 1; }; rm "pe/$2" ;;
*) exit 1 ;;
esac
"""


class Cell:
    def __init__(self, root, help_text):
        self.root = root
        for folder in ("pe", "queue", "bin/lx-amd64", "default/common"):
            (root / folder).mkdir(parents=True)
        self.client("qconf", QCONF)
        self.client("qsub", f"printf '{help_text}'")
        self.client("qstat", "echo \"<?xml version='1.0'?><job_info></job_info>\"")
        (root / "managers").write_text(f"sgeadmin\n{ME}\n", encoding="utf-8")
        (root / "pe" / "make").write_text(PE, encoding="utf-8")
        for name in ("a.q", "b.q"):
            (root / "queue" / name).write_text(QUEUE.format(name=name), encoding="utf-8")
        # the programs as they are installed: found beside the translator
        self.libexec = root / "libexec"
        self.libexec.mkdir()
        (self.libexec / "translate").write_bytes((BUILD / "translate").read_bytes())
        (self.libexec / "translate").chmod(0o755)
        (self.libexec / "starter").write_text("#!/bin/sh\nexec \"$@\"\n", encoding="utf-8")
        (self.libexec / "starter").chmod(0o755)

    def client(self, name, script):
        path = self.root / "bin" / "lx-amd64" / name
        path.write_text("#!/bin/sh\n" + script + "\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, *words):
        environment = {"SGE_ROOT": str(self.root), "HOME": str(self.root), "PATH": "/usr/bin:/bin",
                       "SLURM_ON_OCS_CONF": "/dev/null"}
        return subprocess.run(["slurm-on-ocs", *words], executable=self.libexec / "translate", env=environment,
                              capture_output=True, text=True, timeout=60, check=False)

    def objects(self):
        return {str(path.relative_to(self.root)): path.read_text(encoding="utf-8").split()
                for folder in ("pe", "queue") for path in (self.root / folder).iterdir()}

    def value(self, queue, name):
        text = (self.root / "queue" / queue).read_text(encoding="utf-8")
        return next(line.split(None, 1)[1] for line in text.splitlines() if line.split()[0] == name)

    @property
    def state(self):
        return self.root / "default" / "common" / "slurm-on-ocs" / "installed.json"


@pytest.fixture
def sge(tmp_path):
    return Cell(tmp_path, "SGE 8.1.9\\nusage: qsub [options]\\n")


@pytest.fixture
def ocs(tmp_path):
    return Cell(tmp_path, "OCS 9.1.5\\nusage: qsub [options]\\n   [-par allocation_rule]\\n")


def test_an_engine_with_par_needs_one_pe(ocs):
    before = ocs.objects()
    assert ocs.run("install", "--apply").returncode == 0
    assert set(ocs.objects()) - set(before) == {"pe/slurm-on-ocs"}
    assert ocs.value("a.q", "pe_list") == ocs.value("b.q", "pe_list") == "make slurm-on-ocs"
    assert ocs.run("uninstall", "--apply").returncode == 0
    assert ocs.objects() == before


def test_an_engine_without_needs_one_per_slots(sge):
    before = sge.objects()
    assert sge.run("install", "--apply", "--queue", "b.q").returncode == 0
    assert set(sge.objects()) - set(before) == {f"pe/slurm-on-ocs.{k}" for k in (1, 2, 3, 4, "fill")}
    assert sge.objects()["queue/a.q"] == before["queue/a.q"]
    assert sge.value("b.q", "starter_method") == str(sge.libexec / "starter")


def test_what_failed_half_way_is_taken_back(sge):
    before = sge.objects()
    (sge.root / "broken").write_text("-Mq\n", encoding="utf-8")
    result = sge.run("install", "--apply")
    assert (result.returncode, result.stderr) == (1, "slurm-on-ocs: error: queue a.q: qconf: denied: broken\n")
    assert sge.objects() != before and sge.state.exists()
    (sge.root / "broken").unlink()
    assert sge.run("uninstall", "--apply").returncode == 0
    assert sge.objects() == before
    assert not sge.state.parent.exists()


def test_what_failed_half_way_is_completed(sge):
    (sge.root / "broken").write_text("-Mq\n", encoding="utf-8")
    assert sge.run("install", "--apply").returncode == 1
    (sge.root / "broken").unlink()
    assert sge.run("install", "--apply").returncode == 0
    assert sge.run("install").stdout == "everything is in place\n"


def test_changes_of_the_site_survive_uninstall(sge):
    assert sge.run("install", "--apply", "--queue", "a.q").returncode == 0
    queue = sge.root / "queue" / "a.q"
    text = queue.read_text(encoding="utf-8").replace("slurm-on-ocs.fill", "slurm-on-ocs.fill added")
    queue.write_text(text.replace("INFINITY", "1:0:0"), encoding="utf-8")
    assert sge.run("uninstall", "--apply").returncode == 0
    assert sge.value("a.q", "pe_list") == "make added"
    assert sge.value("a.q", "starter_method") == "NONE"
    assert sge.value("a.q", "h_rt") == "1:0:0"


def test_records_are_never_removed(sge):
    assert sge.run("install", "--apply").returncode == 0
    folder = sge.state.parent / "acct"
    assert folder.stat().st_mode & 0o7777 == 0o1777
    (folder / "5001").mkdir()
    assert "kept, it holds records" in sge.run("uninstall", "--apply").stdout
    assert (folder / "5001").is_dir()


@pytest.mark.parametrize("prepare, words, text", [
    (lambda cell: (cell.root / "managers").write_text("sgeadmin\n"), ("install", "--apply"), "is no manager"),
    (lambda cell: (cell.libexec / "starter").unlink(), ("install", "--apply"), "starter: No such file"),
    (lambda cell: None, ("install", "--queue", "nosuch", "--apply"), "queue nosuch: qconf: No cluster queue"),
    (lambda cell: cell.client("qsub", "exit 1"), ("install", "--apply"), "not the answer of a Grid Engine"),
    (lambda cell: cell.client("qconf", "exec head -c 100 /dev/zero"), ("install", "--apply"), ""),
    (lambda cell: (cell.root / "queue" / "a.q").write_text(QUEUE.format(name="a.q").replace("4,", "4000,")),
     ("install", "--apply"), "has 4000 slots on a host"),
    (lambda cell: None, ("frobnicate",), "no such command"),
    (lambda cell: None, (), "install, uninstall or version is wanted"),
    (lambda cell: None, ("uninstall", "--queue", "a.q"), "has no --queue"),
])
def test_bad_input_changes_nothing(sge, prepare, words, text):
    prepare(sge)
    before = sge.objects()
    result = sge.run(*words)
    assert result.returncode == 1
    assert text in result.stderr and result.stderr.count("\n") == 1, result.stderr
    assert sge.objects() == before and not sge.state.exists()


def test_a_broken_state_is_not_overwritten(sge):
    sge.state.parent.mkdir()
    sge.state.write_text("{", encoding="utf-8")
    before = sge.objects()
    for words in (("install", "--apply"), ("uninstall", "--apply")):
        result = sge.run(*words)
        assert result.returncode == 1 and "installed.json:1:" in result.stderr
    assert sge.objects() == before and sge.state.read_text(encoding="utf-8") == "{"


def test_state_is_readable(sge):
    assert sge.run("install", "--apply", "--queue", "a.q").returncode == 0
    state = json.loads(sge.state.read_text(encoding="utf-8"))
    assert state["queues"]["a.q"]["pe_list"]["before"] == "make"
    assert sge.state.stat().st_mode & 0o777 == 0o644
