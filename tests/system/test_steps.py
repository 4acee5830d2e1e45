# SPDX-License-Identifier: Apache-2.0
"""Steps without an engine: srun, supervisor, agents and steppers on this machine. Texts and codes are Slurm's
(recorded from 22.05.8, but for the node name that Debian puts behind "slurmstepd")."""

import os
import re
import signal
import subprocess
import time

import pytest

from jobfile import ignored_by_make
from stepjob import StepJob, find, steps, wait_for

ONE = (("n1", 4),)
THREE = (("n1", 2), ("n2", 2), ("n3", 2))
W1 = "srun: Warning: can't run 1 processes on 3 nodes, setting nnodes to 1\n"


def whole(text):
    """Reports of one host and code as one line each: Slurm, too, prints what has arrived by then."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(srun: error: \w+): tasks? ([\d,-]+): (.*)", line)
        ids = set()
        for part in match[2].split(",") if match else []:
            first, _, last = part.partition("-")
            ids |= set(range(int(first), int(last or first) + 1))
        found.setdefault((match[1], match[3]) if match else line, set()).update(ids)
    return found


def lines(text):
    return sorted(text.splitlines())


# --- exit codes ---

CODES = [
    ("exit 0", 0, ""),
    ("exit 3", 3, "srun: error: n1: tasks 0-3: Exited with exit code 3\n"),
    ("exit 255", 255, "srun: error: n1: tasks 0-3: Exited with exit code 255\n"),
    ("[ $SLURM_PROCID = 2 ] && exit 42; exit 0", 42, "srun: error: n1: task 2: Exited with exit code 42\n"),
    ("[ $((SLURM_PROCID%2)) = 0 ] && exit 2; exit 0", 2, "srun: error: n1: tasks 0,2: Exited with exit code 2\n"),
    ("ulimit -c 0; kill -SEGV $$", 139, "srun: error: n1: tasks 0-3: Segmentation fault\n"),
    ("kill -USR1 $$", 138, "srun: error: n1: tasks 0-3: User defined signal 1\n"),
    ("case $SLURM_PROCID in 0) exit 200;; 1) sleep 0.2; kill -9 $$;; esac", 137,
     "srun: error: n1: task 0: Exited with exit code 200\nsrun: error: n1: task 1: Killed\n"
     "srun: Force Terminated StepId=77.0\n"),
    ("kill -KILL $$", 137, "srun: error: n1: tasks 0-3: Killed\nsrun: Force Terminated StepId=77.0\n"),
    ("[ $SLURM_PROCID = 0 ] && kill -TERM $$; exit 0", 143,
     "srun: error: n1: task 0: Terminated\nsrun: Force Terminated StepId=77.0\n"),
]


@pytest.mark.parametrize("command, code, text", CODES)
def test_exit_codes_and_their_texts(tmp_path, command, code, text):
    assert whole(steps(tmp_path, f"srun sh -c '{command}'\n", code, ntasks=4)) == whole(text)


def test_quiet_silences_neither_warnings_nor_errors(tmp_path):
    assert steps(tmp_path, "srun -Q -n1 sh -c 'kill -9 $$'\n", 137, hosts=THREE) == W1 + "srun: error: n1: task 0: Killed\n"


def test_highest_code_of_all_hosts(tmp_path):
    text = steps(tmp_path, "srun sh -c 'exit $SLURM_PROCID'\n", 2, hosts=THREE, ntasks=3)
    assert lines(text) == ["srun: error: n2: task 1: Exited with exit code 1", "srun: error: n3: task 2: Exited with exit code 2"]


EXEC = [
    ("nosuchcmd", 2, "nosuchcmd: No such file or directory"),
    ("./nosuch", 2, "{work}/./nosuch: No such file or directory"),
    ("/tmp", 13, "/tmp: Permission denied"),
    ("./noshebang", 8, "{work}/./noshebang: Exec format error"),
    ("''", 2, ": No such file or directory"),
]


@pytest.mark.parametrize("command, code, text", EXEC)
def test_what_cannot_be_executed_ends_with_errno(tmp_path, command, code, text):
    script = f"echo true >noshebang; chmod 755 noshebang; srun -n1 {command}\n"
    text = text.format(work=tmp_path / "work")
    assert lines(steps(tmp_path, script, code)) == lines(
        f"slurmstepd: error: execve(): {text}\nsrun: error: n1: task 0: Exited with exit code {code}\n")


def test_missing_folder_is_tmp_instead(tmp_path):
    note = "slurmstepd: error: couldn't chdir to `/nonexist': No such file or directory: going to /tmp instead\n"
    assert steps(tmp_path, "srun -n1 -D /nonexist pwd\n") == note + note + "/tmp\n"


# --- what a rank gets ---

def test_each_host_has_its_own_variables(tmp_path):
    text = steps(tmp_path, "srun sh -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $HOSTNAME $TMPDIR "
                           "$SOO_JOB_DIR $SLURM_GTIDS'\n", hosts=THREE, ntasks=6)
    here = {"n1": tmp_path / "77.1.all.q", "n2": tmp_path / "n2.tmp", "n3": tmp_path / "n3.tmp"}
    assert lines(text) == [f"{i} {i % 2} {i // 2} {h} {h} {here[h]} {here[h]}/slurm-on-ocs {i // 2 * 2},{i // 2 * 2 + 1}"
                           for i, h in enumerate(["n1", "n1", "n2", "n2", "n3", "n3"])]


def test_pid_group_folder_umask_and_limits(tmp_path):
    script = """mkdir sub; cd sub; umask 027; ulimit -Sn 99
