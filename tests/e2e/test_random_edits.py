"""Random edits, losses and interruptions do not change the results.

Each job is replaced by a hash of all inputs, so the test detects if a job should have been run again.
REPLICSE_EDIT_ORDERS sets the number of random orders.
"""

import os
import random
import shutil
import sys
from pathlib import Path

import pytest
from snakemake_runs import copied, jobs, ran, snakemake

ORDERS = int(os.environ.get("REPLICSE_EDIT_ORDERS", "2"))
EDITS = 8
CONFIG = "data={source: local, root: placed}"
WORDS = ("--rerun-triggers", "mtime", "--config", "seeds=[0]", "papers={simcse: [table3]}", CONFIG)
WORDS = (*WORDS, "rows={simcse/table3: [p0.0, p0.1]}")
# A line of each module, and the stages whose output depends on the line.
CODE = {
    "training/loop.py": ("train",),
    "data/store.py": ("store",),
    "encoder/sentence.py": ("evaluate", "geometry"),
    "judge/values/measurements.py": ("tabulate",),
    "show/figures.py": ("figures",),
}
MARK = "\nMARK_OF_A_TEST = 1\n"
JOB = f"""
import hashlib
import json
import os
import random
import sys
from pathlib import Path

from replicse.compile.job import copy_of, output_place
from replicse.compile.copies import write_copy

CODE = {CODE!r}


def run(file):
    specification = json.loads(Path(file).read_text())
    stage, payload = specification["stage"], json.dumps(specification["payload"], sort_keys=True)
    read = [Path(each) for each in specification["inputs"]]
    read += [Path("src/replicse", module) for module, stages in CODE.items() if stage in stages]
    read += [each for each in Path("placed").rglob("*.*") if each.name in payload or stage == "evaluate"]
    if stage == "judge":
        read += [each for each in Path("workflow/papers").rglob("*.*") if each.suffix in (".yaml", ".csv", ".md")]
    content = hashlib.sha256((stage + payload).encode())
    for each in sorted(read):
        content.update(each.read_bytes())
    outputs = specification["outputs"]
    for output in map(Path, outputs):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(content.hexdigest())
        if random.random() < float(os.environ.get("FAILING", "0")):
            sys.exit(1)
    write_copy(copy_of(stage, output_place(stage, outputs)), specification)


if __name__ == "__main__":
    if sys.argv[1] == "job":
        run(sys.argv[2])
"""
# Run all jobs of the specifications without Snakemake.
FRESH = """
import json
import sys
from pathlib import Path

import yaml

sys.path.insert(0, "src")
from replicse.__main__ import run
from replicse.compile.workflow import prepare_study

config = yaml.safe_load(Path("config.yaml").read_text())
for word in sys.argv[1:]:
    key, _, value = word.partition("=")
    config[key] = yaml.safe_load(value)
_, specifications = prepare_study(config, Path.cwd(), Path("src").absolute(), True)
waiting = [job for job in specifications.jobs.values() if job.stage != "page"]
made = set()
makers = {file for job in waiting for file in job.outputs}
while waiting:
    ready = [job for job in waiting if made.issuperset(makers & set(job.inputs))]
    for job in ready:
        run(Path("results/micro/jobs", job.stage, job.id).as_posix().rstrip("/") + ".json")
        made.update(job.outputs)
    waiting = [job for job in waiting if job not in ready]
"""


