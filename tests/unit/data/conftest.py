"""Fixtures for tests of datasets."""

import csv
import gzip
import json

import pyarrow
import pytest
from huggingface_hub import constants
from pyarrow import parquet


@pytest.fixture
def senteval(tmp_path):
    """Return a function that writes a SentEval file and returns the path.

    Its arguments are the path below `downstream` and the content, a string or bytes.
    """

    def write(name, content):
        path = tmp_path / "SentEval" / "downstream" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return a function to create a commit in an offline hub cache.

    Its arguments are the kind, the repository, the commit and the revision (default: main). It returns the
    folder of the commit.
    """
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    def held(kind, repository, commit, revision="main"):
        home = tmp_path / "hub" / f"{kind}s--{repository.replace('/', '--')}"
        if revision != commit:
            (home / "refs" / revision).parent.mkdir(parents=True, exist_ok=True)
            (home / "refs" / revision).write_text(commit)
        return home / "snapshots" / commit

    return held


@pytest.fixture(params=["csv", "tsv", "jsonl", "json", "csv.gz", "parquet", "arrow"])
def table(request, tmp_path):
    """Return a function that writes a list of dicts to a table.

    All dicts must have the same keys. The function returns the path. Tests run for each format.
    """

    def write(rows):
        file, kind = tmp_path / f"mine.{request.param}", request.param
        if kind == "parquet":
            parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        elif kind == "arrow":
            made = pyarrow.Table.from_pylist(rows)
            with pyarrow.ipc.new_stream(file, made.schema) as stream:
                stream.write_table(made)
        elif kind == "json":
            file.write_text(json.dumps(rows, indent=1))
        elif kind == "jsonl":
            file.write_text("".join(f"{json.dumps(row)}\n\n" for row in rows))
        else:
            opened = gzip.open if kind == "csv.gz" else open
            with opened(file, "wt", newline="") as stream:
                writer = csv.writer(stream, delimiter="\t" if kind == "tsv" else ",")
                writer.writerows([rows[0], *(row.values() for row in rows)])
        return file

    return write
