# SPDX-License-Identifier: Apache-2.0
"""libslurm_on_ocs.so as a file: what every process of a job loads must load everywhere, and ask for nothing."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIB = ROOT / os.environ.get("BUILD", "build/release") / "libslurm_on_ocs.so"
MAX_TEXT = 16 * 1024
MAX_GLIBC = (2, 17)


def readelf(*args):
    done = subprocess.run(["readelf", "-W", *args, LIB], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def symbols():
    """Each dynamic symbol: (name, version or "", bind, defined)."""
    for line in readelf("--dyn-syms").splitlines():
        parts = line.split()
        if len(parts) >= 8 and parts[0].rstrip(":").isdigit():
            name, _, version = parts[7].partition("@")
            yield name, version.lstrip("@"), parts[4], parts[6] != "UND"


def listed(path):
    text = (ROOT / "preload" / path).read_text()
    if path.endswith(".map"):
        text = re.search(r"global:(.*?)local:", text, re.S).group(1)
        return set(re.findall(r"\w+", text))
    return {line for line in text.split("\n") if line and not line.startswith("#")}


def test_needs_libc_only():
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")) == ["libc.so.6"]


def test_soname_and_no_search_path():
    dynamic = readelf("-d")
    assert "[libslurm_on_ocs.so]" in dynamic
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic


def test_symbol_versions_are_old():
    versions = re.findall(r"Name: GLIBC_([\d.]+)", readelf("-V"))
    assert versions
    for version in versions:
        assert tuple(map(int, version.split("."))) <= MAX_GLIBC, version


def test_imports_are_allowed():
    imports = {name for name, _, _, defined in symbols() if name and not defined}
    assert imports and imports <= listed("imports.allow")


def test_no_strong_import_of_dlsym():
    """glibc < 2.34 has it in libdl only: each process without libdl would die at its start."""
    assert not [s for s in symbols() if s[0] == "dlsym" and s[2] != "WEAK"]


def test_exports_are_listed():
    exports = {name for name, _, _, defined in symbols() if defined}
    assert exports == listed("exports.map")
    for name in ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "posix_spawn", "posix_spawnp"):
        assert name in exports


def test_exports_have_no_version():
    """An unversioned definition answers for each version that a program asks for."""
    assert not [s for s in symbols() if s[3] and s[1]]


def test_text_is_small():
    sizes = re.findall(r"\s\.text\s+PROGBITS\s+\S+\s+\S+\s+(\w+)", readelf("-S"))
    assert len(sizes) == 1 and int(sizes[0], 16) < MAX_TEXT


def test_no_tls_and_no_text_relocations():
    assert " TLS " not in readelf("-l") and ".tdata" not in readelf("-S") and ".tbss" not in readelf("-S")
    assert "TEXTREL" not in readelf("-d")


def test_relro_and_now():
    assert "GNU_RELRO" in readelf("-l")
    assert re.search(r"FLAGS.*(BIND_NOW|NOW)", readelf("-d"))


def test_no_executable_stack_and_no_writable_code():
    segments = readelf("-l")
    assert re.search(r"GNU_STACK\s.*\sRW\s", segments)
    assert "RWE" not in segments


def test_hash_that_every_loader_reads():
    assert "(GNU_HASH)" in readelf("-d")


def test_no_interpreter_and_not_executable_by_itself():
    assert "INTERP" not in readelf("-l")


def make_variable(name):
    """The value that `make` has for it now, without building."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-s", "--no-print-directory", "-pn", "help"], cwd=ROOT, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    value = re.search(rf"^{name} (?::=|\?=|=) (.*)$", done.stdout, re.M).group(1)
    while "$(" in value:
        value = re.sub(r"\$\((\w+)\)", lambda m: make_variable(m.group(1)), value)
    return value


def test_holds_the_folder_compiled_in():
    """One "<libexec>/bin/<command>" for each command of the list, and no other path of a command."""
    commands = re.findall(r"^COMMAND\((\w+)\)", (ROOT / "common/commands.def").read_text(), re.M)
    strings = re.findall(rb"[ -~]{4,}", LIB.read_bytes())
    paths = {s.decode() for s in strings if re.search(rb"/bin/(?:%s)$" % "|".join(commands).encode(), s)}
    assert paths == {f"{make_variable('LIBEXECDIR')}/bin/{command}" for command in commands}


@pytest.mark.parametrize("source", sorted(p.name for p in (ROOT / "preload").glob("*.[ch]")))
def test_includes_nothing_of_ours_but_the_command_list(source):
    for header in re.findall(r'#include "(.*)"', (ROOT / "preload" / source).read_text()):
        assert header.startswith("preload/") or header == "common/commands.def"


def test_nobody_includes_preload():
    for folder in ("common", "conf", "ocs", "translate", "launcher"):
        for path in (ROOT / folder).glob("*.[ch]"):
            assert '#include "preload/' not in path.read_text(), path
