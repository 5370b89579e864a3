"""A study as a Workflow Run RO-Crate: what it ran, on what, and what came out, without weights."""

import mimetypes
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.files import atomic_write, sha256_of, write_json
from replicse.registry.artefacts import CONFIG, DATA, MACROS, MARKDOWN, METRICS, PROVENANCE, STUDY, TEX
from replicse.study.plan.paths import Paths
from replicse.study.plan.plan import Plan
from replicse.workspace import packaged

SPECS = "specs.json"
# What of a results folder is packed: no weights, stores or states, and no pages that run scripts.
PATTERNS = (
    CONFIG, STUDY, DATA, "README.md", "*.csv", "items/*/*.json", "tables/*/*", f"tables/{MACROS}",
    "encoders/*/*.json", f"runs/*/{PROVENANCE}", f"runs/*/{METRICS}", MARKDOWN, TEX,
)  # fmt: skip
DRAWINGS = ("*/*.svg", "*/*.png", "*/*.pdf", "*/*.csv")
PROFILES = (
    "https://w3id.org/ro/wfrun/process/0.5",
    "https://w3id.org/ro/wfrun/workflow/0.5",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
)
TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}


def packed_files(paths: Paths) -> Iterator[tuple[Path, str]]:
    """Yield the files of a study that go into its crate, each with its path below a committed one's."""
    for folder, patterns, place in (
        (Path(paths.results), PATTERNS, "reports"),
        (Path(paths.reports), (MARKDOWN, TEX), "reports"),
        (Path(paths.figures), DRAWINGS, "figures"),
    ):
        for file in sorted({file for pattern in patterns for file in folder.glob(pattern) if file.is_file()}):
            yield file, f"{place}/{file.relative_to(folder).as_posix()}"


def specs_of(plan: Plan) -> dict[str, Any]:
    """Return the spec of every run of a plan by its id."""
    return {name: run.canonical() for name, run in plan.runs.items()}


def pack(name: str, paths: Paths, plan: Plan, record: Mapping[str, Any], out: Path) -> int:
    """Write the crate of a study, named so among those of another folder, and return how many files it holds."""
    with tempfile.TemporaryDirectory() as scratch:
        staged: dict[str, Path] = {}
        for file, place in packed_files(paths):
            top, _, rest = place.partition("/")
            staged.setdefault(f"{top}/studies/{name}/{rest}", file)
        written = {STUDY: record, CONFIG: plan.config.whole(), SPECS: specs_of(plan)}
        for file_name, document in written.items():
            write_json(Path(scratch, file_name), document)
            staged[f"reports/studies/{name}/{file_name}"] = Path(scratch, file_name)
        if not any("/items/" in place for place in staged):
            raise BadInput(
                f"{paths.results}: no item was tabulated; run the study to its report, then pack it"
            )
        write_crate(name, staged, record, out)
    return len(staged) + 2


def write_crate(name: str, staged: Mapping[str, Path], record: Mapping[str, Any], out: Path) -> None:
    """Write a crate from files by their place in it; the workflow and the metadata come next to them."""
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms.update(TERMS)
    crate.name = f"RepliCSE study {name}"
    crate.description = str(record.get("shows") or record.get("title") or f"The study {name}")
    crate.license = "https://spdx.org/licenses/MIT"
    snakefile = packaged("Snakefile")
    workflow = crate.add_workflow(
        snakefile,
        "Snakefile",
        main=True,
        lang="snakemake",
        properties=_facts(snakefile) | {"name": "RepliCSE"},
    )
    files = {
        place: crate.add_file(file, place, properties=_facts(file)) for place, file in sorted(staged.items())
    }
    # The profile asks for identifiers that can be followed to what they name.
    for profile in PROFILES:
        crate.add_jsonld(
            {"@id": profile, "@type": "CreativeWork", "name": profile, "version": profile.rpartition("/")[2]}
        )
    crate.root_dataset["conformsTo"] = [{"@id": profile} for profile in PROFILES]
    ended = str(record.get("generated") or "")
    action = crate.add_jsonld({"@id": "#run", "@type": "CreateAction", "name": f"The run of {name}"})
    action["instrument"] = workflow
    inputs = [entity for place, entity in files.items() if place.endswith((f"/{CONFIG}", f"/{SPECS}"))]
    action["object"] = inputs
    action["result"] = [entity for entity in files.values() if entity not in inputs]
    if ended:
        action["endTime"] = ended
        crate.datePublished = ended
    crate.root_dataset["mentions"] = [action]
    with atomic_write(out) as temporary, tempfile.TemporaryDirectory() as scratch:
        crate.write_zip(Path(scratch, "crate.zip"))
        shutil.copyfile(Path(scratch, "crate.zip"), temporary)


def _facts(file: Path) -> dict[str, Any]:
    """Return what the crate says of a file: its size, its sha256 and its media type."""
    kind = mimetypes.guess_type(file.name)[0] or "text/plain"
    return {"sha256": sha256_of(file), "contentSize": str(file.stat().st_size), "encodingFormat": kind}
