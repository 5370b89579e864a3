"""The verb `evaluate`: evaluate an encoder on suites and own datasets."""

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import normalize

from replicse.cli.answers import json_mapping, wrapped
from replicse.cli.stages.evaluate import EvaluationJob, evaluate_and_write
from replicse.data.tables import find_saved_table
from replicse.errors import BadInput, Failed, MissingData
from replicse.files import write_json, write_ordered
from replicse.printable import columns
from replicse.registry.artefacts import DATA
from replicse.registry.digests import digest
from replicse.registry.encoders import ENGINES, MAX_LENGTH
from replicse.registry.mteb import LACKS_PART
from replicse.registry.plugins import use_plugins
from replicse.registry.registry import current
from replicse.registry.sets import RESERVED, EvaluationSet
from replicse.spec.config import use_all_plugins
from replicse.spec.datasets import load_datasets
from replicse.workspace import workflow_folder

DIGITS = 12  # number of shown digits of a sha256
# Patterns of the datasets of each suite; the first `*` stands for a task.
READ = {"sts": "sts/*/test", "sts-dev": "sts/*/dev", "geometry": "sts/STS-B/*"}
READ |= dict.fromkeys(("transfer", "transfer-dev"), "transfer/*/*")


def parse_pooling(text: str) -> str | dict[str, Any]:
    """Parse a pooling: a name, or a JSON object with parameters.

    Args:
        text: a string such as "mean" or '{"pooling": "mask", "template": "..."}'.

    Returns:
        The name as a string, or the parameters as a dict.
    """
    return json_mapping(text) if text.startswith("{") else text


def parse_widths(text: str) -> tuple[int, ...]:
    """Parse widths such as "64,128"."""
    return tuple(map(int, text.split(",")))


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = (
        "example:\n  replicse evaluate --encoder sentence-transformers/all-MiniLM-L6-v2 --pooling mean"
        " --suite sts --data SentEval --out scores.json\n"
        "  replicse evaluate --encoder DIR --set mine.csv first=a second=b score=rating range=0,5 --out scores.json"
    )
    parser.add_argument("--encoder", required=True, help="an encoder folder, or a hub id")
    parser.add_argument(
        "--pooling",
        type=parse_pooling,
        help="a name, or JSON; default: as in the encoder's modules.json if it exists, else cls",
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help=f"{', '.join(ENGINES)}; default: auto, which uses packed if it can",
    )
    parser.add_argument(
        "--max-length",
        type=int,
        metavar="N",
        help=f"maximum number of tokens; default: as in modules.json, else {MAX_LENGTH}",
    )
    parser.add_argument(
        "--width",
        type=parse_widths,
        default=(),
        metavar="N,N",
        help="also score the first N dimensions of the vectors; default: only all dimensions",
    )
    parser.add_argument(
        "--quantise",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="int8,binary",
        help="also score quantised vectors, at each width; default: none",
    )
    parser.add_argument("--suite", action="append", default=[], help="sts, geometry, ...; repeatable")
    parser.add_argument(
        "--set",
        action="append",
        nargs="+",
        default=[],
        metavar=("FILE", "KEY=HEADING"),
        help="your dataset: first, second, score, range=0,5, optionally subset; or text, label, optionally split",
    )
    parser.add_argument(
        "--options", type=json_mapping, default={}, help="JSON object with options by suite; default: {}"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("REPLICSE_DATA") or "."),
        help="the folder of the datasets, or a data record; default: REPLICSE_DATA if it is set, else .",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="the JSON file of scores; cosines of pairs are written to .pairs.json",
    )
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; default: all")
    parser.add_argument(
        "--device", help="cpu or cuda; default: the first GPU if torch finds one, else the CPU"
    )
    parser.add_argument(
        "--plugin", action="append", default=[], help="a plug-in; default: as in config.yaml; repeatable"
    )


