"""Many labs as one study: seeds pooled by run, what differs refused, the variance between labs apart from seeds."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.crates.pack import SPECS
from replicse.errors import BadInput
from replicse.registry.artefacts import DATA, STUDY
from replicse.study.results.folder import held
from replicse.study.results.labs import drawn, pooled_draws
from replicse.study.results.machines import Machine
from replicse.study.results.made import MADE_WITH, agreed, record_in, records_of
from replicse.study.results.record import StudyRecord
from replicse.study.results.table import CellResult, ItemResult, LabSpread, SeedValue
from replicse.study.results.verdict import judge

LABS = ("item", "row", "column", "metric", "protocol", "lab", "seeds", "values")
# A frozen model of a term or a view is the folder of another run's checkpoint, and the id of that run has its seed.
CHECKPOINT = re.compile(r"results/[^/]+/runs/([^/]+)/(best|last)")


@dataclass(frozen=True)
class Brought:
    """What one crate or results folder brings: its items by id, record and specs, and the name that messages use."""

    name: str
    items: Mapping[str, ItemResult]
    record: Mapping[str, Any]
    specs: Mapping[str, Any]

    def lab(self, cell: CellResult) -> str:
        """Return the lab of a cell: processor or GPU, torch and transformers of the machines that made it."""
        version = self.record.get("versions", {}).get("transformers", "")
        stack = [f"transformers {version}"] if version else []
        machines = [_stack(machine) for machine in cell.machines] or ["a machine that is not recorded"]
        return ", ".join([" + ".join(dict.fromkeys(machines)), *stack])


# A value of a cell that somebody brought.
Draw = tuple[Brought, CellResult, SeedValue]


def _stack(machine: Machine) -> str:
    part = (
        machine.device
        if not machine.processor
        else f"{machine.processor} ({machine.flags})".removesuffix(" ()")
    )
    return ", ".join(filter(None, [part, machine.torch]))


def brought(name: str, folder: Path) -> Brought:
    """Return what a results folder brings to a merge; BadInput where it is broken."""
    items, record = {result.item: result for result in held(folder)}, record_in(folder / STUDY)
    specs = record_in(folder / SPECS)
    if "versions" not in record:
        # Specs, what made the study and the data that it read come into one place only when it is packed or kept.
        runs, evaluations = records_of(items.values(), folder)
        record = {"data": record_in(folder / DATA).get("files") or (), **agreed(runs, evaluations), **record}
        if (folder / STUDY).is_file():
            StudyRecord.of(record, f"{name}: {STUDY} with {DATA}")
        specs = specs or {run: spec for run, made in runs.items() if (spec := _spec(made))}
    return Brought(name, items, record, specs)


def _spec(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a run by the record of what made it, without what does not name the run; {} without one."""
    job = made.get("job")
    spec = job.get("run") if isinstance(job, Mapping) else None
    return (
        {key: entry for key, entry in spec.items() if key != "trajectory"}
        if isinstance(spec, Mapping)
        else {}
    )


def merged_record(labs: Sequence[Brought]) -> dict[str, Any]:
    """Return the record of the first lab with the seeds of all, and what made the numbers where it is the same in all.

    `made_by` has seeds and what made the numbers of each.
    """
    about = {key: entry for key, entry in labs[0].record.items() if key not in MADE_WITH}
    told = (*MADE_WITH, "seeds")
    made_by = {lab.name: {key: lab.record[key] for key in told if key in lab.record} for lab in labs}
    seeds = dict.fromkeys(seed for lab in labs for seed in lab.record.get("seeds", ()))
    return {
        **about,
        **agreed({lab.name: lab.record for lab in labs}),
        "seeds": list(seeds),
        "labs": [lab.name for lab in labs],
        "made_by": made_by,
    }


def merged(labs: Sequence[Brought]) -> list[ItemResult]:
    """Return the items of the first lab with the seeds of all of them.

    Raises BadInput for data, a printed number, a metric or a spec that differs: those are not draws of one run.
    """
    first, *others = labs
    for other in others:
        _same_data(first, other)
        if not set(first.items) & set(other.items):
            raise BadInput(f"{first.name} and {other.name} share no item; merge studies of the same items")
    return [_merged_item(result, labs) for result in first.items.values()]


