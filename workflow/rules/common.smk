# Helpers only: the plan is made once, and every input function is a look-up in it.
import gc
import inspect
import json
import os
import shlex
import sys
from functools import cache
from pathlib import Path
from types import FunctionType

from snakemake.exceptions import WorkflowError

# A plan and its DAG are millions of objects that all stay: each look for garbage among them finds none.
gc.set_threshold(100_000, 50, 100)

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from replicse.data.sets import evaluation_files
from replicse.runtime.devices import SLOTS
from replicse.encoder.folders import restore_run
from replicse.errors import BadInput, Failed
from replicse.files import read_json, sha256_of
from replicse.runtime.forking import ADDRESS
from replicse.runtime.locks import note_holder
from replicse.provenance.source import Source, contents_digest, named_in
from replicse.registry.augmentations import augmentation_of
from replicse.registry.corpora import corpus_of
from replicse.registry.suites import SUITES
from replicse.study.paper.datasets import load_datasets
from replicse.study.paper.layers import mappings, named_files
from replicse.registry.corpora import SIMCSE_DATA
from replicse.study.paper.lock import load_lock
from replicse.study.plan.planner import load_plan


# A checkout may stand in any folder: Snakemake takes single braces of what it is given as text for its own.
def formatted(text):
    """Return a text that Snakemake's formatting turns into the one that is given."""
    return str(text).replace("{", "{{").replace("}", "}}")


def quoted(path):
    """Return a path as one word of the shell's, ready for Snakemake's formatting."""
    return formatted(shlex.quote(str(path)))


ENVIRONMENT = formatted(Path(workflow.basedir) / "environment.yml")


# A job runs with the Python of this Snakemake, unless Snakemake made it an environment of its own.
shell.prefix(
    'set -euo pipefail; case "$(printenv CONDA_PREFIX || true)" in */.snakemake/conda/*) ;;'
    f' *) export PATH={quoted(Path(sys.executable).parent)}:"$PATH" ;; esac;'
    f" export PYTHONPATH={quoted(Path(workflow.basedir) / 'src')}"
    f" REPLICSE_WORKFLOW={quoted(Path(workflow.basedir) / 'workflow')}; "
)

try:
    PLAN = load_plan(config, Path(workflow.basedir) / "workflow")
except BadInput as error:
    raise WorkflowError(str(error)) from None

PATHS = PLAN.paths
SCALE = PLAN.scale.name
RESULTS = PATHS.results
# A tiny or compact encoder gains nothing from more threads; many runs side by side do.
JOB_THREADS = 4 if PLAN.scale.comparable else 1
GPUS = 0 if SCALE == "micro" else 1


wildcard_constraints:
    paper="[a-z0-9]+",
    item="[A-Za-z0-9-]+",
    run="[A-Za-z0-9.-]+",
    encoder="(?!data/)[A-Za-z0-9.-]+",
    group="fast|transfer|mteb|heads",
    store="[A-Za-z0-9.-]+",
    name="[A-Za-z0-9._-]+",


# Of the package that jobs run, which need not be the one that is installed.
SOURCE = Source(
    Path(workflow.basedir) / "src" / "replicse",
    cache=Path(".snakemake") / "replicse-code.json",
)


@cache
def code_of(names):
    """Return the digest of the code of some modules and of all that they import."""
    return SOURCE.digest(*names)[:16]


def code(*names):
    """Return the digest of the code that a job's numbers come from: a change of it makes the job run again."""
    return code_of(frozenset(names))


def once(function):
    """Return a function of wildcards that is worked out once for each, however often Snakemake asks."""
    known = {}

    def answer(wildcards):
        key = tuple(wildcards)
        if key not in known:
            known[key] = function(wildcards)
        return known[key]

    return answer


def data_code():
    """Return the digest of the code that makes the data root ready."""
    own = {"embedded": ["replicse.world.world"], "hub": ["replicse.data.hub"]}
    return code("replicse.data.sets", *own.get(PLAN.source, []))


@once
def tokenizer_code(wildcards):
    """Return the digest of the code that makes a tokenizer, and that reads the corpus that it is trained on."""
    corpus = PLAN.tokenizers[wildcards.name].get("corpus")
    names = named_in(corpus_of(corpus)) if corpus else ()
    return code("replicse.data.corpora", "replicse.data.tokenizer", *names)


@once
def store_code(wildcards):
    """Return the digest of the code that reads a store's corpus, augments and tokenises it."""
    spec = PLAN.stores[wildcards.store]
    names = named_in(corpus_of(spec["corpus"]))
    if "augment" in spec["view"]:
        names |= named_in(augmentation_of(spec["view"]["augment"]))
    return code("replicse.data.corpora", "replicse.data.store", *names)


