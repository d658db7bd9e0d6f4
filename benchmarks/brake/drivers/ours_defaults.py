"""Steersman with its own defaults: 3 calls at a time, one retry of a read, a patience of 5 s."""
from benchmarks.brake_driver import DEFAULTS
import drivers.ours as ours

VENV = "ours"
META = {**ours.META, "stop": "interrupt committed in PostgreSQL; own defaults", "steer": "message (patience 5 s)"}
ours.drives(globals(), DEFAULTS)
