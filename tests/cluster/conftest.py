"""What the tests of all schedulers share."""

import subprocess

import pytest
import small_study


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """The results of the study as jobs of this machine."""
    folder = small_study.checkout(tmp_path_factory.mktemp("local"))
    done = subprocess.run(
        small_study.command("--cores", "2"),
        cwd=folder,
        env=small_study.environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return small_study.results(folder)
