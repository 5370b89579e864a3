"""The words of docs/style.md: each kind of text for users is read, and none of them holds a word that is replaced."""

import runpy
import shutil

import pytest
from places import CHECKOUT, ROOT

CHECK = runpy.run_path(str(CHECKOUT / "docs" / "check_words.py"))

# Files in which a word is planted: one of each kind of text, and what is read of a module of Python.
PLANTED = {
    "README.md": "Text.\n\nIt is told beside a cell.\n",
    "docs/page.md": "# Page\n\n    code\n\nA run that is whole.\n",
    "reports/studies/mine/README.md": "The file stood here.\n",
    "workflow/papers/mine/deviations.md": "Download it by hand.\n",
    "workflow/papers/mine/tables/table1.yaml": "notes:\n  - It stands beside ours.\n",
    "src/replicse/skeletons/paper/claims.yaml": "# what is held against print\n",
    "src/replicse/show/formats/templates/a.html.j2": "<p>{{ x }} stands here</p>\n",
    "src/replicse/a.py": 'raise BadInput(f"{file}: {line}; mend the line")\n',
    "src/replicse/b.py": 'def f():\n    """Return it.\n\n    Begun anew.\n    """\n',
    "src/replicse/world/a.py": '"""What stands here."""\n',
    "examples/a.ipynb": '{"cells": [{"cell_type": "markdown", "source": ["It stands ", "here."]}]}',
}


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
