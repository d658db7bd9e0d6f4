"""Runs one driver through the bench (its own process, its own venv). Prints one JSON file."""
import importlib.util, argparse, asyncio, importlib, json, os, random, resource, statistics as st, sys, time, traceback, urllib.request
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from counted import COUNT
import warnings; warnings.filterwarnings("ignore")
from api import Cfg, Outcome

GRACE = 0.005          # arrivals later than stop + 5 ms are ghosts
WATCH = 2.0            # seconds watched after stop
T_NOMINAL = 2.95       # scripted critical path of one run
SETTLE_MAX = 10.0


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def pct(v, p):
    if not v: return None
    v = sorted(v); k = (len(v) - 1) * p
    lo = int(k); hi = min(lo + 1, len(v) - 1)
    return v[lo] + (v[hi] - v[lo]) * (k - lo)


async def guarded(coro, t=SETTLE_MAX):
    try:
        return await asyncio.wait_for(coro, t)
    except asyncio.TimeoutError:
        return Outcome("error", error="TIMEOUT")
    except Exception as e:
        return Outcome("error", error=f"HARNESS {type(e).__name__}: {e}"[:300])


def msg(sid, mode, text, flags=""):
    return f"{text} [trial={sid}] [mode={mode}]{flags}"


async def trial_stop(D, sid, t):
    s = await D.open_session(sid)
    stop = asyncio.Event()
    task = asyncio.create_task(guarded(D.run(s, msg(sid, "main", "Investigate the alert."), stop), 20))
    await asyncio.sleep(t)
    done_before = task.done()
    t_stop = time.monotonic()
    stop.set()
    out = await task
    t_settle = time.monotonic()
    r = dict(sid=sid, t=t, done_before=done_before, t_stop=t_stop, t_settle=t_settle, status=out.status, text=out.text, error=out.error)
    for k in ("next1", "next2"):        # a second attempt only if the first failed
        t0 = time.monotonic()
        o = await guarded(D.run(s, msg(sid, "next", "Actually, check db-3 first."), asyncio.Event()))
        r[k] = dict(t=t0, dt=time.monotonic() - t0, ok=bool(o.text and "ACK-NEXT" in o.text), status=o.status, error=o.error)
        if r[k]["ok"]:
            break
    await asyncio.sleep(max(0, t_stop + WATCH - time.monotonic()))
    return r


async def trial_pre(D, sid):
    """Stop pressed before run() is called."""
    s = await D.open_session(sid)
    stop = asyncio.Event(); stop.set()
    t0 = time.monotonic()
    o = await guarded(D.run(s, msg(sid, "main", "Investigate the alert."), stop))
    t1 = time.monotonic()
    await asyncio.sleep(0.5)
    return dict(sid=sid, status=o.status, error=o.error, settle=t1 - t0)


async def trial_steer(D, sid, t, allow_native):
    s = await D.open_session(sid)
    stop = asyncio.Event()
    task = asyncio.create_task(guarded(D.run(s, msg(sid, "main", "Investigate the alert."), stop), 20))
    await asyncio.sleep(t)
    done_before = task.done()
    m = msg(sid, "steer", "New information: only db-3 is affected.")
    t_msg = time.monotonic()
    native = allow_native and hasattr(D, "steer") and not done_before
    if native:
        await D.steer(s, m)
        out = await task
    else:
        stop.set(); await task
        out = await guarded(D.run(s, m, asyncio.Event()))
    return dict(sid=sid, t=t, t_msg=t_msg, done_before=done_before, native=native, status=out.status,
                ok=bool(out.text and "ACK-STEER" in out.text), error=out.error, t_end=time.monotonic())


async def control(D, sid, flags=""):
    s = await D.open_session(sid)
    t0 = time.monotonic()
    o = await guarded(D.run(s, msg(sid, "main", "Investigate the alert.", flags), asyncio.Event()), 20)
    return dict(sid=sid, wall=time.monotonic() - t0, status=o.status, text=o.text, error=o.error)


async def bounded(coros, n, stagger=0.2):
    """n at a time; the first n starts are staggered so that their bursts do not coincide."""
    sem = asyncio.Semaphore(n)
    async def one(i, c):
        if i < n:
            await asyncio.sleep(i * stagger)
        async with sem:
            return await c
    return await asyncio.gather(*[one(i, c) for i, c in enumerate(coros)])


