"""Names of the generated files, which are outputs of the workflow."""

from replicse.world.files import FILES
from replicse.world.world import write_world


def test_the_files_that_are_written_are_the_ones_that_the_workflow_expects(tmp_path):
    assert tuple(sorted(write_world(tmp_path, sentences=100))) == FILES
