# SPDX-License-Identifier: Apache-2.0
"""preload/rules.md, rule by rule."""

import errno
import os
import shutil

import pytest

from tests.system.preload.lab import Lab, Record, assert_ran, build_library, run

FUNCTIONS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "posix_spawn", "posix_spawnp")
SEARCHING = ("execvp", "execvpe", "execlp", "posix_spawnp")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("preload"))


@pytest.fixture
def lab(shared):
    """With every recorder in place, whatever the test before did."""
    yield shared
    shared.fill()


@pytest.fixture
def own(tmp_path):
    """A program of the user's own, called squeue."""
    program = tmp_path / "squeue"
    program.write_text("#!/bin/sh\necho own squeue \"$@\"\n")
    program.chmod(0o755)
    return program


# --- Redirect: by any path ---

PLACES = ("/usr/bin", "/usr/local/bin", "/bin", "/sbin", "/opt/slurm/22.05/bin", "/opt/x",
          "/cm/shared/apps/slurm/current/bin", "/sw/slurm-22.05.3/sbin", "/nowhere/at/all", "relative/folder", ".",
          "/etc/passwd")


@pytest.mark.parametrize("function", ("execve", "execvp", "posix_spawn"))
@pytest.mark.parametrize("place", PLACES)
def test_path_that_does_not_exist(lab, place, function):
    assert_ran(lab, lab.run([lab.caller, "here", function, f"{place}/squeue", "x"]), "squeue", ["name", "x"])


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("place", ("slurm-22.05/bin", "slurm/sbin", "slurm/x/y/bin"))
def test_a_real_slurm_is_not_run(lab, tmp_path, own, place, function):
    """Slurm's own command, which exists but has no cluster to talk to: a bin folder below one named slurm*."""
    folder = tmp_path / place
    folder.mkdir(parents=True)
    shutil.copy(own, folder)
    assert_ran(lab, lab.run([lab.caller, "here", function, folder / "squeue"]), "squeue")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("place", ("/opt", "/usr/local/games", "/sbin"))
def test_a_real_slurm_of_the_system_is_not_run(lab, own, place, function):
    """In a mount namespace, the program is in a system folder."""
    script = 'mount --bind "$1" "$2" && shift 2 && exec env LD_PRELOAD="$LIB" "$@"'
    call = [lab.caller, "here", function, f"{place}/squeue"]
    assert_ran(lab, lab.run(["unshare", "-m", "sh", "-c", script, "sh", own.parent, place, *call], LD_PRELOAD=None, LIB=str(lab.lib)), "squeue")


@pytest.mark.parametrize("name", ("squeue2", "xsqueue", "SQUEUE", "squeue.py", "", "squeu"))
def test_other_names_are_not_ours(lab, name):
    done = lab.run([lab.caller, "here", "execve", f"/usr/bin/{name}"])
    assert done.stdout == f"errno={errno.EACCES if not name else errno.ENOENT}\n"


# --- Redirect: but a program of the user's own stays his ---

@pytest.mark.parametrize("function", FUNCTIONS)
def test_own_program_by_path(lab, own, function):
    assert lab.run([lab.caller, "here", function, own, "1"]).stdout == "own squeue 1\n"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_own_program_by_relative_path(lab, own, function):
    assert lab.run([lab.caller, "here", function, "./squeue"], cwd=own.parent).stdout == "own squeue\n"


@pytest.mark.parametrize("function", SEARCHING)
@pytest.mark.parametrize("behind", ("ours", "/usr/bin"))
def test_own_program_first_on_path(lab, own, function, behind):
    behind = lab.bin if behind == "ours" else behind
    path = f"/nowhere:{own.parent}:{behind}"
    assert lab.run([lab.caller, "here", function, "squeue", "1"], PATH=path).stdout == "own squeue 1\n"


@pytest.mark.parametrize("function", SEARCHING)
def test_own_program_behind_slurm_on_path(lab, own, function):
    for path in (f"{lab.bin}:{own.parent}", f"/usr/bin:{own.parent}"):
        assert_ran(lab, lab.run([lab.caller, "here", function, "squeue"], PATH=path), "squeue")