srun -n1 -w n2 sh -c 'ps -o pgid= -p $$ | tr -d " "; echo $$ $SLURM_TASK_PID; pwd; umask; ulimit -Sn'
"""
    text = steps(tmp_path, script, hosts=THREE).removeprefix(W1)
    group, pids, folder, mask, files = text.splitlines()
    pid, task_pid = pids.split()
    assert group == pid == task_pid
    assert (folder, mask, files) == (f"{tmp_path}/work/sub", "0027", "99")


def test_environment_is_exact(tmp_path):
    script = "export A=$'two\\nlines' B=\"a 'b' \\\"c\\\"\"; f() { echo fn; }; export -f f\n" \
             "srun -n1 -w n2 bash -c 'printf \"<%s><%s>\" \"$A\" \"$B\"; f'\n"
    assert steps(tmp_path, script, hosts=THREE).removeprefix(W1) == "<two\nlines><a 'b' \"c\">fn\n"


def test_an_environment_of_two_megabytes(tmp_path):
    script = """for i in $(seq 15); do export V$i=$(head -c 120000 /dev/zero | tr '\\0' x); done
srun -n1 -w n2 /bin/sh -c 'echo ${#V1} ${#V15}'
"""
    text = steps(tmp_path, "ulimit -s unlimited 2>/dev/null || ulimit -s 65536\n" + script, hosts=THREE)
    assert text.removeprefix(W1) == "120000 120000\n"


def test_signals_are_as_the_user_has_them(tmp_path):
    text = steps(tmp_path, "srun -n1 grep -E '^Sig(Blk|Ign)' /proc/self/status\n")
    assert re.findall(r"\w+:\s*(\w+)", text) == ["0" * 16, f"{ignored_by_make():016x}"]


def test_no_descriptor_leaks_into_a_rank(tmp_path):
    text = steps(tmp_path, "srun -n1 ls /proc/self/fd\n")
    assert text.split() == ["0", "1", "2", "3"]  # 3: the folder that ls reads


# --- output ---

def test_labels_are_as_wide_as_the_last_task(tmp_path):
    text = steps(tmp_path, "srun -O -n12 -l sh -c 'echo out $SLURM_PROCID'\n")
    assert lines(text) == lines("".join(f"{i:2d}: out {i}\n" for i in range(12)))


def test_lines_of_tasks_stay_whole(tmp_path):
    script = "srun -n2 sh -c 'for i in $(seq 300); do printf a; printf b; printf \"c\\n\"; done' | sort | uniq -c\n"
    assert steps(tmp_path, script).split() == ["600", "abc"]


def test_unfinished_lines(tmp_path):
    assert steps(tmp_path, "srun -n2 sh -c 'printf a; sleep 0.3; echo b'\n") == "ab\nab\n"


def test_a_lone_task_is_heard_at_once(tmp_path):
    job = StepJob(tmp_path, "srun -n1 sh -c 'printf prompt; sleep 20'\n")
    with job.start() as process:
        wait_for(lambda: (job.work / "slurm-77.out").exists() and job.output() == "prompt", 10)
        process.kill()


def test_unbuffered_and_labelled_parts(tmp_path):
    text = steps(tmp_path, "srun -n2 -u -l sh -c 'printf a; sleep 0.3; echo b'\n")
    assert lines(text) == ["0: a", "0: b", "1: a", "1: b"]


def test_last_line_gets_its_end_only_with_labels(tmp_path):
    assert steps(tmp_path, "srun -n1 printf x; srun -n2 -l printf y\n") in ("x0: y\n1: y\n", "x1: y\n0: y\n")


def test_streams_stay_apart(tmp_path):
    steps(tmp_path, "srun -n2 sh -c 'echo o; echo e >&2' >out 2>err\n")
    assert ((tmp_path / "work/out").read_text(), (tmp_path / "work/err").read_text()) == ("o\no\n", "e\ne\n")


FILES = [
    ("-o f.%t", {f"f.{i}": f"o{i}\ne{i}\n" for i in range(3)}),
    ("-o f.%N", {f"f.n{i + 1}": f"o{i}\ne{i}\n" for i in range(3)}),
    ("-o f.%n.%j.%s.%x", {f"f.{i}.77.0.test": f"o{i}\ne{i}\n" for i in range(3)}),
    ("-l -o f.%t", {f"f.{i}": f"{i}: o{i}\n{i}: e{i}\n" for i in range(3)}),
    ("-o f.%4t", {f"f.{i:04d}": f"o{i}\ne{i}\n" for i in range(3)}),
    ("-o f.%t -e g.%t", {**{f"f.{i}": f"o{i}\n" for i in range(3)}, **{f"g.{i}": f"e{i}\n" for i in range(3)}}),
    ("-o none", {}),
    ("-o NONE", {}),
]


@pytest.mark.parametrize("options, want", FILES)
def test_files_of_tasks_and_hosts(tmp_path, options, want):
    text = steps(tmp_path, f"srun -n3 {options} sh -c 'echo o$SLURM_PROCID; echo e$SLURM_PROCID >&2'\n", hosts=THREE)
    found = {f.name: f.read_text() for f in (tmp_path / "work").iterdir() if not f.name.startswith("slurm-")}
    assert (text, found) == ("", want)


SHARED = [("-o f", {"f": 6}), ("-o f.%J", {"f.77.0": 6}), ("-o f -e f", {"f": 6}), ("-o f -e g", {"f": 3, "g": 3}),
          ("-o f\\\\%t", {"f%t": 6}), ("-o 7", {"7": 6})]


@pytest.mark.parametrize("options, want", SHARED)
def test_one_file_for_all(tmp_path, options, want):
    steps(tmp_path, f"srun -n3 {options} sh -c 'echo o; echo e >&2'\n", hosts=THREE)
    found = {f.name: len(f.read_text().splitlines()) for f in (tmp_path / "work").iterdir() if not f.name.startswith("slurm-")}
    assert found == want


def test_output_of_one_task(tmp_path):
    assert steps(tmp_path, "srun -n3 -o 1 sh -c 'echo o$SLURM_PROCID; echo e$SLURM_PROCID >&2'\n", hosts=THREE) in (
        "o1\ne1\n", "e1\no1\n")


def test_append_and_truncate(tmp_path):
    steps(tmp_path, "echo old >f; echo old >g; srun -n1 -o f --open-mode=append echo new; srun -n1 -o g echo new\n")
    assert ((tmp_path / "work/f").read_text(), (tmp_path / "work/g").read_text()) == ("old\nnew\n", "new\n")


def test_a_file_that_cannot_be_opened_stops_the_step_before_any_rank(tmp_path):
    script = "mkdir d; srun -n3 -o d/f.%t true; echo $?; rm -r d; srun -n3 -o d/f.%t touch ran; echo $?; ls\n"
    text = steps(tmp_path, script, hosts=THREE)
    assert text.startswith("0\n")
    assert re.search(r"^srun: error: task \d launch failed: Slurmd could not connect IO$", text, re.M)
    assert text.endswith("8\nslurm-77.out\n")


def test_sruns_own_file_that_cannot_be_opened(tmp_path):
    text = steps(tmp_path, "srun -n3 -o d/f touch ran; echo $?; srun -i nofile -n1 touch ran; echo $?; ls\n", hosts=THREE)
    assert text == ("srun: error: Could not open stdout file: No such file or directory\n1\n" + W1 +
                    "srun: error: Could not open stdin file: No such file or directory\n1\nslurm-77.out\n")


def test_much_output_is_whole(tmp_path):
    script = "srun -n3 sh -c 'head -c 20000000 /dev/zero' | wc -c\n"
    assert steps(tmp_path, script, hosts=THREE) == "60000000\n"


def test_a_slow_reader_loses_nothing_and_holds_up_no_signal(tmp_path):
    script = """mkfifo slow; touch told