@once
def train_code(wildcards):
    """Return the digest of the code of a run: training, and the terms, augmentations and heads that its spec names."""
    return code("replicse.training.loop", *named_in(PLAN.runs[wildcards.run]))


def suites_code(suites, *names):
    """Return the digest of the code of some suites, and of what reads the encoder that they evaluate."""
    names = {"replicse.evaluation.suites", *names}
    for suite in suites:
        options = SUITES[suite].options.of(PLAN.scale.options.get(suite, {}), suite)
        names |= {f"replicse.registry.suites:SUITES[{suite}]", *named_in(options)}
    return code(*names)


@once
def evaluation_code(wildcards):
    """Return the digest of the code that evaluates an encoder on a group of suites."""
    encoder = PLAN.encoders[wildcards.encoder]
    reader = "baselines.word_vectors" if encoder.source.vectors else "sentence"
    names = {f"replicse.encoder.{reader}", *named_in(encoder.postprocess)}
    if encoder.postprocess:
        names.add("replicse.encoder.baselines.fitted")
        if encoder.postprocess.fit != "target":
            names |= {
                "replicse.data.corpora",
                *named_in(corpus_of(encoder.postprocess.fit)),
            }
    return suites_code(PLAN.groups(wildcards.encoder)[wildcards.group], *names)


def count_code(wildcards):
    """Return the digest of the code that counts the data, and reads the corpora among them."""
    corpora = map(corpus_of, PLAN.count_job()["corpora"].values())
    return code("replicse.evaluation.counts", *named_in(tuple(corpora)))


def wake_for_jobs_only():
    """Take Snakemake's limit of 100 job starts a second from its scheduler, unless another one was asked for.

    With it, the scheduler is woken each second once for every job that ever ended: after 270 of 839 jobs Snakemake's own
    process had taken a fifth of all CPU time.
    """
    limit = getattr(workflow.scheduler, "job_rate_limiter", None)
    if limit is not None and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


def refuse_folder():
    """Refuse a folder that Snakemake's executors of schedulers cannot quote: what looks like a command would run."""
    folder = str(Path.cwd())
    found = [repr(each) for each in "$`\"'\\" if each in folder]
    if found and not workflow.local_exec:
        raise WorkflowError(
            f"{folder}: the executors of schedulers cannot quote {' '.join(found)}; use a folder without it in its path"
        )


def share_gpus():
    """Say how many jobs share the GPUs of this machine: each takes a slot of one of them (replicse.runtime.devices).

    Only when the study starts is it known whether jobs run here; a scheduler gives each of its jobs GPUs of its own.
    """
    if workflow.local_exec and "gpu" in workflow.global_resources:
        os.environ[SLOTS] = str(workflow.global_resources["gpu"].value)


def serve_jobs():
    """Have one process import torch for all jobs, where these are shorter than that and run beside it."""
    if (
        PLAN.source == "embedded"
        and not GPUS
        and workflow.local_exec
        and hasattr(os, "pidfd_open")
    ):
        from replicse.runtime.forking.server import start

        os.environ[ADDRESS] = start(JOB_THREADS)


def compact_json(value):
    """Return sorted JSON on one line: stable text for params."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def data_options(wildcards):
    """Return the arguments of the data verb; the root of a local source comes from the config or the environment."""
    words = ["--source", PLAN.source]
    if PLAN.root:
        words += ["--root", PLAN.root]
    for file in PLAN.scale.data.files:
        words += ["--file", file]
    if PLAN.source == "hub":
        commit = load_lock(PLAN.workflow).revision(SIMCSE_DATA)
        words += ["--revision", commit] if commit else []
    if PLAN.source != "embedded":
        sizes = load_datasets(PLAN.workflow).plain()["sizes"]
        words += ["--sizes", compact_json(sizes)]
    return words


def local_files(wildcards):
    """Return the digest of the recorded files of a local source: a change of one, not of its date, records it again."""
    if PLAN.source != "local":
        return ""
    root = Path(PLAN.root or os.environ.get("REPLICSE_DATA", ""))
    files = [root / name for name in PLAN.scale.data.files]
    for parts in evaluation_files(root).values():
        files += [file for several in parts.values() for file in several]
    present = [file for file in files if file.is_file()]
    return contents_digest(root, present, Path(".snakemake") / "replicse-data.json")[
        :16
    ]


def data_digest(*named):
    """Return the digest of the files below the data root that plain data names: a change of one runs its readers again.

    Files that the data rule writes itself are left out; it is asked before they are there.
    """
    if PLAN.source == "local":
        root, made = Path(PLAN.root or os.environ.get("REPLICSE_DATA", "")), ()
    else:
        root = Path(PATHS.data).parent / "data"
        try:
            made = {entry["name"] for entry in read_json(PATHS.data)["files"]}
        except (BadInput, KeyError, TypeError):
            made = ()
    wanted = [root / name for name in named_files(mappings(named)) if name not in made]
    present = [file for file in wanted if file.is_file()]
    kept = Path(".snakemake") / "replicse-data.json"
    return contents_digest(root, present, kept)[:16] if present else ""


@once
def tokenizer_files(wildcards):
    """Return the digest of what a tokenizer is made of."""
    return data_digest(PLAN.tokenizers[wildcards.name])


@once
def store_files(wildcards):
    """Return the digest of the files of a store's corpus and augmentation."""
    return data_digest(PLAN.stores[wildcards.store])


