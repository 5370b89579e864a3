"""Verbs on how much is enough: what seeds can tell, what to run next, and runs until nothing is open."""

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from replicse.commands import Action, print_json, room
from replicse.commands.shown import shown_items
from replicse.commands.study import (
    add_items_argument,
    add_study_arguments,
    check_seeds,
    chosen_config,
    chosen_plan,
    hours_text,
    wrapped,
)
from replicse.errors import BadInput
from replicse.files import write_text
from replicse.printable import columns, several
from replicse.study.judge.claims import cells_read, study_claims
from replicse.study.judge.evidence import Needed, needed_of_cell, needed_of_claim, open_rows, slacks_of
from replicse.study.judge.next_runs import Step, next_steps, open_things
from replicse.study.judge.study import plan_further, results_of
from replicse.study.paper.claims import Claim
from replicse.study.paper.counterparts import counterparts, printed_in
from replicse.study.plan.cost import Cost
from replicse.study.plan.plan import Plan
from replicse.study.plan.planner import load_plan
from replicse.study.results.power import POWER
from replicse.study.results.table import ItemResult
from replicse.study.results.values import Evaluations

MORE_SEEDS = "more-seeds.yaml"
SHOWN_RUNS = 6
SETTLED_SHOWN = 5


def power_verb(parser: ArgumentParser) -> Action:
    """Say which gap to print so many seeds can tell, and how many seeds the gap that there is asks for."""
    add_study_arguments(parser, "replicse power simcse/table3 --scale compact --seeds 5")
    parser.add_argument("item", help="a paper or an item paper/item")
    parser.add_argument(
        "--power", type=float, default=POWER, help=f"how probably it is given (default: {POWER})"
    )

    def action(arguments: Namespace) -> None:
        if not 0 < arguments.power < 1:
            raise BadInput(f"--power is {arguments.power}; expected between 0 and 1")
        check_seeds(arguments)
        seeds, arguments.seeds = arguments.seeds, None
        shown, items = shown_items(arguments, arguments.item)
        shown.announce(arguments.json)
        plan, name = shown.plan, items[0] if len(items) == 1 else arguments.item
        seeds = seeds or len(plan.seeds)
        claims = [claim for claim in study_claims(plan.papers, plan.papers) if _reads(claim, items)]
        others = {key[0] for key in cells_read(claims, plan.papers)} - {*items}
        plan_further(plan, others)
        results = results_of(plan, [*items, *others], shown.evaluations)
        rows = [
            *(
                need
                for result in results[: len(items)]
                for need in cell_needs(plan, result.item, result, seeds, arguments.power)
            ),
            *(
                needed_of_claim(each, seeds, arguments.power, plan.scale.comparable)
                for each in slacks_of(plan, claims, results)
                if each.ours
            ),
        ]
        if arguments.json:
            asked = {"study": shown.folder, "item": name, "seeds": seeds, "power": arguments.power}
            print_json({**asked, "needs": list(map(asdict, rows))}, seeds="count", power="1")
        else:
            print("\n".join(wrapped(power_lines(plan, name, seeds, arguments.power, rows))))

    return action


def _reads(claim: Claim, items: Iterable[str]) -> bool:
    starts = tuple(f"{item}/" for item in items)
    return any(name.startswith(starts) for name in claim.cells)


def cell_needs(plan: Plan, item: str, result: ItemResult, seeds: int, power: float) -> Iterator[Needed]:
    """Yield what so many seeds tell of every cell of an item, as described."""
    there, pairs = result.described, counterparts(plan.papers)
    for cell in plan.described(item):
        other = printed_in(plan.papers, pairs[cell.key]) if cell.key in pairs else None
        if cell.column.kind != "text" and cell.encoders:
            yield needed_of_cell(plan, cell, there.get(cell.key[1:]), seeds, power, other)


def power_lines(plan: Plan, asked: str, seeds: int, power: float, rows: Sequence[Needed]) -> Iterator[str]:
    """Yield a line per cell and part of a claim that has a spread, and how many have none."""
    told = [row for row in rows if row.spread is not None]
    with_seeds = several(seeds, "seed")
    yield f"{asked} at scale {plan.scale.name}, {with_seeds}; two-sided at 95% (claims one-sided), power {power:.0%}"
    lines = [("spread", "of", "tells", "gap", "seeds", "cell or claim")]
    for row in told:
        numbers = (_number(row.spread), row.source, _number(row.smallest), _number(row.gap, "+"))
        name = row.name.removeprefix(f"{asked}/").replace(f"{asked}/", "")
        lines.append((*numbers, str(row.seeds or ""), f"{name} ({row.note})" if row.note else name))
    if told:
        yield from columns(lines, numbers=(0, 2, 3, 4), width=room(), hang=2)
        yield "tells: the smallest gap to print that so many seeds tell; seeds: the fewest that tell the gap"
    for note, count in Counter(row.note for row in rows if row.spread is None).items():
        yield f"{count} without: {note}"


def _number(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign}.2f}"


def next_verb(parser: ArgumentParser) -> Action:
    """Say which runs settle most open cells and claims per hour, over the runs and chains that they share."""
    add_study_arguments(parser, "replicse next --scale paper --seeds 5 --hours 8 --device 3090")
    add_items_argument(parser)
    parser.add_argument("--hours", type=float, required=True, help="hours that there are")
    parser.add_argument("--device", default="", help="a measured or published device, by a part of its name")

    def action(arguments: Namespace) -> None:
        if not arguments.hours > 0:
            raise BadInput(f"--hours is {arguments.hours:g}; expected more than 0")
        plan = chosen_plan(arguments)
        cost = Cost(plan, arguments.device)
        claims = study_claims(plan.papers, plan.studied)
        results = results_of(plan, plan.items, Evaluations(plan))
        things = list(open_things(plan, results, claims))
        steps = list(next_steps(things, cost, arguments.hours))
        if arguments.json:
            print_json({"hours": arguments.hours, "open": len(things), "steps": list(map(asdict, steps))})
        else:
            print("\n".join(wrapped(next_lines(plan, cost, things, steps, arguments.hours))))

    return action


