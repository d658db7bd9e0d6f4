"""results/*.json -> results.json (summary) + TABLE.md"""
import glob, json, os, statistics as st
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.environ.get("BRAKE_OUT", os.path.join(os.getcwd(), "brake-results"))
ORDER = ["floor", "ours", "ours_brake", "ours_defaults", "naive_flag", "naive_cancel", "oai_immediate", "oai_after_turn", "langgraph_cancel", "langgraph_patched",
         "langgraph_drain", "pydantic_ai_token", "google_adk", "holmes"]


def pct(v, p):
    v = sorted(x for x in v if x is not None)
    if not v: return None
    k = (len(v) - 1) * p; lo = int(k); hi = min(lo + 1, len(v) - 1)
    return v[lo] + (v[hi] - v[lo]) * (k - lo)


def summarise(r):
    S = [x for x in r["stops"] if not x["finished_before_stop"]]
    o = dict(driver=r["driver"], tool=r["tool"], meta=r["meta"], store=r["store"], trials=len(S), excluded_finished=len(r["stops"]) - len(S),
             lag_p50_ms=r.get("lag_p50_ms"), lag_p99_ms=r.get("lag_p99_ms"), load1=r.get("load1"))
    m = lambda k: st.mean(x[k] for x in S) if S else None
    o.update(ghost5_mean=m("ghost5"), ghost5_max=max((x["ghost5"] for x in S), default=None), ghost5_trials=sum(x["ghost5"] > 0 for x in S),
             ghost100_mean=m("ghost100"), ghost100_max=max((x["ghost100"] for x in S), default=None), ghost100_trials=sum(x["ghost100"] > 0 for x in S),
             ghost_retry_mean=m("ghost_retry"), issued_mean=m("issued_after"), issued_max=max((x["issued_after"] for x in S), default=None), issued_trials=sum(x["issued_after"] > 0 for x in S),
             issued_after_ack=sum(x["issued_after_ack"] for x in S), active_after_ack_trials=sum(x["open_at_ack_ms"] > 50 for x in S), active_after_ack_max_ms=max((x["open_at_ack_ms"] for x in S), default=None), llm_after_trials=sum(x["llm_after"] > 0 for x in S), llm_after_total=sum(x["llm_after"] for x in S))
    q = [x["quiet"] for x in S]; se = [x["t_settle"] - x["t_stop"] for x in S]
    for n, v in (("quiet", q), ("settle", se)):
        o.update({f"{n}_p50_ms": (pct(v, .5) or 0) * 1e3, f"{n}_p95_ms": (pct(v, .95) or 0) * 1e3, f"{n}_max_ms": max(v, default=0) * 1e3})
    o["status"] = {k: sum(x["status"] == k for x in S) for k in ("stopped", "finished", "error")}
    o["timeouts"] = sum("TIMEOUT" in str(x["error"]) for x in S)
    o["control_full"] = [c["status"] for c in r["controls"]]; o["control_empty"] = [c["status"] for c in r["empties"]]
    o["next_ok"] = sum(x["next1"]["ok"] for x in S)
    o["bricked"] = sum((not x["next1"]["ok"]) and not (x.get("next2") or {}).get("ok") for x in S)
    o["next_400"] = sum(x["next_400"] > 0 for x in S)
    o["lost_prompt"] = sum(x["next_has_main"] is False for x in S)
    N = [x for x in S if x["next_kept"] is not None]
    o["completed_tools"] = sum(x["completed_tools"] for x in N)
    o["kept_tools"] = sum(min(x["next_kept"], x["completed_tools"]) for x in N if x["next1"]["ok"])
    o["phases"] = {}
    for x in S:
        p = o["phases"].setdefault(x["phase"], [0, 0, 0]); p[0] += 1; p[1] += x["ghost5"]; p[2] += (not x["next1"]["ok"])
    for nm, sel in (("steer_native", True), ("steer_rerun", False)):
        T = [x for x in r["steers"] if x["native"] == sel and not x["done_before"]]
        if T:
            ok = [x for x in T if x["ok"]]
            o[nm] = dict(n=len(T), ok=len(ok), p50_ms=(pct([x["lat"] for x in ok], .5) or 0) * 1e3, p95_ms=(pct([x["lat"] for x in ok], .95) or 0) * 1e3,
                         n400=sum(x["status400"] for x in T), kept=sum(min(x["kept"] or 0, x["completed_tools"]) for x in T), completed=sum(x["completed_tools"] for x in T),
                         tool_requests_after=st.mean(x["ghost5"] for x in T))
    o["prestop"] = [dict(status=x["status"], llm=x["llm"], tools=x["tools"], settle_ms=round(x["settle"] * 1e3, 1)) for x in r.get("pres", [])]
    o["zero"] = r.get("zero"); o["real_wall_s"] = pct([c["wall"] for c in r["controls"] if c["status"] == "finished"], .5)
    o["rss_imported_mb"] = r["rss_imported_mb"]; b = r.get("burst")
    if b:
        o["burst"] = dict(ramp_s=b["ramp_s"], attempts_at_stop=b["attempts_at_stop"], running=b["running_at_stop"], rss_peak_mb=b["rss_peak"], rss_per_run_mb=(b["rss_peak"] - b["rss_base"]) / b["n"], settle_all_ms=b["settle_all_s"] * 1e3,
                          requests_before_stop=b["requests_before_stop"], requests_after_stop=b["requests_after_stop"], quiet_ms=b["quiet_s"] * 1e3, lag_p99_ms=b["lag_p99_ms"], statuses=b["statuses"])
    o["loop_errors"] = r["n_loop_errors"]; o["wall_total_s"] = r["wall_total_s"]; o["import_s"] = r["import_s"]
    return o


