# SPDX-License-Identifier: Apache-2.0
"""The same file under other C libraries: glibc 2.31 (Debian 11, where dlsym is in libdl) and musl."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.system.preload.lab import ROOT, Lab, Record, assert_ran, run

CHROOTS = pathlib.Path(os.environ.get("SOO_TEST_CHROOTS", ROOT / "build/chroots"))
SUITE = "bullseye"
# What the chroot's dash, bash, true, Python and Perl need; unpacked, not installed: no maintainer scripts, no /proc.
PACKAGES = ("libc6 libcrypt1 libgcc-s1 dash bash libtinfo6 coreutils libacl1 libattr1 libselinux1 libpcre2-8-0 "
            "libgmp10 perl-base python3.9-minimal libpython3.9-minimal libexpat1 zlib1g libssl1.1 libuuid1").split()
FUNCTIONS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "posix_spawn", "posix_spawnp")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for chroot")


def mirror():
    """This machine's own mirror of Debian: the first that apt knows."""
    for path in sorted(pathlib.Path("/etc/apt").glob("sources.list*")) + \
            sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*")):
        if path.is_file():
            found = re.search(r"^(?:URIs:|deb\s+(?:\[.*?\]\s+)?)\s*(https?://\S+/debian/?)\s", path.read_text(), re.M)
            if found:
                return found.group(1)
    pytest.fail("no Debian mirror in /etc/apt")


@pytest.fixture(scope="module")
def bullseye():
    """The folder of an unpacked Debian 11; made once, renamed into place when complete."""
    done = CHROOTS / SUITE
    if not done.exists():
        temp = CHROOTS / f"{SUITE}.{os.getpid()}"
        shutil.rmtree(temp, ignore_errors=True)
        temp.mkdir(parents=True)
        made = run(["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "--download-only", SUITE,
                    temp / "debs", mirror()], timeout=500)
        assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
        for folder in ("bin", "sbin", "lib", "lib64"):
            (temp / "root/usr" / folder).mkdir(parents=True)
            (temp / "root" / folder).symlink_to(f"usr/{folder}")
        for package in PACKAGES:
            deb, = (temp / "debs/var/cache/apt/archives").glob(f"{package}_*.deb")
            # tar keeps the merged /bin and /lib, which dpkg-deb -x would replace
            tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE, check=True).stdout
            subprocess.run(["tar", "-C", temp / "root", "--keep-directory-symlink", "-x"], input=tar, check=True)
        shutil.rmtree(temp / "debs")
        for folder in ("dev", "tmp", "etc"):
            (temp / "root" / folder).mkdir(exist_ok=True)
        subprocess.run(["mknod", "-m", "666", temp / "root/dev/null", "c", "1", "3"], check=True)
        (temp / "root").rename(done)
        shutil.rmtree(temp)
    return done


class ChrootLab:
    """A lab whose folder is at the same path inside the chroot."""

    def __init__(self, lab, root):
        self.lab, self.root, self.bin = lab, root, lab.bin
        self.inside = root / str(lab.tmp).lstrip("/")
        shutil.rmtree(self.inside, ignore_errors=True)
        self.inside.mkdir(parents=True)
        shutil.copytree(lab.libexec, self.inside / "libexec")
        (self.inside / "build").mkdir()
        shutil.copy(lab.lib, self.inside / "build")

    def run(self, argv, **more):
        return run(["chroot", self.root, "/usr/bin/env", "-i",
                    *(f"{k}={v}" for k, v in self.lab.env(**more).items()), *argv])


@pytest.fixture(scope="module")
def old(tmp_path_factory, bullseye):
    lab = ChrootLab(Lab(tmp_path_factory.mktemp("preload")), bullseye)
    yield lab
    shutil.rmtree(lab.inside)


def test_glibc_2_31_is_what_runs(old):
    """The chroot has that C library, and a program there doesn't have dlsym."""
    version, = old.root.glob("lib/x86_64-linux-gnu/libc-2.*.so")
    assert version.name == "libc-2.31.so"
    dynamic = run(["readelf", "-W", "--dyn-syms", version]).stdout
    assert not re.search(r"\sdlsym@", dynamic)


TRUE = {
    "true": ["/bin/true"],
    "dash": ["/bin/dash", "-c", "/bin/true && exit 0"],
    "bash": ["/bin/bash", "-c", "/bin/true && exit 0"],
    "python": ["/usr/bin/python3.9", "-c", "import subprocess; subprocess.run(['/bin/true'], check=True)"],
    "perl": ["/usr/bin/perl", "-e", "exit system('/bin/true')"],
}


@pytest.mark.parametrize("program", TRUE)
def test_glibc_2_31_programs_run(old, program):
    done = old.run(TRUE[program])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("path", ("/usr/bin/squeue", "/nowhere/squeue"))
@pytest.mark.parametrize("how", ("here", "vfork"))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_glibc_2_31_functions(old, function, how, path):
    """The caller is built here but asks for old symbol versions only, so that the chroot's C library takes it."""
    if not (old.inside / "caller").exists():
        start = start_file(old.lab)
        shutil.copy(old.lab.compile("caller", "-nostartfiles", start, output="caller-old"), old.inside / "caller")
    done = old.run([old.lab.tmp / "caller", how, function, path, "a b"])
    assert_ran(old, done, "squeue", ["name", "a b"])


