# SPDX-License-Identifier: Apache-2.0
"""Large clients, by `make check-clients` alone: the cluster is that of the live tests."""

import pathlib
import shutil
import subprocess

import pytest

from tests.live.conftest import cluster, workdir  # noqa: F401  (fixtures)

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def from_pypi(cluster):  # noqa: F811
    """A function that gives the folder where every host finds these pinned packages. Fetched once, into build/."""

    def fetch(*packages):
        store = ROOT / "build/venv" / packages[0].replace("==", "-")
        if not (store / "done").exists():
            shutil.rmtree(store, ignore_errors=True)
            subprocess.run(["/usr/bin/python3", "-m", "venv", store / "venv"], check=True)
            subprocess.run([store / "venv/bin/pip", "-q", "install", "--disable-pip-version-check", "--target", store / "packages",
                            *packages], check=True)
            (store / "done").touch()
        shared = cluster.state / "python" / store.name
        if not shared.exists():
            shutil.copytree(store / "packages", shared)
        return str(shared)

    return fetch
