# SPDX-License-Identifier: Apache-2.0
"""The supervisor of a batch job below the minder, as the engine starts it, without an engine."""

import os
import pathlib
import re
import signal
import stat
import subprocess
import time

import pytest

from tests.system.jobfile import BUILD, Job, ignored_by_make


def wait_for(condition, what="it doesn't happen", timeout=10):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def script(body):
    return f"#!/bin/sh\n{body}\n"


@pytest.mark.parametrize("body,code,end", [
    ("exit 0", 0, {"state": "COMPLETED", "code": 0, "signal": 0}),
    ("exit 3", 3, {"state": "FAILED", "code": 3, "signal": 0}),
    ("exit 255", 255, {"state": "FAILED", "code": 255, "signal": 0}),
    ("exit 99", 1, {"state": "FAILED", "code": 99, "signal": 0}),
    ("exit 100", 1, {"state": "FAILED", "code": 100, "signal": 0}),
    ("kill -SEGV $$", 139, {"state": "FAILED", "code": 0, "signal": 11}),
    ("kill -9 $$", 137, {"state": "FAILED", "code": 0, "signal": 9}),
    ("kill -TERM 0", 143, {"state": "FAILED", "code": 0, "signal": 15}),
])
def test_end_of_the_script(tmp_path, body, code, end):
    job = Job(tmp_path, script(f"echo out; echo err >&2; {body}"))
    assert job.run().returncode == code
    assert job.output() == "out\nerr\n"
    assert job.end() == end


def test_script_is_run_as_it_was_submitted(tmp_path):
    text = '#!/usr/bin/python3 -B\nimport sys, os\nprint(sys.argv, os.getcwd(), os.getpgrp() == os.getpid())\n'
    job = Job(tmp_path, text, args=["a b", "", "*", "\u00e9"], std_out="out")
    assert job.run().returncode == 0
    name, words = re.match(r"\['([^']*)', (.*)", job.output("out")).groups()
    assert name == f"{job.tmp}/slurm-on-ocs/slurm_script"
    assert words == f"'a b', '', '*', '\u00e9'] {job.work} True"
    assert job.output("out").count("\n") == 1


# not a shell: those drop what they don't understand
PRINT_ENVIRONMENT = """#!/usr/bin/python3
import os
for name, value in os.environb.items():
    os.write(1, name + b"=" + value + b"\\0")
"""


def test_environment(tmp_path):
    env = {"PATH": "/usr/bin:/bin", "HOME": "/h", "MULTI": "a\nb=c", "TMPDIR": "/user/tmp", "JOB_ID": "1",
           "SGE_ROOT": "/user", "SLURM_FOO": "leaks", "SLURM_PROCID": "5", "LD_PRELOAD": "", "BASH_FUNC_f%%": "() { :; }"}
    job = Job(tmp_path, PRINT_ENVIRONMENT, env=env, std_out="out", container_runtimes="my-runtime:podman",
              engine={"SLURM_ON_OCS_NATIVE": "1", "SOO_X": "1", "CUDA_VISIBLE_DEVICES": "1", "SITE": "s"})
    assert job.run().returncode == 0
    found = dict(line.split("=", 1) for line in job.output("out").split("\0")[:-1])
    assert (found["MULTI"], found["HOME"], found["SITE"]) == ("a\nb=c", "/h", "s")
    assert found["BASH_FUNC_f%%"] == "() { :; }"
    # of the engine's own names the engine has the last word, of Slurm's Slurm
    assert (found["TMPDIR"], found["JOB_ID"], found["SGE_ROOT"]) == (str(job.tmp), "77", "/nowhere")
    assert (found["SLURM_FOO"], found["SLURM_PROCID"], found["CUDA_VISIBLE_DEVICES"]) == ("leaks", "0", "1")
    assert found["PATH"] == f"{BUILD}/bin:/usr/bin:/bin"
    assert found["SOO_JOB_DIR"] == f"{job.tmp}/slurm-on-ocs"
    assert found["SOO_CONTAINER_RUNTIMES"] == "my-runtime:podman"
    assert not {"LANG", "SOO_X", "SLURM_ON_OCS_NATIVE", "SOO_MINDER_FD", "TERM"} & set(found)


