"""Shared functions of the benchmarks: machine, timing, data and records.

A record contains the measurements, `machine`, and `rows`. The table in the README and `benchmarks/run` show the rows.
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
    """Return the kind of a processor, as the name of a folder.

    It is the vendor's name, followed by "amx" if the processor has AMX, or by "avx2" if it has AVX2 but not AVX-512.

    Args:
        facts: the dict of `hardware()`.
    """
    name, flags = re.sub(r"\(\w+\)| processor", "", facts["processor"].lower()), facts["kernel_flags"].split()
    most = ["amx"] * ("amx_bf16" in flags) + ["avx2"] * ("avx2" in flags and "avx512f" not in flags)
    return "-".join([*re.findall("[a-z0-9]+", name), *most])


# The records of each kind of processor are in a separate folder.
RECORDS = ROOT / "benchmarks" / "results"
RESULTS = RECORDS / kind(hardware())
# Whether the processor has bf16 products. Otherwise products take at least ten times as long.
HAS_BF16 = bool({"amx_bf16", "avx512_bf16"} & set(hardware()["kernel_flags"].split()))

# The load is measured first, so that it does not include the benchmark.
_LOAD = round(os.getloadavg()[0] / (os.cpu_count() or 1), 1)


def machine() -> dict[str, Any]:
    """Return a dict of facts about the machine, torch and the commit.

    The facts also include uncommitted changes, the load at the start, and the date.
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
    """Create a row of the table.

    Args:
        what: the description of the measurement, with its unit.
        ours: our value.
        peer: the value of the peer. Default: empty.
        limit: the limit of the machine. Default: empty.
        ratio: the ratio of the values. Default: empty.
        goal: the goal. Default: empty.
        met: whether the goal is met. Default: None, for a row without a goal.
    """
    return {
        "what": what, "ours": ours, "peer": peer, "limit": limit, "ratio": ratio, "goal": goal, "met": met,
    }  # fmt: skip


def write_record(
    out: Path | str, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], device: str = ""
) -> None:
    """Write a record atomically.

    Args:
        out: the file, or the name of a file of this kind of processor, without its extension.
        content: the measurements.
        rows: the rows of the table.
        device: the name of the GPU. Default: the name of the processor.

    Raises:
        ValueError: if the content contains `machine` or `rows`.
    """
    if clash := {"machine", "rows"} & set(content):
        raise ValueError(f"{out}: {', '.join(clash)} of the content would be lost; call it otherwise")
    path = out if isinstance(out, Path) else RESULTS / f"{out}.json"
    about = machine() | ({"processor": device} if device else {})
    write_json(path, {**content, "machine": about, "rows": list(rows)})


Clock = Callable[[], float]


def timed(action: Callable[[], Any], clock: Clock = time.perf_counter) -> tuple[float, Any]:
    """Run an action, and return seconds and result.

    Args:
        action: the function to call.
        clock: function that returns a time in seconds. Default: the wall clock.
    """
    start = clock()
    found = action()
    return clock() - start, found


def in_turn(
    actions: Mapping[str, Callable[[], Any]],
    repeats: int,
    warm_ups: int = 1,
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """Time several actions in turn.

    Each repeat runs all actions, so that other processes slow down all of them.

    Args:
        actions: dict from names to functions.
        repeats: the number of measurements of each action.
        warm_ups: the number of runs before the first measurement. Default: 1.
        clock: function that returns a time in seconds. Default: the wall clock.

    Returns:
        Dict from names to lists of seconds.
    """
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for repeat in range(warm_ups + repeats):
        for name, action in actions.items():
            found, _ = timed(action, clock)
            if repeat >= warm_ups:
                seconds[name].append(found)
    return seconds


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return a dict from names to the medians of their lists."""
    return {name: median(values) for name, values in seconds.items()}


@functools.cache
def data_root() -> Path:
    """Return the data folder.

    It is REPLICSE_DATA, or a temporary folder with the embedded data if this variable is not set.
    """
    if os.environ.get("REPLICSE_DATA"):
        return Path(os.environ["REPLICSE_DATA"])
    from replicse.world.world import write_world

    folder = Path(tempfile.mkdtemp(prefix="replicse-world-"))
    write_world(folder)
    return folder


def data_name() -> str:
    """Return the source of the sentences: "real" or "embedded world"."""
    return "real" if os.environ.get("REPLICSE_DATA") else "embedded world"


def sentences(count: int) -> list[str]:
    """Return sentences of 8 to 60 words from Wikipedia.

    Sentences of the embedded data are used if Wikipedia's are missing. They are repeated if there are not enough.

    Args:
        count: the number of sentences.
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
    """Load the encoder of a folder with our own engine.

    Args:
        folder: the folder of the encoder.
        pooling: the pooling, such as "cls".
    """
    from replicse.encoder.sentence import SentenceEncoder

    encoder = SentenceEncoder.open(folder, pooling)
    assert isinstance(encoder, SentenceEncoder), f"{folder} is read by its own library"
    return encoder


def triples(count: int) -> list[tuple[str, str, str]]:
    """Return tuples of premise, entailment and contradiction from NLI.

    They are repeated if there are not enough.

    Args:
        count: the number of triples.
    """
    return list(itertools.islice(itertools.cycle(_triples()), count))


def _triples() -> list[tuple[str, str, str]]:
    file = sorted((data_root() / "nli").glob("*tripl*.csv"))[0]
    with file.open(encoding="utf-8", newline="") as stream:
        rows = itertools.islice(csv.reader(stream), 1, None)
        return [(premise, entailed, contradicted) for premise, entailed, contradicted, *_ in rows]


def write_encoder(folder: Path, layers: int, hidden: int, heads: int) -> Path:
    """Write a BERT with random weights, and return the folder.

    It has the initialisation of `transformers` and a vocabulary of 30,522 tokens. An existing folder is not changed.

    Args:
        folder: the folder to write to.
        layers: the number of layers.
        hidden: the width.
        heads: the number of attention heads.
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


# The encoders of the speed tables: layers, width, heads.
SIZES = {"2x128": (2, 128, 2), "6x384": (6, 384, 6), "12x768": (12, 768, 12)}
