"""A rehearsal of the paper scale, from empty caches to verdicts.

Everything is small, but no step is left out. `fetch` looks up the commits on a local hub and downloads the
files that the items need; the hub fails once in the middle. Then the study runs without network: bf16 under
autocast, three seeds, intervals, verdicts, claims, adjudication shares, and a released checkpoint next to the
retrained one.
"""

import io
import json
import os
import re
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from fake_hub import FakeHub
from snakemake_runs import copied, ran

from replicse.data.corpora import read_corpus
from replicse.data.hub import SIMCSE_DATA, SIMCSE_REVISION
from replicse.data.sets import recorded_sets
from replicse.data.tokenizer import train_tokenizer
from replicse.files import read_rows
from replicse.world.world import write_world

BERT, SIMCSE = "bert-base-uncased", "princeton-nlp/unsup-simcse-bert-base-uncased"
SNLI, MULTINLI = "stanfordnlp/snli", "nyu-mll/multi_nli"
ITEMS = {"simcse/table5": ["unsup-simcse-bert-base", "bert-base-whitening"], "repro/table4": ["none"]}
VARIANT = "last-checkpoint"
LABELS = ["entailment", "neutral", "contradiction"]
CARD = """---
configs:
- config_name: plain_text
  data_files:
  - {split: train, path: plain_text/train-*}
  - {split: validation, path: plain_text/validation-*}
  - {split: test, path: plain_text/test-*}
---
"""
# No part of a study may use the network, so Python should import this first.
NO_NETWORK = """\
import socket

def connect(self, address, _connect=socket.socket.connect):
    if self.family != socket.AF_UNIX:
        raise OSError(f"the rehearsal runs without network, but {address} was asked for")
    return _connect(self, address)

socket.socket.connect = connect
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Create the embedded data in the layout of the real datasets."""
    root = tmp_path_factory.mktemp("world")
    write_world(root)
    return root


@pytest.fixture(scope="module")
def hub(world, tmp_path_factory):
    """Create a local hub with the generated datasets and two tiny encoders.

    The datasets have the names of the real datasets.
    """
    fake, folder = FakeHub(), tmp_path_factory.mktemp("hub")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(world / "SentEval" / "downstream", "downstream")
    files = {
        "wiki1m_for_simcse.txt": (world / "wiki" / "wiki.txt").read_bytes(),
        "nli_for_simcse.csv": (world / "nli" / "nli_triples.csv").read_bytes(),
        "senteval.tar": archive.getvalue(),
    }
    fake.put("dataset", SIMCSE_DATA, SIMCSE_REVISION + "1" * 33, files)
    lines = (world / "nli" / "nli.jsonl").read_text(encoding="utf-8").splitlines()
    rows = list(map(json.loads, lines))
    cut = {"train": rows[:2000], "validation": rows[2000:2400], "test": rows[2400:2800]}
    snli = {f"plain_text/{split}-0.parquet": parquet(part, folder) for split, part in cut.items()}
    fake.put("dataset", SNLI, "2" * 40, {**snli, "README.md": CARD})
    fake.put("dataset", MULTINLI, "3" * 40, {"data/train-0.parquet": parquet(rows[2800:4800], folder)})
    for name, commit, seed in ((BERT, "4" * 40, 0), (SIMCSE, "5" * 40, 1)):
        fake.put("model", name, commit, encoder(world, folder / commit, seed))
    return fake


def parquet(rows, folder):
    import datasets

    label = datasets.ClassLabel(names=LABELS)
    kinds = {"premise": datasets.Value("string"), "hypothesis": datasets.Value("string"), "label": label}
    keys = dict(zip(kinds, ("sentence1", "sentence2", "gold_label"), strict=True))
    columns = {}
    for name, key in keys.items():
        columns[name] = [row[key] for row in rows]
    columns["label"] = list(map(LABELS.index, columns["label"]))
    made = datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))
    made.to_parquet(folder / "rows.parquet")
    return (folder / "rows.parquet").read_bytes()


