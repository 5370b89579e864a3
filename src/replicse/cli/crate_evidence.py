"""Write and check the evaluations in the crate of a study."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.compile.paths import Paths
from replicse.compile.study import Study, kept_checkpoint
from replicse.errors import BadInput
from replicse.files import read_json, sha256_of
from replicse.judge.values.evaluation_files import check_evaluation, check_pairs, part_at
from replicse.judge.values.folder import results_in, unpack_crate
from replicse.judge.values.origins import record_in, records_of
from replicse.judge.verdicts.table import ROUNDING, ItemResult, SeedValue
from replicse.registry.artefacts import CONFIG, DISCARDED, ENCODER, METRICS, PROVENANCE, WEIGHTS

EVIDENCE = "evidence.json"
CHECKSUM = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<checkpoint>best|last)/")


class Evidence:
    """The evaluations and training records of a committed study.

    Args:
        study: the study.
        kept: the paths of the committed study.

    Raises:
        BadInput: if a number of the committed study differs from the evaluation.
    """

    def __init__(self, study: Study, kept: Paths) -> None:
        self.study, self.results = study, Path(Paths(study.scale.name).results)
        items = []
        self.runs: dict[str, Mapping[str, Any]] = {}
        if self.exists:
            items = [ItemResult.read(kept.item(item)) for item in study.items]
            self.runs = {run: record_in(self.results / "runs" / run / PROVENANCE) for run in study.runs}
        _, self.evaluations = records_of(items, self.results)
        check_numbers(items, self.results)

    @property
    def exists(self) -> bool:
        """Return whether results/SCALE of this folder belongs to the study."""
        config = self.results / CONFIG
        return config.is_file() and read_json(config) == self.study.config.whole()

    def files(self) -> Iterator[tuple[Path, str]]:
        """Yield each file with its path in the folder of the committed study.

        The files are evaluations with the cosines of each pair, and the training log and record of each run.
        """
        for file in map(Path, self.evaluations):
            yield file, file.relative_to(self.results).as_posix()
        for run in self.runs:
            for name in (METRICS, PROVENANCE):
                file = self.results / "runs" / run / name
                if file.is_file():
                    yield file, f"runs/{run}/{name}"

    def summarize(self) -> dict[str, Any]:
        """Return hours by device, checksums of weights, and environments.

        Returns:
            A dict with `hours` (by device: training and evaluation), `weights` (sha256 by run) and `environments` (a
            list of different versions, numerical settings and commits).
        """
        hours: dict[str, dict[str, float]] = {}
        environments: list[Mapping[str, Any]] = []
        for kind, records in (("training", self.runs), ("evaluation", self.evaluations)):
            for record in filter(None, records.values()):
                device = str(record.get("accelerator") or record.get("hardware", {}).get("processor", ""))
                of_device = hours.setdefault(device, {"training": 0.0, "evaluation": 0.0})
                of_device[kind] += float(record.get("seconds") or 0) / 3600
                environment = {name: record.get(name) for name in ("versions", "numerics", "commit")}
                if environment not in environments:
                    environments.append(environment)
        return {"hours": hours, "weights": self._checksums(), "environments": environments}

    def copy_weights(self, folder: Path) -> list[str]:
        """Copy the weights of the selected checkpoint of each run.

        Args:
            folder: the target; the weights of a run are copied to FOLDER/RUN.

        Returns:
            The list of runs whose weights do not exist any more.
        """
        missing = []
        for run, checkpoint in self._selected():
            if not (checkpoint / WEIGHTS).is_file():
                missing.append(run)
                continue
            (folder / run).mkdir(parents=True, exist_ok=True)
            for name in ENCODER:
                shutil.copyfile(checkpoint / name, folder / run / name)
        return missing

    def _checksums(self) -> dict[str, str]:
        """Return the sha256 of the selected weights, a dict by run."""
        checksums = {}
        for run, checkpoint in self._selected():
            removed = checkpoint.parent / DISCARDED
            if (checkpoint / WEIGHTS).is_file():
                checksums[run] = sha256_of(checkpoint / WEIGHTS)
            elif removed.is_file():
                found = CHECKSUM.finditer(removed.read_text(encoding="utf-8"))
                by_checkpoint = {match["checkpoint"]: match["sha256"] for match in found}
                checksums[run] = by_checkpoint.get(checkpoint.name, "")
        return checksums

    def _selected(self) -> Iterator[tuple[str, Path]]:
        """Yield each run and the folder of the selected checkpoint."""
        for run in sorted(self.runs):
            yield run, self.results / "runs" / run / kept_checkpoint(self.study.runs[run])


def validate_crate(crate: Path) -> dict[str, int]:
    """Compute the scores of a crate again and compare the cells with them.

    No code of the crate is run or imported.

    Args:
        crate: the zip file that `replicse keep NAME --crate` writes.

    Returns:
        A dict with the number of `evaluations`, `runs`, `scores` that were computed from pairs, and `values` of cells
        that were compared.

    Raises:
        BadInput: if the file is not a crate, contains no evaluations, or contains a wrong number.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = unpack_crate(crate, Path(scratch))
        if not (folder / EVIDENCE).is_file():
            raise BadInput(
                f"{crate}: does not contain evaluations; write the crate in the folder where the study was run, with"
                f" replicse keep {folder.name} --crate {crate.name}"
            )
        try:
            counts = check_numbers(results_in(folder), folder)
        except BadInput as error:
            raise BadInput(str(error).replace(f"{scratch}/", f"{crate}, ")) from None
        return {**counts, "runs": len(list(folder.glob(f"runs/*/{PROVENANCE}")))}


