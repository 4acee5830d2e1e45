# SPDX-License-Identifier: Apache-2.0
"""unit.py RESULTS PROGRAM...: runs criterion programs and fuzz replays; each leaves RESULTS/unit-<name>.xml.

A program that isn't there (it didn't compile), crashes, hangs or writes no report leaves a report with one error.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import results

TIMEOUT = 120  # s a program; the whole suite takes a few
CORPUS = pathlib.Path("tests/fuzz/corpus")
OUTPUT_KEPT = 4000  # characters of a failed program's output


def write_report(path, suite, name, error=None):
    """A JUnit file with one test case."""
    top = ET.Element("testsuites")
    one = ET.SubElement(top, "testsuite", name=suite, tests="1", errors="1" if error else "0")
    case = ET.SubElement(one, "testcase", classname=suite, name=name)
    if error:
        ET.SubElement(case, "error", message=error.splitlines()[0]).text = results.printable(error)
    ET.ElementTree(top).write(path, encoding="utf-8", xml_declaration=True)


def run(argv):
    """(ended well or None on a time-out, exit status, output) of a program in a process group of its own."""
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             start_new_session=True)
    try:
        output, _ = child.communicate(timeout=TIMEOUT)
        return child.returncode, output.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        return None, output.decode("utf-8", "replace")


def how_it_ended(status):
    if status is None:
        return f"didn't end within {TIMEOUT} s"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit code {status}"


def run_criterion(program, report):
    status, output = run([str(program), "--xml=" + str(report), "--color=never"])
    failed = None
    if status not in (0, 1):
        failed = how_it_ended(status)
    else:
        try:
            cases = results.read_report(report)
            bad = any(case.outcome == "failed" for case in cases)
            if not cases:
                failed = "holds no test"
            elif bad != (status == 1):
                failed = f"{how_it_ended(status)} doesn't fit its report"
        except results.Unreadable as error:
            failed = f"{how_it_ended(status)}, {error}"
    if failed:
        write_report(report, program.name, "(program)", f"{failed}\n{output[-OUTPUT_KEPT:]}")
    return failed is None and status == 0, output


def run_replay(program, report):
    name = program.name.removeprefix("fuzz_")
    corpus = sorted(str(f) for f in (CORPUS / name).glob("*") if f.is_file())
    if not corpus:
        write_report(report, program.name, "corpus", f"{CORPUS / name}/ holds no file")
        return False, ""
    status, output = run([str(program), *corpus])
    error = None if status == 0 else f"{how_it_ended(status)}\n{output[-OUTPUT_KEPT:]}"
    write_report(report, program.name, "corpus", error)
    return error is None, output


def main(folder, *programs):
    good = True
    for program in map(pathlib.Path, programs):
        report = pathlib.Path(folder) / f"unit-{program.name}.xml"
        started = time.monotonic()
        if not program.exists():
            write_report(report, program.name, "(program)", "doesn't exist: see the compiler's messages")
            well, output = False, ""
        elif program.name.startswith("fuzz_"):
            well, output = run_replay(program, report)
        else:
            well, output = run_criterion(program, report)
        report.with_suffix(".log").write_text(output, encoding="utf-8")
        print(f"  {'ok' if well else 'FAILED':7} {program.name} {time.monotonic() - started:.2f} s", flush=True)
        good = good and well
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
