"""A diagnosis as text for a terminal, as Markdown for an issue, and as plain data."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.commands import room
from replicse.printable import columns
from replicse.registry.suites import AS_READ, VARIANTS
from replicse.study.judge.diagnosis import Candidate, Diagnosis
from replicse.study.judge.result_files import Comparison

SHOWN = 5
# Points by which a variant may miss a number that it gives: two roundings of an average of rounded scores.
GIVES = 0.02


def standing(found: Diagnosis) -> Iterator[str]:
    """Yield sentences on where a number lies: next to the printed one, among seeds, among reruns."""
    known, number = found.known, found.number
    printed = known.reported.value if known.reported else "nothing"
    if number is not None:
        by = "" if found.difference is None else f", {found.difference:+.2f} points from it"
        yield f"{number:g} next to {printed} in print ({known.words}){by}."
    elif known.reported or known.name:
        yield f"Printed is {printed}: {known.words.removesuffix('.')}."
    if found.no_fit:
        yield f"Ranked without a fit, because {found.no_fit}: by threads and by what you said of the run."
    if number is None:
        return
    for spread in known.spreads:
        share, low, high = spread.percentile(number)
        printed_at = known.reported.number if known.reported else None
        print_share = (
            f"; of the printed number {spread.percentile(printed_at.value)[0]:.0%} are" if printed_at else ""
        )
        such, of = ("such runs", "") if known.averaged == 1 else ("them", f" of means of {known.averaged}")
        yield (
            f"{spread.name}: mean {spread.mean:.2f}, sd {spread.sd:.2f}{of}; {share:.0%} of {such} are below yours"
            f" ({low:.0%} to {high:.0%}){print_share}."
        )
    if found.unusual is not None:
        yield (
            "That is unusual: fewer than 1 run in 20 lies so far out, so look for a cause."
            if found.unusual
            else "That is not unusual: a run like it needs no other cause than its seed or machine."
        )


def said(candidate: Candidate) -> str:
    """Return which facts speak for or against a cause."""
    words = {"differs": "for", "agrees": "against"}
    return "; ".join(f"{words[bearing]}: {name}" for name, bearing in candidate.bearings.items())


def effect_text(candidate: Candidate) -> str:
    """Return the stated effect of a cause: where it lies, its spread, and what it rests on."""
    effect = candidate.effect
    return f"{effect.mean:+.1f} ±{effect.scale:.1f} ({effect.rests})"


def ranked_rows(found: Diagnosis) -> list[tuple[str, ...]]:
    """Return a row per cause: share, cause, threads, effect, fit where there is one, what was said."""
    header = ("share", "cause", "threads", "effect", *([] if found.no_fit else ["fit"]), "said")
    rows = [
        (
            f"{each.share:.0%}",
            each.cause.id,
            str(len(each.cause.threads)),
            effect_text(each),
            *([] if found.no_fit else [f"{each.fit:.2f}"]),
            said(each),
        )
        for each in found.candidates
    ]
    return [header, *rows]


def text_lines(found: Diagnosis, width: int) -> Iterator[str]:
    """Yield the diagnosis for a terminal."""
    for sentence in standing(found):
        yield from textwrap.wrap(sentence, width)
    yield ""
    header, *rows = ranked_rows(found)
    lines: list[Sequence[str] | str] = [header[:-1]]
    for *row, facts in rows[:SHOWN]:
        lines += [row, f"       {facts}"] if facts else [row]
    yield from columns(lines, numbers=(0, 2, 4))
    yield from textwrap.wrap(reading(found), width)
    for place, each in enumerate(found.candidates[:3], 1):
        yield ""
        yield f"{place}. {each.cause.title}"
        for label, text in (
            ("", each.cause.sentence),
            ("test: ", each.cause.test),
            ("fix: ", each.cause.mend),
        ):
            yield from textwrap.wrap(label + text, width, initial_indent="   ", subsequent_indent="   ")


def reading(found: Diagnosis) -> str:
    """Return what a share is made of."""
    fit = "" if found.no_fit else " x fit of the difference to its effect"
    return (
        f"share = threads that name the cause{fit} x what you said (10 where a setting is not the paper's, 0.25 where"
        " it is), over all causes. No report: an effect of -2 ±4 is assumed."
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
    yield reading(found)


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
                "fit": None if found.no_fit else each.fit,
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


# An encoder under many evaluations


def gives(score: float | None, found: Diagnosis | None) -> str:
    """Return whose number a variant gives, within rounding: yours, or the printed one."""
    if score is None or found is None:
        return ""
    printed = found.known.reported.number if found.known.reported else None
    sides = (("your number", found.number), ("the printed number", printed.value if printed else None))
    return " and ".join(name for name, value in sides if value is not None and abs(score - value) <= GIVES)


def variant_rows(scores: Mapping[str, Any], task: str, found: Diagnosis | None) -> list[tuple[str, ...]]:
    """Return a row per variant: its score, its difference to the encoder as it was opened, what it is."""
    base = scores[AS_READ][task]
    rows: list[tuple[str, ...]] = [("variant", task, "difference", "what it is")]
    for name in (AS_READ, *VARIANTS):
        if name not in scores:
            continue
        value = scores[name].get(task)
        reason = scores.get("failures", {}).get(f"{name}/{task}", "")
        text = VARIANTS.get(name, "the encoder as it was opened")
        given = gives(value, found)
        rows.append(
            (
                name,
                "" if value is None else f"{value:.2f}",
                "" if None in (value, base) else f"{value - base:+.2f}",
                reason or (f"{text}: gives {given}" if given else text),
            )
        )
    return rows


def variant_lines(
    scores: Mapping[str, Any], task: str, found: Diagnosis | None, markdown: bool = False
) -> Iterator[str]:
    """Yield an encoder's scores under the variants, and which of them gives a number."""
    header, *rows = variant_rows(scores, task, found)
    if markdown:
        yield from _table(header, rows)
    else:
        yield from columns([header, *rows], numbers=(1, 2), width=room())
    if found is None:
        return
    given = [row[0] for row in rows if "gives" in row[3]]
    number = found.number
    numbers = {name: value for name, *_ in rows if (value := scores[name].get(task)) is not None}
    if not given and number is not None and numbers:
        nearest = min(numbers, key=lambda name: abs(numbers[name] - number))
        yield f"No variant gives {number:g}; the nearest is {nearest} with {numbers[nearest]:.2f}."


