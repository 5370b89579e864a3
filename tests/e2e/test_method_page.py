"""Run the files and recipes of the page "A method in twenty lines"."""

import re
from pathlib import Path

import numpy as np
import pytest
from micro import sentences
from places import ROOT
from tiny_encoders import written

import replicse
from replicse.registry.plugins import use_plugins

PAGE = (ROOT / "docs" / "method-in-twenty-lines.md").read_text(encoding="utf-8")
CODE = re.compile(r"(?:^ {4}.*\n(?:\n+(?= ))?)+", re.MULTILINE)
FIRST, *SECTIONS = map(CODE.findall, PAGE.split("\n## "))
NAMES = [re.search(r"class (\w+)", code)[1] for code, _ in SECTIONS]


@pytest.mark.parametrize(("code", "recipe"), SECTIONS, ids=NAMES)
def test_each_method_is_twenty_lines_and_trains_another_encoder(code, recipe):
    written(Path("my-encoder"))
    lines = sentences(160)
    Path("sentences.txt").write_text("\n".join(lines))
    Path("plugins").mkdir()
    Path("plugins/mine.py").write_text(re.sub("^    ", "", code, flags=re.MULTILINE))
    Path("recipe.yaml").write_text(recipe)
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    try:
        names = {}
        exec(re.sub("^    ", "", FIRST[0], flags=re.MULTILINE), names)
        plain = replicse.train({**names["recipe"], **PLAIN}, lines, "my-encoder", "plain")
        assert not np.allclose(names["encoder"](lines), plain(lines), atol=1e-5)
    finally:
        use_plugins([])


# The settings replaced by the method.
PLAIN = {"objective": [{"term": "infonce"}], "order": "shuffled", "head": "mlp"}
PLAIN["pooling"] = {"train": "cls-head", "test": "cls"}