def check_numbers(items: Sequence[ItemResult], folder: Path) -> dict[str, int]:
    """Compare evaluations with pairs, and cells with evaluations.

    Args:
        items: the results of items.
        folder: the folder that contains `encoders`.

    Returns:
        A dict with the number of `evaluations`, of `scores` with pairs, and of `values` of cells.

    Raises:
        BadInput: if two numbers differ; the message contains both, and the file or the cell with the seed.
    """
    suites: dict[str, dict[str, Any]] = {}
    counts = {"evaluations": 0, "scores": 0, "values": 0}
    for file in sorted(folder.glob("encoders/*/*.json")):
        evaluation = read_json(file)
        check_evaluation(evaluation, str(file), {}, (), partly=True)
        check_pairs(evaluation, str(file))
        suites.setdefault(file.parent.name, {}).update(evaluation["suites"])
        counts["evaluations"] += 1
        counts["scores"] += len(evaluation.get("pairs", {}))
    for place, encoder, path, value in _values_of(items):
        measured = part_at(suites.get(encoder, {}), path)
        if not isinstance(measured, int | float) or abs(measured - value) > ROUNDING:
            raise BadInput(
                f"{place}: {path} of {encoder} is {value}, but the evaluation has {measured}; keep the study again"
            )
        counts["values"] += 1
    return counts


def _values_of(items: Sequence[ItemResult]) -> Iterator[tuple[str, str, str, float]]:
    """Yield cell with seed, encoder, metric path and value of each score."""
    for result in items:
        scores = {column.id for column in result.columns if column.kind == "score"}
        for cell in result.cells:
            if cell.column not in scores:
                continue
            for each in cell.values:
                place = f"{result.item}/{cell.row}/{cell.column}@{cell.protocol}, seed {each.seed}"
                for encoder, value in _numbers_of(each):
                    yield place, encoder, cell.metric_path, value


def _numbers_of(value: SeedValue) -> Iterator[tuple[str, float]]:
    """Yield encoder and number of a value, or of each job of the value."""
    for each in value.jobs or (value,):
        if each.encoder and isinstance(each.value, float):
            yield each.encoder, each.value
