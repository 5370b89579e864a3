"""Where the tests find the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
