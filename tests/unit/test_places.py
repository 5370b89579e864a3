"""Tests are next to the code that they test, and ignore other studies."""

from pathlib import Path

from places import CHECKOUT, ROOT, linked

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
