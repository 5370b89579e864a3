"""Check the depth of YAML text and find the lines of keys."""

from collections.abc import Sequence

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEEPEST = 1000  # libyaml crashes at about 40,000 levels


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


def check_nesting(text: str) -> None:
    """Raise ValueError if YAML is nested too deeply for libyaml."""
    # Each level takes a bracket or a column.
    if text.count("[") + text.count("{") <= DEEPEST and max(map(len, text.split("\n"))) <= DEEPEST:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"nested more than {DEEPEST} levels deep")