def test_task_pid_is_the_scripts(tmp_path):
    job = Job(tmp_path, script("echo $$ $SLURM_TASK_PID"), std_out="out")
    job.run()
    one, other = job.output("out").split()
    assert one == other


def test_hosts_of_the_engine(tmp_path):
    job = Job(tmp_path, script("echo $SLURM_JOB_NODELIST $SLURM_NTASKS $SLURM_TASKS_PER_NODE $SLURMD_NODENAME"),
              hosts=[("c1.dom", 2), ("c2.dom", 2), ("c1.dom", 2)], ntasks=6, std_out="%N-%x")
    assert job.run().returncode == 0
    assert job.output("c1-test") == "c[1-2] 6 4,2 c1\n"
    start = job.records("c1")[0]
    assert (start["nodes"], start["slots"]) == (["c1", "c2"], [4, 2])


# not a shell: dash empties its mask
PRINT_STATUS = """#!/usr/bin/python3
import os
print(os.sysconf("SC_OPEN_MAX"))
for line in open("/proc/self/status"):
    if line.startswith(("Umask", "SigBlk", "SigIgn")):
        print(line, end="")
"""


def test_limits_and_mask_are_the_callers(tmp_path):
    job = Job(tmp_path, PRINT_STATUS, umask=0o027, std_out="out")
    assert job.run().returncode == 0
    # (Python itself ignores SIGPIPE and SIGXFSZ)
    expected = ["Umask:\t0027", "SigBlk:\t" + "0" * 16, f"SigIgn:\t{0x1001000 | ignored_by_make():016x}"]
    assert job.output("out").splitlines() == [str(os.sysconf("SC_OPEN_MAX")), *expected]
    assert stat.S_IMODE((job.work / "out").stat().st_mode) == 0o640


def test_script_has_three_descriptors(tmp_path):
    text = """#!/usr/bin/python3
import os
print([(fd, os.readlink(f"/proc/self/fd/{fd}")) for fd in range(64) if os.path.lexists(f"/proc/self/fd/{fd}")])
"""
    job = Job(tmp_path, text, std_out="out", std_err="err")
    assert job.run().returncode == 0
    assert job.output("out") == f"{[(0, '/dev/null'), (1, f'{job.work}/out'), (2, f'{job.work}/err')]}\n"


def test_output_and_error_files(tmp_path):
    both = script("echo out; echo err >&2; cat")
    (tmp_path / "in").write_text("input\n")
    job = Job(tmp_path, both, std_out="o.%j", std_err="e.%j", std_in=f"{tmp_path}/in")
    assert job.run().returncode == 0
    assert (job.output("o.77"), job.output("e.77")) == ("out\ninput\n", "err\n")
    (job.work / "o").write_text("old, and longer than what is new\n")
    for mode, expected in ((0, "out\n"), (ord("a"), "out\nout\n"), (ord("t"), "out\n")):
        job = Job(tmp_path, script("echo out"), std_out="o", std_err="o", open_mode=mode)
        assert job.run().returncode == 0
        assert job.output("o") == expected
    job = Job(tmp_path, script("echo again $SLURM_RESTART_COUNT"), std_out="o", engine={"RESTARTED": "1"})
    job.run()
    assert job.output("o") == "out\nagain 1\n"


@pytest.mark.parametrize("field", ["std_out", "std_err", "std_in"])
def test_file_that_cannot_be_opened(tmp_path, field):
    job = Job(tmp_path, script("touch ran"), **{field: "missing/%j"})
    assert job.run().returncode == 1
    assert not (job.work / "ran").exists()
    end = job.records()[-1]
    assert (end["state"], end["code"], end["signal"], end["reason"]) == ("FAILED", 0, 53, "JobLaunchFailure")
    name = {"std_out": "stdout", "std_err": "stderr", "std_in": "stdin"}[field]
    assert job.output() == f"slurmstepd: error: Could not open {name} file {job.work}/missing/77: No such file or directory\n"


