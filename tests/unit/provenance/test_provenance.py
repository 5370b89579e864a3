"""Provenance: digests of code, and facts collected without torch."""

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from places import ROOT

from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.provenance import record, source
from replicse.provenance.record import provenance
from replicse.provenance.source import PACKAGE, SourceCode, modules_of
from replicse.registry.augmentations import augmentation_of
from replicse.registry.corpora import corpus_of
from replicse.registry.plugins import plugin_places, unit_of
from replicse.runtime.machine import hardware, numerics

CODE = (
    '"""Doc."""\n\nLIMIT = 3\n\n\ndef double(x: int) -> int:\n    """Return twice x."""\n    return x * 2\n'
)


def digest(root, code=CODE, **files):
    """Return the digest of a package in a new folder.

    Args:
        root: Folder to create the package in.
        code: Content of code.py. Default: `CODE`.
        files: Content of further files by name.
    """
    folder = root / "replicse" / "part"
    folder.mkdir(parents=True, exist_ok=True)
    for home in (folder.parent, folder):
        (home / "__init__.py").touch()
    (folder / "code.py").write_text(code)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return SourceCode(folder.parent).digest("replicse.part")


@pytest.mark.parametrize(
    "code",
    [
        "# A comment.\n" + CODE,
        CODE.replace("Return twice x.", "Return the double."),
        CODE.replace('    """Return twice x."""\n', ""),
        CODE.replace("x * 2", "(\n        x * 2  # twice\n    )"),
        CODE.replace("(x: int)", "(\n    x: int,\n)"),
    ],
)
def test_comments_docstrings_and_formatting_change_nothing(tmp_path, code):
    assert code != CODE
    assert digest(tmp_path) == digest(tmp_path, code)


def test_a_data_file_and_a_name_are_part_of_it_and_other_folders_are_not(tmp_path, monkeypatch):
    plain = digest(tmp_path)
    root = tmp_path / "replicse"
    monkeypatch.setattr(source, "PACKAGE", root)
    package = source.package_sha256()
    (root / "part" / "__pycache__").mkdir()
    (root / "part" / "__pycache__" / "code.pyc").write_bytes(b"compiled")
    assert source.package_sha256() == package
    (root / "other").mkdir()
    (root / "other" / "__init__.py").write_text("x = 1\n")
    (root / "other" / "words.txt").write_text("x\n")
    assert digest(tmp_path) == plain and source.package_sha256() != package
    assert digest(tmp_path, words="a\n") != digest(tmp_path, words="b\n")
    (root / "part" / "words.txt").unlink()
    package = source.package_sha256()
    (root / "part" / "code.py").rename(root / "part" / "renamed.py")
    assert SourceCode(root).digest("replicse.part") != plain and source.package_sha256() != package


@pytest.fixture(scope="module")
def runs():
    """Return the runs of all papers at scale micro as a dict by id."""
    return compile_study({"scale": "micro", "papers": "all", "seeds": [0]}, ROOT / "workflow").runs


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Copy the package for tests that change files.

    The papers' methods are copied to `papers` next to the package.

    Returns:
        The folder of the package, and a cache file for parsed modules.
    """
    root = tmp_path_factory.mktemp("source")
    data = shutil.ignore_patterns("__pycache__", "tables", "*.yaml", "*.csv", "*.md")
    shutil.copytree(ROOT / "workflow" / "papers", root / "papers", ignore=data)
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(PACKAGE, root / "replicse", ignore=ignored), root / "parsed.json"


@contextmanager
def changed_file(path, old, new):
    """Replace a string in a file, or append it, during the block.

    Args:
        path: Path of the file, which is created if it does not exist.
        old: String to replace. If it is empty, `new` is appended.
        new: Replacement.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else None
    assert old in (text or "")
    path.write_text(text.replace(old, new, 1) if old else f"{text or ''}\n{new}\n", encoding="utf-8")
    yield
    path.write_text(text, encoding="utf-8") if text is not None else path.unlink()


def digests(runs, package):
    """Return a dict from a run to the digest that its rule computes."""
    methods = {f"papers.{folder.name}": folder for folder in (package[0].parent / "papers").iterdir()}
    source = SourceCode(package[0], cache=package[1], plugins=methods)
    codes = {
        run: frozenset({"replicse.training.loop", *map(unit_of, modules_of(spec))})
        for run, spec in runs.items()
    }
    each = {code: source.digest(*code) for code in set(codes.values())}
    return {run: each[code] for run, code in codes.items()}


@pytest.fixture(scope="module")
def before(runs, package):
    return digests(runs, package)


def terms(spec):
    return {term.term for term in spec.terms}


