# SPDX-License-Identifier: Apache-2.0
"""What the built programs are: the small ones static and small, the translator without libraries that a user's
LD_LIBRARY_PATH could replace. (preload's rules have their own file.)"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD", "build/release")
MIB = 1 << 20
GLIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libpthread.so.0"}

if os.environ.get("MODE", "release") != "release":
    pytest.skip("a sanitizer's programs are neither static nor small", allow_module_level=True)


def readelf(program, *options):
    return subprocess.run(["readelf", "-W", *options, str(BUILD / program)], capture_output=True, text=True,
                          check=True).stdout


def needed(program):
    return set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", readelf(program, "-d")))


def is_static(program):
    return "INTERP" not in readelf(program, "-l") and not needed(program)


@pytest.mark.parametrize("program, limit", [("shim-launch", MIB), ("minder", MIB), ("starter", MIB)])
def test_static_and_small(program, limit, tmp_path):
    assert is_static(program)
    stripped = tmp_path / program
    shutil.copy(BUILD / program, stripped)
    subprocess.run(["strip", str(stripped)], check=True)
    assert stripped.stat().st_size < limit


def test_translator_needs_glibc_only():
    assert not is_static("translate")  # else the check below would say nothing
    assert needed("translate") <= GLIBC


def test_starter_is_short():
    """It runs before every job of a queue: it has to be readable in one sitting."""
    assert (ROOT / "launcher/starter.c").read_text(encoding="utf-8").count("\n") < 300


@pytest.mark.parametrize("program", ["translate", "shim-launch", "minder", "starter", "libslurm_on_ocs.so"])
def test_hardening(program):
    headers, dynamic = readelf(program, "-l"), readelf(program, "-d")
    assert re.search(r"GNU_STACK.* RW ", headers), "executable stack"
    assert "GNU_RELRO" in headers
    if needed(program):
        assert "BIND_NOW" in dynamic or "NOW" in dynamic
