# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the live tests. Needs root: hosts are namespaces."""

import re
import tempfile

import pytest

from tests.live.cluster import Cluster


@pytest.fixture(scope="session")
def cluster():
    """Three execution hosts with our build on them; left up, so that the next run starts at once."""
    return Cluster().up(3)


@pytest.fixture
def workdir(cluster, request):
    """A new folder in alice's home, named after the test; stays there to be looked at."""
    home = cluster.home("alice")
    name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name)[:60].strip("-")
    unique = tempfile.mkdtemp(prefix=f"{name}-", dir=cluster.outside(home)).rpartition("/")[2]
    path = f"{home}/{unique}"
    cluster.give(path, "alice")
    return path
