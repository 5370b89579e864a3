"""The lock of models and datasets on the hub, and `replicse fetch --pin`.

The hub is simulated.
"""

import re
from types import SimpleNamespace

import pytest
from places import ROOT

from replicse.cli import lock as verb
from replicse.cli import main
from replicse.data.hub import SIMCSE_DATA, SIMCSE_REVISION
from replicse.spec.lock import load_lock

OLD, NEW, DATA = "a" * 40, "b" * 40, SIMCSE_REVISION + "c" * 33
SCALE = """\
backbones: {small: {hub: some/small, revision: v1}}
released: {theirs: {hub: some/theirs, revision: main, pooling: cls}}
"""
LOCK = (
    f"models:\n  some/small: {{commit: {OLD}, seen: a page}}\n  some/gone: {{commit: {OLD}, seen: a page}}\n"
)


@pytest.fixture
def workflow(tmp_path):
    """Write a workflow with a scale and a lock.

    The lock has only one of the two models of the scale, and a model that the scale does not use.
    """
    (tmp_path / "scales").mkdir()
    (tmp_path / "scales" / "paper.yaml").write_text(SCALE)
    (tmp_path / "hub.lock.yaml").write_text(LOCK)
    return tmp_path


@pytest.fixture
def hub(monkeypatch):
    """Simulate a hub with a dict of commits by (kind, repository, revision).

    Returns the set of requested repositories.
    """
    commits = {("model", "some/small", "v1"): OLD, ("model", "some/theirs", "main"): NEW}
    asked = set()

    class Api:
        def repo_info(self, name, repo_type, revision):
            asked.add(name)
            return SimpleNamespace(sha=commits[repo_type, name, revision])

        def list_repo_commits(self, name, repo_type):
            asked.add(name)
            assert (name, repo_type) in ((SIMCSE_DATA, "dataset"), ("some/small", "model"))
            return [SimpleNamespace(commit_id=commit) for commit in (NEW, DATA, OLD)]

    monkeypatch.setattr(verb, "HfApi", Api)
    monkeypatch.setattr(verb, "check_reached", lambda: None)
    return SimpleNamespace(commits=commits, asked=asked)


def run(workflow, *words):
    return main(["fetch", "--pin", "--workflow", str(workflow), *words])


def test_the_difference_is_shown_and_nothing_is_written(workflow, hub, capsys):
    assert run(workflow, "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"some/theirs: absent -> {NEW}",
        f"some/gone: {OLD} -> absent",
        f"{SIMCSE_DATA}: absent -> {DATA}",
    ]
    assert (workflow / "hub.lock.yaml").read_text() == LOCK


def test_what_has_no_commit_gets_the_one_of_the_hub_and_a_pin_stays(workflow, hub, capsys):
    hub.commits["model", "some/small", "v1"] = NEW
    assert run(workflow) == 0
    lock = load_lock(workflow)
    assert {name: pin.commit for name, pin in lock.models.items()} == {"some/small": OLD, "some/theirs": NEW}
    assert hub.asked == {"some/theirs", SIMCSE_DATA}
    assert lock.models["some/small"].seen == "a page"
    assert re.fullmatch(r"resolved at the hub, \d{4}-\d\d-\d\d", lock.models["some/theirs"].seen)
    assert lock.revision(SIMCSE_DATA) == DATA
    capsys.readouterr()
    assert run(workflow) == 0
    assert capsys.readouterr().out == "every hub artefact has a commit\n"


def test_an_abbreviated_pin_is_completed_by_the_commit_that_begins_with_it(workflow, hub, capsys):
    (workflow / "hub.lock.yaml").write_text(
        LOCK.replace(f"small: {{commit: {OLD}", f"small: {{commit: {NEW[:7]}")
    )
    lock = load_lock(workflow)
    assert (lock.revision("some/small"), lock.unpinned(["some/small"])) == (None, ["some/small"])
    assert run(workflow) == 0
    assert load_lock(workflow).revision("some/small") == NEW, "not the one of its branch"
    assert f"some/small: {NEW[:7]} -> {NEW}" in capsys.readouterr().out
    (workflow / "hub.lock.yaml").write_text("models: {some/small: {commit: 1234567a, seen: p}}\n")
    assert run(workflow) == 2
    assert (
        "commit 1234567a of some/small does not exist; use an existing commit, or null for the newest"
        in capsys.readouterr().err
    )


def test_one_repository_at_two_revisions_is_refused(workflow, hub, capsys):
    (workflow / "scales" / "other.yaml").write_text(SCALE.replace("v1", "v2"))
    assert run(workflow) == 2
    assert "some/small is used at revisions v2 and v1; use the same revision" in capsys.readouterr().err


def test_a_lock_answers_for_models_and_data_sets(tmp_path):
    assert load_lock(tmp_path).unpinned(["some/model"]) == ["some/model"]
    (tmp_path / "hub.lock.yaml").write_text(
        f"models: {{m: {{commit: {OLD}, seen: p}}, n: {{commit: null, seen: p}}}}\n"
        f"datasets: {{d: {{commit: {NEW}, seen: p}}}}\n"
    )
    lock = load_lock(tmp_path)
    assert list(map(lock.revision, ("m", "n", "d", "unknown"))) == [OLD, None, NEW, None]
    assert lock.unpinned(["n", "m", "unknown", "d", "n"]) == ["n", "unknown"]


def test_the_committed_lock_has_every_artefact_of_the_scales_and_no_other():
    lock = load_lock(ROOT / "workflow")
    named = verb.artefacts(ROOT / "workflow")
    assert list(lock.models) == [name for kind, name in named if kind == "model"]
    assert list(lock.datasets) == [name for kind, name in named if kind == "dataset"]
    for name, pin in (lock.models | lock.datasets).items():
        assert pin.commit or "replicse fetch --pin" in pin.seen, name
    assert lock.revision("bert-base-uncased") == "86b5e0934494bd15c9632b12f734a8a67f723594"
