# What each job makes its outputs from, in a record next to them: Snakemake's metadata may be lost. Helpers only, no rule.
from snakemake.settings.types import RerunTrigger

from replicse.registry.artefacts import record_file
from replicse.registry.digests import digest
from replicse.compile.records import record_of

# Their outputs are their payload itself, and need no record; what reads the data is told its record.
WITHOUT_RECORD = ("config", "study")


@cache
def made_from(job):
    """Return what a job makes its outputs from, as digests by name: those of its inputs say what these are made from."""
    making = (MAKING[file] for file in job.inputs if file in MAKING)
    reads = [each for each in making if each.stage not in ("data", *WITHOUT_RECORD)]
    places = [each.out for each in reads]
    own = {"texts": PRESENT.texts(job.texts)} if job.texts is not None else {}
    if job.stage == "tabulate":
        own["config"] = digest(STUDY.config.bearing_on(job.id))
    return {
        "modules": sorted(job.code),
        "code": PRESENT.code(job.code),
        "files": files_digest(job),
        "payload": digest(job.payload),
        "reads": [
            str(place.relative_to(RESULTS))
            for place in places
            if place.is_relative_to(RESULTS)
        ],
        **own,
        "inputs": digest([summary(each) for each in reads]),
    }


@cache
def summary(job):
    """Return the digest of all that a job makes its outputs from."""
    return digest(made_from(job))


def stale(job):
    """Return whether what a job has written is not what it would write now, by its record; `--touch` accepts it.

    Where Snakemake has metadata of the job, these say what its inputs were, and it needs no record.
    """
    if not any(Path(file).exists() for file in job.outputs):
        return False
    if job.stage in WITHOUT_RECORD:
        return job.out.read_text(encoding="utf-8") != f"{text_of(job)}\n"
    record, now = record_of(job.out), made_from(job)
    differ = {name for name, entry in now.items() if record.get(name) != entry}
    if has_metadata(job):
        differ = differ - {"inputs"} if record else set()
    if differ and workflow.touch:
        record_file(job.out).unlink(missing_ok=True)
    return bool(differ)
