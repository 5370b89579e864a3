"""The words of docs/style.md: each kind of text for users is read, and none of them holds a word that is replaced."""

import runpy
import shutil
from pathlib import Path

import pytest
import yaml
from places import CHECKOUT, ROOT

CHECK = runpy.run_path(str(CHECKOUT / "docs" / "check_words.py"))

PLANTED = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "style.md", tmp_path / "docs")
    return tmp_path


def test_no_text_for_users_holds_a_word_that_is_replaced():
    assert list(CHECK["found"](CHECKOUT)) == []


@pytest.mark.parametrize(("name", "text"), PLANTED.items(), ids=str)
def test_a_planted_word_is_found_in_every_kind_of_text(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    found = list(CHECK["found"](folder))
    assert found and all(line.startswith(f"{name}:") for line in found)


def test_code_names_and_data_are_no_text(folder):
    (folder / "README.md").write_text("`beside` is a key.\n\n    stands\n\n```\nwhole\n```\n")
    (folder / "workflow/papers/mine").mkdir(parents=True)
    (folder / "workflow/papers/mine/protocols.yaml").write_text("# what stands here\n- {id: whole-words}\n")
    (folder / "src/replicse/world").mkdir(parents=True)
    (folder / "src/replicse/world/a.py").write_text('S = "he stands behind it"\n')
    (folder / "src/replicse/a.py").write_text('beside = {"beside": 1, "whole": "a whole number"}\n')
    assert list(CHECK["found"](folder)) == []


def test_a_word_is_named_with_its_line_and_what_to_write_instead(folder):
    (folder / "README.md").write_text("One.\n\nDo it by hand.\n")
    assert list(CHECK["found"](folder)) == ['README.md:3: "by hand": write manually']