async def main():
    ap = argparse.ArgumentParser()
    for a in ("driver", "driver-file", "llm", "pg", "out"): ap.add_argument("--" + a)
    ap.add_argument("--store", default="pg"); ap.add_argument("--tool", default="async")
    ap.add_argument("--stops", type=int, default=40); ap.add_argument("--steers", type=int, default=12)
    ap.add_argument("--conc", type=int, default=12); ap.add_argument("--overhead", type=int, default=12)
    ap.add_argument("--burst", type=int, default=100); ap.add_argument("--seed", type=int, default=7)
    a = ap.parse_args()
    t_begin = time.monotonic()
    loop = asyncio.get_running_loop()
    if a.tool == "sync":
        from concurrent.futures import ThreadPoolExecutor
        loop.set_default_executor(ThreadPoolExecutor(128))
    loop.set_exception_handler(lambda l, c: LOOPERR.append(str(c.get("message"))[:120]))
    rss0 = rss_mb()
    spec = importlib.util.spec_from_file_location("driver_" + a.driver, a.driver_file)
    D = importlib.util.module_from_spec(spec); sys.modules[spec.name] = D; spec.loader.exec_module(D)
    await D.setup(Cfg(llm=a.llm, pg=a.pg, store=a.store, tool=a.tool))
    P = f"{a.driver}.{a.tool}.{os.getpid()}"
    R = {"driver": a.driver, "meta": D.META, "tool": a.tool, "store": a.store, "import_s": time.monotonic() - t_begin}
    for i in range(2):
        w = await control(D, f"{P}.w{i}", " [zero]")
        if w["status"] != "finished":
            R["warm_error"] = w
    R["rss_imported_mb"] = rss_mb()

    # loop lag sampler (tells whether the numbers of this process can be trusted at the ms scale)
    lags = []
    async def lag():
        while True:
            t0 = time.monotonic(); await asyncio.sleep(0.01); lags.append(time.monotonic() - t0 - 0.01)
    lt = asyncio.create_task(lag())

    rnd = random.Random(a.seed)
    ts = [(i + rnd.random()) / a.stops * T_NOMINAL for i in range(a.stops)]
    rnd.shuffle(ts)
    jobs = [trial_stop(D, f"{P}.s{i}", t) for i, t in enumerate(ts)]
    pres = []
    if a.steers:
        tt = [0.1 + (i // 2 + rnd.random()) / (a.steers // 2) * (T_NOMINAL - 0.65) for i in range(a.steers)]
        jobs += [trial_steer(D, f"{P}.t{i}", t, i % 2 == 0) for i, t in enumerate(tt)]
        jobs += [control(D, f"{P}.c{i}") for i in range(3)] + [control(D, f"{P}.e{i}", " [empty]") for i in range(3)]
        jobs += [trial_pre(D, f"{P}.p{i}") for i in range(3)]
    res = await bounded(jobs, a.conc)
    R["lag_p50_ms"], R["lag_p99_ms"] = (pct(lags, .5) or 0) * 1e3, (pct(lags, .99) or 0) * 1e3
    n = a.stops
    stops, res = res[:n], res[n:]
    steers, ctrls, empties, pres = (res[:a.steers], res[a.steers:a.steers + 3], res[a.steers + 3:a.steers + 6], res[a.steers + 6:]) if a.steers else ([], [], [], [])
    lt.cancel()

    # zero-latency complete runs, one at a time: wall and CPU are framework + shared floor
    if a.overhead:
        walls, cpus = [], []
        for i in range(a.overhead):
            c0 = time.process_time()
            o = await control(D, f"{P}.o{i}", " [zero]")
            if o["status"] == "finished":
                walls.append(o["wall"] * 1e3); cpus.append((time.process_time() - c0) * 1e3)
        R["zero"] = dict(n=len(walls), wall_min=min(walls, default=None), wall_p50=pct(walls, .5), wall_p95=pct(walls, .95), cpu_mean=st.mean(cpus) if cpus else None)

    # burst: N concurrent runs, RSS peak, then stop all of them at once
    burst = None
    if a.burst:
        base, peak, blag = rss_mb(), [0], []
        async def samp():
            while True:
                peak[0] = max(peak[0], rss_mb()); t0 = time.monotonic(); await asyncio.sleep(0.02); blag.append(time.monotonic() - t0 - 0.02)
        sp = asyncio.create_task(samp())
        ev = asyncio.Event()
        ss = await asyncio.gather(*[D.open_session(f"{P}.b{i}") for i in range(a.burst)])
        tb0 = time.monotonic()
        tasks = [asyncio.create_task(guarded(D.run(s, msg(f"{P}.b{i}", "main", "Investigate."), ev), 20)) for i, s in enumerate(ss)]
        c0_ = COUNT[0]               # stop when the same amount of work is in flight for every driver: 5 tool attempts per run
        while COUNT[0] - c0_ < 5 * a.burst and time.monotonic() - tb0 < 8.0:
            await asyncio.sleep(0.01)
        ramp = time.monotonic() - tb0
        running = sum(not t.done() for t in tasks)
        att = COUNT[0] - c0_
        t_stop = time.monotonic()
        ev.set()
        outs = await asyncio.gather(*tasks)
        t_set = time.monotonic()
        await asyncio.sleep(max(0.0, t_stop + 2.0 - time.monotonic()))
        sp.cancel()
        burst = dict(n=a.burst, ramp_s=ramp, attempts_at_stop=att, running_at_stop=running, rss_base=base, rss_peak=peak[0], t_stop=t_stop, settle_all_s=t_set - t_stop,
                     lag_p99_ms=(pct(blag, .99) or 0) * 1e3, lag_max_ms=max(blag) * 1e3,
                     statuses={k: sum(o.status == k for o in outs) for k in ("stopped", "finished", "error")})
    if hasattr(D, "teardown"):
        try: await D.teardown()
        except Exception as e: R["teardown_error"] = str(e)[:200]

    evs = json.loads(await asyncio.to_thread(lambda: urllib.request.urlopen(a.llm.replace("/v1", "") + "/ctl/drain?prefix=" + P).read()))
    by = {}
    for e in evs: by.setdefault(e["trial"], []).append(e)
    for r in stops:
        E = sorted(by.get(r["sid"], []), key=lambda e: e["t"]); T = r["t_stop"]
        main = [e for e in E if e["kind"] == "llm_req" and e["mode"] == "main"]
        fin = any(e["kind"] == "llm_end" and e["mode"] == "main" and e["round"] == 2 and e["how"] == "done" and e["t"] <= T for e in E)
        r["finished_before_stop"] = bool(r["done_before"] or fin)
        treq = [e["t"] for e in E if e["kind"] == "tool_req"]
        r["ghost5"] = sum(x > T + GRACE for x in treq); r["ghost100"] = sum(x > T + 0.1 for x in treq)
        ts_ = [e for e in E if e["kind"] == "tool_req"]
        r["issued_after"] = sum(e["sent"] > T + GRACE for e in ts_)            # issued by the client after stop: immune to server lag
        r["issued_after_ack"] = sum(e["sent"] > r["t_settle"] + GRACE for e in ts_)
        r["open_at_ack_ms"] = max([0.0] + [(e["t"] - r["t_settle"]) * 1e3 for e in E if e["kind"].startswith("tool") or e.get("mode") == "main"])
        r["ghost_retry"] = sum(e["kind"] == "tool_req" and e["attempt"] > 1 and e["t"] > T + GRACE for e in E)
        r["llm_after"] = sum(e["t"] > T + GRACE for e in main)
        act = [e["t"] - T for e in E if e["kind"].startswith("tool") or e.get("mode") == "main"]
        r["quiet"] = max([0.0] + act)
        r["phase"] = ("none" if not main else ("llm%d" % max(e["round"] for e in main if e["t"] <= T))) if main and main[0]["t"] <= T else "before-start"
        if r["phase"].startswith("llm"):
            k = r["phase"][3:]
            if any(e["kind"] == "llm_end" and e["mode"] == "main" and str(e["round"]) == k and e["t"] <= T and e["how"] == "done" for e in E):
                r["phase"] = {"0": "tools1", "1": "tools2", "2": "after-final"}[k]
        r["completed_tools"] = sum(e["kind"] == "tool_end" and e["status"] == 200 and e["how"] == "done" and e["t"] <= T for e in E)
        nx = [e for e in E if e["kind"] == "llm_req" and e["mode"] == "next"]
        r["next_400"] = sum(e["status"] == 400 for e in nx)
        r["next_kept"] = nx[0]["real"] if nx else None
        r["next_has_main"] = nx[0]["has_main"] if nx else None
    for r in steers:
        E = by.get(r["sid"], [])
        q = sorted([e for e in E if e["kind"] == "llm_req" and e["has_steer"]], key=lambda e: e["t"])
        r["lat"] = q[0]["t"] - r["t_msg"] if q else None
        r["status400"] = any(e["status"] == 400 for e in q)
        r["has_main"] = q[0]["has_main"] if q else None
        r["kept"] = q[0]["real"] if q else None
        r["completed_tools"] = sum(e["kind"] == "tool_end" and e["status"] == 200 and e["how"] == "done" and e["t"] <= r["t_msg"] for e in E)
        r["ghost5"] = sum(e["kind"] == "tool_req" and e["t"] > r["t_msg"] + GRACE for e in E)
    for r in pres:
        E = by.get(r["sid"], [])
        r["llm"] = sum(e["kind"] == "llm_req" for e in E); r["tools"] = sum(e["kind"] == "tool_req" for e in E)
    if burst:
        gh, quiet = 0, 0.0
        for i in range(a.burst):
            for e in by.get(f"{P}.b{i}", []):
                if e["t"] > burst["t_stop"] + GRACE and e["kind"] in ("tool_req", "llm_req"): gh += 1
                quiet = max(quiet, e["t"] - burst["t_stop"])
        burst["requests_after_stop"] = gh; burst["quiet_s"] = quiet
        burst["requests_before_stop"] = sum(e["kind"] in ("tool_req", "llm_req") and e["t"] <= burst["t_stop"] for i in range(a.burst) for e in by.get(f"{P}.b{i}", []))
    R.update(load1=os.getloadavg()[0], pres=pres, stops=stops, steers=steers, controls=ctrls, empties=empties, burst=burst, loop_errors=LOOPERR[:5], n_loop_errors=len(LOOPERR),
             wall_total_s=time.monotonic() - t_begin, max_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    json.dump(R, open(a.out, "w"))
    print(f"{a.driver}/{a.tool}: ok in {R['wall_total_s']:.1f}s", flush=True)

LOOPERR = []
if __name__ == "__main__":
    asyncio.run(main())
    os._exit(0)