def next_lines(
    plan: Plan, cost: Cost, things: Sequence[Any], steps: Sequence[Step], hours: float
) -> Iterator[str]:
    """Yield the steps in their order, what each settles, and what stays open."""
    scale = plan.scale
    if not scale.comparable and not scale.judges_orders:
        yield f"scale {scale.name} gives no verdict and judges no claim, so nothing is open; name another with --scale"
        return
    yield f"{len(things)} cells and claims are open that {len(plan.seeds)} seeds would settle, on {cost.speed.device}"
    spent = 0.0
    for count, step in enumerate(steps, 1):
        spent += step.hours
        trained = several(len(step.runs), "run")
        yield f"{count}. {hours_text(step.hours)} h, {trained}: {_some(step.settles, SETTLED_SHOWN)}"
        yield f"   {_some(step.runs, SHOWN_RUNS)}"
    settled = sum(len(step.settles) for step in steps)
    yield f"together {hours_text(spent)} of {hours:g} h settle {settled}; {len(things) - settled} stay open"
    if steps:
        runs = {run for step in steps for run in step.runs}
        rows = _rows(plan, runs)
        words = ", ".join(f"{item}: [{', '.join(each)}]" for item, each in rows.items())
        seeds = ",".join(map(str, sorted({plan.runs[run].seed for run in runs})))
        yield "run them:"
        yield (
            f"  replicse run {' '.join(rows)} --scale {scale.name} --config 'rows={{{words}}}'"
            f" --config 'seeds=[{seeds}]' --config adjudicate=[]"
        )


def _rows(plan: Plan, runs: set[str]) -> dict[str, list[str]]:
    """Return the rows, by item, all of whose untrained runs are among some; a row that shares all with others once."""
    rows: dict[str, list[str]] = {}
    covered: set[str] = set()
    for item in plan.items:
        for cell in plan.described(item):
            own = plan.trained_runs([cell])
            if own & runs and not own & runs <= covered and cell.row.id not in rows.get(item, []):
                rows.setdefault(item, []).append(cell.row.id)
                covered |= own & runs
    return rows


def _some(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def until_decided(arguments: Namespace, run: Callable[[Namespace], int]) -> int:
    """Run items, then seed by seed the rows in which a verdict is open, and return the last exit code.

    `run` runs them with the config of its arguments. The further seeds are in a file that any verb takes with
    --config, and from which the same command goes on.
    """
    config, file = chosen_config(arguments)
    layer = Path(f"results/{config['scale']}", MORE_SEEDS)
    arguments = Namespace(**{**vars(arguments), "until_decided": False})
    if layer.is_file():
        arguments.config = [*arguments.config, str(layer)]
    while True:
        if code := run(arguments):
            return code
        values, file = chosen_config(arguments)
        plan = load_plan(values, arguments.workflow, file)
        items = [plan.item(name).id for name in arguments.item]
        claims = [claim for claim in study_claims(plan.papers, plan.studied) if _reads(claim, items)]
        read = {key[0] for key in cells_read(claims, plan.papers)}
        results = results_of(plan, dict.fromkeys([*items, *read]), Evaluations(plan))
        rows = open_rows(plan, items, results, claims)
        further = {
            row: seeds for row in rows if (seeds := further_seed(plan, row, arguments.most_seeds)) is not None
        }
        print("\n".join(look_lines(plan, items, rows, further, arguments.most_seeds)), file=sys.stderr)
        if not further:
            return 0
        more = {item: dict(by_row) for item, by_row in (plan.config.more_seeds or {}).items()}
        for (item, row), seed in further.items():
            more.setdefault(item, {})[row] = (*more.get(item, {}).get(row, ()), seed)
        plain = {item: {row: list(seeds) for row, seeds in by_row.items()} for item, by_row in more.items()}
        write_text(
            layer, f"# Written by replicse run --until-decided.\n{yaml.safe_dump({'more_seeds': plain})}"
        )
        if str(layer) not in arguments.config:
            arguments.config = [*arguments.config, str(layer)]


def further_seed(plan: Plan, row: tuple[str, str], most: int) -> int | None:
    """Return the next seed of a row; None where it has as many as it may."""
    seeds = plan.config.seeds_of(*row)
    return None if len(seeds) >= most else max(seeds) + 1


def look_lines(
    plan: Plan,
    items: Sequence[str],
    rows: dict[tuple[str, str], list[str]],
    further: dict[tuple[str, str], int],
    most: int,
) -> Iterator[str]:
    """Yield what is open after a look, and which seed comes next."""
    scale = plan.scale
    if not scale.comparable and not scale.judges_orders:
        yield f"scale {scale.name} gives no verdict and judges no claim: no seed would settle anything"
    elif not rows:
        yield f"{', '.join(items)}: nothing is open"
    for (item, row), names in rows.items():
        seed = further.get((item, row))
        after = f"seed {seed} next" if seed is not None else f"left open at {most} seeds"
        count = len(plan.config.seeds_of(item, row))
        yield f"{item}/{row}: {count} seeds, open: {_some(names, SETTLED_SHOWN)}; {after}"
