# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone and twice; every file says its licence; nothing calls what banned.txt forbids."""

import concurrent.futures
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["common", "conf", "ocs", "translate", "launcher", "preload", "docs", "tests"]
# calls that overflow, aren't reentrant, hide errors or start a shell -> what to use
BANNED = {
    "strcpy": "xstrdup, strbuf", "strcat": "strbuf", "sprintf": "xasprintf, strbuf", "vsprintf": "xvasprintf",
    "strtok": "strcspn, strtok_r", "atoi": "strtol with checks", "atol": "strtol with checks",
    "atof": "strtod with checks", "gets": "fgets", "system": "spawn_run", "popen": "spawn_run",
    "mktemp": "mkostemp", "tmpnam": "mkostemp",
}
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def sources(*suffixes):
    return sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*") if f.suffix in suffixes)


def code_of(text):
    """Without comments and strings; line numbers stay."""
    return COMMENT_OR_STRING.sub(lambda match: "\n" * match.group().count("\n"), text)


def compile_alone(header):
    name = header.relative_to(ROOT)
    done = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
                           "-I.", "-fsyntax-only", "-x", "c", "-"], cwd=ROOT, capture_output=True, text=True,
                          input=f'#include "{name}"\n#include "{name}"\n', check=False)
    return f"{name}:\n{done.stderr}" if done.returncode else ""


def test_headers_compile_alone():
    headers = sources(".h")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failed = [text for text in pool.map(compile_alone, headers) if text]
    assert headers and not failed, "\n".join(failed)


def test_licence_line():
    users_own = ROOT / "tests/demo/train.sh"  # a script as its user wrote it
    files = [f for f in sources(".c", ".h", ".py", ".sh") if f != users_own]
    missing = [str(f.relative_to(ROOT)) for f in files
               if "SPDX-License-Identifier: Apache-2.0" not in f.read_text(encoding="utf-8")[:300]]
    assert not missing


def test_no_banned_function():
    call = re.compile(rf"(?<![\w.>])({'|'.join(BANNED)})\s*\(")
    found = []
    for path in sources(".c", ".h"):
        if path.is_relative_to(ROOT / "tests"):
            continue
        for number, line in enumerate(code_of(path.read_text(encoding="utf-8")).splitlines(), 1):
            match = call.search(line)
            if match:
                found.append(f"{path.relative_to(ROOT)}:{number}: {match.group(1)}: use {BANNED[match.group(1)]}")
    assert not found


def test_sizes():
    """A file has one subject, a function fits on a screen."""
    long_files = [f"{f.relative_to(ROOT)}: {n} lines" for f in sources(".c")
                  for n in [f.read_text(encoding="utf-8").count("\n")] if n > 650]
    assert not long_files


def test_no_unfinished_work():
    word = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [f"{f.relative_to(ROOT)}:{number}" for f in sources(".c", ".h", ".sh", ".mk")
             for number, line in enumerate(f.read_text(encoding="utf-8").splitlines(), 1) if word.search(line)]
    assert not found