def run(arguments: Namespace) -> None:
    """Evaluate an encoder on one or more suites.

    Each distinct sentence is encoded once. The scores are printed and written to a JSON file. The dataset sizes should
    be equal to the papers', otherwise BadInput is raised.
    """
    from replicse.evaluation.suites import suite

    if not arguments.encoder:
        raise BadInput("--encoder is empty; use an encoder folder or a hub id")
    use_plugins(arguments.plugin)
    if set(arguments.suite) - current().suites.keys():
        use_all_plugins(arguments.plugin)
    suites, options = tuple(arguments.suite), arguments.options
    if sets := parse_sets(arguments.set):
        suites, options = (*suites, "sets"), {**options, "sets": {"sets": sets}}
    if not suites:
        raise BadInput("the datasets to evaluate on are not specified; use --suite, --set or both")
    for name in (*suites, *options):
        suite(name, options.get(name))
    if arguments.suite and not arguments.data.exists():
        raise MissingData(
            f"--data {arguments.data}: the folder does not exist; use another folder, or set REPLICSE_DATA"
        )
    data = check_sizes(arguments.data, {name: options.get(name, {}) for name in suites})
    given = {name: getattr(arguments, name) for name in ("encoder", "pooling", "engine", "max_length")}
    job = EvaluationJob(**given, suite=suites, options=options)

    inputs: dict[str, Any] = {}

    def write(out: Path, result: dict[str, Any]) -> None:
        from replicse.library.inputs import describe_encoder

        inputs.update(describe_encoder(job.encoder, job.pooling in (None, "own")), data=data)
        write_scores(out, {**result, "inputs": inputs})

    result = evaluate_and_write(job, arguments, write)
    print("\n".join(wrapped(format_inputs(result, inputs))))
    print("\n".join(format_scores(result["suites"])))
    by_width = {str(result["width"]): result["suites"], **result.get("widths", {})}
    print("\n".join(format_widths(by_width)))
    print_failures(result, arguments.out)


