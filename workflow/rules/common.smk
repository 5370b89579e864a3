# Helpers only: the study is compiled once, and a rule looks up its job in it.
import gc
import json
import os
import shlex
import sys
from difflib import get_close_matches
from functools import cache
from itertools import chain, takewhile
from pathlib import Path

from snakemake.exceptions import WorkflowError

# A plan and its DAG are millions of objects that all stay: each look for garbage among them finds none.
gc.set_threshold(100_000, 50, 100)

# In a checkout the workflow stands beside the package, in a wheel inside of it.
HOME = Path(workflow.current_basedir).parent.parent
LIBRARY = HOME / "src" if (HOME / "src").is_dir() else HOME.parent
sys.path.insert(0, str(LIBRARY))
# As for every verb of `replicse`; `run` sets it to what --workflow names.
WORKFLOW = Path(os.environ.get("REPLICSE_WORKFLOW") or HOME / "workflow").absolute()

from replicse.data.sets import evaluation_files
from replicse.errors import BadInput, Failed
from replicse.files import read_json, sha256_of
from replicse.registry.suite_options import to_install
from replicse.registry.suites import Suite, groups
from replicse.runtime.locks import note_holder
from replicse.runtime.slurm import keep_refusal
from replicse.provenance.source import contents_digest
from replicse.spec.layers import mappings, named_files, workspace_files
from replicse.compile.job import DRAWINGS, log_of, outputs_of
from replicse.compile.records import CACHE, CurrentDigests
from replicse.compile.document import study_of


# A checkout may stand in any folder: Snakemake takes single braces of what it is given as text for its own.
def formatted(text):
    """Return a text that Snakemake's formatting turns into the one that is given."""
    return str(text).replace("{", "{{").replace("}", "}}")


def quoted(path):
    """Return a path as one word of the shell's, ready for Snakemake's formatting."""
    return formatted(shlex.quote(str(path)))


ENVIRONMENT = formatted(HOME / "environment.yml")


# A job runs with the Python of this Snakemake, unless Snakemake made it an environment of its own.
shell.prefix(
    'set -euo pipefail; case "${{CONDA_PREFIX:-}}" in */.snakemake/conda/*) ;;'
    f' *) export PATH={quoted(Path(sys.executable).parent)}:"$PATH" ;; esac;'
    f' export PYTHONPATH={quoted(LIBRARY)}"${{{{PYTHONPATH:+:$PYTHONPATH}}}}"'
    f" REPLICSE_WORKFLOW={quoted(WORKFLOW)}; "
)

# Jobs write where the plan says, so that Snakemake would wait for files of other names.
PLACED = workflow.modifier.path_modifier
if PLACED.prefix or PLACED.modifies_prefixes:
    raise WorkflowError(
        "module replicse: prefix is not supported; run it in a folder of its own with --directory"
    )

try:
    STUDY = study_of(config, WORKFLOW, of_workflow=True)
except BadInput as error:
    raise WorkflowError(str(error)) from None

PATHS = STUDY.paths
SCALE = STUDY.scale.name
RESULTS = PATHS.results
NEEDS = STUDY.scale.needs
JOB_THREADS = NEEDS.threads
GPUS = int(NEEDS.gpu != "none")
# What is written in the place of --until for the rules whose jobs may read what others of the same rule make.
INSTEAD = {"train": "evaluate align_uniformity_checkpoints", "store": "train"}


wildcard_constraints:
    item="(?!tables/)[a-z0-9]+/[A-Za-z0-9-]+",
    run="[A-Za-z0-9.-]+",
    encoder="(?!data/)[A-Za-z0-9.-]+",
    group="|".join(groups()),
    store="[A-Za-z0-9.-]+",
    name="[A-Za-z0-9._-]+",


CACHE.mkdir(exist_ok=True)
# Of the package that jobs run, which need not be the one that is installed.
PRESENT = CurrentDigests(STUDY.workflow, SCALE, LIBRARY / "replicse")
MAKING = {file: job for job in STUDY.jobs.values() for file in job.outputs}
# The jobs that Snakemake has looked at for what is asked of it.
LOOKED_UP = set()


def job_of(stage, wildcards):
    """Return the job of a rule."""
    return STUDY.jobs[stage, ".".join(wildcards)]


def inputs(stage):
    """Return the function that gives what a job of a stage reads beside the data record; stale results are forced."""

    def read(wildcards):
        job = job_of(stage, wildcards)
        LOOKED_UP.add(job)
        if stale(job):
            force(job)
        return [file for file in job.inputs if file != PATHS.data]

    return read


