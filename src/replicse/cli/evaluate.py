"""The verb that evaluates an encoder, and the jobs that evaluate those of a study and the checkpoints of a run."""

import logging
import re
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unicodedata import normalize

from replicse.checked import Text
from replicse.cli.answers import Action, json_mapping
from replicse.cli.job import Payload, Stage
from replicse.errors import BadInput, Failed, MissingData
from replicse.files import write_json, write_ordered
from replicse.judge.pairs import packed_pairs
from replicse.printable import columns
from replicse.registry.artefacts import DATA, METRICS
from replicse.registry.encoders import ENGINES, MAX_LENGTH, Engine, WordVectors, postprocessing_of
from replicse.registry.mteb import LACKS_PART
from replicse.registry.plugins import use_plugins
from replicse.registry.sets import RESERVED, EvaluationSet
from replicse.registry.suites import SUITES
from replicse.spec.config import use_all_plugins
from replicse.spec.datasets import load_datasets
from replicse.workspace import workflow_folder

log = logging.getLogger(__name__)
# The evaluation sets that suites read; the first `*` is a task.
READ = {"sts": "sts/*/test", "sts-dev": "sts/*/dev", "geometry": "sts/STS-B/*"}
READ |= dict.fromkeys(("transfer", "transfer-dev"), "transfer/*/*")
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


def pooling(text: str) -> str | dict[str, Any]:
    """Return what an argument says of a pooling: a name, or a mapping with parameters."""
    return json_mapping(text) if text.startswith("{") else text


def evaluate_verb(parser: ArgumentParser) -> Action:
    """Evaluate an encoder on one or more suites; every distinct sentence is encoded once."""
    parser.epilog = (
        "example:\n  replicse evaluate --encoder sentence-transformers/all-MiniLM-L6-v2 --pooling mean"
        " --suite sts --data SentEval --out scores.json\n"
        "  replicse evaluate --encoder DIR --set mine.csv first=a second=b score=rating range=0,5 --out scores.json"
    )
    parser.add_argument("--encoder", required=True, help="a Hugging Face encoder folder, or a hub id")
    parser.add_argument(
        "--pooling",
        type=pooling,
        help="a name, or JSON with parameters; default: a sentence-transformers folder's own, else cls",
    )
    parser.add_argument("--engine", choices=ENGINES, default="auto", help="auto: packed where it fits")
    parser.add_argument(
        "--max-length",
        type=int,
        help=f"tokens; default: with the folder's own pooling its own, else {MAX_LENGTH}",
    )
    parser.add_argument("--suite", action="append", default=[], help="sts, geometry, ...; repeatable")
    parser.add_argument(
        "--set",
        action="append",
        nargs="+",
        default=[],
        metavar=("FILE", "KEY=HEADING"),
        help="a table of your own: first, second, score, range=0,5 and perhaps subset; or text, label and perhaps"
        " split; repeatable",
    )
    parser.add_argument("--options", type=json_mapping, default={}, help="JSON: suite to further options")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(),
        help="data root, SentEval folder or data record; default: this folder",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="the JSON of scores to write; next to it, as .pairs.json, the cosines of STS",
    )
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (default: all)")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: the first GPU, else the CPU")
    parser.add_argument("--plugin", action="append", default=[], help="default: as config.yaml; repeatable")

    def action(arguments: Namespace) -> None:
        from replicse.evaluation.suites import suite

        if not arguments.encoder:
            raise BadInput("--encoder is empty; name an encoder folder or a hub id")
        use_plugins(arguments.plugin)
        if set(arguments.suite) - SUITES.keys():
            use_all_plugins(arguments.plugin)
        suites, options = tuple(arguments.suite), arguments.options
        if sets := sets_of(arguments.set):
            suites, options = (*suites, "sets"), {**options, "sets": {"sets": sets}}
        if not suites:
            raise BadInput("no --suite and no --set is given; name what the encoder is evaluated on")
        for name in (*suites, *options):
            suite(name, options.get(name))
        if not arguments.data.exists():
            raise MissingData(f"--data {arguments.data}: no such file or folder; name one that is there")
        check_whole(arguments.data, {name: options.get(name, {}) for name in suites})
        given = {name: getattr(arguments, name) for name in ("encoder", "pooling", "engine", "max_length")}
        job = EvaluationJob(**given, suite=suites, options=options)
        outcome = evaluated(job, arguments, write_scores)
        print("\n".join(score_lines(outcome["suites"])))
        tell_failures(outcome, arguments.out)

    return action


def _evaluate(job: EvaluationJob, arguments: Namespace) -> None:
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
    pooling, backbone = getattr(source, "pooling", None), getattr(source, "backbone", source)
    return {
        "pooling": pooling.spelling if pooling else job.pooling,
        "max_length": getattr(source, "max_length", job.max_length or MAX_LENGTH),
        "engine": getattr(backbone, "engine", None),
        "unread": list(getattr(backbone, "unread", ())),
    }


