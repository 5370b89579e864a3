"""A verb without what the command line does around it, so that a test sees its errors."""

from argparse import ArgumentParser


def run(verb, *words):
    """Run the module of a verb on some words; what it raises is raised here."""
    parser = ArgumentParser()
    verb.add_arguments(parser)
    verb.run(parser.parse_args(words))