def restore_world():
    """Write the embedded world again where files of it are lost or changed: nothing that stands on them is made anew."""
    if PLAN.source != "embedded" or not Path(PATHS.data).is_file():
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


def restore_encoders():
    """Put back what lies beside the weights of trained encoders, where another checkpoint of the run has it too.

    The rules declare the weights alone: three files more of each checkpoint were a quarter of a dry-run's time.
    """
    for run in filter(Path.is_dir, map(Path, map(PATHS.run, PLAN.runs))):
        try:
            restore_run(run)
        except (Failed, OSError):
            pass  # who reads the encoder says what is lost


def tokenizer_recipe(wildcards):
    """Return a tokenizer's recipe as JSON."""
    return compact_json(PLAN.tokenizers[wildcards.name])


def backbone_source(wildcards):
    """Return a released encoder's source as JSON."""
    return compact_json(PLAN.backbones[wildcards.name])


def store_spec(wildcards):
    """Return a store's spec as JSON."""
    spec = PLAN.stores[wildcards.store]
    return compact_json({**spec, "corpus": PLAN.scale.expected(spec["corpus"])})


def store_tokenizer(wildcards):
    """Return the tokenizer file of a store."""
    return PLAN.stores[wildcards.store]["tokenizer"]


def store_encoder(wildcards):
    """Return the weights of the encoder that an augmentation needs, where it needs one."""
    return PLAN.store_needs(wildcards.store)


def count_options(wildcards):
    """Return what is counted from the data, and the corpora among it."""
    job = PLAN.count_job()
    words = ["--corpora", compact_json(job["corpora"])]
    for path in job["read"]:
        words += ["--read", path]
    return words


def train_job(wildcards):
    """Return a run's job as JSON."""
    return compact_json(PLAN.train_job(wildcards.run))


def train_inputs(wildcards):
    """Return what a train job reads."""
    return PLAN.train_needs(wildcards.run)


def record_folder(wildcards, output):
    """Return the folder of a job whose first output stands right in it."""
    return str(Path(output[0]).parent)


def train_memory(wildcards, attempt):
    """Return the memory of a training job in MB; a retry gets more."""
    return (32000 if PLAN.scale.comparable else 3000) * attempt


def evaluation_memory(wildcards, attempt):
    """Return the memory of an evaluation in MB, more for a retry; MTEB holds chunks of corpora of millions of documents."""
    large = wildcards.group == "mteb" and PLAN.scale.comparable
    return (32000 if large else 4000) * attempt


def train_time(wildcards, attempt):
    """Return the time of a training job in minutes; a retry goes on where it was, and gets more."""
    return 8 * 60 * attempt


def evaluation_time(wildcards, attempt):
    """Return the time of an evaluation in minutes: of MTEB, which is resumed task by task, a day at first."""
    large = wildcards.group == "mteb" and PLAN.scale.comparable
    return (24 if large else 1) * 60 * attempt


def allocation(run):
    """Return the name of what a scheduler runs in one allocation: a run, its evaluations and its trajectory."""
    return None if workflow.local_exec else f"run-{run}"


def train_allocation(wildcards):
    """Return the allocation of a run."""
    return allocation(wildcards.run)


def encoder_allocation(wildcards):
    """Return the allocation of the run that an encoder comes from; none where it was not trained here."""
    run = PLAN.encoders[wildcards.encoder].source.run
    return allocation(run) if run else None


def encoder_weights(wildcards):
    """Return the weights of an encoder."""
    return PLAN.encoder_needs(wildcards.encoder)


