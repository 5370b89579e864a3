"""The specifications of jobs, and the changes since a job finished.

A specification is an input of its rule. The workflow writes the specification of each job to
`results/<scale>/jobs/<stage>/<id>.json`. A finished job writes a copy of the specification next to the outputs. A
result is up to date if the copy equals the current specification.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from replicse.compile.copies import is_unchanged, read_copy
from replicse.compile.job import Job, copy_of
from replicse.compile.jobs import list_jobs
from replicse.compile.selection import load_scales
from replicse.compile.study import Study
from replicse.files import read_json, write_text
from replicse.printable import some
from replicse.provenance.source import PACKAGE, SourceCode, contents_digest
from replicse.registry.digests import digest
from replicse.registry.plugins import METHODS, plugin_places
from replicse.spec.layers import mappings, named_files, workspace_files
from replicse.workspace import encoder_place, looked_up

CACHE = Path(".snakemake")
# The parts of a specification that can change, and their names in sentences.
PARTS = {
    "code": "the code",
    "papers": "the text of the papers",
    "data": "the data",
    "inputs": "something that they are computed from",
    "job": "the settings",
}


class Specifications:
    """The specifications of the jobs of a study.

    They contain digests of the current code, texts and datasets.

    Args:
        study: the study.
        package: the folder of the package that jobs use. Default: this package.
    """

    def __init__(self, study: Study, package: Path = PACKAGE) -> None:
        self.study, self.jobs = study, list_jobs(study)
        self.maker = {file: job for job in self.jobs.values() for file in job.outputs}
        self._cache = CACHE if os.access(CACHE, os.W_OK) else None
        self._source = SourceCode(package, cache=self._cache_file("code"), plugins=plugin_places())
        self.code_digest = cache(self._hash_code)
        self._texts_digest = cache(self._hash_texts)
        self._digests: dict[Job, dict[str, str]] = {}
        self._hashes: dict[Job, str] = {}
        self._root = study.data_root
        self.finished: set[Job] = set()
        self.outdated: set[Job] = set()

    def text(self, job: Job) -> str:
        """Return the specification of a job as a string."""
        head = json.dumps(
            {"stage": job.stage, "id": job.id, "digests": self.digests(job)}, ensure_ascii=False
        )
        files = {"modules": sorted(job.code), "log": job.log, "inputs": job.inputs, "outputs": job.outputs}
        # The parts stay strings, because tens of thousands of jobs have megabytes of them.
        return f"{head[:-1]},\n{job.text[1:-1]},\n{json.dumps(files, ensure_ascii=False)[1:]}\n"

    def digests(self, job: Job) -> dict[str, str]:
        """Return the digests of code, texts, datasets and inputs of a job.

        The keys are `code` and `inputs`, and `papers` and `data` if the job reads them.
        """
        if job not in self._digests:
            self._digests[job] = self._compute_digests(job)
        return self._digests[job]

    def _compute_digests(self, job: Job) -> dict[str, str]:
        digests = {"code": self.code_digest(job.code), "inputs": self._hash_inputs(job)}
        if job.texts:
            digests["papers"] = self._texts_digest(job.texts)
        if job.files or job.reads_sets:
            digests["data"] = self._hash_data(job)
        return digests

    def changes(self, job: Job) -> set[str]:
        """Return the `PARTS` that have changed since a job finished.

        Args:
            job: the job.

        Returns:
            A set; empty if the result is up to date. All `PARTS` are changed if the copy of the specification does not
            exist, because then the job has not finished.
        """
        return find_changes(read_copy(job.copy), json.loads(self.text(job)))

    def changes_of_item(self, item: str, with_table: bool = False) -> set[str]:
        """Return the `PARTS` that have changed since an item was computed.

        Results without a copy of their specification were not computed by the workflow and are skipped. By default,
        only the evaluations are checked.

        Args:
            item: the item, `paper/item`, whose evaluations are checked.
            with_table: whether to check the table too. Default: False.
        """
        files = list(self.study.evaluation_files(self.study.items[item]))
        if with_table:
            files.append(self.study.paths.item(item))
        changed: set[str] = set()
        for file in files:
            job = self.maker[file]
            if job.copy.is_file():
                changed |= self.changes(job)
        return changed

    def place(self, job: Job) -> Path:
        """Return the file of the specification of a job."""
        return Path(self.study.paths.specification(job.stage, job.id))

    def write(self) -> None:
        """Write changed specifications, and set the dates of all.

        With these dates Snakemake runs the outdated jobs. The specification of an up-to-date job is dated before the
        outputs; the specification of any other finished job, after the outputs. A job without a copy runs in any case,
        because the copy is an output. Afterwards, `finished` contains the up-to-date jobs, and `outdated` the other
        jobs with results.
        """
        CACHE.mkdir(exist_ok=True)
        for job in self.jobs.values():
            file, text = self.place(job), self.text(job)
            if not _contains(file, text):
                write_text(file, text)
            if self._is_finished(job, file, text):
                self.finished.add(job)
            elif job.out.exists():
                self.outdated.add(job)

    def _is_finished(self, job: Job, file: Path, text: str) -> bool:
        """Return whether a job is up to date, and set the specification's date."""
        if not job.copy.is_file():
            return False
        copy, dates = read_copy(job.copy), _dates(job.dated)
        date = file.stat().st_mtime_ns
        if copy and not find_changes(copy, json.loads(text)):
            if date > min(dates):
                os.utime(file, ns=(min(dates), min(dates)))
            return job.done and self._restore_order(job, copy, dates)
        if date <= max(dates):
            os.utime(file)
        return False

    def _restore_order(self, job: Job, copy: Mapping[str, Any], dates: list[int]) -> bool:
        """Date outputs after their inputs if files were copied without dates.

        Returns:
            Whether the outputs are newer than the inputs.
        """
        read = _dates(job.inputs)
        if not read or max(read) <= min(dates):
            return True
        written = {file: copy["written"].get(file) for file in job.outputs}
        written |= {file: self._written(file) for file in job.inputs if file in self.maker}
        if not all(is_unchanged(file, description) for file, description in written.items()):
            return False
        for file in filter(os.path.exists, job.dated):
            os.utime(file, ns=(max(read), max(read)))
        return True

    def _written(self, file: str) -> Any:
        """Return the description of a file in the copy of its job."""
        return read_copy(self.maker[file].copy).get("written", {}).get(file)

    def _hash_inputs(self, job: Job) -> str:
        """Return the digest of the specifications of all previous jobs."""
        makers = dict.fromkeys(self.maker[file] for file in job.inputs if file in self.maker)
        return digest([self._hash(maker) for maker in makers if maker.stage != "data"])

    def _hash(self, job: Job) -> str:
        if job not in self._hashes:
            self._hashes[job] = digest([job.stage, job.id, self.digests(job), job.text])
        return self._hashes[job]

    def _hash_code(self, names: frozenset[str]) -> str:
        return hash_code(self._source, names)

    def _hash_texts(self, texts: str) -> str:
        """Return the digest of a workflow file, or of all files for judging."""
        workflow = self.study.workflow
        if texts != "papers":
            files = [workflow / texts] if (workflow / texts).is_file() else []
            return contents_digest(workflow, files, None)[:16]
        read = {load_scales(workflow)[self.study.scale.name], workflow / "datasets.yaml"}
        for paper in looked_up(workflow, "papers/*/paper.yaml"):
            for file in paper.parent.rglob("*"):
                if file.suffix in (".yaml", ".csv", ".md"):
                    read.add(file)
        return contents_digest(workflow, read, self._cache_file("workflow"))[:16]

    def _hash_data(self, job: Job) -> str:
        """Return the digest of the datasets of a job.

        Generated datasets and datasets of the hub are outputs of the data job; the digest of local datasets is computed
        from the files.
        """
        named = list(mappings(job.files))
        files = [Path(file) for file in workspace_files(named)]
        root = self._root
        lines = []
        if encoder := job.files.get("encoder"):
            files += encoder_place(encoder, root).rglob("*")
        if self.study.source == "local":
            files += [root / name for name in named_files(named)]
            files += _set_files(root) if job.reads_sets else []
        elif job.stage != "data":
            lines.append(self._hash(self.jobs["data", ""]))
            names = set(named_files(named)) - set(self.study.scale.data.files)
            files += [root / name for name in names] if self.study.source == "hub" else []
        present = [file for file in files if file.is_file()]
        if present:
            lines.append(contents_digest(root, present, self._cache_file("data")))
        return digest(lines)

    def _cache_file(self, name: str) -> Path | None:
        return self._cache and self._cache / f"replicse-{name}.json"


