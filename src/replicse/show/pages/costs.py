"""The picture of where the time of a study went: training by objective, then evaluation."""

from collections.abc import Mapping

from replicse.printable import several
from replicse.show.content.contents import Step, Waterfall

MOST = 8  # bars of their own; the others are one bar


def seconds_picture(training: Mapping[str, float], evaluations: Mapping[str, float]) -> Waterfall | None:
    """Return the seconds of the runs by objective and of the evaluations, one bar after the other; None for none.

    A run's name begins with its objective.
    """
    parts: dict[str, list[float]] = {}
    for run, seconds in training.items():
        parts.setdefault(f"training, {run.partition('-s')[0]}", []).append(seconds)
    if evaluations:
        parts["evaluation"] = list(evaluations.values())
    total = sum(map(sum, parts.values()))
    if not total:
        return None
    ranked = sorted(parts.items(), key=lambda part: -sum(part[1]))
    if len(ranked) > MOST + 1:
        others = [second for _, each in ranked[MOST:] for second in each]
        ranked = [*ranked[:MOST], (f"{len(ranked) - MOST} others", others)]
    steps, start = [], 0.0
    for label, each in ranked:
        steps.append(Step(label, f"{sum(each):.0f} s, {len(each)} jobs", start, start + sum(each)))
        start += sum(each)
    jobs = f"{several(len(training), 'run')}, {several(len(evaluations), 'evaluation')}"
    title = f"Training and evaluation took {total:.0f} s ({jobs})"
    return Waterfall(title, tuple(steps))
