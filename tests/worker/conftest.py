"""What the tests of the worker share with those of the agent: a desk, a worker's bench, and a wire to cut."""

from tests.agent.conftest import bench, desk, far_bench, raw, watch, wire

__all__ = ["bench", "desk", "far_bench", "raw", "watch", "wire"]
