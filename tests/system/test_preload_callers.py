# SPDX-License-Identifier: Apache-2.0
"""A Slurm command written as a path that doesn't exist reaches the translator, whoever calls it, by what function."""

import shutil
import sys

import pytest

from tests.system.preload.lab import COMMANDS, Lab, Record, assert_ran

PYTHON = "/usr/bin/python3"
WITH_ENV = ("execve", "execvpe", "execle", "posix_spawn", "posix_spawnp")
FUNCTIONS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "posix_spawn", "posix_spawnp")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("preload"))


@pytest.mark.parametrize("how", ("here", "fork", "vfork"))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_wrapped_function(lab, function, how):
    done = lab.run([lab.caller, how, function, "/usr/bin/squeue", "-u", "me too"])
    record = assert_ran(lab, done, "squeue", ["name", "-u", "me too"])
    assert record.env.get("CALLER") == (function if function in WITH_ENV else None)
    assert record.env["LD_PRELOAD"] == str(lab.lib)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command(lab, command):
    assert_ran(lab, lab.run([lab.caller, "here", "execv", f"/usr/bin/{command}"]), command, ["name"])


@pytest.mark.parametrize("function", ("execvp", "execvpe", "execlp", "posix_spawnp"))
def test_bare_name_without_our_folder_on_path(lab, function):
    done = lab.run([lab.caller, "here", function, "sbatch"], PATH="/nowhere:/usr/bin:/bin")
    assert_ran(lab, done, "sbatch", ["name"])


def test_calls_that_are_passed_on(lab):
    """A system call of the program's own isn't seen: that is what the folder on PATH is for."""
    done = lab.run([lab.caller, "here", "raw", "/nowhere/squeue"])
    assert done.stdout == "errno=2\n"


SHELL = {
    "simple": "/usr/bin/srun a 'b c'",
    "exec": "exec /usr/bin/srun a 'b c'",
    "subshell": "( /usr/bin/srun a 'b c' )",
    "pipe": "true | /usr/bin/srun a 'b c' | cat",
    "substitution": "x=$(/usr/bin/srun a 'b c'); printf '%s\\n' \"$x\"",
    "background": "/usr/bin/srun a 'b c' & wait",
    "xargs": "printf '%s\\0' a 'b c' | xargs -0 /usr/bin/srun",
    "env": "env X=1 /usr/bin/srun a 'b c'",
    "env -i": "env -i /usr/bin/srun a 'b c'",
    "nohup": "nohup /usr/bin/srun a 'b c' 2>/dev/null",
    "timeout": "timeout 60 /usr/bin/srun a 'b c'",
    "setsid": "setsid -w /usr/bin/srun a 'b c'",
    "find": "find /etc/passwd -exec /usr/bin/srun a 'b c' ';'",
    "PATH lost": "PATH=/usr/bin:/bin; env srun a 'b c'",
}


@pytest.mark.parametrize("how", SHELL)
@pytest.mark.parametrize("shell", ("bash", "dash"))
def test_shells(lab, shell, how):
    done = lab.run([shell, "-c", SHELL[how]])
    record = assert_ran(lab, done, "srun")
    assert record.args[1:] == ["a", "b c"]
    if how == "env -i":  # nothing comes back
        assert set(record.env) <= {"_", "PWD", "SHLVL", "OLDPWD"}


@pytest.mark.parametrize("shell,command", (("tcsh", "/usr/bin/srun"), ("zsh", "/usr/bin/srun"), ("fish", "srun"),
                                           ("mksh", "srun"), ("busybox", "/usr/bin/srun")))
