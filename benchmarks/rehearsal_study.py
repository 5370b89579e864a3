"""A small study at a scale derived from `paper`: Table 5, without network.

The encoder has random weights. It is in the hub's cache, in the layout of bert-base-uncased: old parameter names, a
vocabulary, and a commit that the workspace pins. The sentences are from the embedded data.
"""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from record import ROOT
from rehearsal_rows import Row, judge

from replicse.data.corpora import read_corpus
from replicse.data.tokenizer import train_tokenizer
from replicse.files import read_json, read_rows
from replicse.registry.artefacts import METRICS, PROVENANCE
from replicse.world.world import write_world

SCALE, ITEM, ENCODER = "rehearsal", "simcse/table5", "unsup-simcse-bert-base"
HUB, COMMIT = "bert-base-uncased", "0123456789abcdef" * 2 + "01234567"
# The checkpoint that the authors released for this row. The item contains it too.
RELEASED = "princeton-nlp/unsup-simcse-bert-base-uncased"
VOCABULARY, TOKENS = 30_522, 512
# The names of LayerNorm weights in the hub's file.
OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
WIKI = {"format": "lines", "file": "wiki/wiki.txt", "as_written": True}
# Environment variables that let a process use a network or the user's data.
LEFT_OUT = re.compile("(?i).*proxy$|HF_.*|TRANSFORMERS_.*|REPLICSE_.*")


