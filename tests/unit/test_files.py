"""Loading files: errors name a broken or missing file."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from replicse import files
from replicse.errors import BadInput, MissingData
from replicse.files import link, link_equal, read_json, read_rows, write_json, write_rows
from replicse.judge.values.result_files import read_results


def test_what_is_written_is_read_back(tmp_path):
    write_json(tmp_path / "a.json", {"b": [1, None, "ö"]})
    assert read_json(tmp_path / "a.json") == {"b": [1, None, "ö"]}
    rows = [{"x": "1", "y": 'a "b",\nc'}, {"x": "2", "y": None}]
    assert write_rows(tmp_path / "a.csv", ("x", "y"), rows) == 2
    assert read_rows(tmp_path / "a.csv") == [rows[0], {"x": "2", "y": ""}]


@pytest.mark.parametrize("read", [read_json, read_rows])
def test_what_cannot_be_read_is_named(tmp_path, read):
    with pytest.raises(MissingData, match=r"gone: the file does not exist"):
        read(tmp_path / "gone")
    with pytest.raises(BadInput, match=r"cannot be read \(Is a directory\)"):
        read(tmp_path)
    (tmp_path / "latin").write_bytes(b'"caf\xe9"')
    with pytest.raises(BadInput, match=r"latin: byte 5 is not UTF-8; save it as UTF-8"):
        read(tmp_path / "latin")


def test_json_that_is_nested_too_deeply_is_refused(tmp_path):
    """JSON with 100,000 brackets once ended each verb with a traceback."""
    (tmp_path / "a.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(BadInput, match=r"a\.json: cannot parse JSON \(nested too deeply\)"):
        read_json(tmp_path / "a.json")
    with pytest.raises(BadInput, match=r"a\.json: cannot parse JSON \(nested too deeply\)"):
        read_results(tmp_path / "a.json")


def test_only_equal_files_become_one(tmp_path, monkeypatch):
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    for file, content in ((one, "a"), (same, "a"), (other, "b")):
        file.write_text(content)
    link_equal(one, other)
    assert not one.samefile(other) and other.read_text() == "b"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "hardlink_to", lambda *_: (_ for _ in ()).throw(OSError("no links here")))
        link_equal(one, same)
    assert not one.samefile(same)
    for _ in range(2):
        link_equal(one, same)
    assert one.samefile(same) and len(list(tmp_path.iterdir())) == 3


def test_only_a_regular_file_is_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(BadInput, match=r" is a folder, pipe or device; specify a regular file"):
            write_json(place, {})
    assert (tmp_path / "pipe").is_fifo()


def test_a_pipe_is_refused_unless_a_shell_made_it(tmp_path):
    """A pipe should not block forever: `status` once waited for a pipe in the place of an evaluation."""
    os.mkfifo(tmp_path / "fast.json")
    with pytest.raises(BadInput, match=r"fast\.json: a pipe, not a file"):
        read_json(tmp_path / "fast.json")
    read_end, write_end = os.pipe()
    os.write(write_end, b"[1]")
    os.close(write_end)
    assert read_json(f"/dev/fd/{read_end}") == [1]
    os.close(read_end)


def test_a_file_has_the_permissions_that_the_umask_leaves(tmp_path):
    before = os.umask(0o077)
    try:
        write_json(tmp_path / "a.json", {})
    finally:
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600


NO_JSON = r"cut: cannot parse JSON \(.*fix it, or create it again"


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        *((read_json, text, NO_JSON) for text in ("", '{"suites": {"sts": ', "{'a': 1}")),
        (read_rows, 'a,b\n1,2\n3,"4', "cut:2: cannot parse CSV"),
        (read_rows, "a,b\n1,2\n3\n", "cut:3: expected 2 cells"),
        (read_rows, "a\n1,2\n", "cut:2: expected 1 cells"),
        (read_rows, "", "cut: the header is missing"),
    ],
)
def test_broken_files_are_named(tmp_path, read, text, problem):
    (tmp_path / "cut").write_text(text)
    with pytest.raises(BadInput, match=problem):
        read(tmp_path / "cut")


def test_links_of_a_folder_that_is_a_link_itself_are_absolute(tmp_path):
    """Links should be absolute if the folder is itself a link.

    `..` once led to the folder above the link's target, which has no figures.
    """
    figure = tmp_path / "figures/one.svg"
    write_json(figure, {})
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "reports").symlink_to("far/away")
    assert link(figure, tmp_path / "reports") == str(figure)
    assert link(figure, tmp_path / "far/away") == "../../figures/one.svg"


@pytest.mark.parametrize(
    ("free", "why"), [(100, "No space left on device"), (1 << 30, "writer stopped at 17")]
)
def test_a_disk_that_is_full_is_called_so_whatever_the_library_says(tmp_path, monkeypatch, free, why):
    monkeypatch.setattr(files.shutil, "disk_usage", lambda place: SimpleNamespace(free=free))
    said = str(files.not_written(tmp_path / "state", RuntimeError("writer stopped at 17")))
    assert said.startswith(f"{tmp_path / 'state'}: cannot be written ({why}); free space")
    assert "of one file" in str(files.not_written(tmp_path, OSError(5, "of one file")))
