# SPDX-License-Identifier: Apache-2.0
"""tests/PROMISES: well formed, and every test it names exists. That each also ran is summary.py's part."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/checks"))

import promises  # noqa: E402
import results  # noqa: E402


def test_rows_are_well_formed():
    rows, wrong = promises.load(ROOT)
    assert rows and not wrong


def test_every_promise_names_a_test_that_exists():
    rows, _ = promises.load(ROOT)
    missing = []
    for row in rows:
        path, _, name = row.test.partition("::")
        source = ROOT / path
        text = source.read_text(encoding="utf-8") if source.exists() else ""
        if path.endswith(".c"):
            suite, _, test = name.partition("::")
            found = re.search(rf"^Test\({suite}, {test}[,)]", text, re.M)
        else:
            function = name.split("::")[-1].partition("[")[0]
            found = re.search(rf"^\s*def {function}\(", text, re.M)
        if not found:
            missing.append(f"{row.where}: {row.test}")
    assert not missing


def row(ident="a", test="tests/live/test_x.py::test_y"):
    return promises.Promise("PROMISES:1", ident, "sentence", test)


def test_a_promise_needs_a_test_that_ran():
    ran = results.Case("tests/live/test_x.py::test_y", "passed", "")
    skipped = results.Case("tests/live/test_x.py::test_y", "skipped", "no cluster")
    one_of_two = [results.Case("tests/live/test_x.py::test_y[a]", "passed", ""),
                  results.Case("tests/live/test_x.py::test_y[b]", "skipped", "")]
    assert not promises.unkept([row()], [ran])
    assert "did not run" in promises.unkept([row()], [])[0]
    assert "was skipped" in promises.unkept([row()], [skipped])[0]
    assert "was skipped" in promises.unkept([row()], one_of_two)[0]
    assert not promises.unkept([row(test="tests/live/test_x.py::test_y[a]")], one_of_two)


def test_malformed_rows_are_named():
    assert "names no test" in promises.check_rows([row(test="tests/live/x.sh")])[0]
    assert "is also at" in promises.check_rows([row(), row()])[0]
    assert promises.check_rows([row(ident="Has Blank")])
