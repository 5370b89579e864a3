"""Select the study to show: own results or a committed study."""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
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

MOST_CHARACTERS = 60  # maximum length of a config value in an error message


@dataclass(frozen=True)
class SelectedStudy:
    """The measurements of the selected study.

    Attributes:
        measurements: the measurements of a study.
        notice: a sentence for the user if another study than the requested one is shown. Default: empty.
    """

    measurements: Measurements
    notice: str = ""

    @property
    def plan(self) -> Study:
        """Return the compiled study."""
        return self.measurements.study

    @property
    def folder(self) -> str:
        """Return the folder where the results are stored."""
        return self.measurements.paths.results

    def announce(self, as_json: bool) -> None:
        """Print the notice, to stderr if JSON is printed to stdout."""
        if self.notice and as_json:
            print(self.notice, file=sys.stderr)
        elif self.notice:
            print(f"{self.notice}\n")


def selected_study(arguments: Namespace, only: str = "") -> SelectedStudy:
    """Select the study to show, the whole study or one item.

    --study takes precedence over --config. The default is results/SCALE with the config that was used for the run. If
    there are no evaluations, a committed study of the same scale is used: preferably the study with the same config,
    then the study with the name of the scale, then the first study.

    Args:
        arguments: the parsed arguments.
        only: the item to show, such as "simcse/table3". Default: empty, the whole study.
    """
    ours = own_study(arguments, only)
    if ours.measurements.paths.kept or _begun(ours.plan, only):
        return ours
    asked_for = list(ours.plan.items) if getattr(arguments, "items", None) else [only] * bool(only)
    name = _committed_like(ours.plan, asked_for)
    if not name:
        return ours
    shown = _kept(arguments, name, only)
    what = f"{ours.folder} does not contain evaluations of {only or 'the study'}"
    return replace(shown, notice=f"{what}; showing the committed study {name} ({shown.folder})")


def selected_items(arguments: Namespace, name: str) -> tuple[SelectedStudy, list[str]]:
    """Select the study to show, and one item or the items of one paper.

    Args:
        arguments: the parsed arguments.
        name: a paper or paper/item.

    Returns:
        The selected study and a list of items.

    Raises:
        BadInput: if the study has no such paper or item; the message contains the nearest name.
    """
    ((paper, names),) = by_paper([name]).items()
    if names != "all":
        item = f"{paper}/{names[0]}"
        return selected_study(arguments, item), [item]
    shown = selected_study(arguments)
    items = [item.id for item in shown.plan.items.values() if item.paper == paper]
    if not items:
        known = [*shown.plan.studied, *shown.plan.items]
        raise BadInput(f'the study does not contain a paper or item "{name}"{nearest(name, known)}')
    return shown, items


def own_study(arguments: Namespace, only: str = "", own: bool = False) -> SelectedStudy:
    """Select the requested study, even if it has no results.

    Args:
        arguments: the parsed arguments.
        only: an item that the study should contain. Default: empty, the whole study.
        own: whether to use only the papers of this folder by default, as in `chosen_config`. Default: False.

    Raises:
        BadInput: if --study names a committed study and other options would change it.
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
                f"--study {arguments.study}: the config of a committed study cannot be changed; remove --scale, --seeds"
                " and --config"
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
            same = config == chosen
            if only:
                same = config.settings_of_item(only) == chosen.settings_of_item(only)
            notice = f"using the config of the run, {record}; add --config {named} to use that file instead"
            if not only or _begun(plan, only):
                return SelectedStudy(Measurements(plan, JobStates(plan)), "" if same else notice)
    plan = load_or_compile(values, arguments.workflow, named, only)
    return SelectedStudy(Measurements(plan, JobStates(plan)))


def refuse_other_config(study: Study) -> None:
    """Raise BadInput if results/SCALE was computed with another config."""
    record = Path(study.paths.config)
    if not record.is_file():
        return
    made, chosen = checked_config(read_json(record), str(record)).whole(), study.config.whole()
    differences = []
    for key, value in made.items():
        if value != chosen[key]:
            differences.append(f"{key} {_value(value)}, not {_value(chosen[key])}")
    if differences:
        raise BadInput(
            f"{record}: the study was run with {'; '.join(differences)}; remove --config and --seeds, or add --study"
            f" {record}"
        )


def _value(value: object) -> str:
    """Format a config value for an error message, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."


def names_record(study: str | None) -> bool:
    """Return whether --study is the record: "record" or the folder."""
    return study is not None and study.rstrip("/") in (RECORD, Paths("", RECORD).results)


def record_measurements(arguments: Namespace, only: str = "") -> RecordMeasurements:
    """Load other people's measurements as the study `record`.

    Args:
        arguments: the parsed arguments.
        only: an item that should have measurements. Default: empty, all items.

    Raises:
        BadInput: if --config, --scale or --seeds is given, or the item has no measurement.
    """
    if arguments.config or arguments.scale or arguments.seeds is not None:
        raise BadInput(
            f"--study {arguments.study}: the record has only the papers' scale; remove --scale, --seeds and --config"
        )
    measurements = load_record_measurements(arguments.workflow, load_papers(arguments.workflow))
    if only and only not in measurements.study.items:
        raise BadInput(
            f'the record does not contain measurements of "{only}"{nearest(only, measurements.study.items)}'
        )
    return measurements


def _kept(arguments: Namespace, name: str, only: str) -> SelectedStudy:
    paths = committed()[name]
    plan = load_or_compile(asked(read_json(paths.config), arguments), arguments.workflow, paths.config, only)
    return SelectedStudy(Measurements(plan, paths=replace(paths, scale=plan.scale.name)))


def _begun(plan: Study, only: str) -> bool:
    """Return whether a study was started, or whether an item has evaluations."""
    items = [plan.items[only]] if only else plan.items.values()
    if not only and Path(plan.paths.config).is_file():
        return True
    files = set(chain.from_iterable(map(plan.evaluation_files, items)))
    return any(Path(file).exists() for file in files)


def _committed_like(plan: Study, items: Sequence[str]) -> str:
    """Return the best committed study of the same scale with some items.

    Args:
        plan: the study that has no results.
        items: the items that the committed study must contain.

    Returns:
        The name of the committed study, or an empty string.
    """
    ranks = {}
    for name, paths in committed().items():
        config = checked_config(read_json(paths.config), paths.config)
        if config.scale == plan.scale.name and all(Path(paths.item(item)).is_file() for item in items):
            ranks[name] = (bool(paths.home), config != plan.config, name != plan.scale.name)
    return min(ranks, key=ranks.__getitem__, default="")
