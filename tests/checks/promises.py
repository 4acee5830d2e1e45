# SPDX-License-Identifier: Apache-2.0
"""tests/PROMISES and tests/PROMISES.d/*: what the documents promise, and the test that shows each.

A row is: id TAB sentence TAB test. Lines that start with # and empty lines are comments. The test is named as pytest
does (tests/live/test_x.py::test_y; it stands for all its parameters, test_y[a] for one) or, for criterion, as
tests/unit/test_x.c::suite::name.
"""

import dataclasses
import pathlib
import re

ID = re.compile(r"[a-z0-9_]+([-.][a-z0-9_]+)*$")
TEST = re.compile(r"(tests/(?:golden|contract|system|live)/test_\w+\.py)::((?:\w+::)?test_\w+(?:\[.*\])?)$|"
                  r"(tests/unit/test_\w+\.c)::(\w+)::(\w+)$")


@dataclasses.dataclass
class Promise:
    where: str  # file:line
    ident: str
    sentence: str
    test: str


class Malformed(Exception):
    pass


def files(root="."):
    base = pathlib.Path(root) / "tests"
    return [base / "PROMISES", *sorted(f for f in (base / "PROMISES.d").glob("*") if f.is_file())]


def parse(path):
    rows = []
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 3 or not all(field.strip() for field in fields):
            raise Malformed(f"{path}:{number}: want id TAB sentence TAB test")
        rows.append(Promise(f"{path}:{number}", *(field.strip() for field in fields)))
    return rows


def check_rows(rows):
    """Texts of what is wrong with the rows themselves."""
    wrong, seen = [], {}
    for row in rows:
        if not ID.match(row.ident):
            wrong.append(f"{row.where}: id \"{row.ident}\": want small letters, digits, _ - and .")
        if row.ident in seen:
            wrong.append(f"{row.where}: id \"{row.ident}\" is also at {seen[row.ident]}")
        seen.setdefault(row.ident, row.where)
        if not TEST.match(row.test):
            wrong.append(f"{row.where}: \"{row.test}\" names no test")
    return wrong


def load(root="."):
    """(rows, texts of what is wrong)"""
    rows, wrong = [], []
    for path in files(root):
        try:
            rows += parse(path)
        except (Malformed, OSError) as error:
            wrong.append(str(error))
    return rows, wrong + check_rows(rows)


def unkept(rows, cases):
    """Texts for promises whose test didn't run or was skipped. A failed test is counted by itself."""
    outcomes = {}
    for case in cases:
        outcomes.setdefault(case.test, []).append(case.outcome)
        if case.test.endswith("]"):
            outcomes.setdefault(case.test.partition("[")[0], []).append(case.outcome)
    texts = []
    for row in rows:
        ran = outcomes.get(row.test)
        if not ran:
            texts.append(f"promise {row.ident}: {row.test} did not run ({row.where})")
        elif "skipped" in ran:
            texts.append(f"promise {row.ident}: {row.test} was skipped ({row.where})")
    return texts