def plain_variants(scores: Mapping[str, Any], task: str, found: Diagnosis | None) -> dict[str, Any]:
    """Return an encoder's scores under the variants as plain data."""
    names = [name for name in (AS_READ, *VARIANTS) if name in scores]
    return {
        "task": task,
        "variants": {
            name: {
                "score": scores[name].get(task),
                "gives": gives(scores[name].get(task), found),
                "tasks": scores[name],
                "reason": scores.get("failures", {}).get(f"{name}/{task}", ""),
            }
            for name in names
        },
    }


# Two results files


def comparison_rows(found: Comparison) -> list[tuple[str, ...]]:
    """Return a row per score of both results."""
    return [
        (name, f"{first:.2f}", f"{second:.2f}", f"{second - first:+.2f}", found.standing(name))
        for name, (first, second) in found.scores.items()
    ]


def comparison_lines(found: Comparison, first: Path, second: Path, markdown: bool = False) -> Iterator[str]:
    """Yield which settings differ between two results, and which scores do beyond numerics."""
    yield f"A is {first}, B is {second}"
    settings = [(name, one, other) for name, (one, other) in found.settings.items()]
    if settings:
        yield from _shown(("setting", "A", "B"), settings, markdown)
    else:
        yield "All settings that both files state are the same."
    yield from _shown(("score", "A", "B", "B - A", "difference"), comparison_rows(found), markdown)
    beyond = sum(found.standing(name) == "beyond numerics" for name in found.scores)
    yield (
        f"{beyond} of {len(found.scores)} scores differ by more than {found.numerics:.2f}, which half precision or"
        " another batch may do to one encoder."
    )
    for name, only in (("A", found.only_first), ("B", found.only_second)):
        if only:
            yield f"{len(only)} only in {name}: {', '.join(only[:6])}{' ...' if len(only) > 6 else ''}"


def plain_comparison(found: Comparison) -> dict[str, Any]:
    """Return what differs between two results as plain data."""
    scores = {
        name: {"a": first, "b": second, "difference": second - first, "standing": found.standing(name)}
        for name, (first, second) in found.scores.items()
    }
    settings = {name: {"a": one, "b": other} for name, (one, other) in found.settings.items()}
    return {
        "settings": settings,
        "scores": scores,
        "numerics": found.numerics,
        "only_a": list(found.only_first),
        "only_b": list(found.only_second),
    }


def _shown(header: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool) -> Iterator[str]:
    if markdown:
        yield from _table(header, rows)
    else:
        yield from columns([tuple(header), *map(tuple, rows)])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
