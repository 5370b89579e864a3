"""File names used in several parts of a study."""

from pathlib import Path

CONFIG = "config.json"  # the configuration of an encoder, or of a study when it was started
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
ENCODER = (WEIGHTS, CONFIG, TOKENIZER)
TOKENS, OFFSETS, STORE = "tokens.npy", "offsets.npy", "store.json"
DISCARDED = "discarded.sha256"  # checksums of removed weights, in the folder of the run
METRICS, PROVENANCE = "metrics.json", "provenance.json"
RECORD, DATA = "record.json", "data.json"
HTML, MARKDOWN, TEX = "report.html", "report.md", "report.tex"
REPORT, JUDGEMENTS = "report.json", "judgements.json"
AUDIT, MACROS, METHODS = "audit.html", "macros.tex", "methods.html"


def record_file(out: Path) -> Path:
    """Return the path of a job's record, which lists the inputs of the output.

    Args:
        out: The output folder, which contains the record, or the output file, next to it.
    """
    return out / "made.json" if out.is_dir() else out.with_name(f"{out.name}.made")