def changed_by(names):
    """Return a function that checks if a run uses any of the augmentations."""
    return lambda spec: any(
        view.augment and view.augment.name in names for source in spec.sources for view in source.views
    )


def of_diffcse(spec):
    named = {"rtd", "conditional-mlm", "corrective-lm"} & terms(spec)
    return named or changed_by(["insertion"])(spec)


def of_rankcse(spec):
    return terms(spec) & {"listnet", "listmle", "ranking-consistency"}


def of_infonce(spec):
    return "infonce" in terms(spec)


def of_schedule(name):
    return lambda spec: spec.optimisation.decay.schedule == name


def of_pooling(name):
    return lambda spec: name in re.findall(r"'pooling': '([\w-]+)'", str(spec.model_dump()))


def nothing(spec):
    return False


def everything(spec):
    return True


NEW_TERM = """
class HingeParameters(TwoViews):
    implementation: ClassVar[str] = "replicse.objective.hinge:Hinge"
    term: Literal["hinge"]
"""


@pytest.mark.parametrize(
    ("file", "old", "new", "used"),
    [
        ("objective/hinge.py", "", "UNUSED = 1", nothing),
        ("objective/infonce.py", "", "UNUSED = 1", of_infonce),
        # A paper's method is a single unit; the parameters are in another module.
        ("../papers/diffcse/edits.py", "", "UNUSED = 1", of_diffcse),
        ("../papers/rankcse/method.py", "clamped: bool = False", "clamped: bool = True", of_rankcse),
        ("objective/terms.py", "", "UNUSED = 1", everything),
        # Parameters in the registry are part of the job's specification. Of the other code of the registry, only the
        # functions, classes and constants that a run uses count.
        ("registry/terms.py", "", NEW_TERM, nothing),
        ("registry/terms.py", "temperature: Positive = 0.05", "temperature: Positive = 0.1", nothing),
        ("registry/procedures.py", "return 1.0", "return 2.0", of_schedule("none")),
        ("registry/procedures.py", "(steps - step) / steps", "(steps - step) / 2", of_schedule("linear")),
        ("registry/procedures.py", "math.pi * step", "math.pi", nothing),
        ("registry/poolings.py", "(0, -1)", "(-1, -1)", of_pooling("first-last-0")),
        ("registry/encoders.py", "MAX_LENGTH = 512", "MAX_LENGTH = 256", everything),
        ("registry/runs.py", "any(pooling.head", "all(pooling.head", everything),
        ("registry/suites.py", '"model": Suite(', '"size": Suite(', nothing),
        ("augment/words.py", "", "UNUSED = 1", changed_by(["crop", "deletion", "delete-one-word"])),
        # This module is imported inside a function.
        ("encoder/packed/checkpoints.py", "", "UNUSED = 1", everything),
        ("evaluation/sts.py", "", "UNUSED = 1", everything),
        ("evaluation/transfer.py", "", "UNUSED = 1", nothing),
        ("show/document.py", "", "UNUSED = 1", nothing),
        ("errors.py", "", "UNUSED = 1", nothing),
        ("objective/words.yaml", "", "a: 1", everything),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith((".py", ".yaml")) else "",
)
def test_a_change_of_code_runs_those_again_that_use_it(runs, package, before, file, old, new, used):
    """If code changes, only jobs with this code are run again.

    A constant in a new file once repeated every training: 484 hours at scale paper.
    """
    with changed_file(package[0] / file, old, new):
        after = digests(runs, package)
    changed = {run for run in runs if before[run] != after[run]}
    assert changed == {run for run, spec in runs.items() if used(spec)}
    assert used is nothing or changed


def test_no_import_is_out_of_sight_of_the_graph():
    """The dependency graph contains every import.

    It would miss relative imports and `import replicse...`.
    """
    out_of_sight = re.compile(r"^\s*(from \.|import replicse)", re.MULTILINE)
    assert not [
        file for file in PACKAGE.rglob("*.py") if out_of_sight.search(file.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    ("corpus", "reader"),
    [
        ({"format": "lines", "file": "a"}, "corpora"),
        ({"format": "hub-dataset", "parts": [{"path": "a"}], "columns": {"a": "text"}}, "hub_datasets"),
    ],
)
def test_a_store_names_the_reader_of_its_corpus(package, corpus, reader):
    augment = augmentation_of({"name": "crop", "keep": 0.5})
    names = modules_of({"corpus": corpus_of(corpus), "augment": augment})
    assert "replicse.augment.words:crop" in names
    before = SourceCode(package[0]).digest(*names)
    with changed_file(package[0] / "data" / f"{reader}.py", "", "UNUSED = 1"):
        assert SourceCode(package[0]).digest(*names) != before


def test_the_record_says_processor_threads_and_build_without_importing_torch(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    written = provenance(seconds=1.5)
    assert written["seconds"] == 1.5
    assert (written["hardware"], written["numerics"]) == (hardware(), numerics())
    assert written["numerics"]["settings"]["OMP_NUM_THREADS"] == "3"
    assert "TORCH_HOME" not in written["numerics"]["settings"]
    built = written["numerics"]["torch_build"]["__version__"]
    assert built.split("+")[0] == written["versions"]["torch"].split("+")[0]  # the local part is the build
    assert {"nltk", "zuko", "safetensors", "huggingface_hub"} <= set(written["versions"])
    assert 1 <= written["hardware"]["cores_allowed"] <= written["hardware"]["cores"]
    question = "import sys; from replicse.provenance.record import provenance as p; p(); print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_a_checkout_is_dirty_by_what_can_change_a_number_only(tmp_path, monkeypatch):
    """A checkout should only be dirty if a change can affect scores.

    A committed study or a README does not make the next study dirty; a new module does.
    """
    for name in ("src/replicse/provenance/record.py", "workflow/rules/a.smk", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1\n")
    monkeypatch.setattr(record, "__file__", str(tmp_path / "src/replicse/provenance/record.py"))
    assert record.commit() == ("", False), "outside git"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    (tmp_path / "README.md").write_text("b\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/new").write_text("c\n")
    revision, dirty = record.commit()
    assert len(revision) == 40 and not dirty
    for file in ("src/replicse/new.py", "workflow/rules/a.smk"):
        before = (tmp_path / file).read_text() if (tmp_path / file).exists() else None
        (tmp_path / file).write_text("d = 1\n")
        assert record.commit() == (revision, True)
        (tmp_path / file).unlink() if before is None else (tmp_path / file).write_text(before)


def test_the_commit_is_that_of_the_code_whatever_git_is_told(tmp_path, monkeypatch):
    expected = record.commit()
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    assert record.commit() == expected


def test_data_edited_in_place_with_its_date_put_back_is_read_again(tmp_path):
    file, cache = tmp_path / "set.tsv", tmp_path / "cache.json"
    file.write_text("5.0\ta cat\ta cat\n", encoding="utf-8")
    facts, before = file.stat(), source.contents_digest(tmp_path, [file], cache)
    assert source.contents_digest(tmp_path, [file], cache) == before
    time.sleep(0.02)  # Longer than the resolution of the file system's clock.
    file.write_text("0.0\ta cat\ta cat\n", encoding="utf-8")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert source.contents_digest(tmp_path, [file], cache) != before


@pytest.mark.parametrize(
    ("file", "old", "new", "stages"),
    [
        ("cli/stages/store.py", "if change else augment", "if False else augment", {"store"}),
        ("cli/stages/evaluate.py", 'in result["pairs"]', "in {}", {"evaluate"}),
        ("library/evaluation.py", "root, request.options", "root, {}", {"evaluate"}),
        ("library/trajectory.py", "head_seed=step", "head_seed=0", {"geometry"}),
        ("library/encoders.py", "request.max_length", "None", {"evaluate", "geometry"}),
        ("library/training.py", "device_for(device)", "device_for(None)", {"train"}),
        ("library/training.py", "models or {}", "{}", set()),
        ("judge/values/pairs.py", "", "UNUSED = 1", {"evaluate"}),
        ("registry/suites.py", "AGGREGATIONS = (", 'AGGREGATIONS = ("first", ', {"train", "evaluate"}),
        ("cli/render.py", "", "UNUSED = 1", set()),
    ],
)
def test_a_change_of_a_stage_or_of_the_library_runs_the_jobs_of_its_stages_again(
    package, file, old, new, stages
):
    study = compile_study(
        {"scale": "micro", "papers": {"simcse": ["table3", "figure2"]}, "seeds": [0]}, ROOT / "workflow"
    )
    codes = {}
    for job in list_jobs(study).values():
        if job.stage in ("store", "train", "evaluate", "geometry"):
            codes[job.stage] = codes.get(job.stage, frozenset()) | job.code

    def digests():
        source = SourceCode(package[0], cache=package[1], plugins=plugin_places())
        return {stage: source.digest(*code) for stage, code in codes.items()}

    before = digests()
    with changed_file(package[0] / file, old, new):
        after = digests()
    assert {stage for stage in codes if before[stage] != after[stage]} == stages


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    """A folder in the place of the cache once ended `status` with an error."""
    file, cache = tmp_path / "set.tsv", tmp_path / "cache.json"
    file.write_text("one\n")
    cache.mkdir()
    assert source.contents_digest(tmp_path, [file], cache) == source.contents_digest(tmp_path, [file], None)
    assert SourceCode(cache=cache).digest("replicse.errors") == SourceCode().digest("replicse.errors")
