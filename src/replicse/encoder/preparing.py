"""Encoders of others as a study keeps them: one layout for all, and next to it what their own library reads."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from replicse.encoder.folders import RECORDS, write_record
from replicse.encoder.heads import stored_head
from replicse.encoder.opening import open_backbone
from replicse.encoder.sentence import ORIGINAL
from replicse.encoder.sentence_transformers import MODULES, transformer_folder
from replicse.encoder.tokenizer import checked_fast, read_tokenizer, usable_tokenizer
from replicse.registry.artefacts import TOKENIZER


def prepare_encoder(source: Path, out: Path, facts: Mapping[str, str]) -> None:
    """Write an encoder as config.json, model.safetensors and tokenizer.json, and its record: `facts` and digests.

    A folder of sentence-transformers is kept next to that as it is. Raises BadInput where it cannot be read.
    """
    transformer = transformer_folder(source)
    theirs = read_tokenizer(transformer)
    tokenizer = checked_fast(usable_tokenizer(theirs), transformer)
    with tempfile.TemporaryDirectory() as temporary:
        theirs.save_pretrained(temporary)
        tokenizer.save(f"{temporary}/{TOKENIZER}")
        open_backbone(transformer).save(out, stored_head(transformer), Path(temporary, TOKENIZER))
    # What another content of the source has left would be read in its place.
    shutil.rmtree(out / ORIGINAL, ignore_errors=True)
    if (source / MODULES).is_file():
        # Of the hub's cache the files, not its links.
        shutil.copytree(source, out / ORIGINAL)
    write_record(out / RECORDS[1], facts)