def given(stage, *names):
    """Return the parameters of a stage by name, each a function that reads it of a job."""
    return {name: GIVEN[name](stage) for name in names}


def param(read):
    """Return the function that gives a stage's parameter: what is read of a job, worked out once for each."""
    kept = cache(read)
    # No partial: Snakemake asks each function for its signature, job by job, and that of a partial takes three times as long.
    return lambda stage: lambda wildcards: kept(job_of(stage, wildcards))


def compact_json(value):
    """Return sorted JSON on one line: stable text for params."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def text_of(job):
    """Return the payload of a job that writes it, as JSON; papers keep their order."""
    return json.dumps(job.payload, ensure_ascii=False, separators=(",", ":"))


@cache
def files_digest(job):
    """Return the digest of the files below the data root that a job names."""
    return local_files() if job.stage == "data" else data_digest(job.files)


GIVEN = {
    "code": param(lambda job: PRESENT.code(job.code)),
    "texts": param(lambda job: PRESENT.texts(job.texts)),
    "files": param(files_digest),
    "payload": param(lambda job: compact_json(job.payload)),
    "text": param(text_of),
    "out": param(lambda job: str(job.out)),
    # Snakemake compares no parameter that is derived from the input: neither the machine's share, nor, a second time,
    # what a job is made from.
    "slots": lambda stage: lambda wildcards, input: gpu_slots(),
    "made": lambda stage: lambda wildcards, input: compact_json(
        made_from(job_of(stage, wildcards))
    ),
}


def refuse_until(words):
    """Refuse --until for a rule whose jobs read what others of it make, for Snakemake never starts those."""
    asked = [words.index(word) for word in ("--until", "-U") if word in words]
    rules = {word for at in asked for word in words[at + 1 :]} & INSTEAD.keys()
    if not rules:
        return

    @cache
    def read_by(job):
        jobs = [MAKING[file] for file in job.inputs if file in MAKING]
        return {each.stage for each in jobs}.union(*map(read_by, jobs))

    for job in STUDY.jobs.values():
        if job.stage in rules and job.stage in read_by(job):
            sys.exit(
                f"--until {job.stage}: some {job.stage} jobs read what others make, which Snakemake cannot order;"
                f" write --omit-from {INSTEAD[job.stage]}"
            )


def refuse_mistyped(words):
    """Refuse a target that is nearly an item or a paper, with that one's name: Snakemake has "No rule to produce" it."""
    leading = takewhile(lambda word: not word.startswith("-"), words)
    last = words[words.index("--") + 1 :] if "--" in words else []
    own = Path(workflow.main_snakefile).read_text(encoding="utf-8")
    known = {
        *STUDY.items,
        *(item.target for item in STUDY.items.values()),
        *STUDY.studied,
    }
    for word in [*leading, *last, *(word for word in words if "/" in word)]:
        near = get_close_matches(word, known, n=1, cutoff=0.8)
        if near and not (workflow.is_rule(word) or word in own or Path(word).exists()):
            sys.exit(f'no target "{word}"; did you mean "{near[0]}"?')


def refuse_folder():
    """Refuse a folder that Snakemake's executors of schedulers cannot quote: what looks like a command would run."""
    folder = str(Path.cwd())
    found = [repr(each) for each in "$`\"'\\" if each in folder]
    if found and not workflow.local_exec:
        raise WorkflowError(
            f"{folder}: the executors of schedulers cannot quote {' '.join(found)}; use a folder without it in its path"
        )


def refuse_without_extras():
    """Refuse to start where a job needs an extra of the package that is not installed, as a job's own environment has it."""
    if workflow.deployment_settings.deployment_method:
        return
    asked = [
        job.payload["suite"]
        for job in LOOKED_UP
        if job.stage == "evaluate" and not job.done
    ]
    for suite in sorted(set().union(*asked)):
        if problem := to_install(suite, STUDY.scale.suite_options(suite)):
            raise WorkflowError(f"scale {SCALE}: {problem}")


def gpu_slots():
    """Return how many jobs share the GPUs of this machine: each takes a slot of one of them (replicse.runtime.devices).

    A scheduler gives each of its jobs GPUs of its own.
    """
    here = workflow.is_main_process and workflow.local_exec
    return (
        workflow.global_resources["gpu"].value
        if here and "gpu" in workflow.global_resources
        else 0
    )


