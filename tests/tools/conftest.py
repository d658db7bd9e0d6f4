"""What the tests of the gate share with those of the agent: a desk, and a worker's bench."""

from tests.agent.conftest import bench, desk, raw, watch

__all__ = ["bench", "desk", "raw", "watch"]
