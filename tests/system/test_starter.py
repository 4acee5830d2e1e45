# SPDX-License-Identifier: Apache-2.0
"""The starter alone, in environments that the engine (a live test asks it) or another engine would make."""

import os
import pathlib
import shutil
import subprocess

import pytest

from tests.system.jobfile import BUILD

ECHO = "#!/bin/sh\nprintf '<%s>' \"$0\" \"$@\"\n"


@pytest.fixture(name="place")
def fixture_place(tmp_path):
    """A job's folder: a script, a fake shell that prints its argv, the engine's config file."""
    (tmp_path / "job_scripts").mkdir()
    (tmp_path / "job_scripts" / "5").write_text(ECHO)
    shell = tmp_path / "shell.c"
    shell.write_text('#include <stdio.h>\nint main(int n, char **v) { for (int i = 0; i < n; i++) '
                     'printf("<%s>", v[i]); return 3; }\n')
    subprocess.run(["cc", "-o", tmp_path / "mysh", shell], check=True)
    for name in ("5",):
        (tmp_path / "job_scripts" / name).chmod(0o755)
    return tmp_path


def start(place, words, mode="unix_behavior", binary=None, no_shell=None, program=None, **variables):
    env = {"JOB_ID": "5", "JOB_SCRIPT": str(place / "job_scripts" / "5"), "SGE_JOB_SPOOL_DIR": str(place),
           "PATH": "/usr/bin:/bin", "HOSTNAME": "c1", "SGE_STARTER_SHELL_PATH": str(place / "mysh"),
           "SGE_STARTER_SHELL_START_MODE": mode, **variables}
    (place / "config").unlink(missing_ok=True)
    if binary is not None:
        (place / "config").write_text(f"x=1\nhandle_as_binary={binary}\nno_shell={no_shell or 0}\nscript_file={words[0]}\n")
    return subprocess.run([program or BUILD / "starter", *map(str, words)], env=env, capture_output=True, text=True,
                          timeout=20, check=False)


def test_argv_of_each_mode(place):
    script, shell = place / "job_scripts" / "5", "mysh"
    table = [
        ("unix_behavior", 0, 0, [script, "a b"], f"<{script}><a b>", 0),
        ("posix_compliant", 0, 0, [script, "a b"], f"<{shell}><{script}><a b>", 3),
        ("script_from_stdin", 0, 0, ["-s", "a b"], f"<{shell}><-s><a b>", 3),
        ("start_as_command", 0, 0, [script, "a b"], f"<{shell}><-c><{script}>", 3),
        ("unix_behavior", 1, 0, ["prog", "a b", ""], f"<{shell}><-c><prog a b  >", 3),
        ("posix_compliant", 1, 0, ["prog"], f"<{shell}><-c><prog >", 3),
        ("unix_behavior", 1, 1, [place / "mysh", "a b"], f"<{place}/mysh><a b>", 3),
        ("UNIX_BEHAVIOR", 0, 0, [script], f"<{script}>", 0),
    ]
    for mode, binary, no_shell, words, printed, code in table:
        result = start(place, words, mode, binary, no_shell)
        assert (result.stdout, result.returncode) == (printed, code), f"{mode} {binary} {no_shell}: {result}"


def test_login_shell_is_told_by_argv0(place):
    script = place / "job_scripts" / "5"
    result = start(place, [script], "posix_compliant", 0, SGE_STARTER_USE_LOGIN_SHELL="true")
    assert result.stdout == f"<-mysh><{script}>"
    result = start(place, [script], "posix_compliant", 0, SGE_STARTER_USE_LOGIN_SHELL="false")
    assert result.stdout == f"<mysh><{script}>"


def test_without_the_engines_file_the_script_tells(place):
    """Its config file is private on some engines."""
    script = place / "job_scripts" / "5"
    assert start(place, [script]).stdout == f"<{script}>"
    assert start(place, ["prog", "x"], JOB_SCRIPT="/bin/prog").stdout == "<mysh><-c><prog x >"


def test_environment_is_the_engines(place):
    result = start(place, ["/usr/bin/env"], binary=1, no_shell=1, A="1", SGE_STARTER_USE_LOGIN_SHELL="true")
    names = [line.partition("=")[0] for line in result.stdout.splitlines()]
    assert names == ["JOB_ID", "JOB_SCRIPT", "SGE_JOB_SPOOL_DIR", "PATH", "HOSTNAME", "A"]


def test_command_that_is_not_there(place):
    result = start(place, ["/nonexistent/x"], binary=1, no_shell=1)
    assert (result.returncode, result.stderr) == (127, "/nonexistent/x: No such file or directory\n")
    result = start(place, ["/nonexistent/x"], JOB_SCRIPT="QRSH")
    assert result.returncode == 1
    assert result.stderr == "qrsh_starter: executing child process /nonexistent/x failed: No such file or directory\n"




def test_task_without_a_parent_of_the_engine(place):
    """One word with blanks is a command line, more than one are an argv."""
    result = start(place, ["echo $HOME-x; exit 4"], JOB_SCRIPT="QRSH", HOME="/h")
    assert (result.stdout, result.returncode) == ("/h-x\n", 4)
    assert start(place, ["/bin/echo", "$HOME"], JOB_SCRIPT="QRSH").stdout == "$HOME\n"
    assert start(place, ["pwd"], JOB_SCRIPT="QRSH").returncode == 0


