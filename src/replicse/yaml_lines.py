"""Find the lines of keys in YAML files, for error messages."""

from collections.abc import Sequence

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def find_line(text: str, keys: Sequence[str | int]) -> int:
    """Return the line of a key of a YAML document, from 1.

    Args:
        text: The document, valid YAML.
        keys: The keys and indices from the root. Keys that the document does not contain, such as the name of a
            union's alternative, are skipped.
    """
    node = yaml.compose(text, Loader=_Loader)
    line = 0
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                if name.value == key:
                    line, node = name.start_mark.line, value
                    break
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
            line = node.start_mark.line
    return line + 1
