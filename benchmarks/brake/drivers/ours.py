"""Steersman; the Stop is committed in PostgreSQL by another connection. Peers' retry (3 tries, 0.2 s) and 10 calls at a time."""
from benchmarks.brake_driver import Driver, Way
from api import Cfg, Outcome
from counted import COUNT

VENV = "ours"
WAY = Way()
META = {"runtime": "steersman", "stop": "interrupt committed in PostgreSQL by another connection", "steer": "message (patience 0)",
        "store": "Postgres", "status_signal": "settlements.reason"}


def drives(module, way):
    """Give a module the functions of a driver."""
    driver = Driver(way, COUNT)

    async def setup(cfg: Cfg): await driver.setup(cfg.pg, cfg.llm)
    async def open_session(sid): return await driver.open_session()

    async def run(session, message, stop_event):
        status, text = await driver.run(session, message, stop_event)
        return Outcome(status, text)

    module.update(setup=setup, open_session=open_session, run=run, steer=driver.steer, teardown=driver.teardown)


drives(globals(), WAY)
