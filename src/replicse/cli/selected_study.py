"""The study that a verb reads: the one that is asked for, your own results, or a committed study."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from replicse.cli.arguments import asked, check_here, chosen_config, chosen_study, study_file
from replicse.compile.cache import load_or_compile
from replicse.compile.job_states import JobStates
from replicse.compile.paths import Paths
from replicse.compile.record_study import RECORD
from replicse.compile.study import Study
from replicse.errors import BadInput, nearest
from replicse.files import read_json
from replicse.judge.values.folder import committed
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.record_measurements import RecordMeasurements, load_record_measurements
from replicse.spec.config import by_paper, checked_config, read_config
from replicse.spec.papers import load_papers


@dataclass(frozen=True)
class SelectedStudy:
    """A study that is shown: what was measured, and a line where that is not what was asked for."""

    measurements: Measurements
    notice: str = ""

    @property
    def plan(self) -> Study:
        """Return the study as it is compiled."""
        return self.measurements.study

    @property
    def folder(self) -> str:
        """Return the folder that the numbers are read from."""
        return self.measurements.paths.results

    def announce(self, as_json: bool) -> None:
        """Print the line, apart from what a program reads."""
        if self.notice:
            print(self.notice, end="\n" if as_json else "\n\n", file=sys.stderr if as_json else sys.stdout)


def selected_study(arguments: Namespace, only: str = "") -> SelectedStudy:
    """Return the study that is shown, all of it or of one item.

    That is the one of --study or --config; else results/SCALE, by the config that it was made with. Where nothing of it
    was evaluated it is a committed study of the scale: the one of the same config, of the scale's name, or the first.
    """
    ours = own_study(arguments, only)
    if ours.measurements.paths.kept or _begun(ours.plan, only):
        return ours
    asked_for = list(ours.plan.items) if getattr(arguments, "items", None) else [only] * bool(only)
    name = _committed_like(ours.plan, asked_for)
    if not name:
        return ours
    shown = _kept(arguments, name, only)
    what = f"{ours.folder} has no evaluation of {only or 'the study'}"
    return replace(shown, notice=f"{what}; shown is the committed study {name} ({shown.folder})")


def selected_items(arguments: Namespace, name: str) -> tuple[SelectedStudy, list[str]]:
    """Return the study that is shown, and those of its items that a paper or `paper/item` names.

    Raises BadInput, with the nearest name, where it names none.
    """
    ((paper, names),) = by_paper([name]).items()
    if names != "all":
        item = f"{paper}/{names[0]}"
        return selected_study(arguments, item), [item]
    shown = selected_study(arguments)
    items = [item.id for item in shown.plan.items.values() if item.paper == paper]
    if not items:
        known = [*shown.plan.studied, *shown.plan.items]
        raise BadInput(f'no paper or item "{name}" in this study{nearest(name, known)}')
    return shown, items


def own_study(arguments: Namespace, only: str = "", own: bool = False) -> SelectedStudy:
    """Return the study, or the one of an item, that is asked for, whether or not anything of it is there.

    `own` is that of `chosen_config`.
    """
    if names_record(arguments.study):
        return SelectedStudy(record_measurements(arguments, only))
    if arguments.study:
        file = study_file(arguments.study)
        names = [
            name for name, paths in committed().items() if Path(paths.config).resolve() == file.resolve()
        ]
        plan = chosen_study(arguments, only)
        if not names:
            check_here(file, plan.paths)
            return SelectedStudy(Measurements(plan, JobStates(plan)))
        if plan.config != checked_config(asked(read_json(file), arguments), str(file)):
            raise BadInput(
                f"--study {arguments.study}: read as it was run; leave out --scale, --seeds and --config"
            )
        kept = replace(committed()[names[0]], scale=plan.scale.name)
        return SelectedStudy(Measurements(plan, paths=kept))
    values, named = chosen_config(arguments, own)
    chosen = checked_config(values, named)
    record = Path(Paths(chosen.scale).config)
    if not arguments.config and record.is_file():
        made = asked(read_config([record], seeds=arguments.seeds), arguments)
        config = checked_config(made, str(record))
        if not only or config.holds(only):
            plan = load_or_compile(made, arguments.workflow, str(record), only)
            same = (
                config.settings_of_item(only) == chosen.settings_of_item(only) if only else config == chosen
            )
            notice = f"read by {record}, with which it was made; --config {named} reads by that one instead"
            if not only or _begun(plan, only):
                return SelectedStudy(Measurements(plan, JobStates(plan)), "" if same else notice)
    plan = load_or_compile(values, arguments.workflow, named, only)
    return SelectedStudy(Measurements(plan, JobStates(plan)))


def names_record(study: str | None) -> bool:
    """Return whether --study names the record, by its name or its folder."""
    return study is not None and study.rstrip("/") in (RECORD, Paths("", RECORD).results)


def record_measurements(arguments: Namespace, only: str = "") -> RecordMeasurements:
    """Return what others measured, as the study `record`.

    Raises:
        BadInput: An option is given that only a study of ours has, or nobody has measured the `only` item.
    """
    if arguments.config or arguments.scale or arguments.seeds is not None:
        raise BadInput(
            f"--study {arguments.study}: others measured it at the papers' own scale; leave out --scale, --seeds and"
            " --config"
        )
    measurements = load_record_measurements(arguments.workflow, load_papers(arguments.workflow))
    if only and only not in measurements.study.items:
        raise BadInput(f'the record has no reading of "{only}"{nearest(only, measurements.study.items)}')
    return measurements


def _kept(arguments: Namespace, name: str, only: str) -> SelectedStudy:
    paths = committed()[name]
    plan = load_or_compile(asked(read_json(paths.config), arguments), arguments.workflow, paths.config, only)
    return SelectedStudy(Measurements(plan, paths=replace(paths, scale=plan.scale.name)))


def _begun(plan: Study, only: str) -> bool:
    """Return whether something of a plan was evaluated, or of a complete study at least begun."""
    items = [plan.items[only]] if only else plan.items.values()
    files = (file for item in items for file in plan.evaluation_files(item))
    return (not only and Path(plan.paths.config).is_file()) or any(Path(file).exists() for file in {*files})


def _committed_like(plan: Study, items: Sequence[str]) -> str:
    """Return the committed study of a scale to show where a plan has no results, your own first; blank for none."""
    ranks = {}
    for name, paths in committed().items():
        config = checked_config(read_json(paths.config), paths.config)
        if config.scale == plan.scale.name and all(Path(paths.item(item)).is_file() for item in items):
            ranks[name] = (bool(paths.home), config != plan.config, name != plan.scale.name)
    return min(ranks, key=ranks.__getitem__, default="")