def start_file(lab):
    """_start by hand: the usual one asks for __libc_start_main@GLIBC_2.34."""
    source = lab.tmp / "start.c"
    source.write_text('''
#include <stdlib.h>
typedef void fn(void);
int old_libc_start_main(int (*)(int, char **, char **), int, char **, fn *, fn *, fn *, void *);
__asm__(".symver old_libc_start_main,__libc_start_main@GLIBC_2.2.5");
int main(int, char **, char **);
static void nothing(void) { }
__attribute__((used)) static void start(long *stack)
{
	old_libc_start_main(main, (int)stack[0], (char **)(stack + 1), nothing, nothing, 0, stack);
}
__asm__(".globl _start\\n_start: xor %ebp, %ebp\\n mov %rsp, %rdi\\n and $-16, %rsp\\n call start\\n hlt\\n");
''')
    done = run(["gcc", "-O1", "-c", "-o", lab.tmp / "start.o", source])
    assert done.returncode == 0, done.stderr
    return lab.tmp / "start.o"


SHELLS = ("dash", "bash")


@pytest.mark.parametrize("path", ("/usr/bin/srun", "srun", "env srun"))
@pytest.mark.parametrize("shell", SHELLS)
def test_glibc_2_31_shells(old, shell, path):
    done = old.run([f"/bin/{shell}", "-c", f"{path} a 'b c'"])
    assert Record(done.stdout).args[1:] == ["a", "b c"], done.stderr


PYTHON = {
    "run": "subprocess.run(['/usr/bin/srun', 'a', 'b c'])",
    "run, bare name": "subprocess.run(['srun', 'a', 'b c'])",
    "run, posix_spawn": "subprocess.run(['/usr/bin/srun', 'a', 'b c'], close_fds=False)",
    "run, env": "subprocess.run(['/usr/bin/srun', 'a', 'b c'], env={})",
    "execvp": "os.execvp('srun', ['srun', 'a', 'b c'])",
    "posix_spawn": "os.waitpid(os.posix_spawn('/usr/bin/srun', ['srun', 'a', 'b c'], {}), 0)",
    "posix_spawnp": "os.waitpid(os.posix_spawnp('srun', ['srun', 'a', 'b c'], {}), 0)",
}


@pytest.mark.parametrize("how", PYTHON)
def test_glibc_2_31_python(old, how):
    done = old.run(["/usr/bin/python3.9", "-c", f"import os, subprocess; {PYTHON[how]}"], PATH="/usr/bin:/bin")
    assert Record(done.stdout).args[1:] == ["a", "b c"], done.stderr


@pytest.mark.parametrize("call", ("exec '/usr/bin/srun', 'a', 'b c'", "system('srun', 'a', 'b c')"))
def test_glibc_2_31_perl(old, call):
    done = old.run(["/usr/bin/perl", "-e", call], PATH="/usr/bin:/bin")
    assert Record(done.stdout).args[1:] == ["a", "b c"], done.stderr


def test_glibc_2_31_native_ranks(old):
    done = old.run(["/bin/bash", "-c", "echo $SLURM_PROCID $SLURM_NTASKS"], SLURM_ON_OCS_NATIVE="1",
                   PMI_RANK="2", PMI_SIZE="4")
    assert done.stdout == "2 4\n"


# --- musl ---

@pytest.fixture(scope="module")
def musl(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("preload"))
    lab.caller = lab.compile("caller", cc="musl-gcc", output="musl-caller")
    lab.stress = lab.compile("stress", "-pthread", cc="musl-gcc", output="musl-stress")
    assert "ld-musl" in run(["readelf", "-l", lab.caller]).stdout
    return lab


@pytest.mark.parametrize("path", ("/usr/bin/squeue", "/nowhere/squeue"))
@pytest.mark.parametrize("how", ("here", "vfork"))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_musl_functions(musl, function, how, path):
    done = musl.run([musl.caller, how, function, path, "a b"])
    assert_ran(musl, done, "squeue", ["name", "a b"])


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("path", ("/nowhere/x", "/etc/passwd", "nosuch", "/usr/bin", "x" * 300))
def test_musl_errors(musl, function, path):
    argv = [musl.caller, "here", function, path]
    ours, plain = musl.run(argv), musl.run(argv, LD_PRELOAD=None)
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr) and "errno=" in plain.stdout


@pytest.mark.parametrize("function", ("execvp", "posix_spawnp"))
def test_musl_search(musl, function):
    assert_ran(musl, musl.run([musl.caller, "here", function, "squeue"], PATH="/nowhere:/usr/bin"), "squeue")


def test_musl_stress(musl):
    assert musl.run([musl.stress, "32", "30", "/usr/bin/squeue"]).stdout == "960\n"


def test_musl_native_ranks(musl):
    done = musl.run([musl.caller, "here", "execv", "/usr/bin/squeue"], SLURM_ON_OCS_NATIVE="1", PMI_RANK="2",
                    PMI_SIZE="4")
    env = Record(done.stdout).env
    assert (env.get("SLURM_PROCID"), env.get("SLURM_NTASKS")) == ("2", "4")


def test_musl_container(musl, tmp_path):
    shutil.copy(musl.recorder, tmp_path / "podman")
    assert "LD_PRELOAD" not in Record(musl.run([musl.caller, "here", "execv", tmp_path / "podman"]).stdout).env
