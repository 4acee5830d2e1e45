# SPDX-License-Identifier: Apache-2.0
"""Paired timing: the sides of a comparison run in turn, so that what the machine does meanwhile hits both alike."""

import json
import os
import statistics
import subprocess
import sys
import time


def seconds_of(argv, env=None, cwd=None):
    """Wall time of a command with /dev/null as input. It must succeed."""
    started = time.perf_counter()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env,
                          cwd=cwd, check=False)
    took = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{argv}: exit code {done.returncode}: {done.stderr.decode(errors='replace')}")
    return took


def paired(sides, rounds, warm_up=1):
    """sides: name -> function that gives seconds. name -> list of `rounds` times; the order turns every round."""
    names, times = list(sides), {name: [] for name in sides}
    for number in range(-warm_up, rounds):
        for name in names if number % 2 else reversed(names):
            took = sides[name]()
            if number >= 0:
                times[name].append(took)
    return times


def spread(times):
    """"12.3 ms (11.0-15.2, n=20)": median, extremes, count."""
    shown = [f"{value * 1000:.1f}" for value in (statistics.median(times), min(times), max(times))]
    return f"{shown[0]} ms ({shown[1]}-{shown[2]}, n={len(times)})"


def ratio(ours, theirs):
    return statistics.median(ours) / statistics.median(theirs)


def line(title, ours, their_title, theirs, target):
    """One comparison: what was measured on both sides, the ratio of the medians, the target."""
    return (f"{title}: {spread(ours)}\n    {their_title}: {spread(theirs)}\n"
            f"    ratio {ratio(ours, theirs):.3f}, target {target}")


def main(argv):
    """timing.py ROUNDS ARGV-AS-JSON...: the sides as commands; prints a list of lists of seconds as JSON."""
    rounds, *sides = argv
    commands = [json.loads(side) for side in sides]
    times = paired({number: lambda words=words: seconds_of(words, os.environ) for number, words in enumerate(commands)},
                   int(rounds))
    print(json.dumps(list(times.values())))


if __name__ == "__main__":
    main(sys.argv[1:])