def f(x, d=0): return "-" if x is None else f"{x:.{d}f}"


def main():
    R = [summarise(json.load(open(p))) for p in glob.glob(f"{OUT}/results/*.json")]
    R.sort(key=lambda o: (o["tool"] != "async", ORDER.index(o["driver"]) if o["driver"] in ORDER else -1))
    fl = next((o for o in R if o["driver"] == "floor" and o["tool"] == "async"), None)
    json.dump(R, open(f"{OUT}/results.json", "w"), indent=1)
    L = ["### Stop (async tool; holmes: its own threads)", "",
         "| driver | stop by | n | ghost tool requests: arrived > stop+5 ms mean (max) | > +100 ms mean (max) | issued > stop+5 ms (client clock) mean (max) | LLM req after stop | quiet p50 / p95 ms | settled p50 / p95 ms | still active > 50 ms after it said stopped: trials (max ms) | status stopped / finished / error | empty-answer control | next msg ok | bricked | results kept / completed | prompt lost | pre-stop: LLM reqs |",
         "|" + "---|" * 17]
    row = lambda o: (f"| {o['driver']} | {o['meta']['stop']} | {o['trials']} | {f(o['ghost5_mean'],2)} ({o['ghost5_max']}) | {f(o['ghost100_mean'],2)} ({o['ghost100_max']}) | {f(o['issued_mean'],2)} ({o['issued_max']}) | {o['llm_after_total']} | "
         f"{f(o['quiet_p50_ms'])} / {f(o['quiet_p95_ms'])} | {f(o['settle_p50_ms'])} / {f(o['settle_p95_ms'])} | {o['active_after_ack_trials']} ({f(o['active_after_ack_max_ms'])}) | {o['status']['stopped']} / {o['status']['finished']} / {o['status']['error']} | {','.join(sorted(set(o['control_empty']))) or '-'} | "
         f"{o['next_ok']}/{o['trials']} | {o['bricked']} | {o['kept_tools']}/{o['completed_tools']} | {o['lost_prompt']} | {','.join(str(x['llm']) for x in o['prestop']) or '-'} |")
    L += [row(o) for o in R if o["tool"] == "async"]
    if any(o["tool"] == "sync" for o in R):
        L += ["", "### Stop, same tool written as a plain `def` (blocking httpx + tenacity)", ""] + L[2:4] + [row(o) for o in R if o["tool"] == "sync"]
    L += ["", "### Steer (message while running)", "", "| driver | way | n | answered | 400 | message -> LLM request containing it p50 / p95 ms | results kept / completed | tool requests started after the message (mean) |", "|---|---|---|---|---|---|---|---|"]
    for o in R:
        for k, lab in (("steer_native", o["meta"]["steer"]), ("steer_rerun", "stop + new run")):
            if o["tool"] == "async" and o.get(k):
                s = o[k]; L.append(f"| {o['driver']} | {lab} | {s['n']} | {s['ok']} | {s['n400']} | {f(s['p50_ms'])} / {f(s['p95_ms'])} | {s['kept']}/{s['completed']} | {f(s['tool_requests_after'],1)} |")
    L += ["", "### Overhead", "", "| driver | CPU ms / run (zero-latency script) | minus floor | wall ms min / p50 | real-latency wall s (script 2.95) | RSS after import MB | RSS peak at 100 runs MB | MB / run | s until 5 tool attempts per run at 100 runs | 100 stopped at once: settled ms | requests after that stop | loop lag p99 ms (trials / burst) |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for o in R:
        if o["tool"] != "async" or not (o.get("zero") or o.get("burst")): continue
        z, b = o.get("zero") or {}, o.get("burst") or {}
        d = z.get("cpu_mean", 0) - fl["zero"]["cpu_mean"] if fl and fl.get("zero") and z.get("cpu_mean") else None
        L.append(f"| {o['driver']} | {f(z.get('cpu_mean'))} | {f(d)} | {f(z.get('wall_min'))} / {f(z.get('wall_p50'))} | {f(o['real_wall_s'],2)} | {f(o['rss_imported_mb'])} | {f(b.get('rss_peak_mb'))} | {f(b.get('rss_per_run_mb'),2)} | {f(b.get('ramp_s'),1)} | {f(b.get('settle_all_ms'))} | {b.get('requests_after_stop','-')} | {f(o['lag_p99_ms'])} / {f(b.get('lag_p99_ms'))} |")
    open(f"{OUT}/TABLE.md", "w").write("\n".join(L) + "\n")
    print("\n".join(L))

if __name__ == "__main__":
    main()
