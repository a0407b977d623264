"""What the tests of the command line share."""

import pytest
from command import Here


@pytest.fixture
def here(capsys):
    """The command in this process."""
    return Here(capsys)
