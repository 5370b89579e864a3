"""Preparation of a downloaded or foreign encoder for a study."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from replicse.encoder.folders import RECORDS, write_record
from replicse.encoder.heads import load_head
from replicse.encoder.library import list_code
from replicse.encoder.modules import ORIGINAL, has_modules, list_modules, transformer_folder
from replicse.encoder.opening import open_backbone
from replicse.encoder.sentence_transformers import open_library_encoder
from replicse.encoder.stored import UnusableWeights, save_tensors
from replicse.encoder.tokenizer import checked_fast, read_tokenizer, usable_tokenizer
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.registry.artefacts import CONFIG, TOKENIZER, WEIGHTS


def prepare_encoder(source: Path, out: Path, facts: Mapping[str, str]) -> None:
    """Write an encoder in the layout of a study, with a record.

    The files are config.json, model.safetensors and tokenizer.json. A sentence-transformers folder is also copied
    unchanged. If only sentence-transformers can load it (static embeddings, for example), the three files are
    placeholders, because every job on an encoder lists them as inputs.

    Args:
        source: The folder of the encoder.
        out: The folder to write.
        facts: Entries of the record in addition to the digests of the files, a dict of strings.

    Raises:
        BadInput: If the encoder cannot be loaded, or the folder contains code (`auto_map`), which is not run.
    """
    code = list_code(list_modules(source)[0].place if has_modules(source) else source)
    if code:
        raise BadInput(
            f"{source}: code of the folder is not run ({', '.join(code)}), so the scores would belong to another"
            " encoder; remove auto_map to use the classes of transformers"
        )
    try:
        _write_transformer(transformer_folder(source), out)
    except UnusableWeights:
        raise
    except BadInput:
        if not has_modules(source):
            raise
        open_library_encoder(source, "cpu", None)
        _write_placeholders(out)
    # A copy from a previous version of the source would be read instead.
    shutil.rmtree(out / ORIGINAL, ignore_errors=True)
    if has_modules(source):
        # Copies the files behind the links of the hub's cache.
        shutil.copytree(source, out / ORIGINAL)
    write_record(out / RECORDS[1], facts)


def _write_transformer(transformer: Path, out: Path) -> None:
    backbone = open_backbone(transformer)
    theirs = read_tokenizer(transformer)
    tokenizer = checked_fast(usable_tokenizer(theirs), transformer)
    with tempfile.TemporaryDirectory() as temporary:
        theirs.save_pretrained(temporary)
        tokenizer.save(f"{temporary}/{TOKENIZER}")
        backbone.save(out, load_head(transformer), Path(temporary, TOKENIZER))


def _write_placeholders(out: Path) -> None:
    """Write placeholder files that name the library to use."""
    instead = {"read_by": "sentence-transformers", "folder": ORIGINAL}
    write_json(out / CONFIG, instead)
    write_json(out / TOKENIZER, instead)
    save_tensors(out / WEIGHTS, {}, **instead)