class Workspace:
    """A copy of the checkout whose files are edited at random.

    Args:
        folder: Folder of the copy.
        seed: Seed of the random edits.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = copied(folder), random.Random(seed)
        (folder / "src/replicse/__main__.py").write_text(JOB)
        for name in ("wiki/wiki.txt", "downstream/STS/STSBenchmark/sts-dev.csv"):
            (folder / "placed" / name).parent.mkdir(parents=True)
            (folder / "placed" / name).write_text("a sentence of words\n" * 100)
        self.history: list[str] = []
        self.deleted: set[str] = set()
        self.edits = (
            self.edit_code, self.edit_data, self.edit_recipe, self.edit_printed, self.edit_claims,
            self.lose_metadata, self.copy_without_dates, self.delete_results, self.interrupt, self.touch,
        )  # fmt: skip

    def edit(self) -> None:
        chosen = self.random.choice(self.edits)
        self.history.append(f"{chosen.__name__} {chosen() or ''}")

    def toggle(self, file: str, before: str, after: str) -> None:
        """Edit a file, or revert the edit if the file has been edited before."""
        path = self.folder / file
        text = path.read_text()
        assert before in text or after in text
        path.write_text(text.replace(after, before, 1) if after in text else text.replace(before, after, 1))

    def edit_code(self) -> str:
        module = self.random.choice(list(CODE))
        path = self.folder / "src/replicse" / module
        text = path.read_text()
        path.write_text(text.removesuffix(MARK) if text.endswith(MARK) else text + MARK)
        return module

    def edit_data(self) -> str:
        file = self.random.choice(sorted((self.folder / "placed").rglob("*.*")))
        text, more = file.read_text(), "one more sentence\n"
        file.write_text(text.removesuffix(more) if text.endswith(more) else text + more)
        return file.name

    def edit_recipe(self) -> None:
        self.toggle("workflow/papers/simcse/recipes.yaml", "temperature: 0.05", "temperature: 0.06")

    def edit_printed(self) -> None:
        self.toggle(
            "workflow/papers/simcse/reported.csv",
            "table3,p0.1,stsb-dev,spearman,82.5",
            "table3,p0.1,stsb-dev,spearman,82.6",
        )

    def edit_claims(self) -> None:
        file = self.folder / "workflow/papers/simcse/claims.yaml"
        text, comment = file.read_text(), "# a comment\n"
        file.write_text(text.removesuffix(comment) if text.endswith(comment) else text + comment)

    def lose_metadata(self) -> None:
        shutil.rmtree(self.folder / ".snakemake", ignore_errors=True)

    def copy_without_dates(self) -> None:
        for name in ("results", "figures", "reports"):
            place = self.folder / name
            if place.is_dir():
                shutil.copytree(place, self.folder / "copy", copy_function=shutil.copyfile)
                shutil.rmtree(place)
                (self.folder / "copy").rename(place)

    def delete_results(self) -> str:
        files = sorted(each for each in (self.folder / "results").rglob("*.*") if each.is_file())
        files = [each for each in files if "jobs" not in each.parts]
        if not files:
            return ""
        lost = self.random.choice(files)
        lost.unlink()
        name = str(lost.relative_to(self.folder))
        self.deleted.add(name)
        return name

    def touch(self) -> str:
        files = sorted(
            each for each in self.folder.rglob("*.*") if each.is_file() and ".snakemake" not in each.parts
        )
        touched = self.random.choice(files)
        touched.touch()
        return str(touched.relative_to(self.folder))

    def interrupt(self) -> None:
        environment = {**os.environ, "FAILING": "0.1"}
        snakemake(self.folder, "--keep-going", "--rerun-incomplete", *WORDS, env=environment)

    def results(self) -> dict[str, str]:
        """Return the content of all results by path, except specifications."""
        found = {}
        for name in ("results", "figures", "reports"):
            for file in (self.folder / name).rglob("*.*"):
                parts = file.relative_to(self.folder).parts
                if file.is_file() and "jobs" not in parts and not file.name.endswith((".job", "job.json")):
                    found["/".join(parts)] = file.read_text()
        return found


@pytest.mark.parametrize("seed", range(ORDERS))
def test_after_edits_in_any_order_a_study_equals_a_fresh_one(tmp_path, seed):
    (tmp_path / "study").mkdir()
    workspace = Workspace(tmp_path / "study", seed)
    for _ in range(EDITS):
        workspace.edit()
        if workspace.random.random() < 0.3:
            snakemake(workspace.folder, "--rerun-incomplete", *WORDS)
            workspace.history.append("run")
    done = snakemake(workspace.folder, "--rerun-incomplete", *WORDS)
    assert done.returncode == 0, (workspace.history, done.stderr)
    assert jobs(snakemake(workspace.folder, "-n", *WORDS).stdout) == {}, workspace.history
    edited = workspace.results()
    for name in ("results", "figures", "reports", ".snakemake"):
        shutil.rmtree(workspace.folder / name)
    settings = WORDS[WORDS.index("--config") + 1 :]
    fresh = ran(sys.executable, "-c", FRESH, *settings, cwd=workspace.folder)
    assert fresh.returncode == 0, fresh.stderr
    expected = workspace.results()
    assert len(expected) > 20
    # Files that are no longer needed are not computed again.
    lost = expected.keys() - edited.keys()
    assert lost <= workspace.deleted, workspace.history
    for name in expected.keys() - lost:
        assert edited[name] == expected[name], (name, workspace.history)