def test_missing_folder_is_slurms_tmp(tmp_path):
    job = Job(tmp_path, script("pwd"), work_dir="/nosuch", std_out=f"{tmp_path}/work/out")
    assert job.run().returncode == 0
    line = "slurmstepd: error: couldn't chdir to `/nosuch': No such file or directory: going to /tmp instead\n"
    assert job.output("out") == line * 2 + "/tmp\n"


def test_script_that_cannot_be_executed(tmp_path):
    job = Job(tmp_path, "#!/no/such/interpreter\n")
    assert job.run().returncode == 2
    assert job.output() == f"slurmstepd: error: execve(): {job.tmp}/slurm-on-ocs/slurm_script: No such file or directory\n"
    assert job.end() == {"state": "FAILED", "code": 2, "signal": 0}


def test_array_element(tmp_path):
    job = Job(tmp_path, script("echo $SLURM_ARRAY_TASK_ID $SLURM_JOB_ID"), array=[0, 5, 10], array_step=5,
              engine={"SGE_TASK_ID": "2"})
    assert job.run().returncode == 0
    assert job.output("slurm-77_5.out") == "5 7700002\n"
    name = job.accounting / str(os.geteuid()) / "77.2.node1.jsonl"
    assert name.exists()
    assert job.spool.exists()  # its siblings need it


def test_time_limit(tmp_path):
    body = "trap 'echo caught; exit 5' TERM; (trap '' TERM; exec sleep 60) & echo $! >pid; while :; do sleep 0.05; done"
    job = Job(tmp_path, script(body), time_limit=1, std_out="out")
    started = time.monotonic()
    assert job.run().returncode == 5
    assert 0.9 < time.monotonic() - started < 4
    assert re.fullmatch(r"slurmstepd: error: \*\*\* JOB 77 ON node1 CANCELLED AT \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d DUE TO TIME LIMIT "
                        r"\*\*\*\n(Terminated\n)?caught\n", job.output("out"))
    assert job.end() == {"state": "TIMEOUT", "code": 5, "signal": 0}
    assert not pathlib.Path("/proc", (job.work / "pid").read_text().strip()).exists()


def test_kill_after_kill_wait(tmp_path):
    body = "trap '' TERM; sleep 61 & setsid sleep 62 & while :; do sleep 0.05; done"
    job = Job(tmp_path, script(body), time_limit=1, kill_wait=1)
    assert job.run().returncode == 137
    assert job.end() == {"state": "TIMEOUT", "code": 0, "signal": 9}


def test_warning_before_the_limit(tmp_path):
    body = "trap 'echo warned; exit 0' USR1; while :; do sleep 0.05; done"
    job = Job(tmp_path, script(body), time_limit=30, signal_number=signal.SIGUSR1, signal_before=29, signal_batch_only=1)
    assert job.run().returncode == 0
    assert job.output() == "warned\n"
    assert job.end()["state"] == "COMPLETED"


def test_terminate_method_is_a_cancel(tmp_path):
    """A site's terminate_method sends TERM to the minder's group."""
    job = Job(tmp_path, script("trap 'exit 6' TERM; touch on; while :; do sleep 0.05; done"), std_out="out")
    with job.start() as process:
        wait_for((job.work / "on").exists)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(10) == 6
    assert re.search(r"\*\*\* JOB 77 ON node1 CANCELLED AT \S+ \*\*\*\n(Terminated\n)?$", job.output("out"))
    assert job.end() == {"state": "CANCELLED", "code": 6, "signal": 0, "by": os.getuid()}


