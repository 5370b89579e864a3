"""The cache of compiled studies.

A loaded study equals the compiled study. If an input changes, the study is compiled again.
"""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path

import pytest
from planned import WORKFLOW

from replicse import cli
from replicse.compile import cache, compiler
from replicse.compile.cache import cache_folder, load_or_compile
from replicse.compile.cost import estimates_of
from replicse.compile.jobs import list_jobs
from replicse.compile.pickles import load_pickle, write_pickle
from replicse.registry.plugins import use_plugins

CONFIG = {"scale": "micro", "papers": {"simcse": ["table3", "figure2"], "rankcse": "all"}, "seeds": [0, 1]}
PLUGIN = "from replicse.registry.terms import Term\n"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Copy the workflow to a workspace that tests can change, with a separate cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("papers", "scales", "datasets.yaml", "hub.lock.yaml"):
        source = WORKFLOW / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / "workflow" / name)
    (tmp_path / "workflow" / "rules").mkdir()
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "config.yaml").write_text(json.dumps({**CONFIG, "adjudicate": [], "plugins": ["mine.py"]}))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    use_plugins(())


@pytest.fixture
def compiled(monkeypatch):
    """Return a list of the configs that are compiled instead of loaded."""
    calls, compile_study = [], compiler.compile_study

    def count_call(config, *others, **more):
        calls.append(config)
        return compile_study(config, *others, **more)

    monkeypatch.setattr(compiler, "compile_study", count_call)
    return calls


@pytest.mark.parametrize("scale", ["micro", "paper"])
def test_a_loaded_study_equals_the_compiled_one(scale, workspace):
    config = {"scale": scale, "papers": "all", "seeds": [0, 1], "adjudicate": ["repro/table4"]}
    study = load_or_compile(config, Path("workflow"))
    jobs, estimates = list_jobs(study), estimates_of(study)
    loaded = load_or_compile(config, Path("workflow"))
    assert loaded is not study
    for part in dataclasses.fields(study):
        ours, theirs = getattr(loaded, part.name), getattr(study, part.name)
        # Claims contain expressions, which can only be compared by identity.
        if part.name not in ("papers", "unplanned", "remembered"):
            assert ours == theirs, part.name
        for each in (ours, theirs):
            assert not isinstance(each, MutableMapping | list | set), part.name
    for key, paper in study.papers.items():
        assert paper.items == loaded.papers[key].items and paper.reported == loaded.papers[key].reported
    assert json.dumps(estimates_of(loaded)) == json.dumps(estimates)
    for key, job in list_jobs(loaded).items():
        assert vars(job) == vars(jobs[key]), key


def test_equal_inputs_give_equal_jobs_in_any_process(workspace):
    code = (
        "import hashlib; from pathlib import Path; from replicse.compile.compiler import compile_study;"
        "from replicse.compile.specifications import Specifications;"
        f"study = compile_study({CONFIG}, Path('workflow')); specifications = Specifications(study);"
        "texts = [specifications.text(job) for job in specifications.jobs.values()];"
        "print(hashlib.sha256(repr(texts).encode()).digest())"
    )
    seeds = ({**os.environ, "PYTHONHASHSEED": seed} for seed in "12")
    first, second = (subprocess.check_output([sys.executable, "-c", code], env=each) for each in seeds)
    assert first == second


def added(name, line):
    file = Path(name)
    file.write_text(file.read_text(encoding="utf-8") + line, encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda _: added("workflow/papers/simcse/tables/table3.yaml", "# a remark\n"),
        lambda _: added("workflow/papers/simcse/deviations.md", "\n"),
        lambda _: added("workflow/scales/micro.yaml", "# a remark\n"),
        lambda _: added("workflow/hub.lock.yaml", "# a remark\n"),
        lambda _: added("mine.py", "# a remark\n"),
        lambda _: shutil.copy("workflow/hub.lock.yaml", "hub.lock.yaml"),
        lambda patch: patch.setattr(cache, "package_sha256", lambda: "other code"),
    ],
    ids=["paper", "text", "scale", "lock", "plug-in", "workspace", "code"],
)
def test_a_change_of_an_input_is_compiled_again(workspace, compiled, monkeypatch, change):
    for _ in range(2):
        load_or_compile(CONFIG, Path("workflow"))
    assert len(compiled) == 1
    change(monkeypatch)
    load_or_compile(CONFIG, Path("workflow"))
    load_or_compile({**CONFIG, "seeds": [0]}, Path("workflow"))
    assert len(compiled) == 3