@pytest.mark.parametrize("function", SEARCHING)
def test_own_program_in_the_current_folder(lab, own, function):
    """An empty element of PATH is the current folder."""
    done = lab.run([lab.caller, "here", function, "squeue"], PATH=":/usr/bin", cwd=own.parent)
    assert done.stdout == "own squeue\n"


@pytest.mark.parametrize("function", ("execvp", "execvpe", "execlp"))
def test_own_script_without_an_interpreter_line(lab, own, function):
    """ENOEXEC: the C library's execvp runs it with sh, and still does."""
    own.write_text("echo own, no line, $1\n")
    done = lab.run([lab.caller, "here", function, "squeue", "1"], PATH=f"{own.parent}:/usr/bin")
    assert done.stdout == "own, no line, 1\n"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_own_file_that_is_not_executable_keeps_its_error(lab, own, function):
    own.chmod(0o644)
    assert lab.run([lab.caller, "here", function, own]).stdout == f"errno={errno.EACCES}\n"


@pytest.mark.parametrize("function", SEARCHING)
def test_own_file_that_is_not_executable_is_passed_over_on_path(lab, own, function):
    own.chmod(0o644)
    done = lab.run([lab.caller, "here", function, "squeue"], PATH=f"{own.parent}:/usr/bin")
    assert_ran(lab, done, "squeue")


def test_path_unset_or_too_long(lab):
    assert_ran(lab, lab.run([lab.caller, "here", "execvp", "squeue"], PATH=None), "squeue")
    long = "/" + "x" * 5000
    assert_ran(lab, lab.run([lab.caller, "here", "execvp", "squeue"], PATH=f"{long}:/usr/bin"), "squeue")


# --- As if not loaded ---

PATHS = ("/nowhere/x", "/etc/passwd", "/etc/passwd/x", "/usr/bin/squeue", "/x/squeue", "squeue", "nosuch", "",
         "/usr/bin", "./squeue", "x" * 300)
CALLS = [(function, path) for function in FUNCTIONS for path in PATHS]


def without(lab, argv, **more):
    return lab.run(argv, LD_PRELOAD=None, **more)


