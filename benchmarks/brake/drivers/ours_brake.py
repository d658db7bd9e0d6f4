"""Steersman; the brake is pulled in the worker at once, and the Stop committed beside it."""
from benchmarks.brake_driver import Way
import drivers.ours as ours

VENV = "ours"
META = {**ours.META, "stop": "brake pulled in the worker, interrupt committed beside it"}
ours.drives(globals(), Way(pulls_brake=True))