def descendants(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return [int(p) for p in found] + [q for p in found for q in descendants(p)]


def state_of(pid):
    try:
        return pathlib.Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "X"


TREE = "sleep 71 & setsid sleep 72 & (setsid sh -c 'sleep 73 & exec sleep 74' &) ; touch on; exec sleep 75"


def test_engine_kills_its_group(tmp_path):
    job = Job(tmp_path, script(TREE))
    with job.start() as process:
        wait_for((job.work / "on").exists)
        wait_for(lambda: len(descendants(process.pid)) >= 7, "processes are missing")
        pids = descendants(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        wait_for(lambda: all(state_of(pid) in "ZX" for pid in pids), "something lives")
    assert job.end() == {"state": "KILLED_BY_ENGINE", "code": 0, "signal": 9}
    assert job.spool.exists()  # for a next run


def test_engine_stops_and_continues_its_group(tmp_path):
    job = Job(tmp_path, script(TREE))
    with job.start() as process:
        wait_for((job.work / "on").exists)
        wait_for(lambda: len(descendants(process.pid)) >= 7, "processes are missing")
        supervisor = int(subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
                                        check=True).stdout)
        sleeps = [pid for pid in descendants(supervisor)
                  if pathlib.Path("/proc", str(pid), "comm").read_text() == "sleep\n"]
        assert len(sleeps) == 5
        os.killpg(process.pid, signal.SIGSTOP)
        started = time.monotonic()
        wait_for(lambda: all(state_of(pid) == "T" for pid in sleeps), "something runs")
        assert time.monotonic() - started < 1
        assert state_of(supervisor) == "S"
        os.killpg(process.pid, signal.SIGCONT)
        wait_for(lambda: all(state_of(pid) == "S" for pid in sleeps), "something is stopped")
        os.killpg(process.pid, signal.SIGKILL)
        wait_for(lambda: all(state_of(pid) in "ZX" for pid in sleeps), "something lives")


def test_suspended_time_does_not_count(tmp_path):
    job = Job(tmp_path, script("touch on; while :; do sleep 0.05; done"), time_limit=2)
    with job.start() as process:
        wait_for((job.work / "on").exists)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(2.5)
        os.killpg(process.pid, signal.SIGCONT)
        time.sleep(1)
        assert process.poll() is None
        process.wait(10)
    assert job.end()["state"] == "TIMEOUT"


def test_nothing_is_left(tmp_path):
    job = Job(tmp_path, script(f"{TREE.replace('exec sleep 75', 'exit 0')}"))
    assert job.run().returncode == 0
    assert not job.spool.exists() and not list((job.spool.parent / "by-id").iterdir())
    env = f"SOO_JOB_DIR={job.tmp}".encode()
    left = [p for p in pathlib.Path("/proc").glob("[0-9]*/environ") if readable(p) and env in p.read_bytes()]
    assert left == []


def readable(path):
    try:
        return bool(path.read_bytes())
    except OSError:
        return False


def test_without_an_accounting_folder(tmp_path):
    """The records stay in the spool folder, what is the user's own doesn't."""
    job = Job(tmp_path, script("exit 0"), accounting_dir="/nonexistent")
    assert job.run().returncode == 0
    names = {p.name for p in job.spool.iterdir()}
    assert "77.node1.jsonl" in names and not names & {"env", "script", "args"}


@pytest.mark.parametrize("damage,text", [
    (lambda job: (job.spool / "job").unlink(), "job: No such file or directory"),
    (lambda job: (job.spool / "job").write_bytes(b"x" * 40), "job file: malformed"),
    (lambda job: job.spool.chmod(0o777), "writable by others"),
    (lambda job: (job.spool / "script").unlink(), "script: No such file or directory"),
    (lambda job: (job.spool / "env").unlink(), "env: No such file or directory"),
    (lambda job: job.env.pop("JOB_ID"), "JOB_ID"),
    (lambda job: job.env.update(PE_HOSTFILE="/nonexistent"), "/nonexistent: No such file or directory"),
])
def test_what_is_broken_is_said_where_the_user_looks(tmp_path, damage, text):
    job = Job(tmp_path, script("touch ran"))
    damage(job)
    assert job.run().returncode == 1
    assert not (job.work / "ran").exists()
    said = "".join(path.read_text() for path in job.work.glob("slurm-*.out"))
    assert re.fullmatch(r"slurmstepd: error: [^\n]*\n", said) and text in said


def test_without_the_engines_tmpdir_the_job_folder_is_another(tmp_path):
    job = Job(tmp_path, script("stat -c %a $SOO_JOB_DIR; echo $SOO_JOB_DIR"))
    job.env.update(TMPDIR="/nonexistent")
    assert job.run().returncode == 0
    mode, folder = job.output().split()
    assert mode == "700" and not pathlib.Path(folder).exists()


def test_job_folder_is_private(tmp_path):
    job = Job(tmp_path, script("stat -c %a $SOO_JOB_DIR $0"))
    job.run()
    assert job.output() == "700\n700\n"


def test_the_script_is_started_at_once(tmp_path):
    """Milliseconds from the start of the minder to a program that the script starts: the best of some."""
    best = 1000.0
    for _ in range(10):
        job = Job(tmp_path, script("exec date +%s%N"))
        started = time.time_ns()
        assert job.run().returncode == 0
        best = min(best, (int(job.output()) - started) / 1e6)
    assert best < 40, f"{best} ms"


# --- GPUs ---

# what `qstat -j` of OCS 9.1.5 says of a job of three hosts
QSTAT_J = """\
==============================================================
job_number:                      77
hard_resource_list:              gpu=1,h_rt=600,mem=1G
job_state                   1:   r
exec_queue_list             1:   all.q@node3=2,all.q@node2=1,all.q@node1=1
exec_host_list              1:   node3=2,node2=1,node1=1
resource_map                1:   gpu=node3=(0 1),gpu=node2=(0),gpu=node1=(3)
resource_map                2:   gpu=node3=(7)
"""
GPU_HOSTS = [("node3", 2), ("node2", 1), ("node1", 1)]


def gpu_job(tmp_path, qstat, **fields):
    clients = tmp_path / "clients"
    clients.mkdir()
    (clients / "qstat").write_text(f"#!/bin/sh\necho \"$*\" >>{tmp_path}/qstat.log\n{qstat}\n")
    (clients / "qstat").chmod(0o755)
    (tmp_path / "qstat-j").write_text(QSTAT_J)
    shown = "env | grep -E '^(CUDA|GPU_D|ROCR|ZE_|SLURM_(JOB_)?GPU|SOO_JOB_G)' | sort"
    # SGE_HGR_gpu is what the engine says, wrongly: the last host's
    return Job(tmp_path, script(shown), std_out="out", hosts=GPU_HOSTS,
               engine={"SGE_BINARY_PATH": str(clients), "SGE_ROOT": str(tmp_path), "SGE_HGR_gpu": "3"}, **fields)


def test_gpus_are_those_that_the_engine_granted(tmp_path):
    job = gpu_job(tmp_path, f"cat {tmp_path}/qstat-j", gpu_maps="gpu", gpus_per_node="2")
    assert job.run().returncode == 0
    assert job.output("out") == (
        "CUDA_VISIBLE_DEVICES=0,1\nGPU_DEVICE_ORDINAL=0,1\nROCR_VISIBLE_DEVICES=0,1\nSLURM_GPUS_ON_NODE=2\n"
        "SLURM_GPUS_PER_NODE=2\nSLURM_JOB_GPUS=0,1\nSOO_JOB_GPUS=node3=2=0,1;node2=1=0;node1=1=3\n"
        "ZE_AFFINITY_MASK=0,1\n")
    assert (tmp_path / "qstat.log").read_text() == "-j 77\n"


def test_without_gpus_the_engine_is_not_asked(tmp_path):
    job = gpu_job(tmp_path, f"cat {tmp_path}/qstat-j")
    assert job.run().returncode == 0
    assert job.output("out") == "" and not (tmp_path / "qstat.log").exists()


def test_an_engine_that_cannot_say_which_gpus(tmp_path):
    """Three tries; the job runs, without a mask, and its output says why."""
    job = gpu_job(tmp_path, "echo 'error: commlib error' >&2; exit 1", gpu_maps="gpu", gpus="2")
    assert job.run().returncode == 0
    text = job.output("out")
    assert text.endswith("SLURM_GPUS=2\n") and "CUDA_VISIBLE_DEVICES=" not in text
    assert "the job's GPUs are reserved, but not known: CUDA_VISIBLE_DEVICES isn't set" in text
    assert (tmp_path / "qstat.log").read_text() == "-j 77\n" * 3
