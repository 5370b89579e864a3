"""Encoders of others as a study keeps them: one layout for all, and next to it what their own library reads."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from replicse.encoder.folders import RECORDS
from replicse.encoder.heads import stored_head
from replicse.encoder.library import read_tokenizer, usable_tokenizer
from replicse.encoder.opening import open_backbone
from replicse.encoder.sentence import ORIGINAL
from replicse.encoder.sentence_transformers import MODULES, transformer_folder
from replicse.errors import BadInput
from replicse.files import sha256_of, write_json
from replicse.registry.artefacts import TOKENIZER


def prepare_encoder(source: Path, out: Path, facts: Mapping[str, str]) -> None:
    """Write an encoder as config.json, model.safetensors and tokenizer.json, and its record: `facts` and digests.

    A folder of sentence-transformers is kept next to that as it is. Raises BadInput where it cannot be read.
    """
    transformer = transformer_folder(source)
    theirs = read_tokenizer(transformer)
    tokenizer = usable_tokenizer(theirs)
    if not hasattr(tokenizer, "save"):
        raise BadInput(f"{transformer}: its tokenizer is none of the library tokenizers; add its {TOKENIZER}")
    with tempfile.TemporaryDirectory() as temporary:
        theirs.save_pretrained(temporary)
        tokenizer.save(f"{temporary}/{TOKENIZER}")
        open_backbone(transformer).save(out, stored_head(transformer), Path(temporary, TOKENIZER))
    if (source / MODULES).is_file():
        # Of the hub's cache the files, not its links.
        shutil.copytree(source, out / ORIGINAL, dirs_exist_ok=True)
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name[0] != ".")
    digests = {str(path.relative_to(out)): sha256_of(path) for path in files if path.name != RECORDS[1]}
    write_json(out / RECORDS[1], {**facts, "sha256": digests})
