# What each job makes its outputs from, in a record next to them: Snakemake's metadata may be lost. Helpers only, no rule.
from snakemake.io import IOFile
from snakemake.settings.types import RerunTrigger

from replicse.registry.artefacts import record_file
from replicse.registry.digests import digest
from replicse.compile.records import record_of

MAKING = {file: key for key, job in GRAPH.items() for file in job.outputs}


def parts_of(wildcards):
    """Return the parts of a job, as the graph names it, from the wildcards of its rule."""
    if hasattr(wildcards, "item"):
        return (f"{wildcards.paper}/{wildcards.item}",)
    return tuple(wildcards)


@cache
def files_of(stage, *parts):
    """Return the first files that a job writes, and the file or folder that it is told to write."""
    several = (PLAN.studied, PLAN.items) if stage == "report" else parts
    outputs = outputs_of(PATHS, stage, *several).values()
    files = [file for file in outputs if isinstance(file, str)]
    if stage == "train":
        return files, Path(PATHS.run(*parts))
    first = Path(files[0])
    return files, first.parent if stage in ("backbone", "store", "judge") else first


@cache
def made_from(stage, *parts):
    """Return what a job makes its outputs from, as digests by name: those of its inputs say what these are made from."""
    if job := GRAPH.get((stage, *parts)):
        reads = [MAKING[file] for file in job.needs[1:] if file in MAKING]
        files = local_files(None) if stage == "data" else files_digest(job)
        places = (files_of(*key)[1].relative_to(RESULTS) for key in reads)
        own = {
            "files": files,
            "payload": digest(job.payload),
            "reads": list(map(str, places)),
        }
    elif stage == "tabulate":
        item = PLAN.items[parts[0]]
        reads = [MAKING[file] for file in PLAN.evaluation_files(item)]
        config = digest(PLAN.config.bearing_on(item.id))
        own = {"texts": PRESENT.texts(item.paper), "config": config}
    else:
        reads = [("tabulate", item) for item in parts or PLAN.items]
        own = {"texts": PRESENT.texts()} if stage == "judge" else {}
    modules = job.code if job else JUDGES if stage in ("tabulate", "judge") else SHOWS
    inputs = digest([summary(*key) for key in reads])
    code = {"modules": sorted(modules), "code": PRESENT.code(modules)}
    return {**code, **own, "inputs": inputs}


@cache
def summary(stage, *parts):
    """Return the digest of all that a job makes its outputs from."""
    return digest(made_from(stage, *parts))


def made(stage):
    """Return the function that gives what a job writes into its record, as JSON.

    Snakemake compares no parameter that is derived from the input; code, files, texts and payload are compared apart.
    """
    return lambda wildcards, input: compact_json(made_from(stage, *parts_of(wildcards)))


def force(file):
    """Have Snakemake make a file again if it plans the file, unless it was told to go by dates alone."""
    if workflow.is_main_process and RerunTrigger.PARAMS in workflow.rerun_triggers:
        workflow.dag.forcefiles.add(file)


def unless_recorded(stage):
    """Return an input function that gives no file: it forces a job whose record is not what it would be now.

    Where Snakemake has metadata of the job, these say what its inputs were, and it needs no record.
    """

    def check(wildcards):
        parts = parts_of(wildcards)
        files, out = files_of(stage, *parts)
        if not any(Path(file).exists() for file in files):
            return []
        record, now = record_of(out), made_from(stage, *parts)
        differ = {name for name in now if record.get(name) != now[name]}
        if workflow.persistence.metadata(IOFile(files[0])):
            differ = differ - {"inputs"} if record else set()
        if differ:
            force(files[0])
        if differ and workflow.touch:
            record_file(out).unlink(missing_ok=True)
        return []

    return check


def unless_written(path, read):
    """Return an input function that gives no file: it forces the job of a text where another text is there."""

    def check(wildcards):
        file = Path(path)
        if file.is_file() and file.read_text(encoding="utf-8") != f"{read(None)}\n":
            force(path)
        return []

    return check
