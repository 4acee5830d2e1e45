# SPDX-License-Identifier: Apache-2.0
"""srun's command line and variables: what Slurm 22.05 said of each (srun/args.jsonl), and what becomes of the step.

Nothing is started: in the place of shim-launch stands a script that tells what it was given (stepfile.py). So a case is
judged up to the point where the step would be asked for; what Slurm said later is for other tests.
"""

import fcntl
import json
import os
import pathlib
import re
import subprocess

import pytest

from stepfile import FOREVER, Srun

HERE = pathlib.Path(__file__).with_name("srun")
JOB = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "SLURM_JOB_ID": "1086", "SLURM_JOB_NUM_NODES": "4"}
LAUNCHED = 42  # exit code of the launcher's stand-in

# What Slurm prints when the words were good: the step is refused, fails, or has a warning of its layout.
LATER = re.compile(r"Warning: can't|Unable to create step|Only allocated|Can't run job|count of allocated nodes|"
                   r"You asked for|Could not open std|[Tt]asks? [0-9,-]+:|execve\(\)|slurmstepd|forcing job")


def load():
    cases, allocation, files = [], {}, {}
    for line in (HERE / "args.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "allocation" in record:
            allocation, files = record["allocation"], record["files"]
        else:
            cases.append({**record, "allocation": allocation, "files": files})
    return cases


def differences():
    known = {}
    for line in (HERE / "differences.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            _, cases, why = line.split("\t")
            known.update(dict.fromkeys(cases.split(), why))
    return known


CASES = load()


@pytest.fixture(name="srun")
def fixture_srun(tmp_path):
    return Srun(tmp_path)


def run_case(srun, case):
    for name, text in {**case["files"], "hostfile": "n2\nn2\nn1\nn3\n"}.items():
        (srun.work / name).write_text(text, encoding="utf-8")
    env = {**JOB, **case["allocation"], **case["env"]}
    env = {name: value and value.replace("/lab/work", str(srun.work)) for name, value in env.items()}
    return srun([word.replace("/lab/work", str(srun.work)) for word in case["argv"][1:]], env)


def judge(case, done):
    """What is wrong, or None."""
    later = LATER.search(case["stderr"]) or (case["rc"] == 0 and "stdout" not in case) or case["rc"] not in (0, 1, 255)
    launched = done.returncode == LAUNCHED
    if later:
        return None if launched else f"the step wasn't asked for: {done.returncode} {done.stderr!r}"
    if launched:
        return f"a step, but Slurm says {case['stderr']!r}"
    wanted = (case["rc"], case.get("stdout", ""), case["stderr"])
    got = (done.returncode, done.stdout, done.stderr)
    return None if got == wanted else f"{got} instead of {wanted}"


def test_as_slurm(tmp_path):
    srun = Srun(tmp_path, launcher=f"#!/bin/sh\nexit {LAUNCHED}\n")
    known = differences()
    wrong, seen = [], set()
    for case in CASES:
        fault = judge(case, run_case(srun, case))
        if fault and case["id"] in known:
            seen.add(case["id"])
        elif fault:
            wrong.append(f"{case['id']} {case['argv'][:6]} {case['env']}: {fault}")
    assert not wrong, f"{len(wrong)} of {len(CASES)}\n" + "\n".join(wrong)
    assert set(known) == seen, f"listed as different, but the same now: {sorted(set(known) - seen)}"
    assert len(CASES) > 350


def step(srun, words, env=None):
    done = srun([*words, "prog"], {**JOB, **(env or {})})
    assert done.returncode == LAUNCHED, done.stderr
    return done.launch["spec"]


VALUES = [
    ([], {}, {"min_nodes": None, "max_nodes": None, "ntasks": None, "cpus_per_task": None, "distribution": None,
              "exact": 0, "overlap": 0, "kill_on_bad_exit": -1, "wait": 0, "verbosity": 0, "time_limit": FOREVER,
              "name": None, "chdir": None, "open_mode": 0, "label": 0, "unbuffered": 0, "relative": None,
              "ntasks_per_node": None, "std_in": None, "std_out": None, "std_err": None, "nodelist": None}),
    (["-N2"], {}, {"min_nodes": 2, "max_nodes": 2}),
    (["-N", "2-3"], {}, {"min_nodes": 2, "max_nodes": 3}),
    (["-N-3"], {}, {"min_nodes": 1, "max_nodes": 3}),
    (["-N1k"], {}, {"min_nodes": 1024, "max_nodes": 1024}),
    ([], {"SLURM_NNODES": "2"}, {"min_nodes": None}),
    ([], {"SLURM_NNODES": "2-3", "SLURM_JOB_NUM_NODES": None}, {"min_nodes": 2, "max_nodes": 3}),
    (["-n5"], {"SLURM_NTASKS": "8"}, {"ntasks": 5}),
    ([], {"SLURM_NTASKS": "8", "SLURM_NPROCS": "3"}, {"ntasks": 8}),
    ([], {"SLURM_NPROCS": "3"}, {"ntasks": 3}),
    (["--exact", "--mem=0", "--mem-per-cpu=0"], {}, {"exact": 1}),
    (["-c2"], {}, {"cpus_per_task": 2, "exact": 1}),
    (["-c2", "--whole"], {}, {"cpus_per_task": 2, "exact": 0}),
    ([], {"SLURM_CPUS_PER_TASK": "3"}, {"cpus_per_task": None, "exact": 0}),
    ([], {"SRUN_CPUS_PER_TASK": "3"}, {"cpus_per_task": 3, "exact": 1}),
    (["--ntasks-per-node=2"], {}, {"ntasks_per_node": 2}),
    (["--tasks-per-node=3"], {"SLURM_NTASKS_PER_NODE": "2"}, {"ntasks_per_node": 3}),
    (["-w", "n[1-2],n7"], {}, {"nodelist": "n[1-2],n7"}),
    (["-w", "./hosts"], {}, {"nodelist": "n2,n1,n2,n3"}),
    (["-F", "hosts"], {}, {"nodelist": "n2,n1,n2,n3"}),
    ([], {"SLURM_HOSTFILE": "hosts"}, {"nodelist": "n2,n1,n2,n3", "distribution": "arbitrary"}),
    (["-w", "n5"], {"SLURM_HOSTFILE": "hosts"}, {"nodelist": "n5", "distribution": None}),
    (["-x", "n3", "-r", "1"], {}, {"exclude": "n3", "relative": 1}),
    (["-m", "cyclic:fcyclic"], {}, {"distribution": "cyclic", "pack": 0}),
    (["-m", "block,pack"], {"SLURM_DISTRIBUTION": "cyclic"}, {"distribution": "block", "pack": 1}),
    ([], {"SLURM_DISTRIBUTION": "plane", "SLURM_DIST_PLANESIZE": "4"}, {"distribution": "plane", "plane_size": 4}),
    (["-m", "plane=2"], {}, {"distribution": "plane", "plane_size": 2}),
    (["-m", "arbitrary", "-w", "n2,n1,n2"], {}, {"distribution": "arbitrary", "nodelist": "n2,n1,n2"}),
    (["-O", "--overlap", "-I"], {}, {"overcommit": 1, "overlap": 1, "immediate": 1}),
    (["--exact"], {}, {"exact": 1}),
    (["--exclusive"], {}, {"exact": 1}),
    ([], {"SLURM_EXACT": "1", "SLURM_OVERLAP": "yes", "SLURM_OVERCOMMIT": ""},
     {"exact": 1, "overlap": 1, "overcommit": 1}),
    ([], {"SLURM_EXACT": "0", "SLURM_OVERLAP": "no", "SLURM_IMMEDIATE": "0"}, {"exact": 0, "overlap": 0, "immediate": 0}),
    (["-lu", "-o", "o.%t", "-e", "none", "-i", "0"], {},
     {"label": 1, "unbuffered": 1, "std_out": "o.%t", "std_err": "none", "std_in": "0"}),
    ([], {"SLURM_LABELIO": "0", "SLURM_UNBUFFEREDIO": "1", "SLURM_STDOUTMODE": "f"},
     {"label": 0, "unbuffered": 1, "std_out": "f"}),
    ([], {"SLURM_LABELIO": "1"}, {"label": 1}),
    (["--open-mode=append"], {}, {"open_mode": ord("a")}),
    ([], {"SLURM_OPEN_MODE": "t"}, {"open_mode": ord("t")}),
    (["-K"], {}, {"kill_on_bad_exit": 1}),
    (["-K0"], {"SLURM_KILL_BAD_EXIT": "1"}, {"kill_on_bad_exit": 0}),
    (["--kill-on-bad-exit=1"], {"SLURM_KILL_BAD_EXIT": "0"}, {"kill_on_bad_exit": 1}),
    ([], {"SLURM_KILL_BAD_EXIT": "0"}, {"kill_on_bad_exit": 0}),
    (["-W", "30"], {"SLURM_WAIT": "5"}, {"wait": 30}),
    ([], {"SLURM_WAIT": "5"}, {"wait": 5}),
    (["-t", "1:30"], {}, {"time_limit": 120}),
    ([], {"SLURM_TIMELIMIT": "2"}, {"time_limit": 120}),
    (["-k", "-X"], {}, {"no_kill": 1, "disable_status": 1}),
    (["-k", "--no-kill=off"], {}, {"no_kill": 0}),
    (["-vv"], {"SLURM_DEBUG": "1"}, {"verbosity": 3}),
    (["-Q"], {}, {"verbosity": -1}),
    (["-J", "steppy"], {"SLURM_JOB_NAME": "job"}, {"name": "steppy"}),
    ([], {"SLURM_JOB_NAME": "job"}, {"name": None}),
    (["-D", "/tmp"], {}, {"chdir": "/tmp"}),
    (["--mpi=none", "--cpu-bind=none", "--jobid=1086"], {"SLURM_CPU_BIND": "none"}, {}),
    (["-p", "gpu", "-A", "x", "--qos=y", "-H", "--nice", "-s", "--mincpus=2", "--comment=c"], {}, {}),
]


def test_values(srun):
    (srun.work / "hosts").write_text("n2 n1,n2\nn3\n", encoding="utf-8")
    for words, env, wanted in VALUES:
        done = srun([*words, "prog", "-n9", "--", "a b"], {**JOB, **env})
        assert done.returncode == LAUNCHED and done.stderr == "", f"{words} {env}: {done.stderr}"
        spec = done.launch["spec"]
        assert {name: spec[name] for name in wanted} == wanted, f"{words} {env}"
        assert spec["argv"] == ["prog", "-n9", "--", "a b"]


def test_a_relative_chdir_is_from_here(srun):
    assert step(srun, ["-D", "sub"])["chdir"] == f"{srun.work}/sub"
    assert step(srun, [])["cwd"] == str(srun.work)


def test_a_working_folder_that_is_gone(srun):
    script = f'mkdir gone; cd gone; rmdir ../gone; exec {srun.folder}/srun prog'
    done = subprocess.run(["bash", "-c", script], env=JOB, cwd=srun.work, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (255, "srun: error: getcwd failed: No such file or directory\n")


def test_umask_goes_along(srun):
    done = srun(["prog"], JOB, umask=0o027)
    assert (done.launch["spec"]["umask"], done.launch["spec"]["propagate_umask"]) == (0o027, 1)


ALL = {"FOO": "x", "BAR": "a,b\nc", "BASH_FUNC_f%%": "() { :; }", "SLURM_X": "1"}
EXPORTS = [
    (None, {}, ALL),
    ("ALL", {"SLURM_EXPORT_ENV": "NONE"}, {**ALL, "SLURM_EXPORT_ENV": "NONE"}),
    ("NONE", {}, {"SLURM_X": "1"}),
    ("nil", {}, {"SLURM_X": "1"}),
    ("", {}, {"SLURM_X": "1"}),
    ("FOO", {}, {"SLURM_X": "1", "FOO": "x"}),
    ("FOO=y,NEW=1,GONE", {}, {"SLURM_X": "1", "FOO": "y", "NEW": "1"}),
    ("ALL,FOO=y,NEW=1", {}, {**ALL, "NEW": "1"}),
    ("FOO='p,q',BAR", {}, {"SLURM_X": "1", "FOO": "'p,q'", "BAR": "a,b\nc"}),
    (None, {"SLURM_EXPORT_ENV": "NEW=2"}, {"SLURM_X": "1", "SLURM_EXPORT_ENV": "NEW=2", "NEW": "2"}),
]


def test_export(srun):
    for spec, env, wanted in EXPORTS:
        words = [] if spec is None else [f"--export={spec}"]
        got = dict(v.split("=", 1) for v in step(srun, words, {**ALL, **env})["env"])
        for name in (*JOB, "TEST_TOLD"):
            got.pop(name, None)
        assert got == wanted, f"{spec} {env}"


def test_the_hand_over(srun):
    """One exec: the same process, its whole environment, and one more descriptor, which nobody can write."""
    launch = srun(["--export=NONE", "prog"], {**JOB, "FOO": "1"}).launch
    assert launch["argv"] == ["step", launch["argv"][1]]
    assert launch["env"]["FOO"] == "1"
    assert launch["env"]["SLURM_JOB_NUM_NODES"] == "4"
    assert launch["writable"] is False
    sealed = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    assert launch["seals"] == sealed
    # 0 to 2, the request, and the one that listed them
    assert len(launch["open"]) == 5 and int(launch["argv"][1]) in launch["open"]


def test_the_environment_is_kept_byte_for_byte(srun):
    raw = {b"ODD": b"\xff\x01 \n'", b"SLURM_JOB_ID": b"1"}
    done = srun(["prog"], {os.fsdecode(k): os.fsdecode(v) for k, v in raw.items()})
    assert os.fsdecode(b"ODD=\xff\x01 \n'") in done.launch["spec"]["env"]


REFUSALS = [
    (["prog"], {"SLURM_JOB_ID": None}, 1, "srun: error: not inside a job (SLURM_JOB_ID is not set)"),
    (["--jobid=7", "prog"], {}, 1, "srun: error: --jobid=7: this is job 1086"),
    (["prog", ":", "-n2", "other"], {}, 1, 'srun: error: ":" separates the parts of a heterogeneous step'),
    (["--pty", "bash"], {}, 1, "srun: error: --pty: "),
    (["--gpus=1", "prog"], {}, 1, "srun: error: --gpus: "),
    (["prog"], {"SLURM_GPU_BIND": "none"}, 1, "srun: error: SLURM_GPU_BIND (--gpu-bind): "),
    (["-w", "n[1-", "-w", "n[3-1]", "prog"], {}, 255, "srun: error: Invalid --nodelist: Invalid hostlist: n[3-1]"),
]


def test_refusals(srun):
    for words, env, code, line in REFUSALS:
        done = srun(words, {**JOB, **env})
        assert done.launch is None, words
        assert done.returncode == code and done.stderr.startswith(line), f"{words} {env}: {done.stderr}"
        assert done.stderr.count("\n") == 1, done.stderr


def test_no_launcher_is_told(tmp_path):
    srun = Srun(tmp_path, launcher=None)
    done = srun(["prog"], JOB)
    assert done.returncode == 1
    assert done.stderr == f"srun: error: cannot run {srun.folder}/shim-launch: No such file or directory\n"


def test_answers_need_no_job_and_no_configuration(srun):
    env = {"SLURM_ON_OCS_CONF": "/nowhere.conf"}
    assert srun(["--mpi=list"], env).stdout == "MPI plugin types are...\n\tnone\n"
    for word in ("--help", "--usage"):
        done = srun([word], env)
        assert done.returncode == 0 and "srun" in done.stdout and done.stderr == ""
    done = srun(["-V"], {})
    assert (done.returncode, done.stdout) == (0, "slurm 22.05.8\n")
