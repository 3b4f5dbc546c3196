"""Recomputes the figures of a lab report from its history files, and must come to the same ones.

    recompute.py REPORT.json HISTORIES/

Shares nothing with the lab but the two file formats. It also reads, in the plainest way there is, whether more of a unit
was told to be somebody's than there is: wherever it finds that, the report must say INVALID.
"""

import json
import math
import os
import sys


def only(thing):
    """`{"kind": content}` as (kind, content); a bare word as (word, None)."""
    return next(iter(thing.items())) if isinstance(thing, dict) else (thing, None)


def answer(operation):
    """What an operation was answered with: (kind, content), or (None, None) where it was not a yes."""
    outcome, content = only(operation["outcome"])
    return only(content) if outcome == "ok" else (None, None)


def percentile(sorted_us, share):
    if not sorted_us:
        return 0.0
    return sorted_us[max(math.ceil(round(len(sorted_us) * share, 6)), 1) - 1] / 1000


def figures(history):
    operations = history["operations"]
    attempts = [op for op in operations if only(op["call"])[0] == "hold"]
    held = [answer(op)[1] for op in operations if answer(op)[0] == "held"]
    booked = {answer(op)[1]["booking"] for op in operations if answer(op)[0] == "confirmed"}
    outcomes = [only(op["outcome"])[0] for op in attempts]
    took = sorted(op["end"] - op["start"] for op in attempts)
    span = max(op["end"] for op in operations) - min(op["start"] for op in operations)
    won = {hold["hold"] for hold in held if not hold.get("again")}
    return {
        "attempts": len(attempts),
        "won": len(won),
        "refused": outcomes.count("fail"),
        "unknown": outcomes.count("unknown"),
        "goodput_per_s": len(booked) * 1e6 / span if span else 0.0,
        "attempts_per_success": len(attempts) / len(won) if won else None,
        "p50_ms": percentile(took, 0.5),
        "p95_ms": percentile(took, 0.95),
        "p99_ms": percentile(took, 0.99),
        "p999_ms": percentile(took, 0.999),
    }


def oversold(history):
    """Units of which more was booked in the end than there is."""
    booked = {}
    for booking in history["ending"]["bookings"]:
        if not booking["cancelled"]:
            for claim in booking["claims"]:
                booked[claim["unit"]] = booked.get(claim["unit"], 0) + claim["qty"]
    units = history["units"]
    return [units[unit]["name"] for unit, count in booked.items() if count > units[unit]["capacity"]]


def main(report_file, folder):
    with open(report_file) as file:
        report = json.load(file)
    wrong = []
    for run in report["runs"]:
        name = f"{run['strategy']}-{run['scenario']}-{run['buyers']}"
        with open(os.path.join(folder, name + ".json")) as file:
            history = json.load(file)
        for figure, found in figures(history).items():
            said = run[figure]
            same = said == found or None not in (said, found) and abs(said - found) <= 0.0011
            if not same:
                wrong.append(f"{name}: {figure} is {said} in the report and {found} in the history")
        sold = oversold(history)
        if sold and run["verdict"] != "invalid":
            wrong.append(f"{name}: {sold} oversold, and the report says {run['verdict']}")
        if (run["verdict"] == "invalid") != (run["violations"] > 0):
            wrong.append(f"{name}: {run['verdict']} with {run['violations']} violations")
    print("\n".join(wrong) or f"{len(report['runs'])} runs recomputed from their histories: all figures agree")
    return 1 if wrong or not report["runs"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
