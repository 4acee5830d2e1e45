# SPDX-License-Identifier: Apache-2.0
"""Reads the JUnit reports of criterion and pytest."""

import dataclasses
import pathlib
import re
import xml.etree.ElementTree as ET

# criterion writes what a test printed as it is; XML 1.0 allows no control characters, not even escaped
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Unreadable(Exception):
    """A report that isn't there or isn't XML."""


@dataclasses.dataclass
class Case:
    test: str  # as in tests/PROMISES: tests/live/test_x.py::test_y, tests/unit/test_x.c::suite::name
    outcome: str  # passed, failed, skipped
    text: str  # of a failure or the reason of a skip


def printable(text):
    return NOT_XML.sub("?", text)


def test_name(path, suite, case):
    if path.name.startswith("unit-test_"):
        return f"tests/unit/{path.stem.removeprefix('unit-')}.c::{suite}::{case.get('name')}"
    if path.name.startswith("unit-fuzz_"):
        return f"tests/fuzz/{path.stem.removeprefix('unit-')}.c::{case.get('name')}"
    classname, name = case.get("classname") or "", case.get("name") or ""
    if not classname:  # pytest's collection error: the name is the module
        return name.replace(".", "/") + ".py::(collection)"
    # tests.live.test_x or tests.live.test_x.TestClass
    parts = classname.split(".")
    last = next((i for i, part in enumerate(parts) if part.startswith("test_")), len(parts) - 1)
    return "::".join(["/".join(parts[: last + 1]) + ".py", *parts[last + 1:], name])


def read_report(path):
    """The Cases of a JUnit file. A case with both a skip and an error (of its teardown) has failed."""
    path = pathlib.Path(path)
    try:
        text = path.read_bytes().decode("utf-8", "replace")
        root = ET.fromstring(printable(text))
    except OSError as error:
        raise Unreadable(f"no report {path}: {error.strerror}") from error
    except ET.ParseError as error:
        raise Unreadable(f"report {path} is not XML: {error}") from error
    cases = []
    for suite in root.iter("testsuite"):
        for case in suite.findall("testcase"):
            outcome, text = "passed", ""
            for tag in ("skipped", "failure", "error"):
                for found in case.findall(tag):
                    outcome = "skipped" if tag == "skipped" else "failed"
                    text = (found.text or "").strip() or found.get("message") or ""
                    if outcome == "skipped":
                        text = found.get("message") or text or "no reason given"
            cases.append(Case(test_name(path, suite.get("name"), case), outcome, text))
    return cases