def describe_outdated(changes: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield a sentence for each kind of change that makes items out of date.

    Args:
        changes: the `PARTS` that have changed, by item.
    """
    items: dict[str, list[str]] = {}
    for item, changed in changes.items():
        parts = [text for part, text in PARTS.items() if part in changed]
        if parts:
            items.setdefault(" and ".join(parts), []).append(item)
    for parts_text, names in items.items():
        verb = "have" if " and " in parts_text else "has"
        yield f"{some(names)}: out of date, because {parts_text} {verb} changed; replicse run recomputes them"


def describe_unloaded(plugins: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield a sentence for each set of plug-ins that are not loaded.

    Args:
        plugins: The names of the plug-ins that are not loaded, by item.
    """
    users: dict[str, list[str]] = {}
    for item, unloaded in plugins.items():
        if unloaded:
            users.setdefault(some(sorted(unloaded)), []).append(item)
    for names_text, names in users.items():
        yield (
            f"{some(names)}: computed with plug-ins that are not loaded here ({names_text}), so changes of their code"
            " are unknown; load the results in their workspace to check it"
        )


def changes_in_folder(folder: Path, items: Iterable[str]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the changed `PARTS` of items, and plug-ins that are not loaded.

    No study is compiled: the copies are compared with the specifications of the last start of the study, and with the
    current code.

    Args:
        folder: The results of a scale.
        items: The items, `paper/item`.

    Returns:
        A dict from items to sets of `PARTS`, and a dict from items to sets of names of plug-ins.
    """
    source = SourceCode(plugins=plugin_places())
    changes: dict[str, set[str]] = {}
    plugins: dict[str, set[str]] = {}
    for item in items:
        copy = read_copy(copy_of("tabulate", folder / "items" / f"{item}.json"))
        pending = [copy] if copy else []
        changes[item], plugins[item] = set(), set()
        while pending:
            copy = pending.pop()
            specification = copy["specification"]
            file = folder / "jobs" / specification["stage"] / f"{specification['id']}.json"
            if file.is_file():
                changes[item] |= find_changes(copy, read_json(file))
            unloaded = _unloaded_plugins(source, specification["modules"])
            plugins[item] |= unloaded
            if not unloaded and source_has_changed(source, specification):
                changes[item].add("code")
            if specification["stage"] == "tabulate":
                # The folder can have been moved, so only the end of a path is used: encoders, encoder, file.
                evaluations = [folder.joinpath(*Path(name).parts[-3:]) for name in specification["inputs"]]
                pending += filter(None, (read_copy(copy_of("evaluate", place)) for place in evaluations))
    return changes, plugins


def _unloaded_plugins(source: SourceCode, modules: Iterable[str]) -> set[str]:
    """Return the plug-ins of modules that are not loaded.

    Modules of a paper's method belong to the plug-in `papers.<paper>`, others to their top-level module.
    """
    names = set()
    for module in modules:
        parts = module.partition(":")[0].split(".")
        name = ".".join(parts[: 1 + (parts[0] == METHODS)])
        if name not in source.plugins and parts[0] not in source.plugins and parts[0] != PACKAGE.name:
            names.add(name)
    return names


def source_has_changed(source: SourceCode, specification: Mapping[str, Any]) -> bool:
    """Return whether the digest of a specification's modules has changed."""
    try:
        digest_now = hash_code(source, specification["modules"])
    except ModuleNotFoundError:
        return True
    return digest_now != specification["digests"].get("code")


def hash_code(source: SourceCode, modules: Iterable[str]) -> str:
    """Return the digest of modules in a specification; empty without modules."""
    names = list(modules)
    return source.digest(*names)[:16] if names else ""


def find_changes(copy: Mapping[str, Any], specification: Mapping[str, Any]) -> set[str]:
    """Compare the copy of a finished job with a specification.

    Args:
        copy: the copy that `read_copy` returns.
        specification: the current specification.

    Returns:
        The `PARTS` that differ. `job` means payload, settings, inputs and outputs.
    """
    before, now = copy.get("specification", {}), specification
    changed = set()
    for name in ("code", "papers", "data", "inputs"):
        if before.get("digests", {}).get(name) != now["digests"].get(name):
            changed.add(name)
    if any(before.get(name) != now[name] for name in ("payload", "settings", "inputs", "outputs")):
        changed.add("job")
    return changed


def _dates(files: Iterable[str]) -> list[int]:
    """Return the modification times of existing files, in nanoseconds."""
    dates = []
    for file in files:
        try:
            dates.append(Path(file).stat().st_mtime_ns)
        except OSError:
            continue
    return dates


def _contains(file: Path, text: str) -> bool:
    try:
        return file.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False


def _set_files(root: Path) -> list[Path]:
    """Return the files of the evaluation datasets in a data root."""
    from replicse.data.sets import evaluation_files  # imports numpy

    files: list[Path] = []
    for parts in evaluation_files(root).values():
        for several in parts.values():
            files += several
    return files
