# SPDX-License-Identifier: Apache-2.0
"""The minder: what the engine sees of a job is its script's end, whatever becomes of our own programs."""

import os
import signal
import subprocess
import time

import pytest

from tests.system.jobfile import BUILD

MINDER = BUILD / "minder"


def minder(*words, **options):
    return subprocess.run([MINDER, *words], capture_output=True, text=True, timeout=30, check=False, **options)


@pytest.mark.parametrize("code", [0, 1, 3, 98, 101, 127, 137, 255])
def test_code_is_the_programs(code):
    assert minder("/bin/sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("code", [99, 100])
def test_codes_that_reschedule_become_1(code):
    assert minder("/bin/sh", "-c", f"exit {code}").returncode == 1


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT"])
def test_death_by_a_signal_is_a_code(name):
    number = getattr(signal, name)
    assert minder("/bin/sh", "-c", f"kill -{number} $$").returncode == 128 + number


def test_program_that_is_not_there():
    result = minder("/nonexistent/program")
    assert result.returncode == 127
    assert "/nonexistent/program: No such file or directory" in result.stderr


def test_arguments_and_environment_pass_through():
    result = minder("/bin/sh", "-c", 'printf "%s|" "$0" "$@"; env', "zero", "a b", "", env={"A": "1", "B": "x y"})
    words, _, rest = result.stdout.rpartition("|")
    assert words == "zero|a b|"
    variables = dict(line.split("=", 1) for line in rest.splitlines())
    # the pipe to the minder is the only thing that is new; shim-launch takes it out
    assert set(variables) - {"PWD", "SHLVL", "_", "OLDPWD"} == {"A", "B", "SOO_MINDER_FD"}


def test_mask_is_the_callers():
    script = "grep -E 'Sig(Blk|Ign)' /proc/self/status"
    plain = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert minder("/bin/sh", "-c", script).stdout == plain


def test_warnings_of_the_engine_do_not_end_it(tmp_path):
    script = f"touch {tmp_path}/on; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; exit 4"
    with subprocess.Popen([MINDER, "/bin/sh", "-c", script]) as process:
        wait_for(tmp_path / "on")
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGXCPU):
            os.kill(process.pid, number)
        (tmp_path / "go").touch()
        assert process.wait(10) == 4


def test_term_is_passed_on(tmp_path):
    script = f"trap 'exit 6' TERM; touch {tmp_path}/on; while :; do sleep 0.02; done"
    with subprocess.Popen([MINDER, "/bin/sh", "-c", script]) as process:
        wait_for(tmp_path / "on")
        process.terminate()
        assert process.wait(10) == 6


# A supervisor that dies by SIGKILL while its script lives: script and pipe as launcher/minded.c has them.
SUPERVISOR = """
import ctypes, os, signal, struct, sys
if sys.argv[1:2] == ["guard"]:  # what the minder starts next; it is not the matter here
    assert signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    signal.sigwait({signal.SIGTERM})
    os._exit(0)
script = os.fork()
if script == 0:
    os.setpgid(0, 0)
    os.execv("/bin/sh", ["sh", "-c", sys.argv[2]])
os.write(int(os.environ["SOO_MINDER_FD"]), struct.pack("i", script))
if sys.argv[1] == "late":  # the script has ended, and nobody took its status
    os.waitid(os.P_PID, script, os.WEXITED | os.WNOWAIT)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["early", "late"])
@pytest.mark.parametrize("end,code", [("sleep 0.3; exit 7", 7), ("exit 99", 1), ("kill -9 $$", 137)])
def test_script_goes_on_without_its_supervisor(tmp_path, when, end, code):
    program = tmp_path / "supervisor"
    program.write_text(f"#!/usr/bin/python3\n{SUPERVISOR}")
    program.chmod(0o755)
    assert minder(program, when, end).returncode == code


def wait_for(path):
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path}"
        time.sleep(0.01)
