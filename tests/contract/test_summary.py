# SPDX-License-Identifier: Apache-2.0
"""What `make check` counts: nothing that went wrong is lost between the suites and the last line."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSED = '<testcase classname="tests.live.test_x" name="test_a"/>'
FAILED = '<testcase classname="tests.live.test_x" name="test_b"><failure message="m">the text</failure></testcase>'
SKIPPED = '<testcase classname="tests.live.test_x" name="test_c"><skipped message="the reason"/></testcase>'
COLLECTION = '<testcase classname="" name="tests.live.test_z"><error message="m">ImportError</error></testcase>'
TEARDOWN = '<testcase classname="tests.live.test_x" name="test_d"><skipped message="r"/><error>late</error></testcase>'


def summary(folder, *suites):
    return subprocess.run([sys.executable, "-B", str(ROOT / "tests/checks/summary.py"), str(folder), *suites],
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("cases, code, last, said", [
    ([PASSED], 0, "1 passed, 0 failed", ""),
    ([PASSED, FAILED], 1, "1 passed, 1 failed", "the text"),
    ([PASSED, SKIPPED], 0, "1 passed, 0 failed, 1 skipped", "the reason"),
    ([SKIPPED], 1, "0 passed, 1 failed, 1 skipped", "no test ran"),
    ([PASSED, COLLECTION], 1, "1 passed, 1 failed", "tests/live/test_z.py::(collection)"),
    ([PASSED, TEARDOWN], 1, "1 passed, 1 failed", "late"),
    ([], 1, "0 passed, 1 failed", "no test ran"),
])
def test_last_line_and_exit_code(tmp_path, cases, code, last, said):
    (tmp_path / "live.xml").write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    done = summary(tmp_path, "live")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, last)
    assert said in done.stdout


def test_a_suite_without_report_has_failed(tmp_path):
    (tmp_path / "live.xml").write_text(f"<testsuites><testsuite>{PASSED}</testsuite></testsuites>")
    done = summary(tmp_path, "live", "system")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "1 passed, 1 failed")


@pytest.mark.parametrize("status, code", [("0", 0), ("1", 0), ("2", 1), ("124", 1)])
def test_a_suite_that_ended_early_has_failed(tmp_path, status, code):
    (tmp_path / "live.xml").write_text(f"<testsuites><testsuite>{PASSED}</testsuite></testsuites>")
    (tmp_path / "live.status").write_text(status + "\n")
    assert summary(tmp_path, "live").returncode == code


def test_a_report_cut_short_has_failed(tmp_path):
    (tmp_path / "live.xml").write_text("<testsuites><testsuite>")
    assert summary(tmp_path, "live").returncode == 1


def test_control_characters_in_criterions_report(tmp_path):
    (tmp_path / "unit-test_x.xml").write_bytes(
        b'<testsuites><testsuite name="s"><testcase name="t"><failure><![CDATA[a \x01 \xff]]></failure></testcase>'
        b"</testsuite></testsuites>")
    done = summary(tmp_path, "unit")
    assert "FAILED tests/unit/test_x.c::s::t" in done.stdout
