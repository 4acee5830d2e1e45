# SPDX-License-Identifier: Apache-2.0
"""Who may include whom. Includes are written from the root, so every one of them can be judged by its text."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)

# folder -> folders that it may include, besides itself
ALLOWED = {
    "common": set(),
    "conf": {"common"},
    "ocs": {"common", "conf"},
    "translate": {"common", "conf", "ocs"},
    "launcher": {"common", "ocs"},
    "preload": set(),
    "docs": {"common", "conf"},
}
# files of another folder that are nobody's code, only a list
LISTS = {"preload": {"common/commands.def"}}
# library header -> the files that may include it
LIBRARIES = {
    "libconfig.h": ["conf/"],
    "uthash.h": ["common/hash.h"],
    "jansson.h": ["ocs/", "translate/"],
    "expat.h": ["ocs/"],
    "sodium.h": ["launcher/", "ocs/", "common/"],
    "dlfcn.h": ["preload/"],
}


def sources(folder):
    return sorted(f for f in (ROOT / folder).rglob("*") if f.suffix in (".c", ".h", ".def"))


def includes(path):
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def wrong_includes(folder, name, found):
    """Texts of what file `name` of `folder` may not include, of its includes (a list of (quote, target))."""
    wrong = []
    for quote, target in found:
        if quote == "<":
            allowed = LIBRARIES.get(target)
            if allowed and not any(name.startswith(place) for place in allowed):
                wrong.append(f"{name} includes <{target}>, which is for {', '.join(allowed)}")
            continue
        if "/" not in target:
            wrong.append(f"{name} includes \"{target}\": write it from the root")
            continue
        where = target.split("/")[0]
        if where != folder and where not in ALLOWED[folder] and target not in LISTS.get(folder, ()):
            wrong.append(f"{name} includes \"{target}\": {folder}/ may not include {where}/")
    return wrong


@pytest.mark.parametrize("folder", ALLOWED)
def test_layers(folder):
    files = sources(folder)
    wrong = []
    for path in files:
        wrong += wrong_includes(folder, str(path.relative_to(ROOT)), includes(path))
    assert files and not wrong


def test_the_check_sees_each_kind_of_breach():
    assert wrong_includes("translate", "translate/x.c", [('"', "launcher/tree.h")])
    assert wrong_includes("launcher", "launcher/x.c", [('"', "translate/opt.h")])
    assert wrong_includes("launcher", "launcher/x.c", [('"', "conf/conf.h")])
    assert wrong_includes("common", "common/x.c", [('"', "ocs/engine.h")])
    assert wrong_includes("preload", "preload/x.c", [('"', "common/strbuf.h")])
    assert wrong_includes("translate", "translate/x.c", [("<", "libconfig.h")])
    assert wrong_includes("conf", "conf/x.c", [('"', "conf.h")])
    assert not wrong_includes("preload", "preload/x.c", [('"', "common/commands.def"), ("<", "errno.h")])


def test_every_source_is_built():
    """A file that no module.mk names is dead, or its test never runs."""
    listed = "".join(f.read_text(encoding="utf-8") for f in ROOT.glob("*/module.mk"))
    names = {name.lstrip("/") for name in re.findall(r"[\w/]+(?=\.[co]\b)", listed)}
    missing = [str(f.relative_to(ROOT)) for folder in ALLOWED for f in sources(folder)
               if f.suffix == ".c" and str(f.relative_to(ROOT).with_suffix("")) not in names]
    # programs of one file are named by the rule `$(BUILD)/%: $(BUILD)/launcher/%.o`
    programs = {f"launcher/{name}.c" for name in re.findall(r"\$\(BUILD\)/(\w+)", listed)}
    assert not set(missing) - programs
