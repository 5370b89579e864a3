"""Where the files of data come from."""

from typing import Annotated

from pydantic import Field

from replicse.checked import Checked, Count, Text


class Download(Checked):
    """Where a file below the data root comes from: an address, its licence, and what must be there.

    `bytes` and `sha256` are those of what lies at the address, `member` the file wanted of a zip archive. `by_hand`
    says why a program cannot fetch it.
    """

    address: Text
    licence: Text
    bytes: Count | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$", strict=True)] | None = None
    member: Text | None = None
    by_hand: Text | None = None