srun -n3 sh -c 'trap "echo told >>told" USR1; (trap "" USR1; seq 3000000) & touch up.$SLURM_PROCID; wait; wait' >slow & srun=$!
exec 3<slow; while [ ! -e up.0 ] || [ ! -e up.1 ] || [ ! -e up.2 ]; do sleep 0.1; done
sleep 1; kill -USR1 $srun; sleep 1; wc -l <told; wc -l <&3
"""
    text = steps(tmp_path, script, hosts=THREE)
    assert text.split() == ["3", "9000000"]


def test_output_whose_reader_is_gone_is_dropped(tmp_path):
    script = "srun -n1 sh -c 'yes | head -200000; echo end >&2' | head -1; echo ${PIPESTATUS[0]}\n"
    assert steps(tmp_path, script) == "y\nend\n0\n"


# --- input ---

def test_input_goes_to_all(tmp_path):
    text = steps(tmp_path, "printf 'a\\nb' | srun -l cat\n", hosts=THREE, ntasks=3)
    assert lines(text) == ["0: a", "0: b", "1: a", "1: b", "2: a", "2: b"]


def test_input_goes_to_one(tmp_path):
    assert steps(tmp_path, "echo x | srun -l -i 1 cat\n", hosts=THREE, ntasks=3) == "1: x\n"


@pytest.mark.parametrize("options, want", [("-i none", []), ("-i f", ["0: in", "1: in", "2: in"]),
                                           ("-i f.%t", ["0: t0", "1: t1", "2: t2"])])
def test_input_from_files_or_none(tmp_path, options, want):
    script = f"echo in >f; for i in 0 1 2; do echo t$i >f.$i; done; echo x | srun -l {options} cat\n"
    assert lines(steps(tmp_path, script, hosts=THREE, ntasks=3)) == want


def test_input_of_any_bytes_and_size(tmp_path):
    script = "head -c 3000000 /dev/urandom >f; md5sum <f; srun -n3 md5sum <f | uniq; srun -n3 wc -c <f\n"
    out = steps(tmp_path, script, hosts=THREE).split("\n")
    assert out[0] == out[1] and out[2:] == ["3000000"] * 3 + [""]


def test_a_loop_loses_its_input_to_srun_but_for_i_none(tmp_path):
    script = "seq 3 | while read l; do srun -n1 echo got $l; done; seq 3 | while read l; do srun -i none -n1 echo got $l; done\n"
    assert steps(tmp_path, script) == "got 1\ngot 1\ngot 2\ngot 3\n"


def test_input_that_nobody_reads_holds_up_nothing(tmp_path):
    assert steps(tmp_path, "yes | srun -n2 true; echo ${PIPESTATUS[1]}\n") == "0\n"


# --- CPUs ---

def test_default_steps_take_whole_hosts_and_wait_in_turn(tmp_path):
    script = "srun sleep 0.5 & sleep 0.2; srun -I true; echo $?; srun -n1 -N1 echo after; wait\n"
    assert steps(tmp_path, script, ntasks=4) == (
        "srun: error: Unable to create step for job 77: Requested nodes are busy\n1\n"
        "srun: Job 77 step creation temporarily disabled, retrying (Requested nodes are busy)\n"
        "srun: Step created for job 77\nafter\n")


SHARING = [("--exact", True), ("--overlap", True), ("--exclusive", True), ("", False)]


@pytest.mark.parametrize("option, together", SHARING)
def test_steps_that_share_a_host(tmp_path, option, together):
    script = (f"srun -n2 -N1 {option} sh -c 'touch a; for i in $(seq 15); do [ -e b ] && exit 0; sleep 0.1; done; exit 1' & "
              f"srun -n2 -N1 {option} sh -c 'touch b; for i in $(seq 15); do [ -e a ] && exit 0; sleep 0.1; done; exit 1'; "
              "wait $!; echo $?\n")
    # apart: whichever step came first waited for the other in vain
    assert ("Exited with exit code 1" not in steps(tmp_path, script, ntasks=4)) == together


def test_steps_go_to_idle_hosts(tmp_path):
    script = "for i in 1 2 3; do srun -N1 -n1 sh -c 'echo $SLURMD_NODENAME; sleep 0.5' & done; wait\n"
    assert lines(steps(tmp_path, script, hosts=THREE)) == ["n1", "n2", "n3"]


def test_a_step_inside_a_step(tmp_path):
    script = "srun -w n2 -N1 -n1 srun -N1 -n1 sh -c 'echo $SLURMD_NODENAME $SLURM_STEP_ID'\n"
    assert steps(tmp_path, script, hosts=THREE) == "n1 1\n"


REFUSED = [
    ("-n9", "Unable to create step for job 77: More processors requested than permitted"),
    ("-N5 -n5", "Only allocated 3 nodes asked for 5"),
    ("-r 3 -N1 -n1", "--relative and --nodes option incompatible with count of allocated nodes (3+1>3)"),
    ("-x n[1-3] -N1 -n1", "Hostlist is empty!  Can't run job."),
    ("-w n9 -N1 -n1", "Unable to create step for job 77: Requested node configuration is not available"),
]


@pytest.mark.parametrize("options, text", REFUSED)
def test_what_cannot_be_placed_is_refused(tmp_path, options, text):
    assert steps(tmp_path, f"srun {options} true; echo $?\n", hosts=THREE, ntasks=6).endswith(f"srun: error: {text}\n1\n")


def test_a_waiting_step_can_be_given_up(tmp_path):
    script = "srun sleep 1 & sleep 0.2; srun true & sleep 0.3; kill -INT $!; wait $!; echo $?; wait\n"
    assert steps(tmp_path, script, ntasks=4) == (
        "srun: Cancelled pending job step with signal 2\n"
        "srun: error: Unable to create step for job 77: Job/step already completing or completed\n1\n")


# --- ends ---

AT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


def matches(text, *patterns):
    rest = text.splitlines()
    for pattern in patterns:
        found = [line for line in rest if re.fullmatch(pattern, line)]
        assert found, f"no line like {pattern!r} in\n{text}"
        rest.remove(found[0])
    assert not rest, f"too many lines: {rest}"


def test_kill_on_bad_exit(tmp_path):
    text = steps(tmp_path, "srun -K sh -c '[ $SLURM_PROCID = 2 ] && exit 4; exec sleep 30'\n", 143, hosts=THREE, ntasks=3)
    matches(text, "srun: error: n3: task 2: Exited with exit code 4",
            r"srun: launch/slurm: _step_signal: Terminating StepId=77\.0",
            rf"slurmstepd: error: \*\*\* STEP 77\.0 ON n1 CANCELLED AT {AT} \*\*\*",
            "srun: error: n1: task 0: Terminated", "srun: error: n2: task 1: Terminated",
            r"srun: Force Terminated StepId=77\.0")


def test_without_k_the_others_go_on(tmp_path):
    script = "srun sh -c '[ $SLURM_PROCID = 2 ] && exit 4; sleep 0.5; echo done'\n"
    assert lines(steps(tmp_path, script, 4, hosts=THREE, ntasks=3)) == [
        "done", "done", "srun: error: n3: task 2: Exited with exit code 4"]


def test_kill_reaches_what_ignores_term(tmp_path):
    script = "srun -K sh -c 'trap \"\" TERM; sleep 61 & setsid sleep 62 & touch up.$SLURM_PROCID; while [ ! -e up.0 ] || " \
             "[ ! -e up.1 ]; do sleep 0.1; done; [ $SLURM_PROCID = 2 ] && exit 4; wait; wait'\n"
    text = steps(tmp_path, script, 137, hosts=THREE, ntasks=3, kill_wait=1)
    assert "srun: error: n2: task 1: Killed" in text
    assert not [line for pid, line in find("sleep 6").items() if line in ("sleep 61", "sleep 62") and is_below(pid, tmp_path)]


def test_wait_after_the_first_exit(tmp_path):
    text = steps(tmp_path, "srun -W1 sh -c '[ $SLURM_PROCID = 2 ] && exit 0; exec sleep 30'\n", 137, hosts=THREE, ntasks=3)
    matches(text, "srun: First task exited 1s ago", r"srun: StepId=77\.0 tasks 0-1: running",
            r"srun: StepId=77\.0 task 2: exited", r"srun: launch/slurm: _step_signal: Terminating StepId=77\.0",
            rf"slurmstepd: error: \*\*\* STEP 77\.0 ON n1 CANCELLED AT {AT} \*\*\*",
            "srun: Job step aborted: Waiting up to 4 seconds for job step to finish.",
            "srun: error: n1: task 0: Killed", "srun: error: n2: task 1: Killed")


SIGNALS = [
    ("kill -INT $p; sleep 1.2", 0, ["srun: interrupt (one more within 1 sec to abort)", "srun: StepId=77.0 tasks 0-2: running"]),
    ("kill -INT $p; sleep 0.3; kill -INT $p", 130, ["srun: sending Ctrl-C to StepId=77.0", "srun: error: n1: task 0: Interrupt"]),
    ("kill -TERM $p", 137, ["srun: forcing job termination", "srun: error: n3: task 2: Killed"]),
    ("kill -HUP $p", 137, ["srun: forcing job termination", "srun: error: n3: task 2: Killed"]),
    ("kill -QUIT $p", 137, ["srun: forcing job termination", "srun: error: n3: task 2: Killed"]),
    ("kill -PIPE $p", 137, ["srun: Job step aborted: Waiting up to 4 seconds for job step to finish.",
                            "srun: error: n3: task 2: Killed"]),
    ("kill -USR1 $p", 138, ["srun: error: n3: task 2: User defined signal 1"]),
    ("kill -USR2 $p", 140, ["srun: error: n3: task 2: User defined signal 2"]),
    ("kill -CONT $p", 0, ["srun: got SIGCONT"]),
    ("kill -ALRM $p", 0, []),
    ("kill -WINCH $p", 0, []),
]


@pytest.mark.parametrize("kill, code, want", SIGNALS)
def test_signals_to_srun(tmp_path, kill, code, want):
    script = f"set -m; srun sleep 3 & p=$!; sleep 1; {kill}; wait $p; echo rc=$?\n"
    text = steps(tmp_path, script, hosts=THREE, ntasks=3)
    assert text.endswith(f"rc={code}\n"), text
    for line in want:
        assert line in text.splitlines(), text


def test_one_ctrl_c_is_enough_with_x(tmp_path):
    script = "set -m; srun -X sleep 5 & p=$!; sleep 1; kill -INT $p; wait $p; echo rc=$?\n"
    text = steps(tmp_path, script, hosts=THREE, ntasks=3)
    assert text.startswith("srun: sending Ctrl-C to StepId=77.0\n") and text.endswith("rc=130\n")


def test_what_a_rank_leaves_behind_ends_with_the_step(tmp_path):
    script = "srun sh -c 'setsid sleep 71 </dev/null >/dev/null 2>&1 & echo started'; pgrep -fx 'sleep 71'; echo none\n"
    assert steps(tmp_path, script, hosts=THREE, ntasks=3) == "started\nstarted\nstarted\nnone\n"


def test_a_child_that_holds_the_output_does_not_hang_srun(tmp_path):
    began = time.monotonic()
    assert steps(tmp_path, "srun -n1 sh -c 'sleep 72 & echo started'\n") == "started\n"
    assert time.monotonic() - began < 10
    assert not [line for pid, line in find("sleep 72").items() if line == "sleep 72" and is_below(pid, tmp_path)]


# --- faults ---

HOLD = "trap '' TERM; echo $$ >>pids; setsid sleep 73 & sleep 74 & touch up.$SLURM_PROCID; wait; wait; sleep 75"


def started_hold(tmp_path, script, **args):
    job = StepJob(tmp_path, script, hosts=THREE, ntasks=3, **args)
    (job.work / "hold").write_text(HOLD)
    process = job.start()
    wait_for(lambda: len(list(job.work.glob("up.*"))) == 3)
    return job, process


def is_below(pid, folder):
    try:
        return str(folder) in os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return False


def left(tmp_path):
    return {pid: line for pid, line in find("sleep 7").items() if line in ("sleep 73", "sleep 74", "sleep 75")
            and is_below(pid, tmp_path)}


def test_srun_killed_leaves_nothing(tmp_path):
    job, process = started_hold(tmp_path, "srun sh hold & p=$!; echo $p >srun; wait $p; echo $?; "
                                    "until [ -e go ]; do sleep 0.1; done; echo end\n")
    os.kill(int((job.work / "srun").read_text()), signal.SIGKILL)
    wait_for(lambda: not left(tmp_path), 12)
    (job.work / "go").touch()
    assert process.wait(20) == 0
    assert job.output().splitlines()[-1] == "end"
    assert [r["state"] for r in job.steps() if r["event"] == "step_end"] == ["CANCELLED"]


def agents(tmp_path):
    return [pid for pid, line in find(" agent 127.0.0.1").items() if "minder" not in line.split()[0]
            and is_below(pid, tmp_path)]


def test_agent_killed_fails_its_ranks_and_a_later_step_starts_it_again(tmp_path):
    script = "srun sh hold; echo rc=$?; srun -N3 sh -c 'echo again $SLURMD_NODENAME'; exit 7\n"
    job, process = started_hold(tmp_path, script)
    os.kill(agents(tmp_path)[0], signal.SIGKILL)
    assert process.wait(30) == 7
    text = job.output()
    assert re.search(r"^srun: error: Node failure on n[23]: ", text, re.M), text
    assert re.search(r"^srun: error: n[23]: task [12]: Lost, counted as failed$", text, re.M), text
    assert "rc=137\n" in text
    assert lines(text)[:3] == ["again n1", "again n2", "again n3"]
    assert not left(tmp_path)


def test_supervisor_killed_the_script_goes_on(tmp_path):
    job, process = started_hold(tmp_path, "srun sh hold; echo rc=$?; srun true; echo rc=$?; exit 7\n")
    supervisor = [pid for pid, line in find(f" batch {job.spool}").items() if "minder" not in line.split()[0]]
    os.kill(supervisor[0], signal.SIGKILL)
    assert process.wait(30) == 7
    text = job.output()
    assert "srun: error: lost the job's supervisor: connection closed\n" in text
    assert text.endswith("srun: error: Slurm job 77 has expired\n"
                         "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 77\nrc=1\n"), text
    wait_for(lambda: not left(tmp_path), 12)
    wait_for(lambda: not agents(tmp_path), 12)


def test_the_end_of_the_script_ends_steps_and_agents(tmp_path):
    script = "srun sh hold & while [ ! -e up.0 ] || [ ! -e up.1 ] || [ ! -e up.2 ]; do " \
             "sleep 0.1; done; sleep 0.5\n"
    job, process = started_hold(tmp_path, script, kill_wait=1)
    assert process.wait(20) == 0
    assert not left(tmp_path)
    assert not agents(tmp_path)


# --- agents ---

def test_secrets_ride_neither_argv_nor_environment(tmp_path):
    steps(tmp_path, "srun hostname >/dev/null\n", hosts=THREE, ntasks=3)
    for name in ("qrsh.log", "qrsh.env"):
        assert not re.search(r"[0-9a-f]{40}", (tmp_path / name).read_text())


def test_qrsh_is_called_as_the_engine_wants_it(tmp_path):
    engine = {"QRSH_WRAPPER": "/bin/false", "SGE_RSH_COMMAND": "builtin"}
    steps(tmp_path, "srun hostname >/dev/null; srun hostname >/dev/null\n", hosts=THREE, ntasks=3, engine=engine)
    calls = (tmp_path / "qrsh.log").read_text().splitlines()
    assert sorted(call.split()[2] for call in calls) == ["n2", "n3"]  # one agent a host, for all steps
    env = (tmp_path / "qrsh.env").read_text()
    assert "QRSH_WRAPPER" not in env and "SGE_RSH_COMMAND=builtin" in env and "JOB_ID=77" in env


REFUSAL = 'error: executing task of job 77 failed: execution daemon on host "n2" didn\'t accept task'


def test_a_refusal_that_passes_is_tried_again(tmp_path):
    qrsh = f"""[ $host != n2 ] || [ -e {tmp_path}/tried ] || {{ touch {tmp_path}/tried; echo '{REFUSAL.replace("'", "'" + chr(92) + "''")}' >&2; exit 1; }}"""
    assert lines(steps(tmp_path, "srun sh -c 'echo $SLURMD_NODENAME'\n", hosts=THREE, ntasks=3, qrsh=qrsh)) == ["n1", "n2", "n3"]


def test_a_refusal_that_stays_fails_the_step_with_its_words(tmp_path):
    qrsh = f"""[ $host != n2 ] || {{ echo "{REFUSAL.replace(chr(34), chr(92) + chr(34))}" >&2; exit 1; }}"""
    text = steps(tmp_path, "srun touch ran; echo $?; ls\n", hosts=THREE, ntasks=3, qrsh=qrsh, race_retry=1)
    why = REFUSAL.removeprefix("error: ")
    assert text == (f"srun: error: Task launch for StepId=77.0 failed on node n2: {why}\n"
                    f"srun: error: Application launch failed: {why}\nsrun: Job step aborted\n8\nslurm-77.out\n")


def test_what_another_try_cannot_change_fails_at_once(tmp_path):
    qrsh = """[ $host != n2 ] || { echo "error: executing task of job 77 failed: failed sending task to execd@n2: """ \
           """can't resolve host name" >&2; exit 1; }"""
    began = time.monotonic()
    text = steps(tmp_path, "srun true; echo $?\n", hosts=THREE, ntasks=3, qrsh=qrsh, race_retry=60)
    assert text.endswith("8\n") and time.monotonic() - began < 20


def test_a_host_that_never_answers_runs_into_launch_timeout(tmp_path):
    text = steps(tmp_path, "srun true; echo $?\n", hosts=THREE, ntasks=3, launch_timeout=2,
                 qrsh="[ $host != n2 ] || exec sleep 30 </dev/null >/dev/null 2>&1")
    assert re.search(r"failed on node n2: no answer .*within launch_timeout\n", text) and text.endswith("8\n")


# --- records, ctl ---

def test_steps_are_recorded_with_their_usage(tmp_path):
    script = "srun -J burn sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; srun -n1 sh -c 'exit 3'; " \
             "srun -n1 sh -c 'kill -9 $$'; exit 0\n"
    job = StepJob(tmp_path, script, hosts=THREE, ntasks=3)
    job.text()
    first, end, _, failed, _, killed = job.steps()
    assert (first["event"], first["step"], first["name"], first["nodes"], first["ntasks"]) == (
        "step_start", 0, "burn", ["n1", "n2", "n3"], 3)
    assert (end["event"], end["step"], end["state"], end["code"], end["signal"]) == ("step_end", 0, "COMPLETED", 0, 0)
    assert end["utime"] + end["stime"] > 0.05 and end["maxrss"] > 500
    assert (failed["state"], failed["code"], failed["signal"]) == ("FAILED", 3, 0)
    assert (killed["state"], killed["code"], killed["signal"]) == ("FAILED", 0, 9)


def ctl(job, *words):
    from jobfile import BUILD
    return subprocess.run([BUILD / "shim-launch", "ctl", job.spool, *words], capture_output=True, text=True, timeout=20)


def test_commands_to_a_running_job(tmp_path):
    script = "trap 'echo usr2' USR2; srun -n2 -N1 sleep 30 & while :; do wait && break; done\n"
    job = StepJob(tmp_path, "touch up; " + script)
    with job.start() as process:
        wait_for(lambda: (job.work / "up").exists() and len(job.records("n1")) > 1)
        assert ctl(job, "ping").returncode == 0
        assert ctl(job, "signal", "12", "batch").returncode == 0
        assert ctl(job, "signal", "9", "5").returncode == 1
        assert ctl(job, "signal", "9", "0").returncode == 0
        assert process.wait(20) == 0
    text = job.output()
    assert "usr2\n" in text and "srun: error: n1: tasks 0-1: Killed\n" in text
    assert "CANCELLED AT" in text
    assert ctl(job, "ping").returncode == 3


def test_cancel_by_ctl(tmp_path):
    job = StepJob(tmp_path, "touch up; srun sleep 30\n", hosts=THREE, ntasks=3)
    with job.start() as process:
        wait_for(lambda: (job.work / "up").exists() and len(job.records("n1")) > 1)
        assert ctl(job, "cancel", "1234").returncode == 0
        assert process.wait(20) != 0
    end = job.records("n1")[-1]
    assert (end["event"], end["state"], end["by"]) == ("end", "CANCELLED", 1234)


# --- strangers ---

def test_control_file_is_private_and_sockets_are_too(tmp_path):
    job = StepJob(tmp_path, "touch up; sleep 1\n")
    with job.start():
        wait_for(lambda: (job.work / "up").exists())
        assert (job.spool / "control").stat().st_mode & 0o777 == 0o600
        assert (job.tmp / "slurm-on-ocs").stat().st_mode & 0o777 == 0o700
        assert (job.tmp / "slurm-on-ocs" / "ctl").stat().st_mode & 0o777 == 0o600


def test_strangers_on_the_port_learn_nothing_and_stall_nobody(tmp_path):
    import socket
    script = "touch up; while [ ! -e go ]; do sleep 0.05; done; srun sh -c 'echo $SLURM_PROCID'; touch done\n"
    job = StepJob(tmp_path, script, hosts=THREE, ntasks=3, auth_timeout=60)
    with job.start() as process:
        wait_for(lambda: (job.work / "up").exists())
        _, _, port, _ = (job.spool / "control").read_text().split()
        silent = [socket.create_connection(("127.0.0.1", int(port))) for _ in range(200)]
        talkers = []
        for garbage in (b"GET / HTTP/1.0\r\n\r\n", b"\2\0" + b"\xff" * 8, b"\2\0" + b"\0" * 4 + b"\0\0\0\x6c" + b"x" * 108):
            talker = socket.create_connection(("127.0.0.1", int(port)))
            talker.sendall(garbage)
            talkers.append(talker)
        (job.work / "go").touch()
        assert process.wait(30) == 0
        for peer in silent + talkers:
            peer.settimeout(5)
            got = b""
            try:
                while part := peer.recv(1000):
                    got += part
            except ConnectionResetError:
                pass
            assert got == b"" or (len(got) == 42 and got[0] == 1), got  # at most the challenge: random bytes
    assert lines(job.output()) == ["0", "1", "2"]
