"""`replicse fetch` with a local hub and every kind of failure."""

import hashlib
import io
import json
import re
import shutil
import socket
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from fake_hub import FakeHub
from huggingface_hub import constants
from huggingface_hub.utils import close_session
from places import ROOT
from safetensors.numpy import save as safetensors

from replicse.cli import main
from replicse.data.corpora import read_corpus
from replicse.data.download import download
from replicse.data.hub import cached_encoder, materialise
from replicse.errors import MissingData
from replicse.registry.corpora import SIMCSE_DATA
from replicse.registry.downloads import Download

datasets = pytest.importorskip("datasets")

COMMIT, MODEL, LATER = "a" * 40, "b" * 40, "c" * 40
ROWS = "".join(
    json.dumps({"q1": f"question {i} ?", "q2": f"the same {i} ?", "label": i % 2}) + "\n" for i in range(40)
)
PAIRS = {
    "format": "hub-dataset",
    "parts": [{"path": "some/pairs", "files": "train*.jsonl", "revision": COMMIT}],
    "columns": {"q1": "anchor", "q2": "positive", "label": "label"},
    "labels": ["different", "duplicate"],
    "keep": ["duplicate"],
}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Start a hub with a dataset and an encoder, empty caches, quick retries."""
    fake = FakeHub()
    fake.put(
        "dataset",
        "some/pairs",
        COMMIT,
        {"train.jsonl": ROWS, "test.jsonl": ROWS * 3, "README.md": "---\n---\n"},
    )
    weights = safetensors({"layer.weight": np.arange(64, dtype=np.float32)})
    fake.put(
        "model",
        "some/encoder",
        MODEL,
        {
            "config.json": "{}",
            "model.safetensors": weights,
            "tokenizer.json": '{"version": "1.0"}',
            "flax.msgpack": b"x" * 99,
        },
    )
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "arrow"))
    with fake.served() as address:
        fake.address = address
        monkeypatch.setattr(constants, "ENDPOINT", address)
        template = address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        close_session()
        yield fake
        close_session()


def bodies(hub):
    """Return a list of the files whose content was requested."""
    return [path.rpartition("/")[2] for method, path in hub.asked if method == "GET" and "/api/" not in path]


def test_only_the_wanted_files_are_fetched_and_then_read_offline(hub, tmp_path, monkeypatch):
    found = read_corpus(tmp_path, PAIRS)
    assert found["anchor"][:2] == ["question 1 ?", "question 3 ?"]
    assert len(found["anchor"]) == 20
    wanted = hashlib.sha256(ROWS.encode()).hexdigest()
    assert set(bodies(hub)) == {wanted}
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(socket.socket, "connect", refused)
    assert read_corpus(tmp_path, PAIRS) == found


def refused(*_):
    raise AssertionError("a socket was opened")


def test_a_wrong_checksum_is_refused_and_removed(hub, tmp_path):
    wanted = hashlib.sha256(ROWS.encode()).hexdigest()
    hub.wrong = {wanted}
    with pytest.raises(
        MissingData, match=rf"train.jsonl: the checksum is \w{{12}}, but the hub's is {wanted[:12]}"
    ):
        read_corpus(tmp_path, PAIRS)
    hub.wrong = set()
    assert len(read_corpus(tmp_path, PAIRS)["anchor"]) == 20


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_repository_says_where_access_is_asked_for(hub, tmp_path, status):
    hub.gated = {"some/pairs": status, "some/encoder": status}
    with pytest.raises(MissingData) as caught:
        read_corpus(tmp_path, PAIRS)
    page = f"{hub.address}/datasets/some/pairs"
    assert str(caught.value) == (
        f"train*.jsonl of some/pairs at {COMMIT} cannot be downloaded (the repository is gated);"
        f" request access at {page}, then run hf auth login"
    )
    with pytest.raises(MissingData, match=r"the encoder some/encoder at .* \(the repository is gated\)"):
        cached_encoder("some/encoder", MODEL)


# Files from other URLs


CONTENT = b"".join(b"line %d\n" % i for i in range(3000))


def source(hub, content=CONTENT, **more):
    """Describe a file on the local hub, by default with the right checksum."""
    told = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "licence": "none"}
    return Download(address=f"{hub.address}/files/vectors", **(told | more))


def test_a_download_goes_on_where_it_broke_off(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    part = tmp_path / "data" / "vectors.part"
    part.parent.mkdir()
    part.write_bytes(CONTENT[:5000])
    hub.files, hub.gone = {"vectors": CONTENT}, "/files/vectors"
    with pytest.raises(
        MissingData, match=r"files/vectors cannot be downloaded \(.*\); download it again, or put the file at"
    ):
        download(source(hub), tmp_path / "data" / "vectors")
    assert part.read_bytes() == CONTENT[:5000]
    hub.gone, hub.breaks = "", {"/files/vectors": 7000}
    download(source(hub), tmp_path / "data" / "vectors")
    assert set(hub.ranges) == {"bytes=5000-"} and not hub.breaks
    assert (tmp_path / "data" / "vectors").read_bytes() == CONTENT
    assert not part.exists()


@pytest.mark.parametrize(
    ("told", "begun"),
    [
        ({}, CONTENT + b"of another copy"),
        ({"sha256": None}, CONTENT),
        ({"sha256": None, "bytes": 10}, b"of another copy"),
    ],
)
def test_what_may_not_be_gone_on_with_is_fetched_anew(hub, tmp_path, told, begun):
    hub.files = {"vectors": CONTENT}
    (tmp_path / "vectors.part").write_bytes(begun)
    download(source(hub, **told), tmp_path / "vectors")
    assert hub.ranges == []
    assert (tmp_path / "vectors").read_bytes() == CONTENT


def test_a_download_that_is_not_what_it_should_be_is_removed(hub, tmp_path):
    hub.files, hub.wrong = {"vectors": CONTENT}, {hashlib.sha256(CONTENT).hexdigest()}
    with pytest.raises(
        MissingData, match=r"the SHA-256 is \w{12}, expected \w{12}; it was removed, download it again"
    ):
        download(source(hub), tmp_path / "vectors")
    assert not list(tmp_path.iterdir())


def test_one_file_of_an_archive_is_taken(hub, tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("vectors.50d.txt", "small")
        archive.writestr("vectors.300d.txt", "large")
    hub.files = {"vectors": stream.getvalue()}
    download(source(hub, stream.getvalue(), member="vectors.300d.txt"), tmp_path / "vectors.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["vectors.txt"]
    assert (tmp_path / "vectors.txt").read_text() == "large"


# The verb


@pytest.fixture
def study(tmp_path, hub, monkeypatch):
    """Create a study with a hub dataset, an encoder and two files.

    Only one of the files has a URL.
    """
    workflow = tmp_path / "workflow"
    ignored = shutil.ignore_patterns("*.smk", "profiles")
    shutil.copytree(ROOT / "workflow", workflow, ignore=ignored)
    scale = yaml.safe_load((workflow / "scales" / "paper.yaml").read_text())
    scale["backbones"]["bert-base"] = {"hub": "some/encoder"}
    scale["corpora"]["wiki"] = PAIRS | {"columns": {"q1": "anchor"}, "map": "lines"}
    for key in ("labels", "keep"):
        scale["corpora"]["wiki"].pop(key)
    scale["downloads"]["vectors/glove.6B.300d.txt"] = source(hub).plain()
    (workflow / "scales" / "paper.yaml").write_text(yaml.safe_dump(scale))
    lock = yaml.safe_load((workflow / "hub.lock.yaml").read_text())
    lock["models"]["some/encoder"] = {"commit": MODEL, "seen": "here"}
    lock["datasets"]["some/pairs"] = {"commit": COMMIT, "seen": "here"}
    lock["datasets"][SIMCSE_DATA] = {"commit": LATER, "seen": "here"}
    (workflow / "hub.lock.yaml").write_text(yaml.safe_dump(lock))
    shutil.copy(ROOT / "config.yaml", tmp_path)
    files = dict.fromkeys(("wiki1m_for_simcse.txt", "nli_for_simcse.csv", "senteval.tar"), "x" * 100)
    hub.put("dataset", SIMCSE_DATA, LATER, files)
    hub.files = {"vectors": CONTENT}
    monkeypatch.chdir(tmp_path)
    return workflow


def fetch(*words):
    return main(["fetch", "--scale", "paper", "--workflow", "workflow", *words])


def test_a_dry_run_lists_and_downloads_nothing(study, hub, capsys):
    assert fetch("simcse/table3", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "scale paper: 5 sources for 1 item" in out
    assert "some/pairs train*.jsonl" in out
    assert "  some/encoder" in out
    assert "MB of disk" in out
    assert "hub.lock.yaml does not contain a commit of" not in out
    assert not hub.asked
    lock = yaml.safe_load(Path("workflow/hub.lock.yaml").read_text())
    lock["models"]["some/encoder"]["commit"] = None
    Path("workflow/hub.lock.yaml").write_text(yaml.safe_dump(lock))
    assert fetch("simcse/table3", "--dry-run") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.endswith(
        " hub.lock.yaml does not contain a commit of some/encoder; use replicse fetch --pin to look it up"
    )


def test_a_hub_that_is_not_reached_is_told_before_anything_is_fetched(study, hub, monkeypatch, capsys):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it tries again"))
    assert fetch("simcse/table3") == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("replicse fetch: http://127.0.0.1:9 cannot be reached (")
    assert not hub.asked


def test_fetch_brings_what_an_item_needs_and_nothing_else(study, hub, tmp_path, capsys, monkeypatch):
    assert fetch("simcse_table3") == 0
    assert "fetched all 5; these items can be run with HF_HUB_OFFLINE=1" in capsys.readouterr().out
    for _, path in hub.asked:
        assert not re.search("test.jsonl|flax|vectors", path)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(socket.socket, "connect", refused)
    assert cached_encoder("some/encoder", MODEL)[1] == MODEL
    records = materialise(tmp_path / "root", ["wiki/wiki1m_for_simcse.txt"], LATER)
    assert records[0]["revision"] == LATER
    hub.asked.clear()
    assert fetch("simcse/table3") == 0
    assert not hub.asked


def test_what_fails_is_told_and_the_rest_is_fetched(study, hub, tmp_path, capsys):
    hub.gated = {"some/encoder": 403}
    assert fetch("simcse/table3") == 2
    problems = capsys.readouterr().err
    assert "the encoder some/encoder" in problems
    assert "replicse fetch: 1 of 5 downloads failed; run the command again to resume" in problems
    assert "Traceback" not in problems
    hub.gated = {}
    assert fetch("simcse/table3") == 0
