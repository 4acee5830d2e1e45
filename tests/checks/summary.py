# SPDX-License-Identifier: Apache-2.0
"""summary.py [--promises] RESULTS SUITE...: judges a test run from its JUnit reports.

Prints the text of each failure and the reason of each skip; the last line counts all. Exit code 1 when anything
failed, when a suite left no report or ran no test, or, with --promises, when a promise was not shown.
"""

import pathlib
import sys

import promises
import results


def read_suite(folder, suite):
    """The cases of a suite, and what is wrong with its reports."""
    pattern = "unit-*.xml" if suite == "unit" else f"{suite}.xml"
    cases, wrong = [], []
    for path in sorted(pathlib.Path(folder).glob(pattern)):
        try:
            cases += results.read_report(path)
        except results.Unreadable as error:
            wrong.append(str(error))
    # pytest: 0 all passed, 1 some failed (the report says which); 124 is timeout's
    status = pathlib.Path(folder) / f"{suite}.status"
    if status.exists() and status.read_text().strip() not in ("0", "1"):
        wrong.append(f"suite {suite}: ended early, exit code {status.read_text().strip()}; not all of its tests ran")
    if not any(case.outcome != "skipped" for case in cases) and not wrong:
        wrong.append(f"suite {suite}: no test ran")
    return cases, wrong


def report(cases, wrong):
    failed = [case for case in cases if case.outcome == "failed"]
    skipped = [case for case in cases if case.outcome == "skipped"]
    for case in failed:
        print(f"\n--- FAILED {case.test}\n{case.text}")
    for text in wrong:
        print(f"\n--- FAILED {text}")
    if skipped:
        print()
    for case in skipped:
        print(f"--- skipped {case.test}: {case.text}")
    passed = len(cases) - len(failed) - len(skipped)
    nfailed = len(failed) + len(wrong)
    line = f"{passed} passed, {nfailed} failed"
    if skipped:
        line += f", {len(skipped)} skipped"
    print(f"\n{line}", flush=True)
    return 0 if nfailed == 0 and passed > 0 else 1


def main(argv):
    with_promises = argv[:1] == ["--promises"]
    folder, *suites = argv[1:] if with_promises else argv
    cases, wrong = [], []
    for suite in suites:
        more_cases, more_wrong = read_suite(folder, suite)
        cases += more_cases
        wrong += more_wrong
    if with_promises:
        rows, malformed = promises.load()
        wrong += malformed + promises.unkept(rows, cases)
    return report(cases, wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
