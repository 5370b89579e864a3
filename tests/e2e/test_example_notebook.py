"""Run the committed example notebook on the results of a study."""

import nbformat
import pytest
from nbclient import NotebookClient
from places import ROOT

NOTEBOOK = ROOT / "examples" / "results.ipynb"


@pytest.fixture
def execute(monkeypatch, tmp_path_factory):
    """Return a function to run the example notebook.

    The function returns the notebook with outputs. The argument is a results folder. Default: the notebook's
    default.
    """
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp("jupyter")))

    def run(folder=None):
        if folder:
            monkeypatch.setenv("REPLICSE_RESULTS", str(folder))
        else:
            monkeypatch.delenv("REPLICSE_RESULTS", raising=False)
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        NotebookClient(
            notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}}
        ).execute()
        return notebook

    return run


def shown(notebook):
    """Return the text outputs of a notebook as a list, and the picture count."""
    texts, pictures = [], 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "data" in output:
                texts.append(output["data"]["text/plain"])
                pictures += "image/png" in output["data"]
    return texts, pictures


def test_the_committed_notebook_shows_what_it_gives(execute):
    committed = nbformat.read(NOTEBOOK, as_version=4)
    assert shown(committed) == shown(execute())
    assert "compact study" in committed.cells[0].source and shown(committed)[1] == 1
