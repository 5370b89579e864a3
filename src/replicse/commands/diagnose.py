"""The verb that answers "I got 74.84": is a number unusual, and what explains its difference to the printed one."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from replicse.commands import Action, print_json, room
from replicse.commands.study import add_workflow_argument
from replicse.errors import BadInput
from replicse.printable import columns
from replicse.registry.encoders import POOLINGS
from replicse.registry.suites import AGGREGATIONS, is_metric, known_paths
from replicse.study.judge.diagnosis import Diagnosis, check_number, diagnose
from replicse.study.judge.known import Known, known_cell
from replicse.study.paper.causes import load_causes, load_measured
from replicse.study.paper.papers import load_papers
from replicse.study.paper.printed import Reported, printed_number

# What a user may say of a number: option, kind or choices, help.
FACTS: dict[str, tuple[Any, str]] = {
    "encoder-is": (("trained", "released", "untrained"), "who made the encoder: you, the authors, or nobody"),
    "seed": (int, "the seed of your training"),
    "devices": (int, "how many cards trained it"),
    "batch": (int, "sentences of one loss, over all cards"),
    "accumulation": (int, "steps of gradient accumulation"),
    "learning-rate": (float, "of your training"),
    "epochs": (int, "of your training"),
    "length": (int, "word pieces that training keeps of a sentence"),
    "dropout": (float, "of your training"),
    "corpus": (str, "what you trained on, by its name in the recipe: wiki, nli, ..."),
    "precision": (("fp32", "bf16", "fp16"), "of your training and test"),
    "pooling": (
        tuple(POOLINGS),
        "how your test reads a sentence vector (cls-head: [CLS] through the pooler)",
    ),
    "steps": (("best", "last"), "which checkpoint you tested"),
    "against": (
        ("paper", "checkpoint", "readme"),
        "whose number you compare with: the paper's, a released file's",
    ),
    "aggregation": (AGGREGATIONS, "how your score joins the subsets of a task"),
    "split": (("train", "dev", "test"), "which split your score is of"),
    "read-from": (
        ("training", "test"),
        "where you read the score: in the training log, or in a test of what was saved",
    ),
    "versions": (("same", "other"), "whether transformers and torch are the versions that the authors name"),
    "template": (("yes", "no", "other"), "whether your test used the encoder's template"),
    "prompt": (("yes", "no", "other"), "whether your test used the encoder's prompts"),
    "model": (str, "the encoder's name"),
}
SHOWN = 5


def diagnose_verb(parser: ArgumentParser) -> Action:
    """Say whether a number is unusual, and rank what explains its difference to the printed one."""
    parser.epilog = (
        "examples:\n  replicse diagnose 74.84 --item simcse/table5/unsup-simcse-bert-base/avg --devices 2"
        "\n  replicse diagnose 78.54 --printed 78.87 --encoder-is trained --against checkpoint"
    )
    parser.add_argument("number", nargs="?", help="what you got, x 100")
    parser.add_argument("--item", default="", help="the cell that you compare with: paper/item/row/column")
    parser.add_argument("--printed", help="the printed number, where no paper here prints it")
    parser.add_argument(
        "--metric", default="", help="beside --printed: what it is, as sts/avg or mteb/SciFact"
    )
    said = parser.add_argument_group(
        "what you can say of your run; a setting that is not the paper's is a clue"
    )
    for name, (kind, words) in FACTS.items():
        choices = {"choices": kind} if isinstance(kind, tuple) else {"type": kind}
        said.add_argument(f"--{name}", help=words, **choices)
    parser.add_argument("--markdown", action="store_true", help="text to paste into an issue")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    add_workflow_argument(parser)

    def action(arguments: Namespace) -> None:
        found = diagnosed(arguments)
        if arguments.json:
            print_json(plain(found))
        elif arguments.markdown:
            print("\n".join(markdown_lines(found)))
        else:
            print("\n".join(text_lines(found, room(100))))

    return action


def diagnosed(arguments: Namespace) -> Diagnosis:
    """Return the diagnosis that is asked for; BadInput names what is wrong with it."""
    facts = {
        name: value for name in FACTS if (value := getattr(arguments, name.replace("-", "_"))) is not None
    }
    known = compared_with(arguments)
    number = as_number(arguments.number) if arguments.number is not None else None
    if number is not None:
        check_number(number, known)
    causes, measured = load_causes(arguments.workflow), load_measured(arguments.workflow)
    return diagnose(number, known, facts, causes, measured)


def as_number(text: str) -> float:
    """Return a number that was written; BadInput for anything else."""
    try:
        return float(text)
    except ValueError:
        raise BadInput(f'"{text}" is no number; write what you got, as in 74.84') from None


def compared_with(arguments: Namespace) -> Known:
    """Return the cell that a number is compared with: one of the papers, or a printed number alone."""
    if arguments.item and (arguments.printed or arguments.metric):
        raise BadInput("--item names a cell and its metric; leave out --printed and --metric")
    if arguments.item:
        return known_cell(load_papers(arguments.workflow), arguments.item)
    path = arguments.metric
    if path and not is_metric(path):
        from replicse.errors import nearest

        raise BadInput(f'--metric is "{path}", which no suite yields{nearest(path, known_paths())}')
    if arguments.number is not None and arguments.printed is None:
        raise BadInput("nothing to compare with; add --item paper/item/row/column, or --printed NUMBER")
    reported = Reported(value=arguments.printed, source="you") if arguments.printed else None
    printed_number(arguments.printed)
    settings = {
        "against": "paper",
        "template": "yes",
        "prompt": "yes",
        "read-from": "test",
        "versions": "same",
    }
    return Known("", "the printed number", path, reported, None, settings=settings)


# What is printed


def standing(found: Diagnosis) -> Iterator[str]:
    """Yield sentences on where a number lies: beside the printed one, among seeds, among reruns."""
    known, number = found.known, found.number
    printed = known.reported.value if known.reported else "nothing"
    if number is None:
        yield f"Printed is {printed}: {known.words}. No number was given."
        return
    by = "" if found.difference is None else f", {found.difference:+.2f} points from it"
    yield f"{number:g} beside {printed} in print ({known.words}){by}."
    for spread in known.spreads:
        share, low, high = spread.percentile(number)
        printed_at = known.reported.number if known.reported else None
        print_share = (
            f"; of the printed number {spread.percentile(printed_at.value)[0]:.0%} are" if printed_at else ""
        )
        yield (
            f"{spread.name}: mean {spread.mean:.2f}, sd {spread.sd:.2f}; {share:.0%} of such runs are below yours"
            f" ({low:.0%} to {high:.0%}){print_share}."
        )
    if found.unusual is not None:
        yield (
            "That is unusual: fewer than 1 run in 20 lies so far out, so look for a cause."
            if found.unusual
            else "That is not unusual: a run like it needs no other cause than its seed or machine."
        )


def said(candidate: Any) -> str:
    """Return which facts speak for or against a cause."""
    words = {"differs": "for", "agrees": "against"}
    return "; ".join(f"{words[bearing]}: {name}" for name, bearing in candidate.bearings.items())


def effect_text(candidate: Any) -> str:
    """Return the stated effect of a cause: mean, scale, and what it rests on."""
    effect = candidate.effect
    rests = [f"{effect.threads} reports"] * bool(effect.threads) + [f"{effect.measured} measured"] * bool(
        effect.measured
    )
    return f"{effect.mean:+.1f} ±{effect.scale:.1f} ({', '.join(rests) or 'no report'})"


def ranked_rows(found: Diagnosis) -> list[tuple[str, ...]]:
    """Return a row per cause: share, cause, threads, effect, fit, what was said."""
    header = ("share", "cause", "threads", "effect in points", "fit", "said")
    rows = [
        (
            f"{each.share:.0%}",
            each.cause.id,
            str(len(each.cause.threads)),
            effect_text(each),
            "" if found.difference is None else f"{each.fit:.2f}",
            said(each),
        )
        for each in found.candidates
    ]
    return [header, *rows]


def text_lines(found: Diagnosis, width: int) -> Iterator[str]:
    """Yield the diagnosis for a terminal."""
    import textwrap

    for sentence in standing(found):
        yield from textwrap.wrap(sentence, width)
    yield ""
    yield from columns(ranked_rows(found)[: SHOWN + 1], numbers=(0, 2, 4))
    yield from textwrap.wrap(READING, width)
    for place, each in enumerate(found.candidates[:3], 1):
        yield ""
        yield f"{place}. {each.cause.title}"
        for label, text in (
            ("", each.cause.sentence),
            ("test: ", each.cause.test),
            ("mend: ", each.cause.mend),
        ):
            yield from textwrap.wrap(label + text, width, initial_indent="   ", subsequent_indent="   ")


READING = (
    "share = threads that name the cause x fit of the difference to its effect x what you said (10 where a setting is"
    " not the paper's, 0.25 where it is), over all causes. No report: an effect of -2 ±4 is assumed."
)


def markdown_lines(found: Diagnosis) -> Iterator[str]:
    """Yield the diagnosis as Markdown to paste into an issue."""
    yield from standing(found)
    yield ""
    if found.facts:
        yield f"Said of the run: {', '.join(f'{name} {value}' for name, value in found.facts.items())}."
        yield ""
    header, *rows = ranked_rows(found)
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows[:SHOWN]:
        yield f"| {' | '.join(row)} |"
    yield ""
    for place, each in enumerate(found.candidates[:3], 1):
        yield f"{place}. **{each.cause.title}.** {each.cause.sentence} Test: `{each.cause.test}`. {each.cause.mend}"
    yield ""
    yield READING


def plain(found: Diagnosis) -> Mapping[str, Any]:
    """Return the diagnosis as plain data."""
    known = found.known
    spreads = [
        {"name": each.name, "mean": each.mean, "sd": each.sd, "n": each.n}
        | (
            {}
            if found.number is None
            else dict(zip(("below", "low", "high"), each.percentile(found.number), strict=True))
        )
        for each in known.spreads
    ]
    return {
        "number": found.number,
        "cell": known.name,
        "printed": known.reported.value if known.reported else None,
        "difference": found.difference,
        "unusual": found.unusual,
        "spreads": spreads,
        "reruns": dict(known.reruns),
        "facts": dict(found.facts),
        "causes": [
            {
                "cause": each.cause.id,
                "share": each.share,
                "prior": each.prior,
                "fit": each.fit,
                "said": each.said,
                "bearings": dict(each.bearings),
                "effect": vars(each.effect),
                "test": each.cause.test,
                "mend": each.cause.mend,
                "threads": list(each.cause.threads),
            }
            for each in found.candidates
        ],
        "excluded": dict(found.excluded),
    }