def check_sizes(root: Path, suites: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Check the dataset size of each evaluation set and compute digests.

    Dataset sizes are not checked if the data root was generated by a study.

    Args:
        root: the data root, a folder of datasets.
        suites: a dict from suite to options.

    Returns:
        A dict from the beginning of metric paths, such as "sts/STS12", to a digest of the files of the dataset. Empty
        if the data root is not a folder.

    Raises:
        BadInput: if a dataset does not have the number of rows that the papers used.
        MissingData: if the data root contains no dataset of the suites.
    """
    from replicse.data.sets import recorded_sets, senteval_root

    if not root.is_dir():
        return {}
    patterns: list[tuple[str, str]] = []
    for name, options in suites.items():
        if name in READ:
            for task in options.get("tasks") or ["*"]:
                patterns.append((name, f"data/{READ[name].replace('*', task, 1)}"))
    is_of_study = (root.resolve().parent / DATA).is_file()
    sizes = {} if is_of_study else load_datasets(workflow_folder()).plain()["sizes"]
    recorded = recorded_sets(root, sizes, [pattern for _, pattern in patterns])
    if not recorded and suites.keys() <= READ.keys():
        senteval_root(root)
        raise MissingData(
            f"--data {root}: cannot find evaluation datasets of {', '.join(suites)}; download SentEval's data again, or"
            " use another folder"
        )
    digests: dict[str, list[str]] = {}
    for suite, pattern in patterns:
        for name, entry in recorded.items():
            if fnmatchcase(name, pattern):
                path = suite if suite == "geometry" else f"{suite}/{name.split('/')[2]}"
                digests.setdefault(path, []).extend(entry["sha256"].values())
    return {path: digest(sorted(values)) for path, values in digests.items()}


def write_scores(out: Path, result: dict[str, Any]) -> None:
    """Write a result with the scores first, and the pairs to another file.

    Args:
        out: the JSON file to write. Cosines and labels of pairs are written to the same name with `.pairs.json`.
        result: the result; `pairs` and `suites` are removed from the dict.
    """
    pairs = result.pop("pairs")
    write_ordered(out, {"suites": result.pop("suites"), **result})
    if pairs:
        write_json(out.with_suffix(".pairs.json"), pairs)


def format_inputs(result: Mapping[str, Any], inputs: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines with the encoder and the datasets of a result.

    Args:
        result: the result.
        inputs: digests of encoder and datasets, and the prompt.
    """
    length = f"{result['max_length']} tokens" if result["max_length"] else "no maximum length"
    yield (
        f"encoder {result['encoder']}: weights sha256 {inputs['weights']}, settings {inputs['settings']}; engine"
        f" {result['engine']}, pooling {result['pooling'] or 'of the folder'}, {length}, width {result['width']},"
        f" {result['provenance']['precision']}, prompt {inputs['prompt']}"
    )
    digests = dict(inputs["data"])
    for name, numbers in result["suites"].get("sets", {}).items():
        digests[name] = numbers["sha256"][:DIGITS]
    if digests:
        yield f"data sha256: {', '.join(f'{name} {text}' for name, text in digests.items())}"


def format_scores(suites: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one table per suite.

    A table has a row for each task and a column for each metric.

    Args:
        suites: nested dicts from suite, task and metric to score.
    """
    for suite, numbers in suites.items():
        by_row: dict[str, dict[str, str]] = {}
        for path, number in _numbers(numbers):
            row, _, metric = path.rpartition("/")
            shown = f"{number:.2f}" if isinstance(number, float) else str(number)
            by_row.setdefault(row or path, {})[metric if row else "score"] = shown
        metrics = list(dict.fromkeys(chain.from_iterable(by_row.values())))
        rows = [(suite, *metrics)]
        for row, scores in by_row.items():
            rows.append((row, *(scores.get(metric, "") for metric in metrics)))
        yield from columns(rows, numbers=range(1, len(metrics) + 1))


def format_widths(by_width: Mapping[str, Any]) -> Iterator[str]:
    """Yield one table of several widths and quantisations.

    The columns are accuracies, correlations over all pairs, and averages.

    Args:
        by_width: a dict from width, or width and quantisation, such as "64 int8", to the suites.
    """
    if len(by_width) == 1:
        return
    rows: list[list[str]] = []
    for width, suites in sorted(by_width.items(), key=lambda each: int(each[0].partition(" ")[0])):
        scores = {
            path: score for path, score in _numbers(suites) if path.endswith(("/all", "/accuracy", "/avg"))
        }
        rows = rows or [["width", *scores]]
        rows.append([width, *(f"{scores[path]:.2f}" if path in scores else "" for path in rows[0][1:])])
    yield from columns(rows, numbers=range(len(rows[0])))


def _numbers(numbers: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, int | float]]:
    """Yield path and value of each number; lists and None are skipped."""
    for name, value in numbers.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{name}/")
        elif isinstance(value, int | float):
            yield f"{above}{name}", value


def print_failures(outcome: Mapping[str, Any], out: Path) -> None:
    """Print a line for each missing number.

    Args:
        outcome: the result with `suites` and `failures`.
        out: the file that contains the result, for the error message.

    Raises:
        Failed: if there is no number at all.
    """
    for path, reason in outcome["failures"].items():
        if not reason.startswith(LACKS_PART):
            print(f"{path}: {' '.join(reason.split())}", file=sys.stderr)
    if next(_numbers(outcome["suites"]), None) is None:
        raise Failed(f"all scores are missing; {out} contains the reason for each score")


def parse_sets(values: Sequence[Sequence[str]]) -> dict[str, EvaluationSet]:
    """Parse the values of --set.

    Args:
        values: for each --set a list of strings, such as ["mine.csv", "first=a", "second=b", "score=s", "range=0,5"].

    Returns:
        A dict from a name, derived from the file name, to the evaluation dataset.

    Raises:
        BadInput: if a key or value is wrong, or if two files have the same name.
    """
    sets: dict[str, EvaluationSet] = {}
    for file, *words in values:
        path, location = Path(file), f"--set {file}"
        table = str(find_saved_table(path)) if path.is_dir() else file
        keys: dict[str, Any] = {}
        for word in words:
            key, _, value = word.partition("=")
            keys[key] = value
        if "range" in keys:
            problem = f'range is "{keys["range"]}"; write the lowest and the highest score, such as range=0,5'
            try:
                low, high = map(float, keys["range"].split(","))
            except ValueError:
                raise BadInput(f"{location}: {problem}") from None
            keys["range"] = [low, high]
        if "positive_above" in keys:
            try:
                keys["positive_above"] = float(keys["positive_above"])
            except ValueError:
                problem = (
                    f'positive_above is "{keys["positive_above"]}"; write a number, such as positive_above=4'
                )
                raise BadInput(f"{location}: {problem}") from None
        name = name_set(path.name if path.is_dir() else Path(file.removesuffix(".gz")).stem)
        if name in sets:
            raise BadInput(f'{location}: another file also gives the name "{name}"; rename this file')
        sets[name] = EvaluationSet.of({"file": table, **keys}, location)
    return sets


def name_set(stem: str) -> str:
    """Return a valid dataset name for a file name without suffix.

    Accents are removed, and other invalid characters are replaced with hyphens. Default if nothing is left: "set".
    """
    plain = normalize("NFKD", stem).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9.@_-]+", "-", plain).lstrip(".@_-")[:80] or "set"
    return f"{name}-set" if name in RESERVED else name