def _same_data(first: Brought, other: Brought) -> None:
    scales = [next(iter(lab.items.values())).scale for lab in (first, other)]
    if len(set(scales)) > 1:
        raise BadInput(
            f"{other.name} is of scale {scales[1]}, {first.name} of {scales[0]}; merge studies of one scale"
        )
    sums = [
        {file["name"]: file.get("sha256", "") for file in lab.record.get("data") or ()}
        for lab in (first, other)
    ]
    for name in sums[0].keys() & sums[1].keys():
        if sums[0][name] and sums[1][name] and sums[0][name] != sums[1][name]:
            raise BadInput(
                f"{other.name}: data file {name} has sha256 {sums[1][name][:12]}, in {first.name}"
                f" {sums[0][name][:12]}; merge studies of the same data"
            )


def _merged_item(result: ItemResult, labs: Sequence[Brought]) -> ItemResult:
    cells = []
    for cell in result.cells:
        same = [
            (lab, twin)
            for lab in labs
            if lab.items.get(result.item) and (twin := _twin(lab.items[result.item], cell)) is not None
        ]
        cells.append(_merged_cell(result, cell, same) if len(same) > 1 else _named(cell, labs[0]))
    return result.model_copy(update={"cells": tuple(cells), "config": ""})


def _twin(item: ItemResult, cell: CellResult) -> CellResult | None:
    return next(
        (
            each
            for each in item.cells
            if (each.key, each.protocol) == (cell.key, cell.protocol) and each.encoders
        ),
        None,
    )


def _named(cell: CellResult, lab: Brought) -> CellResult:
    """Return a cell of one lab, its values with the name of it."""
    values = tuple(
        each.model_copy(update={"lab": each.lab or lab.lab(cell)}) for each in cell.values if cell.encoders
    )
    return cell.model_copy(update={"values": values or cell.values})


def _merged_cell(
    item: ItemResult, cell: CellResult, same: Sequence[tuple[Brought, CellResult]]
) -> CellResult:
    where = "/".join([item.item, *cell.key])
    for lab, twin in same[1:]:
        _same_cell(where, same[0], (lab, twin))
    values: list[SeedValue] = []
    for lab, twin in same:
        for each in _named(twin, lab).values:
            if not any((each.lab, each.seed, each.value) == (one.lab, one.seed, one.value) for one in values):
                values.append(each)
    machines = tuple(dict.fromkeys(machine for _, twin in same for machine in twin.machines))
    draws = drawn(values)
    numbers = [each.value for each in draws if not isinstance(each.value, str)]
    heads = {(column.id, column.metric): column.statistic for column in item.columns}
    update: dict[str, Any] = {"values": tuple(values), "machines": machines}
    if (
        heads.get((cell.column, cell.metric), "mean") == "mean"
        and not cell.seedless
        and len(numbers) == len(draws)
    ):
        failures = [twin.failure for _, twin in same if twin.failure]
        why_not = cell.reason.partition("; made ")[0] if cell.verdict == "not comparable" else ""
        judgement = judge(
            numbers,
            cell.reported,
            planned=len(numbers),
            comparable=item.comparable and not why_not,
            why_not=why_not,
            prior_sd=cell.published_sd,
            failures=failures,
        )
        update |= vars(judgement) | {"labs": lab_spread(values), "failure": "; ".join(failures)}
        # `labs` and the machines of the cell say which.
        count = len({each.lab for each in values})
        update["reason"] = "; ".join(filter(None, [judgement.reason, f"made by {count} labs" * (count > 1)]))
    packages = sorted({package for _, twin in same for package in twin.packages})
    return cell.model_copy(update={**update, "packages": tuple(packages)})


def lab_spread(values: Sequence[SeedValue]) -> LabSpread | None:
    """Return mean and deviations over the labs of some values; None where they cannot be distinguished."""
    pool = pooled_draws(values)
    if pool is None:
        return None
    return LabSpread(text=str(pool), mean=pool.mean, half=pool.half, seeds=pool.seeds, labs=pool.labs)


def _same_cell(where: str, one: tuple[Brought, CellResult], two: tuple[Brought, CellResult]) -> None:
    """Raise BadInput where two labs' cells are not draws of one run, with the difference named."""
    (first, cell), (second, twin) = one, two
    for what in ("metric_path", "reported", "subtracted"):
        ours, theirs = getattr(cell, what), getattr(twin, what)
        if ours != theirs:
            raise BadInput(
                f"{second.name}: {where}: {what} is {_shown(theirs)}, in {first.name} {_shown(ours)}"
            )
    by_seed = {each.seed: each for each in cell.values}
    for each in twin.values:
        mate = by_seed.get(each.seed)
        if mate is None:
            mate = cell.values[0] if cell.values else each
            _same_specs(where, (*one, mate), (*two, each), seeds=True)
        elif (mate.encoder, mate.run, mate.group) != (each.encoder, each.run, each.group):
            _same_specs(where, (*one, mate), (*two, each), seeds=False)
            raise BadInput(
                f"{second.name}: {where}: seed {each.seed} is of encoder {each.encoder or each.group}, in"
                f" {first.name} of {mate.encoder or mate.group}; merge studies of the same runs"
            )


