"""Provenance: a digest of code that only code changes, and facts gathered without torch."""

import subprocess
import sys

import pytest

from replicse import provenance as module
from replicse.machine import hardware, numerics
from replicse.provenance import provenance, source_digest

CODE = (
    '"""Doc."""\n\nLIMIT = 3\n\n\ndef double(x: int) -> int:\n    """Return twice x."""\n    return x * 2\n'
)


def digest(root, code=CODE, **files):
    """Return the digest of a package of one folder that holds this code and these files."""
    folder = root / "part"
    folder.mkdir(exist_ok=True)
    (folder / "code.py").write_text(code)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return source_digest("part", root=root)


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x * 2", "x + 2"),
        ("x * 2", "x * 2.0"),
        ("x * 2", "2 * x"),
        ("= 3", "= '3'"),
        ("= 3", "= None"),
        ("double", "twice"),
    ],
)
def test_a_change_of_code_changes_it(tmp_path, old, new):
    assert digest(tmp_path) != digest(tmp_path, CODE.replace(old, new))


def test_a_data_file_and_a_name_are_part_of_it_and_other_folders_are_not(tmp_path):
    plain = digest(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "code.py").write_text("x = 1\n")
    (tmp_path / "part" / "__pycache__").mkdir()
    (tmp_path / "part" / "__pycache__" / "code.pyc").write_bytes(b"compiled")
    assert digest(tmp_path) == plain
    assert digest(tmp_path, words="a\n") != digest(tmp_path, words="b\n")
    (tmp_path / "part" / "words.txt").unlink()
    (tmp_path / "part" / "code.py").rename(tmp_path / "part" / "renamed.py")
    assert source_digest("part", root=tmp_path) != plain


def test_data_files_and_names_are_part_of_the_digest_of_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    found = set()
    for name, text in (("code.py", "x = 1"), ("words.yaml", "a"), ("words.yaml", "b"), ("other.yaml", "b")):
        (tmp_path / name).write_text(text)
        (tmp_path / "__pycache__").mkdir(exist_ok=True)
        module.package_sha256.cache_clear()
        found.add(module.package_sha256())
    assert len(found) == 4
    (tmp_path / "__pycache__" / "code.pyc").write_bytes(b"compiled")
    module.package_sha256.cache_clear()
    assert module.package_sha256() in found
    module.package_sha256.cache_clear()


def test_the_order_of_parts_does_not_matter_and_an_unknown_part_is_told():
    assert source_digest("encoder", "files.py") == source_digest("files.py", "encoder")
    with pytest.raises(FileNotFoundError, match="encodr"):
        source_digest("encodr")


def test_a_cache_spares_parsing_and_a_broken_one_is_made_again(tmp_path, monkeypatch):
    cache = tmp_path / "code.json"
    fresh = source_digest("encoder", cache=cache)
    module._forms.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(module.ast, "parse", lambda content: pytest.fail("parsed again"))
        assert source_digest("encoder", cache=cache) == fresh
    cache.write_text("{broken")
    module._forms.cache_clear()
    assert source_digest("encoder", cache=cache) == fresh == source_digest("encoder")


def test_the_record_says_processor_threads_and_build_without_importing_torch(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    record = provenance(seconds=1.5)
    assert record["seconds"] == 1.5 and record["hardware"] == hardware() and record["numerics"] == numerics()
    assert record["numerics"]["settings"]["OMP_NUM_THREADS"] == "3"
    assert "TORCH_HOME" not in record["numerics"]["settings"]
    assert record["numerics"]["torch_build"]["__version__"] == record["versions"]["torch"]
    assert {"nltk", "zuko", "safetensors", "huggingface_hub"} <= set(record["versions"])
    assert 1 <= record["hardware"]["cores_allowed"] <= record["hardware"]["cores"]
    question = (
        "import sys; from replicse.provenance import provenance; provenance(); print('torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_a_checkout_is_dirty_by_what_can_change_a_number_only(tmp_path, monkeypatch):
    """A study that was kept, or a README, does not keep the next study from being kept; a new module does."""
    for name in ("src/replicse/provenance.py", "workflow/rules/a.smk", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1\n")
    monkeypatch.setattr(module, "__file__", str(tmp_path / "src/replicse/provenance.py"))
    assert module.commit() == ("", False), "outside git"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    (tmp_path / "README.md").write_text("b\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/new").write_text("c\n")
    revision, dirty = module.commit()
    assert len(revision) == 40 and not dirty
    for file in ("src/replicse/new.py", "workflow/rules/a.smk"):
        before = (tmp_path / file).read_text() if (tmp_path / file).exists() else None
        (tmp_path / file).write_text("d = 1\n")
        assert module.commit() == (revision, True)
        (tmp_path / file).unlink() if before is None else (tmp_path / file).write_text(before)
