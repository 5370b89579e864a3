"""What to run next: the runs that settle most open cells and claims per hour, over shared runs and chains."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from replicse.registry.artefacts import METRICS
from replicse.registry.levels import FEWEST_SEEDS
from replicse.study.judge.evidence import (
    cell_verdict,
    claim_sign,
    judged_cells,
    needed_of_cell,
    needed_of_claim,
    slacks_of,
)
from replicse.study.paper.cell_names import CellNames
from replicse.study.paper.claims import Claim
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.plan.cost import Cost
from replicse.study.plan.plan import Cell, Plan
from replicse.study.results.power import POWER
from replicse.study.results.table import ItemResult


@dataclass(frozen=True)
class Open:
    """An open cell or claim and the runs, those that they depend on included, that it still needs."""

    name: str
    runs: frozenset[str]


@dataclass(frozen=True)
class Step:
    """Runs to do together, their hours, and the cells and claims that are settled with them."""

    runs: tuple[str, ...]
    hours: float
    settles: tuple[str, ...]


def open_things(plan: Plan, results: Sequence[ItemResult], claims: Sequence[Claim]) -> Iterator[Open]:
    """Yield what is open and would be settled by seeds of the plan: three, or as many as its known gap asks for.

    What asks for more seeds than the plan has is left out, and so is what has all of its runs.
    """
    there = {
        (result.item, *cell.key): cell
        for result in results
        for cell in result.cells
        if cell.protocol == AS_DESCRIBED
    }
    for item in plan.items:
        for cell in judged_cells(plan, item):
            result = there.get(cell.key)
            if result is not None and cell_verdict(plan, cell, result):
                continue
            need = needed_of_cell(plan, cell, result, len(plan.seeds), POWER)
            least = 1 if need.source == "published" else FEWEST_SEEDS
            yield from _missing(plan, "/".join(cell.key), [cell], max(need.seeds or least, least))
    names = CellNames(plan.papers)
    by_key = {cell.key: cell for item in plan.items for cell in plan.described(item)}
    parts: dict[str, list[tuple[list[Cell], int]]] = {}
    settled: dict[str, list[int]] = {}
    for slacks in slacks_of(plan, claims, results):
        cells = [by_key[key] for name in slacks.cells if (key := names.key(name)) in by_key]
        settled.setdefault(slacks.claim, []).append(claim_sign(slacks))
        need = needed_of_claim(slacks, len(plan.seeds), POWER, plan.scale.comparable)
        parts.setdefault(slacks.claim, []).append((cells, max(need.seeds or FEWEST_SEEDS, FEWEST_SEEDS)))
    for claim, needs in parts.items():
        if all(settled[claim]) or -1 in settled[claim]:
            continue
        cells = [cell for each, _ in needs for cell in each]
        yield from _missing(plan, f"claim {claim}", cells, max(count for _, count in needs))


def _missing(plan: Plan, name: str, cells: Iterable[Cell], seeds: int) -> Iterator[Open]:
    """Yield what is open with the runs of its first seeds that are not trained; nothing where these are too few."""
    encoders: list[str] = []
    for cell in cells:
        for operand in cell.operands or (cell,):
            if operand.seeds in ((), (None,)):
                continue
            if len(operand.jobs) < seeds:
                return
            encoders += [encoder for group in operand.jobs[:seeds] for encoder in group]
    runs = {run for encoder in encoders if (run := plan.encoders[encoder].source.run)}
    missing = frozenset(run for run in plan.chain(runs) if plan.paths.missing(plan.paths.run(run, METRICS)))
    if missing:
        yield Open(name, missing)


def next_steps(things: Iterable[Open], cost: Cost, hours: float) -> Iterator[Step]:
    """Yield steps until the hours are spent: each time the runs that settle most per hour of what they still cost.

    The problem is that of a weighted cover, for which the greedy choice is the usual one.
    """
    each = {run: _hours(cost, run) for run in cost.plan.runs}
    open_now, done = list(things), set[str]()
    while open_now:
        best, most = None, 0.0
        for runs in {thing.runs - done for thing in open_now}:
            price = math.fsum(each[run] for run in runs)
            if price <= hours:
                count = sum(thing.runs - done <= runs for thing in open_now)
                rate = count / max(price, 1e-9)
                if rate > most or (rate == most and best is not None and sorted(runs) < sorted(best)):
                    best, most = runs, rate
        if best is None:
            return
        settled = [thing.name for thing in open_now if thing.runs - done <= best]
        price = math.fsum(each[run] for run in best)
        yield Step(tuple(sorted(best)), price, tuple(dict.fromkeys(settled)))
        hours, done = hours - price, done | best
        open_now = [thing for thing in open_now if not thing.runs <= done]


def _hours(cost: Cost, run: str) -> float:
    expected = cost.hours([run])
    return expected.expected if expected else float("inf")
