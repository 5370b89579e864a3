"""Records next to results, and the digests of the code and texts that they are compared with."""

import os
from functools import cache
from pathlib import Path
from typing import Any

from replicse.compile.selection import load_scales
from replicse.errors import BadInput
from replicse.files import read_json
from replicse.provenance.source import PACKAGE, SourceCode, contents_digest
from replicse.registry.artefacts import record_file
from replicse.registry.plugins import plugin_places
from replicse.workspace import looked_up

CACHE = Path(".snakemake")


def record_of(out: Path) -> dict[str, Any]:
    """Return the record of what a job wrote; an empty one where it is absent or broken."""
    try:
        record = dict(read_json(record_file(out)))
        named = [each for key in ("modules", "reads") for each in record.get(key, ())]
    except (BadInput, TypeError, ValueError):
        return {}
    return record if all(isinstance(each, str) for each in named) else {}


class CurrentDigests:
    """The code and the texts that are there now, as digests: those of a package, of a workflow and its scale.

    Those of unchanged files are kept in the folder .snakemake, where that is there and can be written.
    """

    def __init__(self, workflow: Path, scale: str, package: Path = PACKAGE) -> None:
        self.workflow, self.scale = workflow, scale
        self._kept = CACHE if os.access(CACHE, os.W_OK) else None
        code = self._kept and self._kept / "replicse-code.json"
        self._source = SourceCode(package, cache=code, plugins=plugin_places())
        self.code, self.texts = cache(self._code), cache(self._texts)

    def _code(self, names: frozenset[str]) -> str:
        """Return the digest of the code of some modules and of all that they import."""
        return self._source.digest(*names)[:16]

    def _texts(self, paper: str = "") -> str:
        """Return the digest of what items of a paper, or all, are judged by: its files, the scale, what others print.

        Of a name with a suffix it is that file of the workflow alone. They are no inputs of a job: a bucket that holds
        the files of a study holds none of the workflow.
        """
        if Path(paper).suffix:
            return contents_digest(self.workflow, filter(Path.is_file, [self.workflow / paper]), None)[:16]
        folders = {file.parent.name: file.parent for file in looked_up(self.workflow, "papers/*/paper.yaml")}
        read = [folders[paper]] if paper else folders.values()
        files = {file for folder in read for file in folder.rglob("*")}
        files = {file for file in files if file.suffix in (".yaml", ".csv", ".md")}
        files |= {
            load_scales(self.workflow)[self.scale],
            *(each / "reported.csv" for each in folders.values()),
        }
        files |= set() if paper else {self.workflow / "datasets.yaml"}
        kept = self._kept and self._kept / "replicse-workflow.json"
        return contents_digest(self.workflow, files, kept)[:16]

    def differ(self, record: dict[str, Any], paper: str = "") -> set[str]:
        """Return what of a record is another one now: its code, and the texts of a paper where one is named."""
        try:
            now = {"code": self.code(frozenset(record.get("modules", ())))}
        except ModuleNotFoundError:
            now = {"code": ""}
        now |= {"texts": self.texts(paper)} if paper else {}
        return {name for name, entry in now.items() if record.get(name, entry) != entry}