def test_other_shells(lab, shell, command):
    """fish and mksh look for the file themselves before they exec it: there a path that doesn't exist stays one, and
    the bare name, found in our folder on PATH, works."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} isn't installed")
    done = lab.run([shell, *(["sh"] if shell == "busybox" else []), "-c", f"{command} a 'b c'; exit 3"])
    assert Record(done.stdout).args[1:] == ["a", "b c"], done.stderr
    assert done.returncode == 3


PYTHON_CALLS = {
    "run": "subprocess.run(['/usr/bin/srun', 'a', 'b c'])",
    "run, bare name": "subprocess.run(['srun', 'a', 'b c'])",
    "run, env": "subprocess.run(['/usr/bin/srun', 'a', 'b c'], env={'X': '1'})",
    "run, posix_spawn": "subprocess.run(['/usr/bin/srun', 'a', 'b c'], close_fds=False)",
    "run, fork": "subprocess.run(['/usr/bin/srun', 'a', 'b c'], preexec_fn=os.getpid)",
    "run, shell": "subprocess.run('/usr/bin/srun a \"b c\"', shell=True)",
    "popen": "sys.stdout.write(os.popen('/usr/bin/srun a \"b c\"').read())",
    "system": "os.system('/usr/bin/srun a \"b c\"')",
    "execv": "os.execv('/usr/bin/srun', ['srun', 'a', 'b c'])",
    "execve": "os.execve('/usr/bin/srun', ['srun', 'a', 'b c'], {'X': '1'})",
    "execvp": "os.execvp('srun', ['srun', 'a', 'b c'])",
    "execvpe": "os.execvpe('srun', ['srun', 'a', 'b c'], {'PATH': '/nowhere'})",
    "execl": "os.execl('/usr/bin/srun', 'srun', 'a', 'b c')",
    "posix_spawn": "os.waitpid(os.posix_spawn('/usr/bin/srun', ['srun', 'a', 'b c'], os.environ), 0)",
    "posix_spawnp": "os.waitpid(os.posix_spawnp('srun', ['srun', 'a', 'b c'], os.environ), 0)",
    "spawnv": "os.spawnv(os.P_WAIT, '/usr/bin/srun', ['srun', 'a', 'b c'])",
    "asyncio": "asyncio.run(wait())",
}
PYTHON_HEAD = """
import asyncio, os, subprocess, sys
async def wait():
    process = await asyncio.create_subprocess_exec('/usr/bin/srun', 'a', 'b c')
    await process.wait()
"""


@pytest.mark.parametrize("path", ("ours first", "ours lost"))
@pytest.mark.parametrize("how", PYTHON_CALLS)
def test_python(lab, how, path):
    call = PYTHON_CALLS[how]
    more = {} if path == "ours first" else {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    record = assert_ran(lab, lab.run([PYTHON, "-c", PYTHON_HEAD + call], **more), "srun")
    assert record.args[1:] == ["a", "b c"]


PERL = {
    "system": "system('/usr/bin/srun', 'a', 'b c') == 0 or die",
    "exec": "exec '/usr/bin/srun', 'a', 'b c'",
    "exec, bare name": "$ENV{PATH} = '/usr/bin:/bin'; exec 'srun', 'a', 'b c'",
    "backticks": "print `/usr/bin/srun a 'b c'`",
    "open": "open(my $f, '-|', '/usr/bin/srun', 'a', 'b c') or die; print <$f>",
}


@pytest.mark.parametrize("how", PERL)
def test_perl(lab, how):
    record = assert_ran(lab, lab.run(["/usr/bin/perl", "-e", PERL[how]]), "srun")
    assert record.args[1:] == ["a", "b c"]


@pytest.mark.parametrize("line", ("srun a 'b c'", ": ; /usr/bin/srun a 'b c'"))
def test_make(lab, line):
    """make itself looks for the file of a simple line (stat) before it starts it; others go through sh."""
    (lab.tmp / "m.mk").write_text(f"all:\n\t@{line}\n")
    record = assert_ran(lab, lab.run(["make", "-s", "-f", "m.mk"]), "srun")
    assert record.args[1:] == ["a", "b c"]


def test_a_script_runs_another_interpreter(lab):
    """The script's interpreter loads us again: dash, then Python, then the command."""
    script = lab.tmp / "chain.sh"
    script.write_text(f"#!/bin/sh\n{PYTHON} -c \"import os; os.execv('/usr/bin/srun', ['srun', 'x'])\"\n")
    script.chmod(0o755)
    assert_ran(lab, lab.run([script]), "srun", ["srun", "x"])


def test_argument_list_of_megabytes(lab):
    args = ["x" * 1000] * 1800
    done = lab.run([lab.caller, "here", "execv", "/usr/bin/sbatch", *args])
    assert_ran(lab, done, "sbatch", ["name", *args])


def test_stress_by_threads_with_small_stacks(lab):
    """64 threads on 32 KiB stacks; vfork and posix_spawn; each one of the 64 x 60 must reach the recorder."""
    done = lab.run([lab.stress, "64", "60", "/usr/bin/squeue"], PATH="/usr/bin:/bin")
    assert done.stdout == "3840\n", done.stderr


STORM = """
import concurrent.futures, os, subprocess, sys
before = dict(os.environ)
def one(n):
    return subprocess.run([('/usr/bin/squeue', 'squeue')[n % 2], 'exit', '42'], close_fds=n % 3 != 0,
                          env=None if n % 5 else {'X': '1'}).returncode == 42
with concurrent.futures.ThreadPoolExecutor(64) as pool:
    print(sum(pool.map(one, range(1500))), dict(os.environ) == before)
"""


def test_stress_by_python_threads(lab):
    """CPython's subprocess uses vfork: nothing of what we do there may be seen in the parent."""
    done = lab.run([PYTHON, "-c", STORM], PATH="/nowhere:/usr/bin:/bin")
    assert done.stdout == "1500 True\n", done.stderr
    assert sys.version_info >= (3, 10)  # older ones fork
