# SPDX-License-Identifier: Apache-2.0
"""Documents say what the programs do: manual pages, --help, support.md, the sample configuration, completion."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", "build/release"))
COMMANDS = re.findall(r"^COMMAND\((\w+)\)", (ROOT / "common/commands.def").read_text(), re.M)
SECTIONS = ["NAME", "DESCRIPTION", "EXAMPLES", "SEE ALSO"]
# scdoc puts a paragraph before every list and behind every heading
SCDOC_HABITS = re.compile(r"skipping paragraph macro: PP (empty|after SH|after SS)|lower case character in document title")


def run(*argv, **more):
    return subprocess.run([str(word) for word in argv], cwd=ROOT, capture_output=True, text=True, check=False, **more)


def make(*targets):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = run("make", "--no-print-directory", "-s", f"BUILD={BUILD}", *targets, env=clean)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built():
    """The folder with pages, sample and completion, up to date."""
    make("docs")
    return ROOT / BUILD / "docs"


@pytest.fixture(scope="module")
def rows():
    """tool -> list of rows as `translate --rows` prints them."""
    tools = {}
    for line in run(ROOT / BUILD / "translate", "--rows").stdout.splitlines():
        fields = line.split("\t")
        tools.setdefault(fields[0], []).append(fields)
    assert tools
    return tools


def pages():
    return sorted(f.name.removesuffix(".scd") for f in (ROOT / "docs").glob("*.scd"))


def options_of_page(text):
    return set(re.findall(r"^(?:\*-.\*, )?\*--([\w-]+)\*", text, re.M))


@pytest.mark.parametrize("page", pages())
def test_manual_page(built, page):
    source = (ROOT / "docs" / f"{page}.scd").read_text()
    for section in SECTIONS:
        assert re.search(rf"^# {section}$", source, re.M), f"{page} has no section {section}"
    if page.endswith((".1", ".7", ".8")):
        assert "# LIMITATIONS" in source
    lint = run("mandoc", "-T", "lint", "-W", "warning", built / page)
    assert not [line for line in lint.stdout.splitlines() if not SCDOC_HABITS.search(line)]
    assert not re.search(r"^@[A-Z]+@$", (built / f"{page}.scd").read_text(), re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_manual_list_the_same_options(built, rows, command):
    page = options_of_page((built / f"{command}.1.scd").read_text())
    listed = {row[1] for row in rows[command]}
    assert page == listed
    done = run(ROOT / BUILD / "translate", command, "--help")
    assert done.returncode == 0
    told = set(re.findall(r"--([\w-]+)", "\n".join(re.findall(r"^ +(?:-\w, )?--[\w-]+", done.stdout, re.M))))
    hidden = {row[1] for row in rows[command] if row[10:] == ["hidden"]}
    assert told == listed - hidden


def test_support_md_is_up_to_date(rows):
    fresh = run("docs/make-support", ROOT / BUILD / "docs/rows.tsv").stdout
    assert (ROOT / "docs/support.md").read_text() == fresh, "run make docs/support.md"
    for command, options in rows.items():
        if command == "slurm-on-ocs":
            continue
        assert f"## {command}" in fresh
        for option in options:
            assert re.search(rf"--{re.escape(option[1])}[`=\[]", fresh)


def test_sample_configuration_is_read(built, tmp_path):
    """As shipped, and with every key out of its comment."""
    sample = (built / "slurm-on-ocs.conf").read_text()
    uncommented = re.sub(r"^#(?=\S)", "", sample, flags=re.M)
    assert uncommented != sample
    for name, text in (("shipped", sample), ("uncommented", uncommented)):
        path = tmp_path / name
        path.write_text(text)
        done = run(ROOT / BUILD / "translate", "sbatch", "--version", env={**os.environ, "SLURM_ON_OCS_CONF": str(path)})
        assert (done.returncode, done.stderr) == (0, "")


def test_completion_knows_the_long_options(built, rows):
    script = f"""
        source {built}/slurm-on-ocs.bash
        compopt() {{ :; }}
        _slurm_on_ocs sbatch --nod sbatch
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = run("bash", "-c", script)
    want = {f"--{row[1]}{'=' if row[3] == 'required' else ''}" for row in rows["sbatch"]
            if row[1].startswith("nod") and row[6] != "REFUSED"}
    assert set(done.stdout.split()) == want and "--nodes=" in want


def test_links_in_markdown_lead_somewhere():
    broken = []
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert not broken


def test_version_is_one():
    version = (ROOT / "VERSION").read_text().strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changelog or f"## [{version}]" in changelog
