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
SHOWN_EFFECTS = 2  # maximum number of measurements by others to show for a fact, by default
ORDERED = "What to try, cheapest first:"
UNORDERED = "Your settings do not differ from the paper. What to try, cheapest first:"
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
        yield "No number or cell is given; these are the known causes."
    if number is None:
        return
    such = "runs" if published.averaged == 1 else f"means of {published.averaged}"
    for place, spread in enumerate(published.spreads, 1):
        low, high = spread.bounds()
        names = ""
        if published.between_labs and place == len(published.spreads):  # the last spread is over reruns
            names = f" ({some(list(published.reruns))})"
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
    different: list[Sequence[str]] = []
    unknown: list[Sequence[str]] = []
    same = []
    for fact in found.facts:
        if fact.agrees:
            same.append(option_text(fact))
        elif fact.papers is None:
            unknown.append(list(_fact_lines(found, fact, details)))
        else:
            different.append(list(_fact_lines(found, fact, details)))
    yield from _below("Different from the paper:", different)
    yield from _below("Unknown in the paper:", unknown)
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
    """Yield a fact with related causes, then measured and reported effects."""
    in_paper = "" if fact.papers is None else f" (paper: {fact.papers})"
    causes = ", ".join(cause.id for cause in fact.causes) or "cause unknown"
    yield f"- {option_text(fact)}{in_paper}: {causes}"
    effects = found.recorded_of(fact)
    for effect in effects if details else effects[:SHOWN_EFFECTS]:
        yield f"    measured by {effect.source} in {effect.cell.rpartition('/')[0]}: {effect.text}"
    for cause in fact.causes if details else ():
        reported = [f"{delta:+.4g} in {thread} ({cause.threads[thread]})" for thread, delta in cause.deltas]
        if reported:
            yield f"    reported for {cause.id}: {', '.join(reported)}"
        measured = found.measured_of(cause, fact.value)
        texts = [f"{each.text} {each.variant} on {each.encoder}" for each in measured]
        if texts:
            yield f"    measured for {cause.id}: {', '.join(texts)}"


def _trials(found: Diagnosis, encoder: str) -> Iterator[Sequence[str]]:
    """Yield what to try: first an evaluation under variants, then causes."""
    scores = not encoder and found.published.metric_path.partition("/")[0] in ("", *SIMILARITY)
    if scores:
        yield (
            "1. diagnose with --encoder FOLDER --data DIR: evaluates your encoder under common variants (ten minutes on"
            " two cores for 6 layers of 384); a variant that gives your number after rounding explains it",
        )
    for place, cause in enumerate(found.to_try, 1 + scores):
        test = found.test_of(cause)
        if encoder and cause.checks:
            test = f"the variants above: {', '.join(cause.checks)}"
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
    names = []
    if found.number is not None and abs(score - found.number) <= GIVES:
        names.append("your number")
    printed = found.published.reported.number if found.published.reported else None
    if printed and abs(score - printed.value) <= GIVES:
        names.append("the printed number")
    return " and ".join(names)


def variant_parts(scores: Mapping[str, Any], task: str, found: Diagnosis | None) -> Iterator[Sequence[str]]:
    """Yield the variant with the number, then all variants.

    Args:
        scores: a dict from evaluation variant to the scores by task.
        task: the task of the number.
        found: a diagnosis with the number, or None.

    Yields:
        A sentence about the number, empty if there is no number; then a heading and a line for each variant, with
        score and difference to the default evaluation.
    """
    variants = plain_variants(scores, task, found)["variants"]
    numbers: dict[str, float] = {}
    yours = []
    for name, variant in variants.items():
        if variant["score"] is not None:
            numbers[name] = variant["score"]
        if variant["gives"].startswith("your number"):
            yours.append(name)
    rows = [("variant", task, "difference", "meaning")]
    for name, variant in variants.items():
        score = difference = ""
        if name in numbers:
            score = f"{numbers[name]:.2f}"
        if name in numbers and AS_READ in numbers:
            # Adding 0.0 turns -0.0 into 0.0, to print zero without a minus sign.
            difference = f"{round(numbers[name] - numbers[AS_READ], 2) + 0.0:+.2f}"
        meaning = VARIANTS.get(name, "the default evaluation")
        if variant["gives"]:
            meaning = f"{meaning}: gives {variant['gives']}"
        rows.append((name, score, difference, variant["reason"] or meaning))
    number = found.number if found else None
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
    variants = {}
    for name in (AS_READ, *VARIANTS):
        if name in scores:
            score = scores[name].get(task)
            variants[name] = {
                "score": score,
                "gives": gives(score, found),
                "tasks": scores[name],
                "reason": scores.get("failures", {}).get(f"{name}/{task}", ""),
            }
    return {"task": task, "variants": variants}