@pytest.mark.parametrize("spoil", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"{}"])
def test_a_broken_file_of_the_cache_is_ignored(workspace, compiled, spoil):
    jobs = list_jobs(load_or_compile(CONFIG, Path("workflow")))
    files = list(cache_folder().rglob("*.pickle"))
    for file in files:
        file.write_bytes(spoil(file.read_bytes()))
    again = list_jobs(load_or_compile(CONFIG, Path("workflow")))
    assert len(files) == 2 and len(compiled) == 2 and again.keys() == jobs.keys()


def test_a_changed_byte_of_a_file_of_the_cache_is_noticed(tmp_path):
    """Some changes once gave another study, or a traceback much later."""
    value = {f"run-{number}": [number / 7, "text"] for number in range(100)}
    write_pickle(tmp_path / "a.pickle", value)
    content = (tmp_path / "a.pickle").read_bytes()
    assert load_pickle(tmp_path / "a.pickle") == value
    for place in range(0, len(content), len(content) // 200):
        damaged = bytearray(content)
        damaged[place] ^= 1
        (tmp_path / "a.pickle").write_bytes(damaged)
        assert load_pickle(tmp_path / "a.pickle") is None, place


class Code:
    """A value that creates a file when it is loaded from a pickle."""

    def __reduce__(self):
        return Path.touch, (Path("code-was-run"),)


def test_code_in_a_workspace_from_somebody_else_is_not_run(workspace, capsys):
    """Verbs once loaded pickle files of a workspace, which can run code."""
    for words in (["plan"], ["show", "simcse/table3"], ["status"]):
        assert cli.main(words) == 0
    studies = cache_folder()
    assert list(studies.rglob("*.pickle"))
    for home in (Path(".snakemake/replicse-studies"), Path(".cache/replicse/studies")):
        for file in studies.rglob("*.pickle"):
            write_pickle(home / file.relative_to(studies), Code())
    shutil.rmtree(studies)
    for words in (["plan"], ["show", "simcse/table3"], ["status"]):
        assert cli.main(words) == 0
    assert not Path("code-was-run").exists()
    assert not [
        file for file in Path().rglob("*.pickle") if file.parts[0] not in (".snakemake", ".cache", "cache")
    ]


@pytest.mark.parametrize("home", ["", "relative"])
def test_without_a_cache_folder_a_study_is_compiled(workspace, compiled, monkeypatch, home):
    """A folder relative to the workspace is not the user's own."""
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    for _ in range(2):
        load_or_compile(CONFIG, Path("workflow"))
    assert len(compiled) == 2 and not list(workspace.rglob("*.pickle"))


def test_verbs_say_the_same_of_what_was_read(workspace, compiled, capsys):
    for words in (
        ["show", "simcse/table3"],
        ["plan"],
        ["claims", "rankcse"],
        ["status"],
        ["audit", "rankcse"],
    ):
        assert cli.main(words) == 0
        assert cli.main(words) == 0
        out = capsys.readouterr().out
        assert out[: len(out) // 2] == out[len(out) // 2 :], words
    assert len(compiled) == 3, "the item, the study, and that of the audit"


def test_an_item_is_compiled_alone_where_no_study_is_kept(workspace, compiled):
    for _ in range(2):
        assert list(load_or_compile(CONFIG, Path("workflow"), only="simcse/table3").items) == [
            "simcse/table3"
        ]
    load_or_compile(CONFIG, Path("workflow"))
    assert (
        len(compiled) == 2 and len(load_or_compile(CONFIG, Path("workflow"), only="simcse/figure2").items) > 1
    )
