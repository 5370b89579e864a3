"""Format a diagnosis as lines of text, or as data for JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replicse.cli.answers import room
from replicse.judge.adjudication.diagnosis import Diagnosis, Fact
from replicse.printable import columns, several, some
from replicse.registry.suites import AS_READ, VARIANTS, range_of

# Maximum difference in points between a variant's score and a number that it explains. It allows for two roundings of
# an average of rounded scores.
GIVES = 0.02
SHOWN_EFFECTS = 2  # maximum number of other people's measurements that are shown for a fact
ORDERED = "What to try, cheapest first:"
UNORDERED = "No setting that you gave differs from the paper. What to try, cheapest first:"
# The suites for which there are evaluation variants.
SIMILARITY = ("sts",)


def standing_lines(found: Diagnosis) -> Iterator[str]:
    """Yield the number next to the printed one, seeds and reruns.

    The last line states whether the number is unusual.

    Args:
        found: a diagnosis with or without a number.
    """
    published, number = found.published, found.number
    printed = published.reported.value if published.reported else "no number"
    if number is not None:
        difference = f": {found.difference:+g}" if found.difference else ""
        yield f"{number:g}, printed {printed} ({published.words}){difference}."
    elif published.reported or published.name:
        yield f"Printed: {printed} ({published.words})."
    else:
        yield "No number and no cell are given; these are the known causes."
    if number is None:
        return
    reruns = f" ({some(list(published.reruns))})" if published.between_labs else ""
    for place, spread in enumerate(published.spreads, 1):
        low, high = spread.bounds()
        such = "runs" if published.averaged == 1 else f"means of {published.averaged}"
        # The spread of the reruns is the last one.
        names = reruns if place == len(published.spreads) else ""
        yield (
            f"{spread.name}{names}: mean {spread.mean:.2f}, sd {spread.sd:.2f}; 95% of {such} between {low:.2f} and"
            f" {high:.2f}."
        )
    yield from retrained_lines(found)
    limits = range_of(published.metric_path)
    yield {
        "out of range": f"{published.metric_path} must be {limits}, so the evaluation code is wrong.",
        "as printed": "That equals the printed number after rounding.",
        "not as printed": f"The encoder is {published.kind}, without a seed, so the numbers should be equal.",
        "usual": "That is a normal seed-to-seed difference.",
        "above": "That is unusual: above the expected range. Look for a cause.",
        "below": "That is unusual: below the expected range. Look for a cause.",
        "not known": "It is unknown if that is unusual, because no seeds or reruns of this cell are published.",
    }[found.standing]


def retrained_lines(found: Diagnosis) -> Iterator[str]:
    """Yield number of runs, sources and range of scores of retrainings."""
    recorded = found.recorded
    if recorded is None:
        return
    every = {"in the printed setting": recorded.printed, "in any setting": recorded.every}
    if recorded.printed == recorded.every:
        del every["in any setting"]
    for which, runs in every.items():
        if runs:
            sources = f"{several(len(runs.sources), 'source')} ({some(runs.sources)})"
            ends = f"{runs.low:.2f} to {runs.high:.2f}"
            yield f"Retrained by others {which}: {several(runs.runs, 'run')} from {sources}, {ends}."


def diagnosis_parts(found: Diagnosis, encoder: str, details: bool) -> Iterator[Sequence[str]]:
    """Yield the user's facts and what to try.

    Nothing is yielded if the number needs no explanation.

    Args:
        found: a diagnosis.
        encoder: the encoder that is evaluated under variants. Empty if none is given.
        details: whether to show all reported and measured effects.
    """
    if found.explained:
        return
    groups = (
        ("Different from the paper:", [fact for fact in found.facts if fact.papers is not None]),
        ("Unknown in the paper:", [fact for fact in found.facts if fact.papers is None]),
    )
    for heading, facts in groups:
        yield from _below(
            heading, [[*_fact_lines(found, fact, details)] for fact in facts if not fact.agrees]
        )
    same = [option_text(fact) for fact in found.facts if fact.agrees]
    if same:
        yield "", f"Same as the paper, so ruled out: {', '.join(same)}."
    others = [cause.id for cause in found.causes if cause not in found.to_try]
    yield from _below(ORDERED if others else UNORDERED, [*_trials(found, encoder)])
    if others:
        yield "", f"Other causes, which your options do not concern: {', '.join(others)}."


def option_text(fact: Fact) -> str:
    """Return a fact as an option such as `--pooling mean`."""
    return f"--{fact.name} {fact.value}"


def _below(heading: str, parts: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield parts; the first part begins with an empty line and a heading."""
    for place, part in enumerate(parts):
        yield part if place else ("", heading, *part)


