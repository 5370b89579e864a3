"""Write environment.yml from the pins of requirements/: `python workflow/environment.py`; they are there alone."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """\
# Made by `make environment` from requirements/run.txt and mteb.txt: conda env create -f environment.yml
name: replicse
channels: [conda-forge]
dependencies:
  - python=3.11
  - pip
  - make
  - pip:
"""


def environment(requirements: Path) -> str:
    """Return the conda environment that installs the pins of a study at any scale, of a folder of requirements."""
    texts = [(requirements / name).read_text(encoding="utf-8") for name in ("run.txt", "mteb.txt")]
    pins = [
        line for text in texts for line in text.splitlines() if line and not line.startswith(("#", "-r "))
    ]
    return HEAD + "".join(f"      - {pin}\n" for pin in pins)


if __name__ == "__main__":
    (ROOT / "environment.yml").write_text(environment(ROOT / "requirements"), encoding="utf-8")
