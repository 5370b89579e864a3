"""The verb `diagnose`: explain why a number differs from the paper."""

import logging
import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from replicse.cli.answers import add_all_argument, on_a_screen, print_block, print_json
from replicse.cli.arguments import add_workflow_argument
from replicse.cli.compare import compare_others
from replicse.cli.diagnosis import (
    SIMILARITY,
    diagnosis_parts,
    plain_variants,
    standing_lines,
    variant_parts,
)
from replicse.errors import BadInput, check_known, nearest
from replicse.judge.adjudication.diagnosis import Diagnosis, check_number, diagnose
from replicse.judge.adjudication.published import PublishedCell, published_cell
from replicse.judge.adjudication.record_diagnosis import add_record, recorded_cell
from replicse.judge.values.record_measurements import load_record_measurements
from replicse.judge.values.result_files import read_results
from replicse.judge.values.result_scores import AVERAGED
from replicse.printable import some
from replicse.registry.poolings import PoolingParameters
from replicse.registry.suites import AGGREGATIONS, STS_TASKS, is_metric, known_paths
from replicse.spec.causes import load_causes, load_measured
from replicse.spec.config import use_all_plugins
from replicse.spec.papers import load_papers
from replicse.spec.printed import Reported, parse_number

LOG = logging.getLogger(__name__)
# Facts about the user's run: a dict from option to type (or choices) and help.
FACTS: dict[str, tuple[Any, str]] = {
    "encoder-is": (("trained", "released", "untrained"), "trained by you, by the authors, or not"),
    "seed": (int, "seed of training"),
    "seeds": (int, "number of seeds, if your number is a mean over seeds"),
    "devices": (int, "number of GPUs in training"),
    "batch": (int, "batch size over all GPUs"),
    "accumulation": (int, "steps of gradient accumulation"),
    "learning-rate": (float, "learning rate"),
    "epochs": (int, "number of epochs"),
    "length": (int, "maximum number of tokens of a training sentence"),
    "dropout": (float, "dropout rate"),
    "corpus": (str, "training corpus, named as in recipes: wiki, nli, ..."),
    "precision": (("fp32", "bf16", "fp16"), "precision of training and test"),
    "pooling": (
        tuple(PoolingParameters.known()),
        "pooling at test (cls-head: [CLS] with the pooler)",
    ),
    "steps": (("best", "last"), "the checkpoint that you tested"),
    "against": (
        ("paper", "checkpoint", "readme"),
        "source of the number that you compare with",
    ),
    "aggregation": (AGGREGATIONS, "aggregation over the subsets of a task"),
    "split": (("train", "dev", "test"), "split of your score"),
    "read-from": (
        ("training", "test"),
        "source of your score: the training log, or a test of the saved encoder",
    ),
    "versions": (("same", "other"), "whether you use the authors' versions of transformers and torch"),
    "template": (("yes", "no", "other"), "whether your test used the encoder's template"),
    "prompt": (("yes", "no", "other"), "whether your test used the encoder's prompts"),
    "model": (str, "name of the encoder"),
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.epilog = (
        "example:\n  replicse diagnose 74.84 --item simcse/table5/unsup-simcse-bert-base/avg"
        "\n  replicse diagnose FOLDER --check pooler --data DIR\n  replicse diagnose A.json B.json"
    )
    parser.add_argument("words", nargs="*", help="your number x 100; two results; a folder for --check")
    parser.add_argument("--item", default="", help="the cell to compare with: paper/item/row/column")
    parser.add_argument("--printed", help="the printed number, if the papers here do not contain it")
    parser.add_argument(
        "--metric", default="", help="metric, if --printed is given: sts/avg, mteb/SciFact, ..."
    )
    parser.add_argument("--results", type=Path, help="results with your number, as in compare")
    parser.add_argument("--encoder", help="your encoder, to evaluate it under common variants")
    parser.add_argument("--check", help="evaluate the folder only under variants of a cause")
    parser.add_argument("--data", type=Path, help="data root, if an encoder is given; default: REPLICSE_DATA")
    parser.add_argument(
        "--threads", type=int, default=0, help="CPU threads, if an encoder is given; default: all"
    )
    said = parser.add_argument_group("facts about your run")
    for name, (kind, words) in FACTS.items():
        shown = name.upper().replace("-", "_")
        if isinstance(kind, tuple):
            help_text = f"{words}: {', '.join(kind)}"
            said.add_argument(f"--{name}", metavar=shown, choices=kind, help=help_text)
        else:
            said.add_argument(f"--{name}", metavar=shown, type=kind, help=words)
    said.add_argument(
        "--pooler",
        help="--pooling as in the authors' evaluation script, such as cls_before_pooler",
    )
    add_all_argument(parser)
    parser.add_argument("--markdown", action="store_true", help="print a code block for an issue")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_workflow_argument(parser)


def run(arguments: Namespace) -> None:
    """Print whether a number is unusual, possible causes, and what to try."""
    arguments.all = arguments.all or arguments.markdown
    refuse_assignments(arguments.words)
    if len(arguments.words) == 2:
        first, second = arguments.words
        compare_others(arguments, first, second, arguments.markdown)
        return
    if arguments.pooler:
        arguments.pooling = pooling_of(arguments.pooler, arguments.workflow)
    if len(arguments.words) > 2:
        raise BadInput(f"{len(arguments.words)} arguments; give one number, two results files or a folder")
    if arguments.check:
        arguments.encoder = arguments.encoder or next(iter(arguments.words), None)
        show_variants(arguments, checks_of(arguments))
        return
    if arguments.encoder:
        test_sets(arguments)
    found = diagnosed(arguments)
    document = found.plain()
    answer: Sequence[str] = []
    variants: list[Sequence[str]] = []
    if arguments.encoder:
        scores, task = variants_of(arguments)
        document |= plain_variants(scores, task, found)
        answer, *variants = variant_parts(scores, task, found)
    if arguments.json:
        print_json(document)
        return
    parts = [*variants, *diagnosis_parts(found, arguments.encoder, arguments.all)]
    lines = on_a_screen(
        arguments,
        [*standing_lines(found), *answer],
        parts,
        "part",
        short=bool(found.facts) and not found.explained,
    )
    print_block(lines, arguments.markdown)


def refuse_assignments(words: Sequence[str]) -> None:
    """Raise BadInput if a fact is written as NAME=VALUE, not as an option."""
    for word in words:
        name, mark, value = word.partition("=")
        if mark and name.lstrip("-") in FACTS:
            raise BadInput(f'"{word}": write it as an option, --{name.lstrip("-")} {value}')


def pooling_of(word: str, workflow: Path) -> str:
    """Return the pooling that an authors' evaluation script calls `word`.

    Args:
        word: a value of the script's option --pooler, such as "cls_before_pooler".
        workflow: the folder of papers and scales.

    Raises:
        BadInput: if no script has this value; the message contains the nearest one.
    """
    words: dict[str, str] = {}
    for paper in load_papers(workflow).values():
        words |= paper.about.poolers
    check_known(word, words, f'--pooler is "{word}"')
    return words[word]


def show_variants(arguments: Namespace, checks: Sequence[str]) -> None:
    """Print the scores of an encoder under some evaluation variants.

    Args:
        arguments: the parsed arguments.
        checks: names of variants.
    """
    scores, task = variants_of(arguments, checks)
    if arguments.json:
        print_json(plain_variants(scores, task, None))
    else:
        _, *parts = variant_parts(scores, task, None)
        print_block(on_a_screen(arguments, (), parts, "variant"), arguments.markdown)


def checks_of(arguments: Namespace) -> tuple[str, ...]:
    """Return the evaluation variants of the cause in --check.

    The beginning of a name is enough if it is unique.

    Raises:
        BadInput: if no cause or several causes match; the message contains the nearest name.
    """
    causes = {cause.id: cause for cause in load_causes(arguments.workflow) if cause.checks}
    found = [name for name in causes if name.startswith(arguments.check)]
    if len(found) != 1:
        raise BadInput(f'--check is "{arguments.check}"{nearest(arguments.check, causes)}')
    return causes[found[0]].checks


def variants_of(arguments: Namespace, checks: Sequence[str] = ()) -> tuple[Mapping[str, Any], str]:
    """Evaluate an encoder under some variants of the evaluation.

    Args:
        arguments: the parsed arguments with encoder, data root, threads and pooling.
        checks: names of variants. Default: empty, all variants.

    Returns:
        A dict from variant to the scores by task, and the task of the user's number. Default task: the average.
    """
    from replicse.encoder.folders import MODULES, encoder_folder
    from replicse.encoder.sentence import SentenceEncoder
    from replicse.evaluation.variants import evaluate
    from replicse.library.encoders import set_threads

    task, pooling = "avg", None
    if arguments.item or arguments.printed:
        published = compared_with(arguments)
        task, pooling = task_of(published.metric_path), published.settings.get("pooling")
    root = test_sets(arguments)
    set_threads(arguments.threads)
    folder = encoder_folder(arguments.encoder)
    # A pooling that the encoder's folder declares takes precedence over the pooling of the cell's row.
    if (folder / MODULES).is_file():
        pooling = None
    vectors = SentenceEncoder.open(folder, arguments.pooling or pooling)
    return evaluate(root, vectors, tuple(checks) or None, str(folder)), task


def test_sets(arguments: Namespace) -> Path:
    """Return the data root after loading the test datasets as a check.

    Raises:
        BadInput: if no data root is given, or a test set is missing. This is found before a model is loaded.
    """
    from replicse.data.sets import data_folder
    from replicse.data.sts import load_sts

    place = arguments.data or os.environ.get("REPLICSE_DATA")
    if not arguments.encoder:
        raise BadInput("--check needs an encoder; add the folder")
    if not place:
        raise BadInput("an encoder is evaluated on datasets; add --data DIR, or set REPLICSE_DATA")
    root = data_folder(Path(place))
    for task in STS_TASKS:
        load_sts(root, task)
    return root


def task_of(metric_path: str) -> str:
    """Return the task of a similarity score.

    Args:
        metric_path: a metric path such as "sts/STS12/all" or "sts/avg". Empty for the average.

    Returns:
        A task such as "STS12", or "avg".

    Raises:
        BadInput: if the metric is not a similarity score.
    """
    suite, _, rest = metric_path.partition("/")
    if metric_path and suite not in SIMILARITY:
        raise BadInput(
            f"--encoder works only with STS metrics (sts/...), not {metric_path}; remove --encoder"
        )
    return re.split("/|-w?mean", rest)[0] or "avg"


def facts_of(arguments: Namespace) -> dict[str, Any]:
    """Return a dict of the given facts about the user's run."""
    facts = {}
    for name in FACTS:
        value = getattr(arguments, name.replace("-", "_"))
        if name != "seeds" and value is not None:
            facts[name] = value
    return facts


def diagnosed(arguments: Namespace) -> Diagnosis:
    """Compute the diagnosis of a number.

    Raises:
        BadInput: if arguments are missing or contradict each other, or the number cannot be a score of the cell.
    """
    if arguments.seeds is not None and arguments.seeds < 1:
        raise BadInput(
            f"--seeds is {arguments.seeds}; expected the number of seeds that your number is a mean of, at least 1"
        )
    published, recorded = compared_with(arguments), None
    if published.name:
        record = load_record_measurements(arguments.workflow, load_papers(arguments.workflow))
        published, recorded = add_record(published, record), recorded_cell(record, published)
    number = number_of(arguments, published)
    if number is not None:
        check_number(number, published)
    causes, measured = load_causes(arguments.workflow), load_measured(arguments.workflow)
    return diagnose(number, published, facts_of(arguments), causes, measured, recorded)


def number_of(arguments: Namespace, published: PublishedCell) -> float | None:
    """Return the number to diagnose.

    Args:
        arguments: the parsed arguments with the number, or with a results file.
        published: the cell to look up in the results file.

    Returns:
        The number, or None if none is given.

    Raises:
        BadInput: if the results file has no score of the cell, or both a number and a file are given.
    """
    given = next(iter(arguments.words), None)
    if arguments.results is None:
        return None if given is None else as_number(given)
    if given is not None:
        raise BadInput("--results contains the number; remove the number from the command line")
    results = read_results(arguments.results)
    for remark in results.remark_lines():
        LOG.warning("%s: %s", results.place, remark)
    score = results.score(published.metric_path)
    if score is None:
        path = published.metric_path
        problem = f"the score of {path or 'the cell'} is missing"
        missing = [part for part in AVERAGED.get(path, ()) if results.score(part) is None]
        if missing:
            problem = f"{path} needs {some(missing)}"
        raise BadInput(f"{results.place}: {problem}; the file has only {results.scores_listed()}")
    return score


def as_number(text: str) -> float:
    """Parse a number; raises BadInput if the string is not a number."""
    try:
        return float(text)
    except ValueError:
        raise BadInput(f'"{text}" is not a number; write your number like 12.34') from None


def compared_with(arguments: Namespace) -> PublishedCell:
    """Return the cell to compare with, with the user's encoder and seeds."""
    published = cell_of(arguments)
    return replace(published, kind=arguments.encoder_is or published.kind, averaged=arguments.seeds or 1)


def cell_of(arguments: Namespace) -> PublishedCell:
    """Return the published cell, or a cell with only --printed.

    Raises:
        BadInput: if neither --item nor --printed is given, both are given, or a value is wrong.
    """
    if arguments.item and (arguments.printed or arguments.metric):
        raise BadInput("--item specifies the printed number and the metric; remove --printed and --metric")
    if arguments.item:
        return published_cell(load_papers(arguments.workflow), arguments.item)
    path = arguments.metric
    use_all_plugins()
    if path and not is_metric(path):
        raise BadInput(f'--metric is "{path}", not a metric of a suite{nearest(path, known_paths())}')
    if (arguments.words or arguments.results) and arguments.printed is None:
        raise BadInput(
            "the number to compare with is missing; add --item paper/item/row/column, or --printed NUMBER"
        )
    reported = Reported(value=arguments.printed, source="you") if arguments.printed else None
    if arguments.printed is not None and parse_number(arguments.printed) is None:
        raise BadInput(f'--printed is "{arguments.printed}", not a number; write it like 12.34')
    settings = {
        "against": "paper",
        "template": "yes",
        "prompt": "yes",
        "read-from": "test",
        "versions": "same",
    }
    return PublishedCell("", "the printed number", path, reported, None, settings=settings)
