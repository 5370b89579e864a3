"""A verb without the command line around it, so that tests see errors."""

from argparse import ArgumentParser


def run(verb, *words):
    """Run the module of a verb on some words; errors are raised here."""
    parser = ArgumentParser()
    verb.add_arguments(parser)
    verb.run(parser.parse_args(words))
