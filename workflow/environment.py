"""Write environment.yml from the pins in requirements/.

Run it as `python workflow/environment.py`.
"""

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
    """Return a conda environment with the pins of a requirements folder.

    The environment is for studies at any scale.
    """
    pins = []
    for name in ("run.txt", "mteb.txt"):
        for line in (requirements / name).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith(("#", "-r ")):
                pins.append(line)
    return HEAD + "".join(f"      - {pin}\n" for pin in pins)


if __name__ == "__main__":
    (ROOT / "environment.yml").write_text(environment(ROOT / "requirements"), encoding="utf-8")
