"""A single edit of a finished study gives the same results as a fresh study.

All jobs are real. An edit takes about a minute, so REPLICSE_SINGLE_EDITS selects edits: `all`, or names with commas
between them. Default: the edit of a loss.
"""

import json
import os
import re
import shutil
import sys
from functools import partial

import edited_study
import numpy as np
import pytest
import small_study
from safetensors.numpy import load_file, save_file
from snakemake_runs import ran

SOURCE, PAPER, OWN = "src/replicse", edited_study.WHERE, "models/own"
RESULTS = ("results", "figures", "reports")
# Texts that are replaced once, by edit: the file, the text and the new text.
TEXTS = {
    "linear schedule": (
        f"{SOURCE}/registry/procedures.py",
        "(steps - step) / steps",
        "(steps - step) / (2 * steps)",
    ),
    "constant schedule": (f"{SOURCE}/registry/procedures.py", "return 1.0\n", "return 0.5\n"),
    "cosine schedule": (f"{SOURCE}/registry/procedures.py", "step / steps)) / 2", "step / steps)) / 3"),
    "loss": (f"{SOURCE}/objective/infonce.py", "dim=1) / params", "dim=1) / 2 / params"),
    "optimiser": (f"{SOURCE}/training/optimiser.py", "betas=parameters.betas", "betas=(0.5, 0.5)"),
    "stage tokenizer": (f"{SOURCE}/cli/stages/tokenizer.py", "job.size, job.low", "job.size // 4, job.low"),
    "stage store": (
        f"{SOURCE}/cli/stages/store.py",
        'columns[view["column"]], None',
        'columns[view["column"]][::-1], None',
    ),
    "stage evaluate": (
        f"{SOURCE}/cli/stages/evaluate.py",
        "pack_pairs(*sides)",
        "pack_pairs(0.5 * sides[0], sides[1])",
    ),
    "library, encoders": (f"{SOURCE}/library/encoders.py", "request.max_length, device", "5, device"),
    "library, training": (f"{SOURCE}/library/training.py", '"stores": stores', '"stores": {}'),
    "STS": (f"{SOURCE}/evaluation/sts.py", "else 100 * together", "else 99 * together"),
    "geometry": (f"{SOURCE}/evaluation/geometry.py", "POSITIVE_ABOVE = 4.0", "POSITIVE_ABOVE = 3.0"),
    "probe": (f"{SOURCE}/evaluation/linear_probe.py", "MAX_PASSES = 200", "MAX_PASSES = 1"),
    "statistics": (f"{SOURCE}/registry/levels.py", "LEVEL = 0.95", "LEVEL = 0.9"),
    "figure": (f"{SOURCE}/show/planes.py", '"s": 22', '"s": 44'),
    "page": (f"{SOURCE}/show/content/numbers.py", "DECIMALS = 2", "DECIMALS = 3"),
    "row": (f"{PAPER}/tables/table1.yaml", "label: glove", "label: GloVe"),
    "claim": (f"{PAPER}/claims.yaml", "op: '>'", "op: '<'"),
    "method of a paper": (f"{PAPER}/method.py", "* 1.0", "* 4.0"),
    "printed number": (f"{PAPER}/reported.csv", "25.5", "35.5"),
    "recipe": (f"{PAPER}/recipes.yaml", "weight: 0.5", "weight: 0.75"),
    "scale": (f"workflow/scales/{edited_study.SCALE}.yaml", "steps: 10", "steps: 12"),
    "seeds": ("config.yaml", "seeds:\n- 0", "seeds:\n- 0\n- 1"),
    "rows": ("config.yaml", "scale:", "rows: {mine/table1: [ours, glove]}\nscale:"),
    "own corpus": (f"{PAPER}/own.csv", "\n", "\na new sentence of the corpus\n"),
    "own set": (f"{PAPER}/rated.csv", ",0\n", ",5\n"),
    "corpus of the data root": ("placed/wiki/wiki.txt", "the", "they"),
    "word vectors": ("placed/vectors/glove.txt", " 0.", " 1."),
    "pooling of an encoder": (f"{OWN}/1_Pooling/config.json", "mean_tokens", "max_tokens"),
    "plug-in": ("pull.py", "* 1.0", "* 3.0"),
    "module next to a plug-in": ("pull_helper.py", "FACTOR = 2.0", "FACTOR = 20.0"),
}
# Files of the results that are lost or damaged, and inputs that are only touched.
LOST = {
    "lost evaluation": "results/*/encoders/*/sets.json",
    "lost figure": "figures/*/mine/table1.svg",
    "lost report": "reports/*/report.html",
    "lost metadata of Snakemake": ".snakemake",
}
DAMAGED = {
    "damaged evaluation": "results/*/encoders/*/fast.json",
    "damaged item": "results/*/items/mine/table1.json",
    "damaged weights": "results/*/runs/infonce*/best/model.safetensors",
}
TOUCHED = {"touched code": f"{SOURCE}/training/loop.py", "touched data": "placed/wiki/wiki.txt"}
NAMES = [
    *TEXTS,
    "tokenizer of an encoder",
    "weights of an encoder",
    "encoder of the scale",
    *LOST,
    *DAMAGED,
    *TOUCHED,
]
ASKED = os.environ.get("REPLICSE_SINGLE_EDITS", "loss")
CHOSEN = [name for name in NAMES if ASKED == "all" or name in ASKED.split(",")]
# Run all jobs of a study in forks of a single process.
FRESH = """
import os
import sys
from pathlib import Path

import yaml

import replicse.library.evaluation
import replicse.library.training
from replicse.cli import main
from replicse.compile.workflow import prepare_study

config = yaml.safe_load(Path("config.yaml").read_text())
_, specifications = prepare_study(config, Path.cwd(), Path("src").absolute(), True)
waiting = [job for job in specifications.jobs.values() if job.stage != "page"]
made = set()
makers = {file for job in waiting for file in job.outputs}
while waiting:
    for job in [job for job in waiting if made.issuperset(makers & set(job.inputs))]:
        child = os.fork()
        if not child:
            os._exit(main(["job", str(specifications.place(job)), "--threads", "1"]))
        if os.waitpid(child, 0)[1]:
            sys.exit(f"{job} failed")
        made.update(job.outputs)
        waiting.remove(job)
"""
# Facts about a computation that differ between two equal runs.
VARYING = {
    "code",
    "cpu_seconds",
    "sentences_per_second",
    "written",
    "commit",
    "cost",
    "dirty",
    "generated",
    "package_sha256",
    "packages",
    "pid",
    "seconds",
    "date",
}
VARYING_TEXT = re.compile(
    r'<svg class="waterfall".*?</svg>|Training and evaluation took.*?(?=</li>|</p>|\n)'
    r"|\d{4}-\d\d-\d\d[T ]?[\d:]*|,[0-9a-f]{12}([ |]+[0-9a-f]{12})*(?=[,\n])",
    re.DOTALL,
)


