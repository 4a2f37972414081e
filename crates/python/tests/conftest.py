"""What the tests share."""

import pytest

import volley as vl


@pytest.fixture
def db() -> vl.Connection:
    return vl.connect(threads=2)