def encoder_options(wildcards):
    """Return pooling and the suites of one group of an encoder."""
    encoder = PLAN.encoders[wildcards.encoder]
    words = ["--pooling", encoder.pooling]
    if encoder.source.vectors:
        words += ["--vectors", compact_json(encoder.source.words.plain())]
    else:
        words += ["--encoder", PLAN.encoder_folder(encoder)]
    if encoder.engine != "auto":
        words += ["--engine", encoder.engine]
    suites = PLAN.groups(wildcards.encoder)[wildcards.group]
    for suite in suites:
        words += ["--suite", suite]
    options = {
        suite: PLAN.scale.options[suite]
        for suite in suites
        if suite in PLAN.scale.options
    }
    if options:
        words += ["--options", compact_json(options)]
    if encoder.postprocess:
        wanted = encoder.postprocess.plain()
        if wanted["fit"] != "target":
            wanted["fit"] = PLAN.scale.expected(wanted["fit"])
        words += ["--postprocess", compact_json(wanted)]
    return words


def encoder_pooling(wildcards):
    """Return an encoder's test-time pooling."""
    return PLAN.encoders[wildcards.encoder].pooling


def encoder_engine(wildcards):
    """Return the engine that reads an encoder."""
    return PLAN.encoders[wildcards.encoder].engine


def encoder_run(wildcards):
    """Return the folder of the run that an encoder comes from."""
    return PATHS.run(PLAN.encoders[wildcards.encoder].source.run)


def run_metrics(wildcards):
    """Return the record of a run's course: it names the checkpoints that were kept."""
    return f"{encoder_run(wildcards)}/metrics.json"


def item_evaluations(wildcards):
    """Return the evaluations that an item's cells read."""
    return PLAN.evaluation_files(PLAN.items[f"{wildcards.paper}/{wildcards.item}"])


def item_files(item):
    """Return what asking for an item alone makes: its table, its page, and its figure where it has one."""
    figures = (
        [PATHS.figure(item.id, kind) for kind in ("svg", "png", "pdf")]
        if item.figure
        else []
    )
    return [PATHS.table(item.id), PATHS.page(item.id), *figures]


def item_figure(wildcards):
    """Return the drawing of an item, where it has one."""
    item = f"{wildcards.paper}/{wildcards.item}"
    return [PATHS.figure(item)] if PLAN.items[item].figure else []


def released_evaluations():
    """Return the evaluations of all encoders that are downloaded as they are."""
    return [
        PATHS.evaluation(name, group)
        for name, encoder in PLAN.encoders.items()
        if encoder.source.hub
        for group in PLAN.groups(name)
    ]


@cache
def workflow_digest(*files):
    """Return the digest of files of the workflow: as a parameter, a change of one, not of its date, runs a job again.

    They are no inputs: a bucket that holds the files of a study holds none of the workflow.
    """
    kept = Path(".snakemake") / "replicse-workflow.json"
    return contents_digest(PLAN.workflow, files, kept)[:16]


@cache
def paper_files(*keys):
    """Return every file of some papers, or of all: what is printed, and how it is read."""
    folders = [PLAN.papers[key].folder for key in keys or PLAN.papers]
    files = [file for folder in folders for file in sorted(folder.rglob("*"))]
    return [file for file in files if file.suffix in (".yaml", ".csv", ".md")]


def item_texts(wildcards):
    """Return the digest of what an item's cells are judged by: its paper, the scale, and what other papers print."""
    printed = {paper.folder / "reported.csv" for paper in PLAN.papers.values()}
    texts = {*paper_files(wildcards.paper), *printed, PLAN.scale.file}
    return workflow_digest(*sorted(texts))


def all_texts(wildcards):
    """Return the digest of what all items are judged by."""
    named = PLAN.workflow / "datasets.yaml"
    return workflow_digest(*paper_files(), PLAN.scale.file, named)


def list_items(wildcards):
    """Return the results of all items."""
    return [PATHS.item(item) for item in PLAN.items]


def list_tables(wildcards):
    """Return the tables of all items."""
    return [PATHS.table(item) for item in PLAN.items]


def list_figures(wildcards):
    """Return the figures of all items that have one."""
    return [PATHS.figure(item.id) for item in PLAN.items.values() if item.figure]


def study_config(wildcards):
    """Return the config of this study as JSON; the papers keep their order."""
    return json.dumps(PLAN.config.whole(), ensure_ascii=False, separators=(",", ":"))


def study_record(wildcards):
    """Return what the report says about the study, as JSON; the papers keep the order of the config."""
    return json.dumps(PLAN.record, ensure_ascii=False, separators=(",", ":"))


# Snakemake asks for the parameters of each of these functions several times a job, and Python would work them out anew.
for function in list(globals().values()):
    if isinstance(function, FunctionType) and function.__globals__ is globals():
        function.__signature__ = inspect.signature(function)
