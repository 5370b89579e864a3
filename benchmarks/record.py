"""Shared parts of the benchmarks: machine, timing, sentences and records.

A record contains `machine`, the measurements, and `rows`, which the README's table and `benchmarks/run` show.
"""

import csv
import functools
import gzip
import itertools
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from replicse.files import write_json  # noqa: E402
from replicse.provenance.record import commit, versions  # noqa: E402
from replicse.runtime.machine import hardware  # noqa: E402

if TYPE_CHECKING:
    from replicse.encoder.sentence import SentenceEncoder


def kind(facts: Mapping[str, Any]) -> str:
    """Return the kind of a processor, as a folder's name.

    The vendor's name for it, then "amx" if it has AMX, or "avx2" if it has nothing beyond AVX2.
    """
    name, flags = re.sub(r"\(\w+\)| processor", "", facts["processor"].lower()), facts["kernel_flags"].split()
    most = ["amx"] * ("amx_bf16" in flags) + ["avx2"] * ("avx2" in flags and "avx512f" not in flags)
    return "-".join([*re.findall("[a-z0-9]+", name), *most])


# One folder for each kind of processor, so that their records are separate.
RECORDS = ROOT / "benchmarks" / "results"
RESULTS = RECORDS / kind(hardware())
# Whether the processor multiplies in bf16: otherwise products take at least ten times as long.
HAS_BF16 = bool({"amx_bf16", "avx512_bf16"} & set(hardware()["kernel_flags"].split()))

# Measured first: the load of other processes, not of the benchmark itself.
_LOAD = round(os.getloadavg()[0] / (os.cpu_count() or 1), 1)


def machine() -> dict[str, Any]:
    """Return facts about machine, torch and commit.

    Processor, cores, torch, commit, uncommitted changes, load at the start, and date.
    """
    facts, (revision, dirty) = hardware(), commit()
    return {
        "processor": facts["processor"],
        "kernel_flags": facts["kernel_flags"],
        "cores": facts["cores_allowed"],
        "memory_gib": facts["memory_gib"],
        "torch": versions().get("torch", ""),
        "commit": revision,
        "dirty": dirty,
        "load_per_core": _LOAD,
        "date": datetime.now(UTC).date().isoformat(),
    }


def row(
    what: str,
    ours: str,
    peer: str = "",
    limit: str = "",
    ratio: str = "",
    goal: str = "",
    met: bool | None = None,
) -> dict[str, Any]:
    """Return a row of the table; `met` is None if there is no goal."""
    return {
        "what": what, "ours": ours, "peer": peer, "limit": limit, "ratio": ratio, "goal": goal, "met": met,
    }  # fmt: skip


def write_record(
    out: Path | str, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], device: str = ""
) -> None:
    """Write a record atomically.

    A bare name is a file of this kind of processor.
    """
    if clash := {"machine", "rows"} & set(content):
        raise ValueError(f"{out}: {', '.join(clash)} of the content would be lost; call it otherwise")
    path = out if isinstance(out, Path) else RESULTS / f"{out}.json"
    about = machine() | ({"processor": device} if device else {})
    write_json(path, {**content, "machine": about, "rows": list(rows)})


Clock = Callable[[], float]


def timed(action: Callable[[], Any], clock: Clock = time.perf_counter) -> tuple[float, Any]:
    """Return the seconds of an action, and its result."""
    start = clock()
    found = action()
    return clock() - start, found


def in_turn(
    actions: Mapping[str, Callable[[], Any]],
    repeats: int,
    warm_ups: int = 1,
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """Return the seconds of each action; actions take turns.

    In each repeat they run one after the other, so that a busy machine slows all.
    """
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for repeat in range(warm_ups + repeats):
        for name, action in actions.items():
            found, _ = timed(action, clock)
            if repeat >= warm_ups:
                seconds[name].append(found)
    return seconds


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each list."""
    return {name: median(values) for name, values in seconds.items()}


@functools.cache
def data_root() -> Path:
    """Return REPLICSE_DATA, or a folder of the embedded world if unset."""
    if os.environ.get("REPLICSE_DATA"):
        return Path(os.environ["REPLICSE_DATA"])
    from replicse.world.world import write_world

    folder = Path(tempfile.mkdtemp(prefix="replicse-world-"))
    write_world(folder)
    return folder


def data_name() -> str:
    """Return the source of the sentences."""
    return "real" if os.environ.get("REPLICSE_DATA") else "embedded world"


def sentences(count: int) -> list[str]:
    """Return sentences of 8 to 60 words from Wikipedia or the embedded world.

    They repeat if there are too few.
    """
    real = data_root() / "wiki" / "enwiki_sentences.txt.gz"
    if real.exists():
        with gzip.open(real, "rt", encoding="utf-8") as stream:
            lines = (line.strip() for line in stream)
            found = list(itertools.islice((line for line in lines if 8 <= len(line.split()) <= 60), count))
    else:
        found = sorted({text for triple in _triples() for text in triple})
    return list(itertools.islice(itertools.cycle(found), count))


def opened(folder: Path, pooling: str) -> "SentenceEncoder":
    """Open a folder's encoder with our own engine."""
    from replicse.encoder.sentence import SentenceEncoder

    encoder = SentenceEncoder.open(folder, pooling)
    assert isinstance(encoder, SentenceEncoder), f"{folder} is read by its own library"
    return encoder


def triples(count: int) -> list[tuple[str, str, str]]:
    """Return premise, entailment and contradiction of NLI.

    They repeat if there are too few.
    """
    return list(itertools.islice(itertools.cycle(_triples()), count))


def _triples() -> list[tuple[str, str, str]]:
    file = sorted((data_root() / "nli").glob("*tripl*.csv"))[0]
    with file.open(encoding="utf-8", newline="") as stream:
        rows = itertools.islice(csv.reader(stream), 1, None)
        return [(premise, entailed, contradicted) for premise, entailed, contradicted, *_ in rows]


def write_encoder(folder: Path, layers: int, hidden: int, heads: int) -> Path:
    """Write a random BERT like `transformers`; return its folder.

    The vocabulary has 30,522 tokens.
    """
    import torch
    import transformers

    from replicse.data.tokenizer import train_tokenizer

    if (folder / "config.json").exists():
        return folder
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=30_522, num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
        intermediate_size=4 * hidden,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    vocabulary = data_root() / "models" / "bert-base-uncased-vocab" / "vocab.txt"
    if vocabulary.exists():
        transformers.BertTokenizer(str(vocabulary)).save_pretrained(folder)
    else:
        tokenizer = train_tokenizer("wordpiece", sentences(10_000), 30_522, True)
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
            mask_token="[MASK]",
        ).save_pretrained(folder)  # fmt: skip
    return folder


# The encoders in the tables of speed: layers, width, heads.
SIZES = {"2x128": (2, 128, 2), "6x384": (6, 384, 6), "12x768": (12, 768, 12)}