def assert_same(lab, argv, **more):
    path = {"PATH": "/nowhere:/usr/bin:/bin"}
    with_us, plain = lab.run(argv, **path, **more), without(lab, argv, **path)
    assert (with_us.returncode, with_us.stdout, with_us.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert "errno=" in plain.stdout
    return plain


@pytest.mark.parametrize("function,path", CALLS)
def test_translator_missing(lab, function, path):
    shutil.rmtree(lab.libexec)
    assert_same(lab, [lab.caller, "here", function, path])


@pytest.mark.parametrize("function,path", CALLS)
def test_translator_not_executable(lab, function, path):
    """A folder and a file without an x bit: nobody can run these, root neither."""
    (lab.bin / "squeue").chmod(0o644)
    assert_same(lab, [lab.caller, "here", function, path])


def test_translator_not_a_program(lab):
    (lab.bin / "squeue").write_text("no program\n")
    assert_same(lab, [lab.caller, "here", "execvp", "/usr/bin/squeue"])


@pytest.mark.parametrize("function,path", CALLS)
def test_disabled(lab, function, path):
    assert_same(lab, [lab.caller, "here", function, path], SLURM_ON_OCS_DISABLE="1")


@pytest.mark.parametrize("value,off", (("1", True), ("yes", True), ("0", False), ("", False), (None, False)))
def test_disable_values(lab, value, off):
    done = lab.run([lab.caller, "here", "execv", "/usr/bin/squeue"], SLURM_ON_OCS_DISABLE=value)
    assert (Record(done.stdout).ran == []) == off


def test_disable_is_read_once(lab):
    """The switch counts when the process starts; what the program does to its environment later doesn't."""
    code = "import os; os.environ['SLURM_ON_OCS_DISABLE'] = '1'; os.execv('/usr/bin/squeue', ['squeue'])"
    assert_ran(lab, lab.run(["/usr/bin/python3", "-c", code]), "squeue")


@pytest.mark.parametrize("function", ("execve", "execv", "execl", "execle", "posix_spawn", "posix_spawnp"))
@pytest.mark.parametrize("name", ("squeue", "other"))
def test_script_without_an_interpreter_line_keeps_its_error(lab, own, name, function):
    """ENOEXEC of these functions; posix_spawn's old version (GLIBC_2.2.5) would run a shell."""
    script = own.parent / name
    script.write_text("echo ran\n")
    script.chmod(0o755)
    assert assert_same(lab, [lab.caller, "here", function, script]).stdout == f"errno={errno.ENOEXEC}\n"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("path", ("/nowhere/x", "/etc/passwd", "/etc/passwd/x", "nosuch", "", "/usr/bin", "x" * 300))
def test_failing_calls_keep_their_errno(lab, function, path):
    assert_same(lab, [lab.caller, "here", function, path])


@pytest.mark.parametrize("function", ("execve-null", "execve-null-envp", "execv-null", "execve-null-file"))
@pytest.mark.parametrize("path", ("/nowhere/x", "/usr/bin/squeue", "/usr/bin/podman", lambda lab: str(lab.recorder)))
def test_null_pointers(lab, function, path):
    """The kernel takes NULL for an empty list; an empty argument list gets a "" there."""
    argv = [lab.caller, "here", function, path(lab) if callable(path) else path]
    if path == "/usr/bin/squeue" and function != "execve-null-file":
        assert Record(lab.run(argv).stdout).ran == [str(lab.bin / "squeue")]
    else:
        same, plain = lab.run(argv), without(lab, argv)
        clean = [line for line in same.stdout.splitlines() if not line.startswith("env LD_PRELOAD=")]
        assert (same.returncode, clean) == (plain.returncode, plain.stdout.splitlines())


@pytest.mark.parametrize("function", ("execv", "execvp", "posix_spawn"))
def test_argument_list_too_long(lab, function):
    """The redirected call's own error comes back, not the "No such file" of a path that doesn't exist."""
    code = ("import os, sys\n"
            "more = [os.environ] if 'spawn' in sys.argv[1] else []\n"
            "try: getattr(os, sys.argv[1])('/usr/bin/squeue', ['x' * 120000] * 100, *more)\n"
            "except OSError as e: print(e.errno)")
    assert lab.run(["/usr/bin/python3", "-c", code, function]).stdout == f"{errno.E2BIG}\n"


def test_library_that_finds_no_next_function(lab, tmp_path):
    """The belt for a loader whose tables we can't read: exec goes on by the system call."""
    lib = build_library(tmp_path / "build", lab.libexec, CPPFLAGS="-DNEXT_PREFIX='\"none_\"'")
    for function in ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle"):
        done = lab.run([lab.caller, "here", function, "/usr/bin/squeue"], LD_PRELOAD=str(lib))
        assert_ran(lab, done, "squeue")
        done = lab.run([lab.caller, "here", function, "/bin/echo", "hello"], LD_PRELOAD=str(lib))
        assert done.stdout == "hello\n"
    done = lab.run([lab.caller, "here", "posix_spawn", "/bin/echo"], LD_PRELOAD=str(lib))
    assert done.stdout == f"errno={errno.ENOSYS}\n"


# --- Loop guard ---

def test_a_program_of_ours_never_redirects(lab, tmp_path, own):
    """Started below our folder: its exec of the command reaches the real one, or fails, but doesn't come back."""
    program = lab.compile("recorder", output="dynamic")
    shutil.copy(program, lab.bin / "squeue")
    done = lab.run([lab.caller, "here", "execv", "/usr/bin/squeue", "again", "/usr/bin/squeue"])
    assert done.stdout == f"again errno={errno.ENOENT}\n"
    done = lab.run([lab.caller, "here", "execv", "/usr/bin/squeue", "again", own])
    assert done.stdout == "own squeue\n"
    # the same program from elsewhere does redirect
    shutil.copy(program, tmp_path / "other")
    lab.fill()
    assert_ran(lab, lab.run([tmp_path / "other", "again", "/usr/bin/squeue"]), "squeue", ["/usr/bin/squeue"])


# --- Environment ---

@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_comes_back(lab, function):
    """What a program took out of the environment is not put back, LD_PRELOAD and SLURM_* included."""
    argv = ["env", "-u", "LD_PRELOAD", "-u", "SLURM_JOB_ID", lab.caller, "here", function, lab.recorder]
    record = Record(lab.run(argv, SLURM_JOB_ID="7", SLURM_ON_OCS_NATIVE="1").stdout)
    assert "LD_PRELOAD" not in record.env and "SLURM_JOB_ID" not in record.env
    assert record.env["SLURM_ON_OCS_NATIVE"] == "1"


def empty_library(lab, name):
    source = lab.tmp / f"{name}.c"
    source.write_text("int nothing_at_all;\n")
    lib = lab.tmp / f"{name}.so"
    assert run(["gcc", "-shared", "-fPIC", "-o", lib, source]).returncode == 0
    return lib


RUNTIMES = ("apptainer", "singularity", "enroot", "podman", "docker", "bwrap", "ch-run", "shifter", "chroot",
            "nsenter")


@pytest.fixture
def runtime(lab, tmp_path):
    """Returns a function that gives the LD_PRELOAD that a runtime sees."""
    def call(function, name, preload, path=None, **more):
        shutil.copy(lab.recorder, tmp_path / name)
        file = name if path else tmp_path / name
        done = lab.run([lab.caller, "here", function, file, "exec", "x.sif"], LD_PRELOAD=preload,
                       PATH=path or "/usr/bin:/bin", MORE="1", **more)
        record = Record(done.stdout)
        assert record.args == ["name", "exec", "x.sif"] and record.env["MORE"] == "1", done
        return record.env.get("LD_PRELOAD")
    return call


@pytest.mark.parametrize("name", RUNTIMES)
def test_containers_start_without_us(lab, runtime, name):
    assert runtime("execve", name, str(lab.lib)) is None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_containers_keep_other_entries(lab, runtime, function):
    one, two = empty_library(lab, "one"), empty_library(lab, "two")
    assert runtime(function, "podman", str(lab.lib)) is None
    assert runtime(function, "podman", f"{one}:{lab.lib}") == str(one)
    assert runtime(function, "podman", f"{lab.lib}:{one}") == str(one)
    assert runtime(function, "podman", f"{one} {lab.lib}:{two}") == f"{one}:{two}"
    assert runtime(function, "podman", f"{one}:{two}:{lab.lib}") == f"{one}:{two}"


@pytest.mark.parametrize("function", SEARCHING)
def test_containers_found_on_path(lab, runtime, tmp_path, function):
    assert runtime(function, "enroot", str(lab.lib), path=f"{tmp_path}:/usr/bin") is None


def test_containers_only(lab, runtime):
    assert runtime("execve", "podman2", str(lab.lib)) == str(lab.lib)
    assert runtime("execve", "pod", str(lab.lib)) == str(lab.lib)


@pytest.mark.parametrize("listed", ("mybox other", "other:mybox", "other,mybox", "mybox"))
def test_containers_of_the_configuration(lab, runtime, listed):
    assert runtime("execve", "mybox", str(lab.lib), SOO_CONTAINER_RUNTIMES=listed) is None
    assert runtime("execve", "podman", str(lab.lib), SOO_CONTAINER_RUNTIMES=listed) == str(lab.lib)
    assert runtime("execve", "podman", str(lab.lib), SOO_CONTAINER_RUNTIMES="") == str(lab.lib)


def test_containers_with_a_huge_environment(lab, runtime):
    """The copy is bounded: 4096 variables are copied, more pass unchanged."""
    assert runtime("execve", "podman", str(lab.lib), **{f"V{i}": "x" for i in range(4000)}) is None
    assert runtime("execve", "podman", str(lab.lib), **{f"V{i}": "x" for i in range(5000)}) == str(lab.lib)


def test_containers_of_a_program_of_ours(lab, tmp_path):
    """Our launcher execs runtimes too."""
    shutil.copy(lab.compile("caller"), lab.libexec / "shim")
    shutil.copy(lab.recorder, tmp_path / "podman")
    done = lab.run([lab.libexec / "shim", "here", "execv", tmp_path / "podman"])
    assert "LD_PRELOAD" not in Record(done.stdout).env


def test_a_users_own_library_stays(lab):
    """At a redirect and at any other exec LD_PRELOAD goes through as it is, order and separators included."""
    one, two = empty_library(lab, "one"), empty_library(lab, "two")
    preload = f"{one} {two}:{lab.lib}"
    for path in ("/usr/bin/squeue", lab.recorder):
        record = Record(lab.run([lab.caller, "here", "execv", path], LD_PRELOAD=preload).stdout)
        assert record.env["LD_PRELOAD"] == preload


HOOK = """
#include <dlfcn.h>
#include <spawn.h>
#include <unistd.h>
typedef int exec_fn(const char *, char *const[], char *const[]);
typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
		     char *const[], char *const[]);
int execve(const char *path, char *const argv[], char *const envp[])
{
	write(2, "hook\\n", 5);
	return ((exec_fn *)dlsym(RTLD_NEXT, "execve"))(path, argv, envp);
}
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
		char *const argv[], char *const envp[])
{
	write(2, "hook\\n", 5);
	return ((spawn_fn *)dlsym(RTLD_NEXT, "posix_spawn"))(pid, path, actions, attr, argv, envp);
}
"""


@pytest.mark.parametrize("function", ("execve", "posix_spawn"))
@pytest.mark.parametrize("hash_style", ("gnu", "sysv", "both"))
@pytest.mark.parametrize("order", ("before us", "behind us"))
def test_another_library_that_hooks_exec(lab, tmp_path, order, hash_style, function):
    """Both see the call: the chain goes on to the object behind us, as with dlsym(RTLD_NEXT)."""
    (tmp_path / "hook.c").write_text(HOOK)
    hook = tmp_path / "hook.so"
    assert run(["gcc", "-w", "-D_GNU_SOURCE", "-shared", "-fPIC", f"-Wl,--hash-style={hash_style}", "-o", hook,
                tmp_path / "hook.c", "-ldl"]).returncode == 0
    preload = f"{hook}:{lab.lib}" if order == "before us" else f"{lab.lib}:{hook}"
    done = lab.run([lab.caller, "here", function, "/usr/bin/squeue"], LD_PRELOAD=preload)
    assert Record(done.stdout).ran == [str(lab.bin / "squeue")]
    assert done.stderr == "hook\n"


VERSIONS = """
#include <errno.h>
int old(const char *path, char *const argv[], char *const envp[]) { errno = 101; return -1; }
int young(const char *path, char *const argv[], char *const envp[]) { errno = 102; return -1; }
__asm__(".symver %s");
__asm__(".symver %s");
"""


@pytest.mark.parametrize("order", (("old,execve@ONE", "young,execve@@TWO"), ("young,execve@@TWO", "old,execve@ONE"),
                                   ("old,execve@@TWO", "young,execve@ONE"), ("young,execve@ONE", "old,execve@@TWO")))
@pytest.mark.parametrize("hash_style", ("gnu", "sysv"))
def test_the_default_version_is_the_next(lab, tmp_path, hash_style, order):
    """Of a function with versions it is the one that a program linked today gets (glibc has two posix_spawn)."""
    (tmp_path / "v.c").write_text(VERSIONS % order)
    (tmp_path / "v.map").write_text("ONE { global: execve; local: *; };\nTWO { global: execve; } ONE;\n")
    made = run(["gcc", "-w", "-shared", "-fPIC", f"-Wl,--hash-style={hash_style}",
                f"-Wl,--version-script={tmp_path / 'v.map'}", "-o", tmp_path / "v.so", tmp_path / "v.c"])
    assert made.returncode == 0, made.stderr
    default = 102 if "young,execve@@TWO" in order else 101
    done = lab.run([lab.caller, "here", "execve", "/nowhere/x"], LD_PRELOAD=f"{lab.lib}:{tmp_path / 'v.so'}")
    assert done.stdout == f"errno={default}\n"


def test_constructor_keeps_errno(lab, tmp_path):
    (tmp_path / "e.c").write_text("#include <errno.h>\nint main(void) { return errno; }\n")
    assert run(["gcc", "-o", tmp_path / "e", tmp_path / "e.c"]).returncode == 0
    assert lab.run([tmp_path / "e"], SLURM_ON_OCS_NATIVE="1", PMI_RANK="1").returncode == 0


CONSTRUCTOR = """
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((constructor)) static void early(void)
{
	char *argv[] = { "echo", "early", 0 }, *none[] = { 0 };
	pid_t pid;
	if (posix_spawn(&pid, "/bin/echo", 0, 0, argv, none) == 0)
		waitpid(pid, 0, 0);
	if ((pid = vfork()) == 0) {
		execve("/bin/echo", argv, none);
		_exit(1);
	}
	waitpid(pid, 0, 0);
}
"""


@pytest.mark.parametrize("order", ("{0}:{1}", "{1}:{0}"))
def test_exec_in_another_constructor(lab, tmp_path, order):
    """It may run before ours, when nothing is set up yet: the calls are passed on."""
    (tmp_path / "early.c").write_text(CONSTRUCTOR)
    early = tmp_path / "early.so"
    assert run(["gcc", "-w", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", early, tmp_path / "early.c"]).returncode == 0
    program = lab.compile("caller")
    done = lab.run([program, "here", "execv", "/nowhere/x"], LD_PRELOAD=order.format(lab.lib, early))
    assert (done.stdout, done.stderr) == (f"early\nearly\nerrno={errno.ENOENT}\n", "")


# --- Rank variables of native launchers ---

LAUNCHERS = {
    "Open MPI": dict(OMPI_COMM_WORLD_RANK="3", OMPI_COMM_WORLD_LOCAL_RANK="1", OMPI_COMM_WORLD_SIZE="8",
                     OMPI_COMM_WORLD_NODE_RANK="1", PMIX_RANK="3"),
    "Hydra": dict(PMI_RANK="3", MPI_LOCALRANKID="1", PMI_SIZE="8"),
    "MVAPICH": dict(MV2_COMM_WORLD_RANK="3", MV2_COMM_WORLD_LOCAL_RANK="1", MV2_COMM_WORLD_SIZE="8"),
    "PMIx": dict(PMIX_RANK="3"),
}
SHOW = "echo ${SLURM_PROCID:--} ${SLURM_LOCALID:--} ${SLURM_NTASKS:--} ${SLURM_NODEID:--}"
READERS = {
    "bash": ["bash", "-c", SHOW],
    "dash": ["dash", "-c", SHOW],
    "python": ["/usr/bin/python3", "-c", "import os; print(*(os.environ.get('SLURM_' + name, '-')"
               " for name in ('PROCID', 'LOCALID', 'NTASKS', 'NODEID')))"],
    "perl": ["/usr/bin/perl", "-e", "print join(' ', map { $ENV{\"SLURM_$_\"} // '-' }"
             " qw(PROCID LOCALID NTASKS NODEID)), \"\\n\""],
    "awk": ["awk", "function v(n) { return \"SLURM_\" n in ENVIRON ? ENVIRON[\"SLURM_\" n] : \"-\" }"
            " BEGIN { print v(\"PROCID\"), v(\"LOCALID\"), v(\"NTASKS\"), v(\"NODEID\") }"],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_native_ranks(lab, launcher, reader):
    expected = "3 - - -\n" if launcher == "PMIx" else "3 1 8 -\n"
    env = dict(LAUNCHERS[launcher], SLURM_ON_OCS_NATIVE="1")
    assert lab.run(READERS[reader], **env).stdout == expected


def test_native_ranks_replace_the_scripts_values(lab):
    """The job script's own numbers are inherited by the ranks on its host; the node's number is the starter's."""
    done = lab.run(READERS["bash"], **LAUNCHERS["Open MPI"], SLURM_ON_OCS_NATIVE="1", SLURM_PROCID="0",
                   SLURM_LOCALID="0", SLURM_NTASKS="1", SLURM_NODEID="2")
    assert done.stdout == "3 1 8 2\n"


@pytest.mark.parametrize("native", (None, "", "0", "11"))
def test_native_ranks_need_the_starters_word(lab, native):
    done = lab.run(READERS["bash"], **LAUNCHERS["Open MPI"], SLURM_ON_OCS_NATIVE=native, SLURM_PROCID="0")
    assert done.stdout == "0 - - -\n"


def test_native_ranks_need_a_rank(lab):
    assert lab.run(READERS["bash"], SLURM_ON_OCS_NATIVE="1", PMI_SIZE="3").stdout == "- - - -\n"


@pytest.mark.parametrize("rank", ("", "x", "-1", "1x", "4294967295", " 1"))
def test_native_ranks_are_numbers(lab, rank):
    assert lab.run(READERS["bash"], SLURM_ON_OCS_NATIVE="1", PMI_RANK=rank, PMI_SIZE="4").stdout == "- - - -\n"


def test_native_ranks_stay_removed(lab):
    """A rank that removes a variable doesn't get it back in its children."""
    script = "unset SLURM_PROCID SLURM_NTASKS; " + f"bash -c '{SHOW}'"
    done = lab.run(["bash", "-c", script], **LAUNCHERS["Open MPI"], SLURM_ON_OCS_NATIVE="1")
    assert done.stdout == "- 1 - -\n"


def test_native_ranks_of_a_launcher_inside_a_rank(lab):
    script = "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=0 " + f"bash -c '{SHOW}'"
    done = lab.run(["bash", "-c", script], **LAUNCHERS["Hydra"], SLURM_ON_OCS_NATIVE="1")
    assert done.stdout == "1 0 2 -\n"


def test_native_ranks_can_change_their_environment(lab):
    """The environment is ours after the fill: setenv, unsetenv and clearenv must still work on it."""
    code = ("import os\nfor i in range(500): os.environ[f'V{i}'] = 'x' * i\n"
            "del os.environ['SLURM_PROCID']; os.environ['SLURM_LOCALID'] = 'mine'\n"
            "os.execv('/bin/sh', ['sh', '-c', 'echo ${SLURM_PROCID:--} $SLURM_LOCALID ${#V499} $SLURM_NTASKS'])")
    done = lab.run(["/usr/bin/python3", "-c", code], **LAUNCHERS["Open MPI"], SLURM_ON_OCS_NATIVE="1")
    assert done.stdout == "- mine 499 8\n"


def test_native_ranks_with_a_huge_environment(lab):
    """Above 4096 variables nothing is touched."""
    many = {f"V{i}": "x" for i in range(4200)}
    done = lab.run(READERS["bash"], **many, **LAUNCHERS["Open MPI"], SLURM_ON_OCS_NATIVE="1", SLURM_PROCID="0")
    assert done.stdout == "0 - - -\n"


def test_native_ranks_disabled(lab):
    done = lab.run(READERS["bash"], **LAUNCHERS["Open MPI"], SLURM_ON_OCS_NATIVE="1", SLURM_ON_OCS_DISABLE="1")
    assert done.stdout == "- - - -\n"


# --- No system calls of our own ---

def strace_calls(lab, argv, preload):
    """The system calls by name from the last execve on, without the loader's (which open the library)."""
    log = lab.tmp / "strace.log"
    done = run(["strace", "-f", "-o", log, "-E", f"LD_PRELOAD={preload}", *argv], env=lab.env(LD_PRELOAD=None))
    lines = log.read_text().splitlines()
    start = max(i for i, line in enumerate(lines) if f"execve(\"{argv[0]}\"" in line)
    return done, lines[start:]


@pytest.mark.skipif(not shutil.which("strace"), reason="strace isn't installed")
def test_no_system_call_of_our_own(lab):
    """The constructor makes none; a redirect is one execve; a passed exec is one execve."""
    empty = empty_library(lab, "empty")

    def kinds(preload, path):
        _, lines = strace_calls(lab, [str(lab.caller), "here", "execv", path], preload)
        head = [line.split("(")[0].split()[-1] for line in lines[:-1]]
        end = next(i for i, line in enumerate(lines) if f'execve("{path}' in line or f'execve("{lab.bin}' in line)
        return head[:end], [line for line in lines[1:] if "execve(" in line]

    plain, _ = kinds(empty, "/nowhere/x")
    ours, execs = kinds(lab.lib, "/nowhere/x")
    assert len(execs) == 1
    # the loader maps one part more or less, by the layout of the file
    loader = ("mmap", "mprotect", "pread64", "read", "close", "openat", "fstat", "newfstatat")
    assert [k for k in ours if k not in loader] == [k for k in plain if k not in loader]
    _, execs = kinds(lab.lib, "/usr/bin/squeue")
    assert len(execs) == 1 and str(lab.bin) in execs[0]


def test_the_library_is_not_needed_by_a_setuid_program(lab, tmp_path):
    """The loader itself drops a preload with a slash there; the program runs, silently."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    program = lab.compile("recorder", output="suid")
    program.chmod(0o4755)
    os.chmod(lab.tmp, 0o755)
    done = lab.run(["setpriv", "--reuid", "65534", "--clear-groups", program, "exit", "6"])
    assert (done.returncode, done.stderr) == (6, "")