def encoder(world, folder, seed):
    """Return the files of a tiny BERT by name.

    Only the first encoder has safetensors and tokenizer.json; the second has older formats.
    """
    import torch
    import transformers

    torch.manual_seed(seed)
    lines = read_corpus(world, {"format": "lines", "file": "wiki/wiki.txt", "limit": 3000})["text"]
    tokenizer = train_tokenizer("wordpiece", lines, 1000, True)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=64, initializer_range=0.3, **sizes
    )
    model = transformers.BertForMaskedLM(config) if seed == 0 else transformers.BertModel(config)
    model.save_pretrained(folder)
    config = (folder / "config.json").read_bytes()
    if seed == 0:
        weights = (folder / "model.safetensors").read_bytes()
        return {"config.json": config, "model.safetensors": weights, "tokenizer.json": tokenizer.to_str()}
    stream = io.BytesIO()
    torch.save(model.state_dict(), stream)
    words = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    vocabulary = "".join(f"{word}\n" for word, _ in words)
    return {"config.json": config, "pytorch_model.bin": stream.getvalue(), "vocab.txt": vocabulary}


@pytest.fixture(scope="module")
def study(world, hub, tmp_path_factory):
    """Create the folder of a study, at a smaller copy of scale paper."""
    folder = copied(tmp_path_factory.mktemp("rehearsal"))
    scales = folder / "workflow" / "scales"
    scale = yaml.safe_load((scales / "paper.yaml").read_text())
    adjusted = (
        {"path": "optimisation.steps", "set": 12},
        {"path": "optimisation.batch_size", "at_most": 16},
        {"path": "optimisation.learning_rate", "factor": 30},
        {"path": "selection.every", "at_most": 12},
    )
    scale |= {"name": "rehearsal", "title": "Rehearsal of the paper scale", "adjust": [*adjusted]}
    wiki = read_corpus(world, {"format": "lines", "file": "wiki/wiki.txt", "as_written": True})["text"]
    scale["corpora"]["wiki"]["rows"] = len(wiki)
    scale["corpora"]["nli-sentences"] |= {"rows": 4800}
    (scales / "rehearsal.yaml").write_text(yaml.safe_dump(scale), encoding="utf-8")
    # The generated datasets are smaller than the real datasets.
    datasets = yaml.safe_load((folder / "workflow" / "datasets.yaml").read_text())
    sizes = {}
    for name, entry in recorded_sets(world, {}).items():
        parts = entry["rows"]
        sizes[name] = parts if len(parts) > 1 else sum(parts.values())
    (folder / "workflow" / "datasets.yaml").write_text(yaml.safe_dump(datasets | {"sizes": sizes}))
    # A single variant is enough, and this variant needs no further training.
    protocols = folder / "workflow" / "papers" / "repro" / "protocols.yaml"
    kept = [one for one in yaml.safe_load(protocols.read_text()) if one["id"] == VARIANT]
    protocols.write_text(yaml.safe_dump(kept), encoding="utf-8")
    papers = {item.partition("/")[0]: [item.partition("/")[2]] for item in ITEMS}
    config = {"scale": "rehearsal", "papers": papers, "rows": ITEMS, "adjudicate": ["repro/table4"]}
    config |= {"seeds": [0, 1, 2], "precision": "bf16"}
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return folder


