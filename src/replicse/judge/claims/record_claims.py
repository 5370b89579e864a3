"""Judgement of claims on the record.

A claim is tested on the values of one source in one setting, paired by seed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from replicse.compile.record_study import SourceCell
from replicse.judge.claims.claim_outcomes import ABSENT, ClaimOutcome
from replicse.judge.claims.judge_claims import SMALLER, OurNumbers
from replicse.judge.values.readings import OurCells, Reading
from replicse.judge.values.record_measurements import RecordMeasurements
from replicse.judge.verdicts.cells import cell_result
from replicse.judge.verdicts.table import CellResult
from replicse.spec.cell_id import CellId
from replicse.spec.claims import Claim

PRINTED_SETTING = ""


@dataclass(frozen=True)
class _Test:
    """A claim, tested on one source in one setting.

    `cells` is the number of measured cells.
    """

    source: str
    setting: str
    cells: int
    outcome: ClaimOutcome

    @property
    def priority(self) -> tuple[int, bool, bool, int, str, str]:
        """Return the sort key; the deciding test is first.

        The keys are most cells, the printed setting, a decided outcome, most seeds, and names.
        """
        decided = self.outcome.outcome not in ABSENT
        place = (self.setting != PRINTED_SETTING, not decided, -self.outcome.n_seeds)
        return (-self.cells, *place, self.source, self.setting)


class RecordNumbers:
    """Others' measurements for testing claims.

    The source that measured the most cells of a claim in one setting decides.
    """

    whose = "others"

    def __init__(self, measurements: RecordMeasurements) -> None:
        self._measurements = measurements
        # cell -> (source, setting) -> source cell; for all sources, the name of the printed setting is empty.
        self._by_cell: dict[str, dict[tuple[str, str], SourceCell]] = {}
        for name, several in measurements.record.sources.items():
            found = self._by_cell.setdefault(name, {})
            for each in several:
                setting = PRINTED_SETTING if each.setting.is_printed else each.setting_name
                found.setdefault((each.source_name, setting), each)

    def judge(self, claim: Claim) -> ClaimOutcome:
        """Return the outcome of the deciding source.

        The reason contains the name of this source, and the outcomes of other sources.
        """
        tests = self._tests(claim)
        if not tests:
            return ClaimOutcome("not run", None, 0, "nobody has measured the cells")
        first, *others = tests
        reasons = [f"{_describe_source(first)}: {first.outcome.reason}"]
        for each in others:
            if _is_decided(each):
                reasons.append(f"{_describe_source(each)}: {each.outcome.outcome}")
        return replace(first.outcome, reason="; ".join(reasons))

    def ran(self, claim: Claim) -> int:
        """Return how many cells of a claim the deciding source measured."""
        tests = self._tests(claim)
        return tests[0].cells if tests else 0

    def _tests(self, claim: Claim) -> list[_Test]:
        """Test a claim on each source and setting, the deciding test first."""
        names = self._measurements.study.names
        cells = list(map(names.cell, claim.cells))
        places: set[tuple[str, str]] = set()
        for cell in cells:
            places.update(self._by_cell.get(str(cell), ()))
        tests = [self._test(claim, cells, *place) for place in places]
        return sorted(tests, key=lambda test: test.priority)

    def _test(self, claim: Claim, cells: Iterable[CellId], source: str, setting: str) -> _Test:
        study = self._measurements.study
        found = {}
        for cell in cells:
            measured = self._by_cell.get(str(cell), {}).get((source, setting))
            if measured:
                found[cell] = measured
        values = _SourceValues(found, self._measurements)
        outcome = OurNumbers(study, study.names, values, comparable=setting == PRINTED_SETTING).judge(claim)
        if setting != PRINTED_SETTING:
            outcome = replace(outcome, outcome=SMALLER.get(outcome.outcome, outcome.outcome))
        return _Test(source, setting, len(found), outcome)


class _SourceValues(OurCells):
    """The cells of one source in one setting.

    Trained encoders have the seeds that all of them share.
    """

    def __init__(self, found: Mapping[CellId, SourceCell], measurements: RecordMeasurements) -> None:
        super().__init__(())
        self._found = found
        self._cells, trained = {}, []
        for cell, each in found.items():
            self._cells[cell] = cell_result(each.cell, measurements.plan_cell(each.cell), measurements)
            if each.trained:
                trained.append(each)
        self._seeds_of_all = _common_seeds(trained)

    def cell(self, name: CellId) -> CellResult | None:
        """Return a cell; None if the source did not measure it."""
        return self._cells.get(name)

    def reading(self, name: CellId) -> Reading:
        """Return the values of a cell by seed.

        The reading is missing if the cells have no common seed.
        """
        measured = self._found.get(name)
        if measured is None:
            return Reading()
        numbers = [reading.number.value for reading in measured.readings[: len(measured.cell.jobs)]]
        if not measured.trained:
            return Reading(tuple(numbers), seedless=True, half_digit=measured.half_digit)
        by_seed = dict(zip(measured.cell.seeds, numbers, strict=True))
        values = tuple(by_seed.get(seed) for seed in self._seeds_of_all)
        return Reading(values, runs=(*measured.cell.encoders, measured.cell.metric_path))


def _common_seeds(trained: Sequence[SourceCell]) -> tuple[int | None, ...]:
    """Return the common seeds of all cells.

    Seeds that are not stated cannot be paired. If every cell has a single value without seed, the result is (None,).
    """
    if all(each.cell.seeds == (None,) for each in trained):
        return (None,)
    common = set.intersection(*(set(each.cell.seeds) for each in trained)) - {None}
    return tuple(sorted(seed for seed in common if seed is not None))


def _describe_source(test: _Test) -> str:
    """Return the source, the setting and the number of seeds of a test."""
    parts = [test.source]
    if test.setting:
        parts.append(f"setting {test.setting}")
    if test.outcome.n_seeds:
        parts.append(f"{test.outcome.n_seeds} seeds")
    return ", ".join(parts)


def _is_decided(test: _Test) -> bool:
    return test.outcome.outcome not in (*ABSENT, "not comparable")
