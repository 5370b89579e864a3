"""The wheel in an environment without the checkout: a workspace of its own runs a paper of its own."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile

from places import ROOT

LARGEST = 3_000_000  # bytes


def test_the_wheel_is_whole(tmp_path):
    wheels, environment, workspace = tmp_path / "wheels", tmp_path / "environment", tmp_path / "workspace"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, ROOT], check=True)
    (wheel,) = wheels.iterdir()
    assert wheel.stat().st_size < LARGEST
    names = zipfile.ZipFile(wheel).namelist()
    assert "replicse/workflow/rules/common.smk" in names and not any(name.endswith(".pyc") for name in names)

    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    library = next(environment.glob("lib/*/site-packages"))
    subprocess.run([*pip, "install", "--no-deps", "--target", library, wheel], check=True)
    # What the package needs is taken from here; an editable installation is not, for its .pth is not read.
    (library / "needed.pth").write_text(sysconfig.get_path("purelib"))
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "REPLICSE_WORKFLOW")}
    workspace.mkdir()

    def replicse(*words):
        done = subprocess.run(
            [python, "-m", "replicse", *words],
            cwd=workspace,
            env=kept,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    replicse("init")
    replicse("new", "paper", "mine")
    folder = workspace / "papers" / "mine"
    table = folder / "own.csv"
    table.write_text(
        "sentence\n" + "".join(f"The {word} of line {n}.\n" for n in range(99) for word in ("end", "cat"))
    )
    (folder / "corpora.yaml").write_text(
        "corpora:\n  own: {format: table, file: papers/mine/own.csv, text: sentence}\n"
    )
    with (folder / "recipes.yaml").open("a") as recipes:
        recipes.write("\nown: {like: unsup, corpus: own}\n")
    with (folder / "tables" / "table1.yaml").open("a") as rows:
        rows.write("  - {id: own, label: My sentences, encoder: {use: own}}\n")
    replicse("validate")
    assert "reports/micro/mine/table1.html" in replicse("run", "mine", "--cores", "2")
    assert "76.25 → " in replicse("show", "mine/table1")
    assert "printed     76.25" in replicse("why", "mine/table1/unsup/avg")
    assert "not comparable" in replicse("claims")
    replicse("show", "simcse/table3", "--study", "compact")

    assert "Nothing to be done" in replicse("run", "mine", "--dry-run")
    table.write_text(table.read_text() + "One line more.\n")
    # What reads the table, and nothing else.
    assert "5 jobs: prepare 1, train 1, evaluate 1" in replicse("run", "mine", "--dry-run")