@dataclass(frozen=True)
class RehearsalStudy:
    """A study of two seeds of unsupervised SimCSE, trained in parallel.

    Args:
        home: an empty folder, to which a workspace is written.
        layers: the number of layers of the encoder.
        hidden: the width of the encoder.
        steps: the number of steps of a training. The development set is evaluated three times.
        on_gpu: whether to use the profile gpu-box and the paper's precision.
    """

    home: Path
    layers: int
    hidden: int
    steps: int
    on_gpu: bool

    @property
    def data(self) -> Path:
        """Return the data folder, with the embedded sentences."""
        return self.home / "world"

    @property
    def encoder(self) -> Path:
        """Return the folder of the encoder in the hub's cache."""
        return self._cached(HUB)

    def _cached(self, name: str) -> Path:
        return self.home / "hub" / "hub" / f"models--{name.replace('/', '--')}" / "snapshots" / COMMIT

    def write(self) -> None:
        """Write the data, the hub's cache and the workspace."""
        write_world(self.data)
        self._write_encoder()
        shutil.copytree(self.encoder, self._cached(RELEASED))
        workspace = self.home / "study"
        (workspace / "scales").mkdir(parents=True)
        precision = "papers" if self.on_gpu else "fp32"
        config: dict[str, Any] = {"scale": SCALE, "papers": {"simcse": ["table5"]}, "seeds": [0, 1]}
        config |= {"rows": {ITEM: [ENCODER]}, "precision": precision}
        pin = {"commit": COMMIT, "seen": "written by the rehearsal"}
        self._write_yaml("config.yaml", config)
        self._write_yaml("hub.lock.yaml", {"models": {HUB: pin, RELEASED: pin}})
        self._write_yaml(f"scales/{SCALE}.yaml", self._scale())

    def rows(self) -> Iterator[Row]:
        """Yield the study's rows: exit code, cells, dev evaluations, encoder."""
        ended = self.run()
        note = "" if ended.returncode == 0 else " ".join((ended.stdout + ended.stderr).split())[-1000:]
        what = f"{self.steps} steps of {ITEM}, two at a time: exit code"
        yield Row(what, "0", str(ended.returncode), judge(ended.returncode == 0), note)
        if ended.returncode:
            return
        results = self.home / "study" / "results" / SCALE
        cells = read_rows(results / "tables" / f"{ITEM}.csv")
        numbers = [float(cell["reproduced"] or "nan") for cell in cells if cell["row"] == ENCODER]
        count = sum(map(math.isfinite, numbers))
        yield Row("cells with a number, trained and released", "16", str(count), judge(count == 16))
        runs = [file.parent for file in sorted(results.glob(f"runs/*/{PROVENANCE}"))]
        steps = [[entry["step"] for entry in self._history(run)] for run in runs]
        expected = [self._every * (place + 1) for place in range(3)]
        is_read = steps == [expected, expected]
        yield Row(
            "steps at which a run reads the development set", str(expected), str(steps[0]), judge(is_read)
        )
        commits = {read_json(run / PROVENANCE)["job"]["run"]["init"]["revision"] for run in runs}
        is_pinned = commits == {COMMIT}
        yield Row(
            "commit of the encoder from the hub's cache", COMMIT[:12], str(*commits)[:12], judge(is_pinned)
        )

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run the study with `replicse run`, without variables of the user."""
        environment = {name: value for name, value in os.environ.items() if not LEFT_OUT.fullmatch(name)}
        environment |= {
            "HF_HOME": str(self.home / "hub"),
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": str(ROOT / "src"),
            "OMP_NUM_THREADS": "1",
        }
        words = [sys.executable, "-m", "replicse", "run", ITEM]
        words += ["--profile", "gpu-box", "--", "--resources", "gpu=2"] if self.on_gpu else ["--cores", "2"]
        return subprocess.run(
            words, cwd=self.home / "study", env=environment, check=False, capture_output=True, text=True
        )

    @property
    def _every(self) -> int:
        return self.steps // 3

    def _history(self, run: Path) -> list[Mapping[str, Any]]:
        history: list[Mapping[str, Any]] = read_json(run / METRICS)["history"]
        return history

    def _scale(self) -> dict[str, Any]:
        """Return a scale: `paper` with other data and fewer steps.

        On a CPU, the batch size and the required resources are also smaller.
        """
        rows = len(read_corpus(self.data, WIKI)["text"])
        adjust = [
            {"path": "optimisation.steps", "set": self.steps},
            {"path": "optimisation.epochs", "set": 1 + self.steps * 64 // rows},
            {"path": "selection.every", "set": self._every},
        ]
        scale: dict[str, Any] = {"extends": "paper", "name": SCALE, "title": "A rehearsal of the scale paper"}
        scale |= {"comparable": False, "judges_orders": False, "adjust": adjust}
        scale |= {"data": {"source": "embedded"}}
        scale |= {"corpora": {"wiki": WIKI | {"rows": rows}}, "downloads": {}}
        if not self.on_gpu:
            adjust.append({"path": "optimisation.batch_size", "set": 8})
            scale["needs"] = {"gpu": "none", "threads": 1, "full_suites": False}
        return scale

    def _write_yaml(self, name: str, content: Mapping[str, Any]) -> None:
        (self.home / "study" / name).write_text(yaml.safe_dump(dict(content)), encoding="utf-8")

    def _write_encoder(self) -> None:
        import torch
        import transformers
        from safetensors.torch import save_file

        torch.manual_seed(0)
        lines = read_corpus(self.data, WIKI)["text"]
        tokenizer = train_tokenizer("wordpiece", lines, VOCABULARY, True)
        config = transformers.BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=max(1, self.hidden // 64),
            intermediate_size=4 * self.hidden,
            max_position_embeddings=TOKENS,
            architectures=["BertForMaskedLM"],
        )
        weights = {}
        for name, value in transformers.BertForPreTraining(config).state_dict().items():
            for new, old in OLD_NAMES.items():
                name = name.removesuffix(new) + old if name.endswith(new) else name
            weights[name] = value.clone()
        self.encoder.mkdir(parents=True)
        save_file(weights, self.encoder / "model.safetensors", {"format": "pt"})
        config.save_pretrained(self.encoder)
        words = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
        vocabulary = "".join(f"{word}\n" for word, _ in words)
        (self.encoder / "vocab.txt").write_text(vocabulary, encoding="utf-8")
        (self.encoder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
        about = {"do_lower_case": True, "model_max_length": TOKENS}
        (self.encoder / "tokenizer_config.json").write_text(json.dumps(about), encoding="utf-8")