def run(folder, *words, **environment):
    """Run a command in the folder of a study, with separate caches."""
    left_out = re.compile("(?i)proxy|^HF_|^REPLICSE_DATA$|^TRANSFORMERS_OFFLINE$")
    kept = {name: value for name, value in os.environ.items() if not left_out.search(name)}
    own = {
        "HF_HOME": str(folder / "home"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_OFFLINE": "0",
        "PYTHONPATH": str(folder / "src"),
        "REPLICSE_WORKFLOW": str(folder / "workflow"),
        "OMP_NUM_THREADS": "1",
    }
    return ran(*words, cwd=folder, env={**kept, **own, **environment})


@pytest.fixture(scope="module")
def fetched(study, hub):
    """Run `fetch --pin` and `fetch`; the hub fails once in the middle.

    Returns:
        The result of the failed `fetch` and of the repeated `fetch`.
    """
    replicse = (sys.executable, "-m", "replicse")
    (study / "workflow" / "hub.lock.yaml").write_text("models: {}\n")
    with hub.served() as address:
        pinned = run(study, *replicse, "fetch", "--pin", *ITEMS, HF_ENDPOINT=address)
        assert pinned.returncode == 0, pinned.stderr
        hub.gone = "/bert-base-uncased/"
        first = run(study, *replicse, "fetch", HF_ENDPOINT=address)
        hub.gone = ""
        again = run(study, *replicse, "fetch", HF_ENDPOINT=address)
    return first, again


def test_fetch_goes_on_after_the_hub_was_gone(fetched):
    first, again = fetched
    assert first.returncode == 2, first.stderr
    assert "the encoder bert-base-uncased" in first.stderr
    assert "downloads failed; run the command again" in first.stderr
    assert again.returncode == 0, again.stderr
    assert "these items can be run with HF_HUB_OFFLINE=1" in again.stdout


@pytest.fixture(scope="module")
def finished(study, fetched):
    """Run the study without network, including the report."""
    (study / "src" / "sitecustomize.py").write_text(NO_NETWORK)
    snakemake = Path(sys.executable).with_name("snakemake")
    done = run(study, str(snakemake), "--cores", "2", "--show-failed-logs", HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return study


def test_cells_have_intervals_and_verdicts_and_the_released_checkpoint_stands_beside(finished):
    cells = read_rows(finished / "results/rehearsal/tables/simcse/table5.csv")
    described = ("unsup-simcse-bert-base", "as-described")
    retrained = [cell for cell in cells if (cell["row"], cell["protocol"]) == described]
    assert len({cell["column"] for cell in retrained}) == len(retrained) == 8
    for cell in retrained:
        assert cell["n_seeds"] == "3"
        assert float(cell["low"]) < float(cell["reproduced"]) < float(cell["high"])
        assert cell["verdict"] == "lower"
    released = [cell for cell in cells if cell["protocol"] == "released"]
    assert len(released) == 8
    assert all(0 < abs(float(cell["reproduced"])) < 100 for cell in released)
    whitened = [cell for cell in cells if cell["row"] == "bert-base-whitening" and cell["reproduced"]]
    assert len(whitened) == 8


def test_variants_have_their_share_and_claims_are_judged(finished):
    shares = read_rows(finished / "results/rehearsal/adjudication.csv")
    assert VARIANT in {row["protocol"] for row in shares}
    assert all(row["n_seeds"] == "3" and row["effect"] for row in shares)
    assert any(row["share"] for row in shares)
    judged = {row["ours"] for row in read_rows(finished / "results/rehearsal/claims.csv")}
    assert judged & {"supported", "contradicted", "undetermined"}
    report = (finished / "reports/rehearsal/report.html").read_text(encoding="utf-8")
    assert "not comparable" not in report.partition("</table>")[0]
    pages = (page.read_text(encoding="utf-8") for page in (finished / "reports/rehearsal").rglob("*.html"))
    assert any("bf16" in page for page in pages)


def test_training_was_in_bf16_on_the_pinned_backbone(finished):
    records = (finished / "results/rehearsal/runs").glob("*/provenance.json")
    specs = [json.loads(file.read_text())["job"] for file in records]
    assert len(specs) == 3
    assert {spec["run"]["precision"] for spec in specs} == {"bf16"}
    assert {spec["run"]["init"]["revision"] for spec in specs} == {"4" * 40}
