"""The checkout for tests, without files written by studies."""

import atexit
import importlib.util
import shutil
import tempfile
from pathlib import Path
from types import ModuleType

CHECKOUT = Path(__file__).resolve().parents[1]
# Folders that studies write to. The kept studies in figures and reports belong to the checkout.
WRITTEN = ("results", "logs", "figures", "reports")


def linked(folder: Path, checkout: Path = CHECKOUT) -> Path:
    """Link a folder to all parts of a checkout that tests may read.

    Args:
        folder: Existing empty folder.
        checkout: The checkout. Default: this checkout.

    Returns:
        The folder.
    """
    for entry in checkout.iterdir():
        if entry.name not in WRITTEN and not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    for name in ("figures", "reports"):
        (folder / name).mkdir()
        (folder / name / "studies").symlink_to(checkout / name / "studies")
    return folder


ROOT = linked(Path(tempfile.mkdtemp(prefix="replicse-tests-")).resolve())
atexit.register(shutil.rmtree, ROOT, ignore_errors=True)


def workflow_script(name: str) -> ModuleType:
    """Import a script of the workflow as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "workflow" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
