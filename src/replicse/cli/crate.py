"""Write a committed study as an RO-Crate for archives such as Zenodo."""

import mimetypes
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml
from rocrate.rocrate import ROCrate

from replicse.cli.crate_evidence import EVIDENCE, Evidence
from replicse.cli.init import SKELETONS
from replicse.compile.paths import Paths
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.files import atomic_write, read_json, sha256_of, write_json
from replicse.registry.registry import current
from replicse.spec.config import SHIPPED
from replicse.workspace import packaged

CONFIG_HEAD = "# The config of the study in reports/studies: replicse run trains and evaluates it again.\n"


def files_of(name: str, paths: Paths, plan: Study) -> Iterator[tuple[Path, str]]:
    """Yield the files of a study with their paths in the crate.

    The crate contains results, figures, plug-ins, and papers, scales and pins of the workspace. Papers and scales of
    the package are in the separate folder `workflow`, because the package's scales adjust only the package's recipes.
    Datasets are not included; the record of the study contains digests of them. Hidden files are skipped.

    Args:
        name: the name of the study.
        paths: the paths of the committed study.
        plan: the study.

    Raises:
        BadInput: if a file of the study or the workspace is a symbolic link, which can lead to a private file.
    """
    homes = {
        f"reports/studies/{name}": Path(paths.results),
        f"figures/studies/{name}": Path(paths.figures),
    }
    for plugin in current().plugins.values():
        if not (plugin.installed or plugin.method):
            homes[plugin.name] = plugin.place
    for key, paper in plan.papers.items():
        if paper.own:
            homes[f"papers/{key}"] = paper.folder
    homes |= {"scales": Path("scales"), "hub.lock.yaml": Path("hub.lock.yaml"), "workflow": plan.workflow}
    for place, home in homes.items():
        files = [home] if home.is_file() else sorted(filter(Path.is_file, home.rglob("*")))
        for file in files:
            inside = file.relative_to(home)
            if any(part.startswith((".", "__pycache__")) for part in inside.parts):
                continue
            if file.is_symlink() and home != plan.workflow:
                raise BadInput(
                    f"{file}: a link; replace it with the file, or remove it, and write the crate again"
                )
            yield file, Path(place, inside).as_posix()


def write_crate(name: str, paths: Paths, plan: Study, out: Path, evidence: Evidence | None = None) -> int:
    """Write the crate of a committed study.

    Args:
        name: the name of the study.
        paths: the paths of the committed study.
        plan: the study.
        out: the zip file to write.
        evidence: the evaluations that the study's numbers were computed from. Default: None, none are included.

    Returns:
        The number of files in the crate.
    """
    record = read_json(paths.record)
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
    crate.name = f"RepliCSE study {name}"
    crate.description = str(record.get("shows") or record.get("title") or f"The study {name}")
    crate.license = "https://spdx.org/licenses/MIT"
    if record.get("generated"):
        crate.datePublished = str(record["generated"])
    own = Path("Snakefile")
    snakefile = own if own.is_file() else SKELETONS / "workspace" / "Snakefile"
    about = _facts(snakefile) | {"name": "RepliCSE"}
    crate.add_workflow(snakefile, "Snakefile", main=True, lang="snakemake", properties=about)
    with atomic_write(out) as temporary, tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch, SHIPPED)
        config.write_text(
            CONFIG_HEAD + yaml.safe_dump(plan.config.whole(), sort_keys=False), encoding="utf-8"
        )
        files = [(config, str(SHIPPED)), *files_of(name, paths, plan)]
        if evidence:
            home = f"reports/studies/{name}"
            summary = Path(scratch, EVIDENCE)
            write_json(summary, evidence.summarize())
            files.append((summary, f"{home}/{EVIDENCE}"))
            files += [(file, f"{home}/{place}") for file, place in evidence.files()]
            files.append((packaged("environment.yml"), "environment.yml"))
        for file, place in files:
            crate.add_file(file, place, properties=_facts(file))
        crate.write_zip(Path(scratch, "crate.zip"))
        shutil.copyfile(Path(scratch, "crate.zip"), temporary)
    return len(files) + 1


def _facts(file: Path) -> dict[str, str]:
    """Return the size, sha256 and media type of a file."""
    kind = mimetypes.guess_type(file.name)[0] or "text/plain"
    return {"sha256": sha256_of(file), "contentSize": str(file.stat().st_size), "encodingFormat": kind}