def check_whole(root: Path, suites: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise BadInput where an evaluation set that suites with some options read is not as long as the papers'.

    The sets that a study generates have sizes of their own.
    """
    from replicse.data.sets import recorded_sets

    asked = [(READ[name], options.get("tasks") or ["*"]) for name, options in suites.items() if name in READ]
    patterns = [f"data/{read.replace('*', task, 1)}" for read, tasks in asked for task in tasks]
    if root.is_dir() and not (root.resolve().parent / DATA).is_file():
        recorded_sets(root, load_datasets(workflow_folder()).plain()["sizes"], patterns)


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


def write_scores(out: Path, result: dict[str, Any]) -> None:
    """Write a result with its scores first; cosines and labels of its pairs go to a file next to it."""
    pairs = result.pop("pairs")
    write_ordered(out, {"suites": result.pop("suites"), **result})
    if pairs:
        write_json(out.with_suffix(".pairs.json"), pairs)


def score_lines(suites: Mapping[str, Any]) -> Iterator[str]:
    """Yield the numbers of an outcome as a table per suite: a line per task, a column per metric."""
    for suite, numbers in suites.items():
        by_row: dict[str, dict[str, str]] = {}
        for path, number in _numbers(numbers):
            row, _, metric = path.rpartition("/")
            shown = f"{number:.2f}" if isinstance(number, float) else str(number)
            by_row.setdefault(row or path, {})[metric if row else "score"] = shown
        metrics = list(dict.fromkeys(metric for row in by_row.values() for metric in row))
        rows = [(row, *(scores.get(metric, "") for metric in metrics)) for row, scores in by_row.items()]
        yield from columns([(suite, *metrics), *rows], numbers=range(1, len(metrics) + 1))


def _numbers(numbers: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, int | float]]:
    """Yield the path of each number and the number; what could not be measured and lists are left out."""
    for name, value in numbers.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{name}/")
        elif isinstance(value, int | float):
            yield f"{above}{name}", value


def tell_failures(outcome: Mapping[str, Any], out: Path) -> None:
    """Print a line for each number that could not be measured; Failed where there is no number at all."""
    for path, reason in outcome["failures"].items():
        if not reason.startswith(LACKS_PART):
            print(f"{path}: {' '.join(reason.split())}", file=sys.stderr)
    if not any(True for _ in _numbers(outcome["suites"])):
        raise Failed(f"nothing could be measured; {out} has the reason of each number that is missing")


def sets_of(asked: Sequence[Sequence[str]]) -> dict[str, EvaluationSet]:
    """Return evaluation sets by a name made of their file's, each of `FILE KEY=HEADING ...`; it may lie anywhere."""
    sets: dict[str, EvaluationSet] = {}
    for file, *words in asked:
        path, where = Path(file), f"--set {file}"
        keys: dict[str, Any] = {key: value for key, _, value in (word.partition("=") for word in words)}
        if "range" in keys:
            with suppress(ValueError):
                keys["range"] = [float(bound) for bound in keys["range"].split(",")]
        if (name := set_name(path.stem)) in sets:
            raise BadInput(f'{where}: another file gives a set "{name}"; rename one')
        sets[name] = EvaluationSet.of({"file": path.name, **keys}, where).replace(file=file)
    return sets


def set_name(stem: str) -> str:
    """Return the name of the set of a file: its own without accents, other characters that no name has as hyphens."""
    plain = normalize("NFKD", stem).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9.@_-]+", "-", plain).lstrip(".@_-")[:80] or "set"
    return f"{name}-set" if name in RESERVED else name


def _geometry(job: EncoderJob, arguments: Namespace) -> None:
    """Measure alignment and uniformity of each checkpoint that a run kept; the encoder is the run's folder."""
    from replicse.data.sets import data_folder
    from replicse.evaluation.suites import run_suites

    start, root = time.monotonic(), data_folder(arguments.data)
    set_threads(arguments.threads)
    suites: dict[str, Any] = {}
    failures: dict[str, str] = {}
    vectors = None
    for step, folder in trajectory_folders(Path(job.encoder)):
        vectors = vectors or opened(job, str(folder), arguments.device)
        # The notebook of the reproducibility study draws a head whenever it loads a checkpoint (methods 1.8).
        vectors.reload(folder, head_seed=step)
        outcome = run_suites(root, vectors, ["geometry"])
        suites[str(step)] = outcome["suites"]["geometry"]
        failures |= {
            path.replace("geometry/", f"trajectory/{step}/"): why for path, why in outcome["failures"].items()
        }
    result = {"encoder": job.encoder, "suites": {"trajectory": suites}, "failures": failures}
    write_result(arguments.out, {**result, "pooling": vectors.pooling.spelling}, vectors, start)


def trajectory_folders(run: Path) -> list[tuple[int, Path]]:
    """Return step and folder of each kept checkpoint of a run; BadInput where the run kept none."""
    from replicse.encoder.folders import run_metrics

    kept = run_metrics(run).get("checkpoints")
    if not kept:
        raise BadInput(f"{run / METRICS}: the run kept no checkpoints; its spec asks for no trajectory")
    return [(int(name.rpartition("-")[2]), run / name) for name in kept]


STAGES = {"evaluate": Stage(EvaluationJob.of, _evaluate), "geometry": Stage(EncoderJob.of, _geometry)}