def test_only_our_pe_gets_slurm_variables(place):
    words = ["/usr/bin/env"]
    (place / "hosts").write_text("c1 2 all.q@c1 x\nc2.dom 2 all.q@c2.dom x\n")
    variables = {"PE": "slurm-on-ocs.2", "PE_HOSTFILE": str(place / "hosts"), "NSLOTS": "4", "QUEUE": "all.q",
                 "JOB_NAME": "jn", "LOGNAME": "u", "SGE_O_WORKDIR": "/w", "SGE_O_HOST": "login"}

    def slurm(**more):
        result = start(place, words, binary=1, no_shell=1, **{**variables, **more})
        lines = dict(line.split("=", 1) for line in result.stdout.splitlines())
        return {name: value for name, value in lines.items() if name.startswith("SLURM")}, lines["PATH"]

    found, path = slurm()
    assert path.startswith(f"{BUILD}/bin:")
    expected = {"SLURM_JOB_ID": "5", "SLURM_JOB_NODELIST": "c[1-2]", "SLURM_NNODES": "2", "SLURM_NTASKS": "4",
                "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_JOB_CPUS_PER_NODE": "2(x2)", "SLURM_ON_OCS_NATIVE": "1",
                "SLURM_SUBMIT_DIR": "/w", "SLURM_JOB_PARTITION": "all.q", "SLURM_JOB_NAME": "jn"}
    assert {name: found.get(name) for name in expected} == expected
    assert "SLURM_TASK_PID" not in found
    assert slurm(PE="mpi") == ({}, "/usr/bin:/bin")
    array, _ = slurm(SGE_TASK_ID="4", SGE_TASK_FIRST="2", SGE_TASK_LAST="6", SGE_TASK_STEPSIZE="2")
    assert [array[f"SLURM_ARRAY_{name}"] for name in ("JOB_ID", "TASK_ID", "TASK_COUNT", "TASK_MIN", "TASK_MAX",
                                                      "TASK_STEP")] == ["5", "4", "3", "2", "6", "2"]


def test_slave_task_keeps_what_its_caller_knows(place):
    """No PE_HOSTFILE there, and NSLOTS is the host's own."""
    result = start(place, ["/usr/bin/env"], JOB_SCRIPT="QRSH", PE="slurm-on-ocs.2", NSLOTS="1", HOSTNAME="c2",
                   SLURM_JOB_NODELIST="c[1-3]", SLURM_NTASKS="6", LOGNAME="u")
    lines = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert (lines["SLURM_JOB_NODELIST"], lines["SLURM_NTASKS"]) == ("c[1-3]", "6")
    assert (lines["SLURM_NODEID"], lines["SLURMD_NODENAME"]) == ("1", "c2")
    assert "SLURM_NNODES" not in lines


def test_sites_own_pes(place):
    """native-pes beside the starter, root's file."""
    copy = place / "libexec"
    copy.mkdir()
    shutil.copy(BUILD / "starter", copy / "starter")
    (copy / "native-pes").write_text("mpi\nmpi_rr\n")
    for pe, native in (("mpi", True), ("mpi_rr", True), ("mp", False), ("mpi_r", False), ("rr", False)):
        result = start(place, ["/usr/bin/env"], binary=1, no_shell=1, PE=pe, program=copy / "starter")
        assert ("SLURM_ON_OCS_NATIVE=1" in result.stdout) == (native and os.geteuid() == 0), pe
    if os.geteuid() == 0:
        os.chown(copy / "native-pes", 65534, 65534)
        result = start(place, ["/usr/bin/env"], binary=1, no_shell=1, PE="mpi", program=copy / "starter")
        assert "SLURM_" not in result.stdout


def test_jobs_of_sbatch_make_their_environment_themselves(place):
    script = place / "job_scripts" / "5"
    script.write_text("#!/bin/sh\nminder=/x/minder\nlaunch=/x/shim-launch\nenv\n")
    variables = {"PE": "slurm-on-ocs.2", "NSLOTS": "1"}
    assert "SLURM_" not in start(place, [script], binary=0, **variables).stdout
    assert "SLURM_" not in start(place, [script], "posix_compliant", 0, SGE_STARTER_SHELL_PATH="/bin/sh",
                                 **variables).stdout.replace("SGE_STARTER", "")
    script.write_text("#!/bin/sh\nenv\n")
    assert "SLURM_ON_OCS_NATIVE=1" in start(place, [script], binary=0, **variables).stdout


def test_it_needs_nothing_beside_itself(place):
    """Alone in a folder, the rest of the installation gone: jobs start."""
    alone = place / "alone"
    alone.mkdir()
    shutil.copy(BUILD / "starter", alone / "starter")
    script = place / "job_scripts" / "5"
    result = start(place, [script, "x"], PE="slurm-on-ocs.1", program=alone / "starter")
    assert (result.stdout, result.returncode) == (f"<{script}><x>", 0)
    replaced = subprocess.run([alone / "starter"], capture_output=True, text=True, check=False)
    assert replaced.returncode == 1 and "starter_method" in replaced.stderr
    assert pathlib.Path(alone / "starter").stat().st_size < 1 << 20
