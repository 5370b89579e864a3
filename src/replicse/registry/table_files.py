"""Paths of the user's tables, and the kinds of their files."""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator

from replicse.checked import Text, UserMessage

TEXT_TABLES = (".csv", ".tsv", ".jsonl", ".json")  # also with the suffix .gz
TABLE_KINDS = (*TEXT_TABLES, ".parquet", ".arrow")


def _table(file: str) -> str:
    """Return the path of a table; UserMessage if the format is not supported."""
    if table_kind(file) not in TABLE_KINDS:
        raise UserMessage(f'"{file}" is not a table; use a file that ends in {", ".join(TABLE_KINDS)}')
    return file


def table_kind(file: str) -> str:
    """Return the suffix of a table, without .gz of a compressed text.

    Args:
        file: the path of the table.
    """
    inner = PurePosixPath(file.removesuffix(".gz")).suffix.lower()
    return inner if inner in TEXT_TABLES else PurePosixPath(file).suffix.lower()


# A user's file: an absolute path, or a path relative to the folder where a study runs.
TableFile = Annotated[Text, AfterValidator(_table)]