def serve_jobs():
    """Have one process import torch for all jobs, where these are shorter than that and run beside it."""
    if (
        STUDY.source == "embedded"
        and not GPUS
        and workflow.local_exec
        and hasattr(os, "pidfd_open")
    ):
        from replicse.runtime.forking.server import start

        start(JOB_THREADS)


def local_files():
    """Return the digest of the recorded files of a local source: a change of one, not of its date, records it again."""
    if STUDY.source != "local":
        return ""
    root = Path(STUDY.root or os.environ.get("REPLICSE_DATA", ""))
    files = [root / name for name in STUDY.scale.data.files]
    for parts in evaluation_files(root).values():
        files += [file for several in parts.values() for file in several]
    present = [file for file in files if file.is_file()]
    return contents_digest(root, present, Path(".snakemake") / "replicse-data.json")[
        :16
    ]


def data_digest(*named):
    """Return the digest of the files that plain data names: a change of one runs its readers again.

    Files that the data rule writes itself are left out; it is asked before they are there.
    """
    if STUDY.source == "local":
        root, made = Path(STUDY.root or os.environ.get("REPLICSE_DATA", "")), ()
    else:
        root = Path(PATHS.data).parent / "data"
        try:
            made = {entry["name"] for entry in read_json(PATHS.data)["files"]}
        except (BadInput, KeyError, TypeError):
            made = ()
    wanted = [root / name for name in named_files(mappings(named)) if name not in made]
    wanted += map(Path, workspace_files(mappings(named)))
    present = [file for file in wanted if file.is_file()]
    kept = Path(".snakemake") / "replicse-data.json"
    return contents_digest(root, present, kept)[:16] if present else ""


def restore_world():
    """Write the embedded world again where files of it are lost or changed: nothing that stands on them is made anew."""
    if STUDY.source != "embedded" or not Path(PATHS.data).is_file():
        return
    try:
        record = read_json(PATHS.data)
        root = Path(record["root"])
        wanted = {root / each["name"]: each["sha256"] for each in record["files"]}
    except (BadInput, KeyError, TypeError):
        return  # the jobs say what is wrong with the record
    if any(
        not file.is_file() or sha256_of(file) != digest
        for file, digest in wanted.items()
    ):
        from replicse.world.world import write_world

        write_world(root)


def train_memory(wildcards, attempt):
    """Return the memory of a training job in MB; a retry gets more."""
    return NEEDS.train_memory_mb * attempt


def most(group, resource):
    """Return the most that a suite of a group takes of a resource, or at a scale with small ones what any suite takes."""
    suites = groups()[group] if NEEDS.full_suites else []
    return max(getattr(suite, resource) for suite in (Suite, *suites))


def evaluation_memory(wildcards, attempt):
    """Return the memory of an evaluation in MB; a retry gets more."""
    return most(wildcards.group, "memory") * attempt


def train_time(wildcards, attempt):
    """Return the time of a training job in minutes; a retry goes on where it was, and gets more."""
    return NEEDS.train_hours * 60 * attempt


def evaluation_time(wildcards, attempt):
    """Return the time of an evaluation in minutes; a retry gets more."""
    return most(wildcards.group, "hours") * 60 * attempt


def allocation(run):
    """Return the name of what a scheduler runs in one allocation: a run, its evaluations and its trajectory."""
    return None if workflow.local_exec else f"run-{run}"


def train_allocation(wildcards):
    """Return the allocation of a run."""
    return allocation(wildcards.run)


def encoder_allocation(wildcards):
    """Return the allocation of the run that an encoder comes from; none where it was not trained here."""
    run = STUDY.encoders[wildcards.encoder].source.run
    return allocation(run) if run else None


def item_files(item):
    """Return what asking for an item alone makes: its evaluations, its table, its page, and its figure where it has one."""
    figures = outputs_of(PATHS, "figures", item.id) if item.figure else {}
    drawings = [figures[kind] for kind in DRAWINGS if kind in figures]
    made = [PATHS.table(item.id), PATHS.page(item.id), *drawings]
    return [*STUDY.evaluation_files(item), *made]


def all_evaluations():
    """Return the evaluations that the cells of all items read."""
    files = map(STUDY.evaluation_files, STUDY.items.values())
    return list(dict.fromkeys(chain.from_iterable(files)))


def released_evaluations():
    """Return the evaluations of all encoders that are downloaded as they are."""
    return [
        PATHS.evaluation(name, group)
        for name, encoder in STUDY.encoders.items()
        if encoder.source.hub
        for group in STUDY.groups(name)
    ]
