"""A committed study as an RO-Crate, as an archive such as Zenodo takes it."""

import mimetypes
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rocrate.rocrate import ROCrate

from replicse.compile.paths import Paths
from replicse.compile.selection import load_scales
from replicse.compile.study import Study
from replicse.files import atomic_write, read_json, sha256_of
from replicse.registry.registry import current
from replicse.workspace import looked_up, packaged


def files_of(name: str, paths: Paths, plan: Study) -> Iterator[tuple[Path, str]]:
    """Yield the files of a study, each with its place in a workspace.

    That is its results, figures, papers, plug-ins, scales and pins; of its data the record has the digests.
    """
    # A recipe takes over one of another paper, and a scale extends another one.
    homes = {
        f"reports/studies/{name}": Path(paths.results),
        f"figures/studies/{name}": Path(paths.figures),
        **{plugin.name: plugin.place for plugin in current().plugins.values() if not plugin.installed},
        **{f"papers/{key}": paper.folder for key, paper in plan.papers.items()},
        **{f"scales/{file.name}": file for file in load_scales(plan.workflow).values()},
        **{file.name: file for file in looked_up(plan.workflow, "hub.lock.yaml")},
    }
    for place, home in homes.items():
        if home.is_file():
            yield home, place
        for file in sorted(filter(Path.is_file, home.rglob("*"))):
            if "__pycache__" not in file.parts:
                yield file, f"{place}/{file.relative_to(home).as_posix()}"


def write_crate(name: str, paths: Paths, plan: Study, out: Path) -> int:
    """Write the crate of a committed study and return how many files it holds in addition to its metadata."""
    record = read_json(paths.record)
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
    crate.name = f"RepliCSE study {name}"
    crate.description = str(record.get("shows") or record.get("title") or f"The study {name}")
    crate.license = "https://spdx.org/licenses/MIT"
    if record.get("generated"):
        crate.datePublished = str(record["generated"])
    snakefile = packaged("Snakefile")
    about = _facts(snakefile) | {"name": "RepliCSE"}
    crate.add_workflow(snakefile, "Snakefile", main=True, lang="snakemake", properties=about)
    files = list(files_of(name, paths, plan))
    for file, place in files:
        crate.add_file(file, place, properties=_facts(file))
    with atomic_write(out) as temporary, tempfile.TemporaryDirectory() as scratch:
        crate.write_zip(Path(scratch, "crate.zip"))
        shutil.copyfile(Path(scratch, "crate.zip"), temporary)
    return len(files) + 1


def _facts(file: Path) -> dict[str, str]:
    """Return what the crate says of a file: its size, its sha256 and its media type."""
    kind = mimetypes.guess_type(file.name)[0] or "text/plain"
    return {"sha256": sha256_of(file), "contentSize": str(file.stat().st_size), "encodingFormat": kind}
