# SPDX-License-Identifier: Apache-2.0
"""PyTorch (Debian's, gloo) over two hosts: by torchrun on each, and rank by rank by srun. docs/recipes/torchrun.md."""

import json
import pathlib
import re

import pytest

RECIPE = pathlib.Path(__file__).resolve().parents[2] / "docs/recipes/torchrun.md"


def recipe(name):
    """The block behind "`name`:" in the recipe, which is what users copy."""
    blocks = re.findall(r"^`([\w.]+)`:\n+```\w*\n(.*?)^```$", RECIPE.read_text(), re.M | re.S)
    # Debian's PyTorch 1.13 takes its own default of these two for None under Python 3.11, and dies of it
    return dict(blocks)[name].replace(" torchrun ", " torchrun --redirects=2 --tee=1 ")


@pytest.mark.parametrize("script, label", [("torchrun.sh", False), ("direct.sh", True)])
def test_all_reduce_over_two_hosts(cluster, workdir, script, label):
    cluster.write(f"{workdir}/train.py", recipe("train.py"))
    cluster.write(f"{workdir}/{script}", recipe(script))
    result = cluster.on("head", ["sbatch", "--parsable", "-o", "job.out", script], cwd=workdir, check=True)
    cluster.wait_job(int(result.stdout), timeout=150)
    output = cluster.read(f"{workdir}/job.out")
    said = sorted((json.loads(line) for line in re.findall(r'\{"rank".*\}', output)), key=lambda line: line["rank"])
    assert [line["rank"] for line in said] == [0, 1, 2, 3], output
    assert all(line["size"] == 4 and line["sum"] == 0 + 1 + 2 + 3 for line in said), output
    assert [line["local"] for line in said] == [0, 1, 0, 1], output
    assert len({line["host"] for line in said}) == 2 and said[0]["host"] == said[1]["host"], output
    assert cluster.on(
        "head", ["sacct", "-nXPj", result.stdout.strip(), "-o", "state"]).stdout == "COMPLETED\n"


def test_a_rank_that_fails_ends_all(cluster, workdir):
    """Soon, and nothing is left on either host. (torchrun itself waits 300 s for its peers then.)"""
    failing = recipe("train.py").replace("dist.init", "assert os.environ['RANK'] != '3' or os._exit(7)\ndist.init")
    cluster.write(f"{workdir}/train.py", failing)
    cluster.write(f"{workdir}/direct.sh", recipe("direct.sh"))
    result = cluster.on("head", ["sbatch", "--parsable", "-o", "job.out", "direct.sh"], cwd=workdir, check=True)
    cluster.wait_job(int(result.stdout), timeout=60)
    output = cluster.read(f"{workdir}/job.out")
    assert "task 3: Exited with exit code 7" in output, output
    # srun's code is the highest, 143 of those that were terminated; accounting keeps seven bits of it
    assert cluster.on("head", ["sacct", "-nXPj", result.stdout.strip(), "-o", "state,exitcode"]).stdout == "FAILED|15:0\n", output
    left = [process.args for host in cluster.exec_hosts for process in cluster.ps(host) if "train.py" in process.args]
    assert not left
