"""Snakemake's requirements on a machine, checked before it starts."""

import os
import resource
from pathlib import Path

import pytest

from replicse.errors import BadInput
from replicse.runtime.environment import job_environment
from replicse.runtime.limits import check_cache_folder, raise_file_limit


def test_a_cache_that_cannot_be_made_is_named_with_the_variable_to_set(tmp_path):
    """If a cache folder cannot be created, a variable is suggested.

    Snakemake once failed with a traceback of FileNotFoundError.
    """
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=rf"{tmp_path}/file/cache: Not a directory.*set XDG_CACHE_HOME"):
        check_cache_folder({"XDG_CACHE_HOME": f"{tmp_path}/file/cache"})
    check_cache_folder({"XDG_CACHE_HOME": f"{tmp_path}/other/cache"})
    assert (tmp_path / "other/cache/snakemake").is_dir()


def test_a_user_without_a_home_folder_is_told_which_variable_to_set(monkeypatch):
    """`env -i` of a user of a container, who has no entry in /etc/passwd, once ended in a traceback."""
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    with pytest.raises(BadInput, match="set HOME or XDG_CACHE_HOME to a writable folder"):
        check_cache_folder({})


@pytest.mark.parametrize(
    ("limits", "to"),
    [
        ((64, 1024), (256, 1024)),
        ((64, resource.RLIM_INFINITY), (256, resource.RLIM_INFINITY)),
        ((256, 256), None),
    ],
)
def test_a_low_limit_of_open_files_is_raised(monkeypatch, limits, to):
    found = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, values: found.append(values))
    raise_file_limit(256)
    assert found == ([to] if to else [])


def test_a_machine_that_allows_few_open_files_is_refused(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8, 32))
    with pytest.raises(BadInput, match="can open 32 files, but a study needs 256; increase ulimit -n"):
        raise_file_limit(256)


def test_without_any_environment_jobs_find_the_programs_of_the_system():
    """Without environment variables, the system's programs should be found.

    Snakemake once could not find `which`, and failed with a traceback.
    """
    assert job_environment(Path("workflow"), {})["PATH"].endswith(os.defpath)
    own = job_environment(Path("workflow"), {"PATH": "/own"})["PATH"]
    assert own.endswith(":/own") and os.defpath not in own
