"""Write environment.yml from requirements/run.txt: `python workflow/environment.py`; the pins stand there alone."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """\
# Made by `make environment` from requirements/run.txt: conda env create -f environment.yml
name: replicse
channels: [conda-forge]
dependencies:
  - python=3.11
  - pip
  - make
  - pip:
"""


def environment(requirements: Path) -> str:
    """Return the conda environment that installs the pins of a requirements file."""
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return HEAD + "".join(f"      - {line}\n" for line in lines if line and not line.startswith("#"))


if __name__ == "__main__":
    (ROOT / "environment.yml").write_text(environment(ROOT / "requirements" / "run.txt"), encoding="utf-8")
