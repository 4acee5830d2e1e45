# SPDX-License-Identifier: Apache-2.0
"""The library beside what else comes into a process: sanitizers, allocators, debuggers, other languages' runtimes."""

import pathlib
import shutil

import pytest

from tests.system.preload.lab import Lab, Record, assert_ran, run

FUNCTIONS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "posix_spawn", "posix_spawnp")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("preload"))


def need(program):
    if not shutil.which(program):
        pytest.skip(f"{program} isn't installed")


SANITIZERS = {
    "gcc, address": ("gcc", "-fsanitize=address"),
    "gcc, address, static": ("gcc", "-fsanitize=address", "-static-libasan"),
    "gcc, thread": ("gcc", "-fsanitize=thread"),
    "clang, address": ("clang", "-fsanitize=address"),
    "clang, memory": ("clang", "-fsanitize=memory"),
}


@pytest.fixture(scope="module", params=SANITIZERS)
def sanitized(lab, request):
    cc, *flags = SANITIZERS[request.param]
    need(cc)
    return lab.compile("caller", *flags, cc=cc, output=request.param.replace(", ", "-"))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sanitizers(lab, sanitized, function):
    """gcc's shared libasan stops when any library was preloaded before it, until it is told not to look."""
    more = {"ASAN_OPTIONS": "verify_asan_link_order=0"} if sanitized.name == "gcc-address" else {}
    done = lab.run([sanitized, "vfork", function, "/usr/bin/squeue", "a b"], **more)
    assert_ran(lab, done, "squeue", ["name", "a b"])


@pytest.mark.parametrize("order", ("{0}:{1}", "{1}:{0}"))
def test_jemalloc(lab, order):
    found = sorted(pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2"))
    if not found:
        pytest.skip("libjemalloc isn't installed")
    preload = order.format(lab.lib, found[0])
    done = lab.run([lab.stress, "32", "40", "/usr/bin/squeue"], LD_PRELOAD=preload)
    assert (done.stdout, done.stderr) == ("1280\n", "")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_valgrind(lab, function):
    """No invalid access in our code, the walk through the symbol tables and the copy of the environment included."""
    need("valgrind")
    argv = ["valgrind", "-q", "--error-exitcode=99", lab.caller, "here", function]
    native = dict(SLURM_ON_OCS_NATIVE="1", PMI_RANK="1", PMI_SIZE="2")
    # valgrind's posix_spawn can't tell that the exec failed: there a path is found only in a place of Slurm's
    path = "/usr/bin/squeue" if function.startswith("posix") else "/nowhere/squeue"
    assert_ran(lab, lab.run([*argv, path, "a"], **native), "squeue", ["name", "a"])
    done, plain = (lab.run([*argv, "/nowhere/podman"], LD_PRELOAD=preload, **native) for preload in (str(lab.lib), None))
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, "")
    assert "errno=" in plain.stdout


def test_gdb(lab):
    need("gdb")
    done = lab.run(["gdb", "-q", "-batch", "-ex", "set startup-with-shell off", "-ex", f"set env LD_PRELOAD {lab.lib}",
                    "-ex", "run", "--args", lab.caller, "vfork", "execve", "/usr/bin/squeue", "a"], LD_PRELOAD=None)
    assert str(lab.bin / "squeue") in Record(done.stdout).ran
    assert "exited normally" in done.stdout


LANGUAGES = {
    "node": (["node", "-e"], "const c = require('child_process'); process.stdout.write("
             "c.spawnSync('/usr/bin/squeue', ['a b']).stdout); "),
    "node, exec": (["node", "-e"], "process.stdout.write(require('child_process').execSync('/usr/bin/squeue \"a b\"'))"),
    "ruby": (["ruby", "-e"], "system('/usr/bin/squeue', 'a b')"),
    "tcl": (["tclsh"], "puts [exec /usr/bin/squeue {a b}]"),
    "awk": (["awk"], "BEGIN { system(\"/usr/bin/squeue 'a b'\") }"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages(lab, language):
    argv, code = LANGUAGES[language]
    need(argv[0])
    done = run([*argv, *([code] if argv != ["tclsh"] else [])], input=code, env=lab.env())
    assert Record(done.stdout).args == ["/usr/bin/squeue", "a b"], done.stderr


JAVA = """
public class T {
	public static void main(String[] args) throws Exception {
		System.out.println(new ProcessBuilder("/usr/bin/squeue", "exit", "6").start().waitFor());
		System.out.println(new ProcessBuilder("squeue", "exit", "7").start().waitFor());
	}
}
"""


@pytest.mark.parametrize("mechanism", ("FORK", "VFORK", "POSIX_SPAWN"))
def test_java(lab, mechanism):
    need("javac")
    if not (lab.tmp / "T.class").exists():
        (lab.tmp / "T.java").write_text(JAVA)
        made = run(["javac", "T.java"], cwd=lab.tmp)
        assert made.returncode == 0, made.stderr
    done = lab.run(["java", f"-Djdk.lang.Process.launchMechanism={mechanism}", "-cp", lab.tmp, "T"])
    assert done.stdout == "6\n7\n", done.stderr


def test_go_uses_path(lab):
    """Go makes its own system calls: it finds the command in our folder on PATH, and only there."""
    go = shutil.which("go") or "/usr/local/go/bin/go"
    need(go)
    (lab.tmp / "g.go").write_text("package main\n\nimport (\n\t\"fmt\"\n\t\"os/exec\"\n)\n\nfunc main() {\n"
                                  "\to, e := exec.Command(\"squeue\", \"a b\").Output()\n\tfmt.Print(string(o), e)\n}\n")
    made = run([go, "build", "-o", lab.tmp / "g", lab.tmp / "g.go"])
    assert made.returncode == 0, made.stderr
    assert Record(lab.run([lab.tmp / "g"]).stdout).args == ["squeue", "a b"]
