"""The names of the files that one part of a study writes and others read."""

from pathlib import Path

CONFIG = "config.json"  # of an encoder, and of a study as it was started
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
ENCODER = (WEIGHTS, CONFIG, TOKENIZER)
TOKENS, OFFSETS, STORE = "tokens.npy", "offsets.npy", "store.json"
DISCARDED = (
    "discarded.sha256"  # checksums of the weights that a study has removed, in the folder of their run
)
METRICS, PROVENANCE = "metrics.json", "provenance.json"
RECORD, DATA = "record.json", "data.json"
HTML, MARKDOWN, TEX = "report.html", "report.md", "report.tex"
REPORT, JUDGEMENTS = "report.json", "judgements.json"
AUDIT, MACROS, METHODS = "audit.html", "macros.tex", "methods.html"


def record_file(out: Path) -> Path:
    """Return the record next to the file, or in the folder, that a job writes: what it was made from, by name."""
    return out / "made.json" if out.is_dir() else out.with_name(f"{out.name}.made")
