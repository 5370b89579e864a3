"""Tests stand where what they test stands, and none sees what studies wrote into the checkout."""

import subprocess
import sys
from pathlib import Path

import pytest
from places import CHECKOUT, ROOT, linked
from planted import TEXT, plant, remove

STUDY = (
    "results/micro/cells.csv",
    "logs/micro/judge.log",
    "figures/micro/a.svg",
    "reports/micro/report.html",
)


def test_unit_tests_stand_in_folders_named_as_the_rooms():
    unit, package = ROOT / "tests/unit", ROOT / "src/replicse"
    folders = {file.parent.relative_to(unit) for file in unit.rglob("test_*.py")}
    assert len(folders) > 10
    rooms = {folder for folder in folders if (package / folder / "__init__.py").is_file()}
    assert folders - rooms == {Path("papers")}, "methods of papers lie in workflow/papers"


def seen(folder):
    return [name for name in STUDY if (folder / name).parent.exists()]


def test_a_test_works_outside_of_the_checkout_and_finds_no_study_there(tmp_path):
    assert Path.cwd() not in (CHECKOUT, ROOT) and not seen(Path.cwd()) and not seen(ROOT)
    for name in (*STUDY, ".snakemake/log", "reports/studies/kept/cells.csv", "figures/studies/a.svg"):
        (tmp_path / "checkout" / name).mkdir(parents=True)
    (tmp_path / "checkout" / "config.yaml").touch()
    (tmp_path / "linked").mkdir()
    folder = linked(tmp_path / "linked", tmp_path / "checkout")
    assert not seen(folder) and not (folder / ".snakemake").exists()
    assert (folder / "config.yaml").exists() and (folder / "reports/studies/kept/cells.csv").exists()


@pytest.fixture(scope="module")
def shared():
    return Path.cwd()


def test_what_several_tests_share_is_made_outside_too(shared):
    assert shared == ROOT
    where = [sys.executable, "-c", "import os; print(os.getcwd())"]
    assert subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip() == str(Path.cwd())


def test_planted_files_are_beside_what_there_is_and_go_again(tmp_path, monkeypatch):
    monkeypatch.setattr("planted.places", lambda: iter(STUDY))
    own = tmp_path / STUDY[0]
    own.parent.mkdir(parents=True)
    own.write_text("a user's\n")
    plant(tmp_path)
    assert [(tmp_path / name).read_text() for name in STUDY] == ["a user's\n", TEXT, TEXT, TEXT]
    remove(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [own]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]