def _same_specs(where: str, one: Draw, two: Draw, seeds: bool) -> None:
    """Raise BadInput where the specs of two values differ; `seeds` passes over what only the seed changes."""
    (first, _, mate), (second, _, each) = one, two
    sides = [_specs(*draw, not seeds) for draw in (one, two)]
    if None in sides:
        lab, _, value = one if sides[0] is None else two
        raise BadInput(
            f"{lab.name}: {where}: no spec of {_run(value)} in it, so seeds {mate.seed} and {each.seed} cannot be"
            " compared; pack the study again, or merge the same seeds"
        )
    if difference := first_difference(*sides):
        path, ours, theirs = difference
        raise BadInput(
            f"{second.name}: {where}: {path} of {_run(each)} is {_shown(theirs)}, in {first.name} {_shown(ours)};"
            " merge studies of the same runs"
        )


def _run(value: SeedValue) -> str:
    return f"run {value.run}" if value.run else f"a run of seed {value.seed}"


def _specs(lab: Brought, cell: CellResult, value: SeedValue, with_seed: bool) -> Any:
    """Return the spec of a value's run, or those of its seed's runs where several gave it; None where one is absent."""
    if value.run:
        return expanded(lab.specs, value.run, with_seed)
    runs = [run for run in lab.specs if any(encoder.startswith(f"{run}-") for encoder in cell.encoders)]
    specs = [expanded(lab.specs, run, with_seed) for run in runs if lab.specs[run].get("seed") == value.seed]
    return sorted(specs, key=str) if specs and None not in specs else None


def expanded(specs: Mapping[str, Any], run: str, with_seed: bool, depth: int = 8) -> dict[str, Any] | None:
    """Return the spec of a run, those of the runs that it reads in place of their ids; None where one is absent.

    A run reads the one that it starts from, and those whose checkpoints are its frozen models.
    """
    spec = specs.get(run)
    if not isinstance(spec, Mapping) or depth == 0:
        return None
    absent = False

    def of_run(name: str) -> dict[str, Any] | None:
        nonlocal absent
        inner = expanded(specs, name, with_seed, depth - 1)
        absent = absent or inner is None
        return inner

    def whole(entry: Any) -> Any:
        if isinstance(entry, Mapping):
            return {key: whole(each) for key, each in entry.items()}
        if isinstance(entry, list):
            return [whole(each) for each in entry]
        if isinstance(entry, str) and (read := CHECKPOINT.fullmatch(entry)):
            return {"run": of_run(read[1]), "checkpoint": read[2]}
        return entry

    document = {key: whole(entry) for key, entry in spec.items() if with_seed or key != "seed"}
    init = document.get("init")
    if isinstance(init, Mapping) and isinstance(init.get("run"), str):
        document["init"] = {**init, "run": of_run(init["run"])}
    return None if absent else document


def first_difference(one: Any, two: Any, path: str = "spec") -> tuple[str, Any, Any] | None:
    """Return the first place where two specs differ, with both entries; None where they are the same."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        for key in dict.fromkeys([*one, *two]):
            if difference := first_difference(one.get(key), two.get(key), f"{path}.{key}"):
                return difference
        return None
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = enumerate(zip(one, two, strict=True))
        return next(
            (each for place, pair in pairs if (each := first_difference(*pair, f"{path}[{place}]"))), None
        )
    return None if one == two else (path, one, two)


def _shown(entry: Any) -> str:
    text = getattr(entry, "value", entry)
    return f"{text!r}"[:120]


def lab_rows(results: Sequence[ItemResult]) -> Iterator[dict[str, Any]]:
    """Yield a row per cell and lab: the seeds that it brought and their values."""
    for result in results:
        for cell in result.cells:
            for lab in dict.fromkeys(each.lab for each in cell.values if each.lab):
                own = [each for each in cell.values if each.lab == lab and each.value is not None]
                yield {
                    **dict(zip(LABS, (result.item, *cell.key, cell.protocol, lab), strict=False)),
                    "seeds": " ".join(str(each.seed) for each in own if each.seed is not None),
                    "values": " ".join(repr(each.value) for each in own),
                }
