"""The stage that evaluates an encoder of a study."""

import logging
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replicse.checked import Text
from replicse.cli.stages import Payload, Stage
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.judge.pairs import packed_pairs
from replicse.registry.encoders import MAX_LENGTH, Engine, WordVectors, postprocessing_of

log = logging.getLogger(__name__)
Write = Callable[[Path, dict[str, Any]], None]


class EncoderJob(Payload):
    """An encoder folder or hub id, and how it is read."""

    encoder: str = ""
    pooling: str | dict[str, Any] | None = None
    engine: Engine = "auto"
    max_length: int | None = None


class EvaluationJob(EncoderJob):
    """The suites of an encoder and their options; `vectors` are word vectors in the place of an encoder."""

    suite: tuple[Text, ...] = ()
    options: dict[str, Any] = {}
    vectors: dict[str, Any] | None = None
    postprocess: dict[str, Any] | None = None


def evaluate(job: EvaluationJob, arguments: Namespace) -> None:
    """Evaluate an encoder of a study, which goes on: its cells say why they have no number."""
    evaluated(job, arguments)


def evaluated(job: EvaluationJob, arguments: Namespace, write: Write = write_json) -> dict[str, Any]:
    """Evaluate an encoder, write what was measured, and return it."""
    from replicse.data.sets import data_folder
    from replicse.library.evaluation import outcome_of

    start, root = time.monotonic(), data_folder(arguments.data)
    set_threads(arguments.threads)
    source = word_vectors(job.vectors, root) if job.vectors else opened(job, job.encoder, arguments.device)
    vectors = postprocessed(source, job.postprocess, root) if job.postprocess else source
    facts = {
        "folder": job.encoder,
        "results": str(arguments.out.with_suffix("")),
        "model": model_name(job, source),
    }
    outcome = outcome_of(source, job.suite, root, job.options, facts, vectors, job.encoder)
    outcome["pairs"] = {task: packed_pairs(*sides) for task, sides in outcome["pairs"].items()}
    result = {
        "encoder": job.encoder,
        "vectors": job.vectors,
        **reading(source, job),
        "postprocess": job.postprocess,
    }
    write_result(arguments.out, {**result, **outcome}, source, start, write)
    return outcome


def set_threads(count: int) -> None:
    """Compute with as many threads as were asked for."""
    import torch

    if count < 0:
        raise BadInput(f"--threads is {count}; expected at least 1, or no --threads for all")
    if count:
        torch.set_num_threads(count)


def opened(job: EncoderJob, folder: str, device: str | None) -> Any:
    """Return the sentence encoder of a folder or hub id with the pooling of a job."""
    from replicse.encoder.sentence import SentenceEncoder

    return SentenceEncoder.open(folder, job.pooling, job.max_length, device, engine=job.engine)


def reading(source: Any, job: EncoderJob) -> dict[str, Any]:
    """Return how sentences were read: what the encoder has, where it says so, else what was asked for."""
    from replicse.encoder.tokenizer import tokenizer_digest

    pooling, backbone = getattr(source, "pooling", None), getattr(source, "backbone", source)
    tokenizer = getattr(source, "tokenizer", None)
    return {
        "pooling": pooling.spelling if pooling else job.pooling,
        "max_length": getattr(source, "max_length", job.max_length or MAX_LENGTH),
        "tokenizer": tokenizer_digest(tokenizer) if tokenizer else None,
        "engine": getattr(backbone, "engine", None),
        "unread": list(getattr(backbone, "unread", ())),
    }


def model_name(job: EvaluationJob, source: Any) -> str:
    """Return a name of the encoder for others' files: the end of its path or hub id, and the pooling."""
    named = Path(job.vectors["file"] if job.vectors else job.encoder)
    pooling = getattr(source, "pooling", None)
    return "-".join([*named.parts[-2:], pooling.pooling if pooling else "mean"])


def word_vectors(wanted: Mapping[str, Any], root: Path) -> Any:
    """Return averaged word vectors from a text file below the data root."""
    from replicse.encoder.baselines.word_vectors import AverageWordVectors

    return AverageWordVectors.open(root, WordVectors.of(wanted, "vectors"))


def postprocessed(vectors: Any, wanted: Mapping[str, Any], root: Path) -> Any:
    """Return vectors after whitening or flow, fitted on all sentences of a corpus or on each target."""
    from replicse.data.corpora import read_corpus
    from replicse.encoder.baselines.fitted import FittedVectors

    postprocess = postprocessing_of(wanted)
    corpus: Any = postprocess.fit
    columns = {} if corpus == "target" else read_corpus(root, corpus)
    return FittedVectors(
        vectors, postprocess, list(dict.fromkeys(line for column in columns.values() for line in column))
    )


def write_result(
    out: Path, result: Mapping[str, Any], vectors: Any, start: float, write: Write = write_json
) -> None:
    """Write a result with its provenance; word vectors say no device: they use only the CPU."""
    import torch

    from replicse.provenance.record import computed, provenance

    device = getattr(vectors, "device", None)
    facts = provenance(
        seconds=round(time.monotonic() - start, 3), **computed(device or torch.device("cpu"), "fp32")
    )
    facts["device"] = device.type if device else ""
    write(out, {**result, "provenance": facts})
    log.info("wrote=%s seconds=%.1f", out, facts["seconds"])


STAGE = Stage(EvaluationJob.of, evaluate)