def without_varying(document):
    """Return JSON data without the keys of VARYING."""
    if isinstance(document, dict):
        return {key: without_varying(value) for key, value in document.items() if key not in VARYING}
    return list(map(without_varying, document)) if isinstance(document, list) else document


def read(file):
    """Return the content of a result without facts that vary."""
    if file.suffix == ".json":
        return without_varying(json.loads(file.read_bytes()))
    if file.suffix in (".csv", ".html", ".md", ".pdf", ".svg", ".tex"):
        return VARYING_TEXT.sub("", file.read_text(encoding="latin-1"))
    return file.read_bytes()


def results(folder):
    """Return the results of a study by path, without specifications and locks."""
    found = {}
    for name in RESULTS:
        for file in (folder / name).rglob("*.*"):
            parts = file.relative_to(folder).parts
            skipped = {"jobs", "partial", "state"} & {*parts}
            if file.is_file() and not skipped and not file.name.endswith((".job", ".lock", "job.json")):
                found["/".join(parts)] = read(file)
    return found


def fresh(folder):
    """Run a study again from the start; return the results."""
    for name in (*RESULTS, ".snakemake", "logs"):
        shutil.rmtree(folder / name, ignore_errors=True)
    # Snakemake sets the number of threads of its jobs, which is part of their provenance.
    threads = {"MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    forks = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
    environment = small_study.environment(folder) | threads | forks
    done = ran(sys.executable, "-c", FRESH, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return results(folder)


def swap_tokens(folder):
    """Exchange pairs of tokens of the own encoder."""
    file = folder / OWN / "tokenizer.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    vocabulary = document["model"]["vocab"]
    words = sorted(word for word in vocabulary if len(word) > 4 and not word.startswith("["))
    for one, other in zip(words[:60:2], words[1:60:2], strict=True):
        vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
    file.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def reverse_embeddings(place, folder):
    """Reverse the order of the word embeddings of an encoder."""
    file = folder / place / "model.safetensors"
    tensors = load_file(file)
    name = next(name for name in tensors if "word_embeddings" in name)
    save_file({**tensors, name: np.ascontiguousarray(tensors[name][::-1])}, file, {"format": "pt"})


ENCODERS = {
    "tokenizer of an encoder": swap_tokens,
    "weights of an encoder": partial(reverse_embeddings, OWN),
    "encoder of the scale": partial(reverse_embeddings, "placed/models/placed"),
}


def edit(folder, name):
    """Apply an edit to a study."""
    if name in TEXTS:
        place, before, after = TEXTS[name]
        text = (folder / place).read_text(encoding="utf-8")
        assert before in text
        (folder / place).write_text(text.replace(before, after, 1), encoding="utf-8")
    elif name in ENCODERS:
        ENCODERS[name](folder)
    elif name in TOUCHED:
        (folder / TOUCHED[name]).touch()
    else:
        file = min(folder.glob((LOST | DAMAGED)[name]))
        if name in DAMAGED:
            content = bytearray(file.read_bytes())
            content[-len(content) // 3] ^= 1
            file.write_bytes(content)
        elif file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink()


def run(folder):
    """Run a study; delete damaged files named in an error, and run it again."""
    done = small_study.run(folder)
    if damaged := set(
        re.findall(r"(results/\S+): changed since its job wrote it; delete it", done.stderr + done.stdout)
    ):
        for file in damaged:
            (folder / file).unlink()
        done = small_study.run(folder)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Run the study; return its folder, a copy of the folder, and the results."""
    folder = edited_study.write_study(tmp_path_factory.mktemp("edited") / "study")
    done = small_study.run(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copytree(folder, folder.with_name("finished"), symlinks=True)
    return folder, folder.with_name("finished"), results(folder)


@pytest.mark.parametrize("name", CHOSEN)
def test_after_an_edit_a_study_equals_a_fresh_one(finished, name):
    folder, copy, before = finished
    shutil.rmtree(folder)
    shutil.copytree(copy, folder, symlinks=True)
    edit(folder, name)
    changes = name in TEXTS or name in ENCODERS
    status = [sys.executable, "-m", "replicse", "status"]
    said = ran(*status, cwd=folder, env=small_study.environment(folder)).stdout
    assert not changes or "complete; next" not in said or "using the config of the run" in said, said
    run(folder)
    edited = results(folder)
    expected = fresh(folder) if changes else before
    assert (expected != before) == changes, "the edit changes a result"
    assert expected.keys() <= edited.keys()
    assert [path for path in expected if edited[path] != expected[path]] == []
