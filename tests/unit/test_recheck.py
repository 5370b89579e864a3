"""workflow/recheck.py, which finds a recorded value in a file of a commit."""

import runpy
import subprocess
from types import SimpleNamespace

import pytest
import yaml
from places import ROOT

from replicse.spec.record import load_record

RECHECK = SimpleNamespace(**runpy.run_path(str(ROOT / "workflow" / "recheck.py")))


def git(folder, *words):
    person = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", "-C", str(folder), *person, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def commits(tmp_path):
    """Create a clone of lab/code with two commits; return both hashes."""
    clone = tmp_path / "lab+code"
    clone.mkdir()
    git(clone, "init", "--quiet")
    (clone / "sheet.xlsx").write_bytes(b"75.30\0")
    found = []
    for score in ("avg 75.30 and 0.81234", "avg 76.10"):
        (clone / "scores.txt").write_text(score)
        git(clone, "add", ".")
        git(clone, "commit", "--quiet", "-m", score)
        found.append(git(clone, "rev-parse", "HEAD"))
    return found


@pytest.mark.parametrize(
    ("value", "place", "result"),
    [
        ("75.30", "{old}:scores.txt", "found"),
        ("81.23", "{old}:scores.txt", "found"),  # as a fraction in the file
        ("81.24", "{old}:scores.txt", "missing"),
        ("75.30", "scores.txt", "missing"),
        ("76.1", "scores.txt", "found"),
        ("76.10", "lost.txt", "not read"),
        ("75.30", "sheet.xlsx", "not read"),
    ],
)
def test_a_value_is_looked_up_at_its_commit(value, place, result, commits, tmp_path):
    old, new = commits
    settings = {"printed": {"encoder": "retrained", "read_off": "table", "as": "printed"}}
    source = {
        "who": "lab",
        "repository": "lab/code",
        "commit": new,
        "year": 2022,
        "code": "own",
        "settings": settings,
    }
    folder = tmp_path / "record"
    folder.mkdir()
    (folder / "lab.yaml").write_text(yaml.safe_dump(source))
    line = f"simcse/table5/unsup-simcse-bert-base/avg,printed,,{value},{place.format(old=old)}"
    (folder / "lab.csv").write_text(f"cell,setting,seed,value,place\n{line}\n")
    record = load_record(tmp_path)
    assert RECHECK.read_again(tmp_path, record, record.readings[0]) == result
