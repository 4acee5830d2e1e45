# SPDX-License-Identifier: Apache-2.0
"""A second copy of the library that redirects into a folder of the test's, with recorders in the commands' places."""

import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
COMMANDS = re.findall(r"^COMMAND\((\w+)\)", (ROOT / "common/commands.def").read_text(), re.M)
LIBRARY = "libslurm_on_ocs.so"
# A site's job: our variables of the machinery that runs the tests stay out.
BASE_ENV = {"HOME": "/root", "LANG": "C"}


def run(argv, **kwargs):
    """subprocess.run with text, both streams taken and a time limit; asserts nothing."""
    return subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=kwargs.pop("timeout", 120), **kwargs)


def build_library(build, libexec, **variables):
    """Builds the library into `build`, the way `make` does, with LIBEXECDIR=libexec."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD", "MODE")}
    target = f"{build}/{LIBRARY}"
    done = run(["make", "-s", f"BUILD={build}", f"LIBEXECDIR={libexec}", "MODE=release", target]
               + [f"{k}={v}" for k, v in variables.items()], cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(target)


class Lab:
    """tmp/libexec/bin/<command> are recorders, lib is the library, caller and stress the C programs."""

    def __init__(self, tmp):
        self.tmp = pathlib.Path(tmp)
        self.libexec = self.tmp / "libexec"
        self.bin = self.libexec / "bin"
        self.lib = build_library(self.tmp / "build", self.libexec)
        self.recorder = self.compile("recorder", "-static")
        self.caller = self.compile("caller")
        self.stress = self.compile("stress", "-pthread")
        self.fill()

    def compile(self, name, *flags, cc="gcc", output=None):
        program = self.tmp / (output or name)
        done = run([cc, "-O1", "-g", "-Wno-nonnull", "-D_GNU_SOURCE", "-o", program, HERE / f"{name}.c", *flags])
        assert done.returncode == 0, done.stderr
        return program

    def fill(self):
        shutil.rmtree(self.bin, ignore_errors=True)
        self.bin.mkdir(parents=True)
        for command in COMMANDS:
            shutil.copy(self.recorder, self.bin / command)

    def env(self, **more):
        """A job's environment: our folder first on PATH, our library last in LD_PRELOAD."""
        env = dict(BASE_ENV, PATH=f"{self.bin}:/usr/local/bin:/usr/bin:/bin", LD_PRELOAD=str(self.lib))
        env.update(more)
        return {k: v for k, v in env.items() if v is not None}

    def run(self, argv, cwd=None, **more):
        return run(argv, env=self.env(**more), cwd=cwd or self.tmp)


class Record:
    """What a recorder printed."""

    def __init__(self, text):
        lines = text.splitlines()
        self.ran = [line[4:] for line in lines if line.startswith("ran ")]
        self.args = [line[4:] for line in lines if line.startswith("arg ")]
        self.env = dict(line[4:].split("=", 1) for line in lines if line.startswith("env "))


def assert_ran(lab, done, command, args=None):
    """The recorder of `command` ran, once, with these arguments (argv[0] first)."""
    record = Record(done.stdout)
    assert record.ran == [str(lab.bin / command)], (done.stdout[:2000], done.stderr)
    assert done.stderr == ""
    if args is not None:
        assert record.args == args
    return record
