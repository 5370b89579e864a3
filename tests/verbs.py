"""Run a verb without the command line, so that tests can catch errors."""

from argparse import ArgumentParser


def run(verb, *words):
    """Run the module of a verb.

    Args:
        verb: Module, such as `replicse.cli.diagnose`.
        words: Arguments of the command, as strings.

    Raises:
        BadInput: If the arguments or files are invalid. The command line would print it instead.
    """
    parser = ArgumentParser()
    verb.add_arguments(parser)
    verb.run(parser.parse_args(words))
