# SPDX-License-Identifier: Apache-2.0
"""make demo: the script of tests/demo over three hosts, as its user submits it."""

import re
import subprocess


def test_demo_shows_every_rank(cluster):
    result = subprocess.run(["tests/demo/run"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
                            check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    ranks = re.findall(r"^(\d): rank \1 of 6 \(local \d, node \d, host (c[123])\): sum 21 91 6$", result.stdout, re.M)
    assert sorted(ranks) == [("0", "c1"), ("1", "c1"), ("2", "c2"), ("3", "c2"), ("4", "c3"), ("5", "c3")]
