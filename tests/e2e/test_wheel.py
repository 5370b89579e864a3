"""The wheel in an environment without the checkout.

A new workspace runs a paper that is not in the package.
"""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile

from places import ROOT
from snakemake_runs import ran

from replicse.files import read_rows

LARGEST = 3_000_000  # bytes
EXTENSIONS = {
    "term": "far-apart",
    "augmentation": "say-twice",
    "pooling": "by-position",
    "suite": "anisotropy",
}
OWN = ("own", "far", "twice", "position")
RECIPES = """
own: {like: unsup, corpus: own}
far: {like: unsup, objective: [{term: infonce}, {term: far-apart, weight: 0.5}]}
twice: {like: unsup, views: [{column: text}, {column: text, augment: {name: say-twice}}]}
position: {like: unsup, pooling: {train: by-position, test: {pooling: by-position, power: 2}}}
"""
STUDY = """\
papers: {mine: all, diffcse: [table8], esimcse: [parts]}
rows: {diffcse/table8: [lambda-0.005], esimcse/parts: [esimcse]}"""
COLUMNS = """\
  - {id: direction, label: Mean cosine, metric: cosine, metric_path: anisotropy/mean_cosine}
  - {id: rated, label: Rated pairs, metric_path: sets/rated/spearman/all}
"""
SPREAD = """
from replicse.compile.compiler import compile_study
from replicse.compile.item_plan import find_spread
from replicse.workspace import workflow_folder

plan = compile_study({"scale": "paper", "papers": {"mine": "all"}, "seeds": [0]}, workflow_folder())
cells = {(cell.row.id, cell.column.id): cell for cell in plan.cells["mine/table1"]}
print(find_spread(plan, cells["unsup", "avg"]).sd)
"""


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
    # Dependencies are loaded from this environment, except the editable installation, whose .pth file is not
    # used.
    (library / "needed.pth").write_text(sysconfig.get_path("purelib"))
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "REPLICSE_WORKFLOW")}
    workspace.mkdir()

    def replicse(*words, code=0, start=("-m", "replicse")):
        done = ran(python, *start, *words, cwd=workspace, env=kept)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def would_run():
        (line,) = (line for line in replicse("run", "--dry-run").splitlines() if " jobs: " in line)
        return line

    assert replicse("--version").split() == ["replicse", wheel.name.split("-")[1]]
    assert "| `learning_rate` | number" in replicse("help", "formats")
    replicse("init")
    replicse("init", "paper", "mine")
    for kind, name in EXTENSIONS.items():
        assert f"tests/test_{name.replace('-', '_')}.py" in replicse("init", kind, name)
    words = ("-q", "-p", "no:cacheprovider", "tests")
    assert f"{len(EXTENSIONS)} passed" in replicse(*words, start=("-m", "pytest"))
    table = write_paper(workspace / "papers" / "mine")
    assert "ok: 1 paper," in replicse("validate")
    # The workspace's paper, and a row that uses the complete method of two papers.
    config = workspace / "config.yaml"
    config.write_text(config.read_text().replace("papers: all", STUDY))
    assert "reports/micro/report.html" in replicse("run", "--cores", "2")
    assert_reported(workspace, replicse)

    assert "Nothing to be done" in replicse("run", "--dry-run")
    kept_table, kept_loss = table.read_text(), (workspace / "plugins" / "far_apart.py").read_text()
    table.write_text(kept_table + "One line more.\n")
    # Only jobs that use the table are run again; each of the three groups of suites is a job.
    assert "prepare 1, train 1, evaluate 3" in would_run()
    table.write_text(kept_table)
    loss = workspace / "plugins" / "far_apart.py"
    loss.write_text(f"# A comment is no change.\n{kept_loss}")
    assert "Nothing to be done" in replicse("run", "--dry-run")
    loss.write_text(kept_loss.replace("Positive = 0.2", "Positive = 0.3"))
    assert "jobs: train 1, evaluate 3," in would_run()
    loss.unlink()
    (told,) = replicse("run", code=2).splitlines()
    assert told == (
        'replicse run: plug-in "plugins/far_apart.py": the file or folder does not exist; put it back, or remove it'
        " from plugins in config.yaml and from the papers that use it"
    )


def write_paper(folder):
    """Add a corpus and a dataset to the skeleton's table; return the corpus."""
    table = folder / "own.csv"
    lines = (f"The {word} of line {n}.\n" for n in range(99) for word in ("end", "cat"))
    table.write_text("".join(["sentence\n", *lines]))
    own = "corpora:\n  own: {format: table, file: papers/mine/own.csv, text: sentence}\n"
    (folder / "corpora.yaml").write_text(own)
    rated = "".join(f"The cat of line {n}.,The dog of line {n * n % 7}.,{n % 6}\n" for n in range(40))
    (folder / "rated.csv").write_text(f"left,right,rating\n{rated}")
    (folder / "sets.yaml").write_text(
        "sets:\n  rated: {file: papers/mine/rated.csv, first: left, second: right, score: rating, range: [0, 5]}\n"
    )
    with (folder / "recipes.yaml").open("a") as recipes:
        recipes.write(RECIPES)
    file = folder / "tables" / "table1.yaml"
    rows = "".join(f"  - {{id: {name}, label: With {name}, encoder: {{use: {name}}}}}\n" for name in OWN)
    text = file.read_text().replace("  - {id: cold, label: Temperature 0.01, encoder: {use: cold}}\n", "")
    file.write_text(text.replace("# The row that", f"{COLUMNS}# The row that") + rows)
    return table


def assert_reported(workspace, replicse):
    """Check the item, `why`, the claims and the provenance."""
    assert "76.25 → " in replicse("show", "mine/table1")
    cells = json.loads(replicse("show", "mine/table1", "--json"))["item"]["cells"]
    # At scale paper, the parent recipe has a standard deviation that another paper published.
    assert float(replicse(start=("-c", SPREAD))) > 0
    for column in ("direction", "rated"):
        values = [cell["reproduced"] for cell in cells if cell["column"] == column]
        assert len(values) == 6
        for value in values:
            assert -100 <= value <= 100
    assert "printed     76.25" in replicse("why", "mine/table1/unsup/avg")
    for item in ("diffcse/table8", "esimcse/parts"):
        rows = read_rows(workspace / "results/micro/tables" / f"{item}.csv")
        assert any(-100 <= float(row["reproduced"]) <= 100 for row in rows)
    pages = "".join(file.read_text() for file in (workspace / "reports/micro").rglob("*.html"))
    assert "Mean cosine" in pages and "Dropout as augmentation is better than none." in pages
    claims = replicse("claims")
    assert "not comparable" in claims and "dropout-helps" in claims
    replicse("show", "simcse/table3", "--study", "compact")
    used = {}
    for file in sorted((workspace / "results/micro/runs").glob("*/provenance.json")):
        record = json.loads(file.read_text())
        names = [each["name"] for each in record.get("plugins", ())]
        used[record["job"]["run"]["objective"][-1]["term"]] = names
    assert used["far-apart"] == ["plugins/far_apart.py"] and used["mlm"] == []
