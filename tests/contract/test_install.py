# SPDX-License-Identifier: Apache-2.0
"""make install and make uninstall: what lies where, that nothing breaks for who runs it meanwhile, nothing stays."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("BUILD", "build/release")
COMMANDS = re.findall(r"^COMMAND\((\w+)\)", (ROOT / "common/commands.def").read_text(), re.M)


def make(*words):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PREFIX"))}
    return subprocess.run(["make", "--no-print-directory", f"BUILD={BUILD}", f"MODE={os.environ.get('MODE', 'release')}",
                           *words], cwd=ROOT, env=clean, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with an installation of the default PREFIX below it (so that nothing has to be compiled again)."""
    folder = tmp_path_factory.mktemp("site")
    done = make("install", f"DESTDIR={folder}")
    assert done.returncode == 0, done.stderr
    return folder


def test_what_lies_where(site):
    prefix = site / "usr/local"
    libexec = prefix / "libexec/slurm-on-ocs"
    for command in COMMANDS:
        assert os.readlink(libexec / "bin" / command) == "../translate"
    assert sorted(f.name for f in (libexec / "bin").iterdir()) == sorted(COMMANDS)
    for program in ("translate", "shim-launch", "minder", "starter"):
        assert (libexec / program).stat().st_mode & 0o7777 == 0o755
    library = prefix / "lib/slurm-on-ocs/libslurm_on_ocs.so"
    assert library.stat().st_mode & 0o7777 == 0o644
    assert (libexec / "libdir/libslurm_on_ocs.so").samefile(library)
    assert (prefix / "bin/slurm-on-ocs").samefile(libexec / "translate")
    assert not (site / "etc").exists()  # nothing is enabled


def test_texts_name_this_installation(site):
    texts = [f for f in (site / "usr/local/share").rglob("*") if f.is_file()]
    assert texts
    for path in texts:
        text = path.read_text()
        assert str(site) not in text and not re.search(r"@[A-Z]+@", text), path
    module = (site / "usr/local/share/slurm-on-ocs/modulefiles/slurm-on-ocs").iterdir()
    assert all("/usr/local/libexec/slurm-on-ocs/bin" in f.read_text() for f in module)


def test_library_calls_the_programs_of_this_installation(site):
    library = (site / "usr/local/lib/slurm-on-ocs/libslurm_on_ocs.so").read_bytes()
    assert b"/usr/local/libexec/slurm-on-ocs" in library


@pytest.mark.parametrize("shell, script", [
    ("sh", '. {0}/profile.d/slurm-on-ocs.sh; . {0}/profile.d/slurm-on-ocs.sh; echo "$PATH"'),
    ("csh", 'source {0}/profile.d/slurm-on-ocs.csh; source {0}/profile.d/slurm-on-ocs.csh; echo "$PATH"'),
])
def test_profile_puts_commands_on_path_once(site, shell, script):
    share = site / "usr/local/share/slurm-on-ocs"
    options = ["-f"] if shell == "csh" else []
    done = subprocess.run([shell, *options, "-c", script.format(share)], capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "/usr/local/libexec/slurm-on-ocs/bin:/usr/bin:/bin"


def test_an_upgrade_replaces_files_that_are_in_use(site):
    starter = site / "usr/local/libexec/slurm-on-ocs/starter"
    with open(starter, "rb") as running:
        before = os.fstat(running.fileno()).st_ino
        content = running.read()
        assert make("install", f"DESTDIR={site}").returncode == 0
        assert starter.stat().st_ino != before  # put there by a rename
        running.seek(0)
        assert running.read() == content  # who runs it keeps what he has
    assert not list(site.rglob("*.new"))


def test_a_second_make_does_nothing():
    done = make("-q", "all")
    assert done.returncode == 0, make("-n", "all").stdout


FAKE_QCONF = """#!/bin/sh
case $1 in
-sql) echo a.q; echo b.q ;;
-sq) printf 'qname  %s\\nstarter_method  %s\\nsuspend_method NONE\\n' "$2" "$(cat {folder}/$2)" ;;
esac
"""


@pytest.mark.parametrize("methods, used", [
    ({"a.q": "NONE", "b.q": "NONE"}, ""),
    ({"a.q": "NONE", "b.q": "/opt/other/starter"}, ""),
    ({"a.q": "{libexec}/starter", "b.q": "NONE"}, "a.q"),
    ({"a.q": "NONE,[c1={libexec}/starter]", "b.q": "{libexec}/starter"}, "a.q b.q"),
    ({"a.q": "NONE,[c1=NONE],\\\n   [c2={libexec}/starter]", "b.q": "NONE"}, "a.q"),
    ({"a.q": "{folder}/chain", "b.q": "NONE"}, "a.q"),
])
def test_removal_is_refused_while_a_queue_uses_us(site, tmp_path, methods, used):
    libexec = site / "usr/local/libexec/slurm-on-ocs"
    (tmp_path / "chain").write_text(f"#!/bin/sh\nexec /site/own {libexec}/starter \"$@\"\n")
    for queue, method in methods.items():
        (tmp_path / queue).write_text(method.format(libexec=libexec, folder=tmp_path))
    (tmp_path / "qconf").write_text(FAKE_QCONF.format(folder=tmp_path))
    (tmp_path / "qconf").chmod(0o755)
    done = subprocess.run([libexec / "in-use"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout.partition(":")[2].strip()) == ((0, used) if used else (1, ""))


def test_uninstall_leaves_nothing(tmp_path):
    other = tmp_path / "usr/local/share/slurm-on-ocs/of-somebody-else"
    assert make("install", f"DESTDIR={tmp_path}").returncode == 0
    other.write_text("x")
    done = make("uninstall", f"DESTDIR={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert [f for f in tmp_path.rglob("*") if not f.is_dir()] == [other]
