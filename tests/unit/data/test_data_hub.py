import hashlib
import io
import tarfile

import pytest
from job_files import write_job

from replicse.cli import main
from replicse.data.corpora import read_corpus
from replicse.data.hub import ARTEFACTS, SIMCSE_DATA, cached_encoder, materialise
from replicse.data.sts import load_sts
from replicse.encoder.folders import encoder_folder
from replicse.errors import BadInput, MissingData

COMMIT = "e145e8b" + "0123456789abcdef" * 2 + "0"
WIKI = "First line .\nSecond line .\n\nFourth line .\n"
NLI = 'sent0,sent1,hard_neg\n"a, b",c,d\n"two\nlines",y,z\n'
STSB = "g\tf\ty\t1\t2.5\tA man .\tA dog .\n"


def sha256(content):
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def archive(files, prefix=""):
    """Return a tar archive of files, by default without a folder."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return stream.getvalue()


SENTEVAL = archive({"STS/STSBenchmark/sts-test.csv": STSB, "CR/custrev.pos": "fine\n"}, "./")


@pytest.fixture
def put(cache):
    """Return a function to write files of a repository to the hub cache."""

    def written(repository, kind="dataset", commit=COMMIT, **files):
        """Put files where the hub cache has them, by default as a dataset."""
        for name, content in files.items():
            path = cache(kind, repository, commit) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    return written


def put_simcse(put, senteval=SENTEVAL):
    """Put the dataset files of SimCSE on the hub, by default all valid."""
    files = {"wiki1m_for_simcse.txt": WIKI, "nli_for_simcse.csv": NLI, "senteval.tar": senteval}
    put(SIMCSE_DATA, **files)


def test_artefacts_fill_a_data_root(put, tmp_path):
    put_simcse(put)
    root = tmp_path / "data"
    records = materialise(root, ARTEFACTS, COMMIT)
    assert records == [
        {"name": "wiki/wiki1m_for_simcse.txt", "sha256": sha256(WIKI), "revision": COMMIT, "rows": 4},
        {"name": "nli/nli_for_simcse.csv", "sha256": sha256(NLI), "revision": COMMIT, "rows": 2},
        {"name": "SentEval", "sha256": sha256(SENTEVAL), "revision": COMMIT, "rows": None},
    ]
    assert (root / "wiki" / "wiki1m_for_simcse.txt").read_text() == WIKI
    triples = read_corpus(root, {"format": "triples", "file": "nli/nli_for_simcse.csv"})
    assert triples == {"anchor": ["a, b", "two lines"], "positive": ["c", "y"], "negative": ["d", "z"]}
    assert load_sts(root, "STS-B")[0].first == ("A man .",)
    assert (root / "SentEval" / "downstream" / "CR" / "custrev.pos").read_text() == "fine\n"
    assert sorted(path.name for path in (root / "SentEval").iterdir()) == ["downstream"]


@pytest.mark.parametrize(
    "content",
    [archive({"STS/a": "x", "../../../evil": "x"}), b"not an archive", archive({"other/a": "x"})],
    ids=["path outside", "no archive", "no STS"],
)
def test_a_bad_archive_is_bad_input_and_leaves_nothing(put, tmp_path, content):
    put_simcse(put, content)
    root = tmp_path / "data"
    with pytest.raises(BadInput, match=r"senteval\.tar(: cannot be unpacked| does not contain a folder STS)"):
        materialise(root, ["SentEval"], COMMIT)
    assert list(root.rglob("*")) == [root / "SentEval"]
    assert not list(tmp_path.glob("**/evil"))


def test_another_revision_in_the_cache_does_not_do_and_the_remedy_is_told(put, tmp_path):
    put(SIMCSE_DATA, commit="f" * 40, **{"wiki1m_for_simcse.txt": WIKI})
    target = tmp_path / "wiki" / "wiki1m_for_simcse.txt"
    with pytest.raises(MissingData) as caught:
        materialise(tmp_path, ["wiki/wiki1m_for_simcse.txt"], COMMIT)
    message = str(caught.value)
    assert message.startswith(f"wiki1m_for_simcse.txt of {SIMCSE_DATA} at {COMMIT} cannot be downloaded (")
    assert message.endswith(f"connect to the hub, or put the file at {target} and set data.source to local")
    assert not target.exists()


def test_a_misspelt_folder_is_a_misspelt_folder(cache):
    with pytest.raises(MissingData, match=r"^result/mine: no such folder here; as a hub id: "):
        encoder_folder("result/mine")


@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_an_encoder_is_read_where_the_cache_of_the_hub_has_it(put, revision):
    put(
        "org/encoder",
        "model",
        **{"config.json": "{}", "1_Pooling/config.json": "{}", "pytorch_model.bin": "w"},
    )
    folder, commit = cached_encoder("org/encoder", revision)
    assert commit == COMMIT and (folder / "1_Pooling" / "config.json").is_file()


def test_data_of_the_hub_need_a_pinned_commit(tmp_path, capsys):
    assert main(write_job(tmp_path, "data", {"source": "hub"}, [tmp_path / "data.json"])) == 2
    wanted = f"hub.lock.yaml: the commit of {SIMCSE_DATA} is missing; run replicse fetch --pin"
    assert wanted in capsys.readouterr().err


@pytest.mark.parametrize(
    ("held", "revision", "problem"),
    [
        ({}, "main", "^the encoder org/encoder at main cannot be downloaded"),
        ({"config.json": "{}"}, COMMIT[:7], "an abbreviated commit; use all 40 digits"),
    ],
)
def test_what_is_no_encoder_is_named(put, held, revision, problem):
    put("org/encoder", "model", **held)
    with pytest.raises(BadInput, match=problem):
        cached_encoder("org/encoder", revision)