def _fact_lines(found: Diagnosis, fact: Fact, details: bool) -> Iterator[str]:
    theirs = "" if fact.papers is None else f" (paper: {fact.papers})"
    bears = ", ".join(cause.id for cause in fact.causes) or "no known cause"
    yield f"- {option_text(fact)}{theirs}: {bears}"
    for effect in found.recorded_of(fact)[: None if details else SHOWN_EFFECTS]:
        yield f"    measured by {effect.source} in {effect.cell.rpartition('/')[0]}: {effect.text}"
    for cause in fact.causes if details else ():
        reported = ", ".join(
            f"{delta:+.4g} in {thread} ({cause.threads[thread]})" for thread, delta in cause.deltas
        )
        measured = ", ".join(
            f"{each.text} {each.variant} on {each.encoder}" for each in found.measured_of(cause, fact.value)
        )
        yield from ([f"    reported for {cause.id}: {reported}"] if reported else [])
        yield from ([f"    measured for {cause.id}: {measured}"] if measured else [])


def _trials(found: Diagnosis, encoder: str) -> Iterator[Sequence[str]]:
    """Yield what to try: first an evaluation under variants, then causes."""
    scores = not encoder and found.published.metric_path.partition("/")[0] in ("", *SIMILARITY)
    if scores:
        yield (
            "1. diagnose with --encoder FOLDER --data DIR: evaluates your encoder under common variants (ten minutes on"
            " two cores for 6 layers of 384); a variant that gives your number after rounding explains it",
        )
    for place, cause in enumerate(found.to_try, 2 if scores else 1):
        checked = ", ".join(cause.checks) if encoder else ""
        test = f"the variants above: {checked}" if checked else found.test_of(cause)
        yield f"{place}. {cause.id}: {cause.title}", f"    test: {test}", f"    fix: {cause.fix}"


def gives(score: float | None, found: Diagnosis | None) -> str:
    """Return which numbers equal the score of a variant after rounding.

    Args:
        score: the score of the variant, or None if it could not be computed.
        found: a diagnosis, or None.

    Returns:
        "your number", "the printed number", both joined by "and", or an empty string.
    """
    if score is None or found is None:
        return ""
    printed = found.published.reported.number if found.published.reported else None
    sides = (("your number", found.number), ("the printed number", printed.value if printed else None))
    return " and ".join(name for name, value in sides if value is not None and abs(score - value) <= GIVES)


def variant_parts(scores: Mapping[str, Any], task: str, found: Diagnosis | None) -> Iterator[Sequence[str]]:
    """Yield the variant that explains the number, then all variants.

    Args:
        scores: a dict from evaluation variant to the scores by task.
        task: the task of the number.
        found: a diagnosis with the number, or None.

    Yields:
        A sentence about the number, empty if there is no number; then a heading and a line for each variant, with
        score and difference to the default evaluation.
    """
    variants = plain_variants(scores, task, found)["variants"]
    numbers = {name: one["score"] for name, one in variants.items() if one["score"] is not None}
    rows = [("variant", task, "difference", "meaning")]
    for name, one in variants.items():
        score, text = one["score"], VARIANTS.get(name, "the default evaluation")
        # Adding 0.0 turns -0.0 into 0.0, so that a rounded zero has no minus sign.
        less = f"{round(score - numbers[AS_READ], 2) + 0.0:+.2f}" if {name, AS_READ} <= numbers.keys() else ""
        given = f"{text}: gives {one['gives']}" if one["gives"] else text
        rows.append((name, "" if score is None else f"{score:.2f}", less, one["reason"] or given))
    number = found.number if found else None
    yours = [name for name, one in variants.items() if one["gives"].startswith("your number")]
    if yours:
        yield [f"{' and '.join(yours)}: gives {number:g} after rounding, which explains your number."]
    elif number is not None and numbers:
        nearest = min(numbers, key=lambda name: abs(numbers[name] - number))
        yield [f"No variant gives {number:g}; the nearest is {nearest} with {numbers[nearest]:.2f}."]
    else:
        yield []
    yield from ([line] for line in columns(rows, numbers=(1, 2), width=room()))


def plain_variants(scores: Mapping[str, Any], task: str, found: Diagnosis | None) -> dict[str, Any]:
    """Return an encoder's scores under evaluation variants as a dict.

    Args:
        scores: a dict from evaluation variant to the scores by task.
        task: the task of the number.
        found: a diagnosis with the number, or None.

    Returns:
        A dict with `task`, and with `variants` by name: `score`, `gives`, scores of all `tasks`, and the `reason` of a
        missing score.
    """
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
