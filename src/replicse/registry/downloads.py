"""The sources of downloaded datasets."""

from typing import Annotated

from pydantic import Field

from replicse.checked import Checked, Count, Text


class Download(Checked):
    """The source of a file below the data root: address, licence, checks.

    `bytes` and `sha256` are of the downloaded file, `member` is the required file of a zip archive. `by_hand`
    explains why the file should be downloaded manually.

    Attributes:
        address: the address of the file.
        licence: the licence, which is shown to the user.
        bytes: the size of the downloaded file.
        sha256: the checksum of the downloaded file.
        member: the file in a zip archive.
        by_hand: why the file must be downloaded manually.
    """

    address: Text
    licence: Text
    bytes: Count | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$", strict=True)] | None = None
    member: Text | None = None
    by_hand: Text | None = None
