"""A comparison in words: tables, and why each agent ends where it does."""

from __future__ import annotations

import textwrap
from typing import Any

from sojourn.studies.audit.answers import greedy_for
from sojourn.studies.comparison.plan import ESTIMATOR, NAMES

_RIGHT = 1e-6  # of the gain: a limit that is closer is the gain


def readme(summary: dict[str, Any]) -> str:
    """Return the page of a comparison."""
    settings, problems = summary["settings"], summary["problems"]
    runs = 2 * settings["seeds"]
    parts = "\n".join(_part(found, runs, settings) for found in problems)
    sizes = ", ".join(f"{size:g}" for size in settings["step_sizes"])
    rates = ", ".join(f"{size:g}" for size in settings["rate_step_sizes"])
    return f"""# Comparison of all agents on {_listed([found["name"] for found in problems])}

Made by Sojourn {summary["version"]}.

## What was run

Every agent runs for {settings["steps"]:,} steps, exploring with probability {settings["exploration"]:g}, {runs} times: with {settings["seeds"]} seeds,
and with each on the problem as it is and on the problem with its actions numbered the other way round
(ties go to the lowest number, so that an agent may owe its policy to the numbering). Step sizes are
chosen for each agent and problem on {settings["tuning_seeds"]} other seeds: {sizes} for values and
{rates} for rates, and for the discounted agent the discount rates {", ".join(f"{d:g}" for d in settings["discounts"])} over the mean
duration. The best is the one whose final greedy policies have the largest mean gain, and then the least regret.

A policy is judged by its exact gain g. *Relative gain* is 1 - (gain - g) / |gain| with the optimal gain (where
that is 0, with the largest rate of any state and action in place of |gain|).
*Optimal* is the share of runs that end with an optimal policy, with Wilson's 95 % interval. *Steps to 99 %*
is the median over runs of the steps after which the policy has a relative gain of at least 0.99 and
keeps it ("-" where most runs never do); *time* is the same in units of the problem's time. Intervals
of means are bootstrapped, those of medians are order statistics; both are 95 % intervals over runs.

{parts}
## Files

`comparison.json` has all of this for machines, `results.parquet` a row for each run and length, with
`policy_gain` and `relative_gain`; the folder of each problem holds its two sweeps. `figures/`, each as PNG,
SVG and PDF: `outcomes` has the final relative gains; that of each problem has the learning curves and the audit.
"""


def table_lines(found: dict[str, Any]) -> list[str]:
    """Return the table of one problem for a terminal."""
    lines = [
        f"{found['name']}: optimal gain {found['gain']:.6g}",
        f"{'':26}{'optimal':>18}{'relative gain':>24}{'steps to 99 %':>15}{'learned rate':>14}",
    ]
    for row in found["agents"]:
        share = f"{100 * row['optimal_share']:.0f} % ({100 * row['optimal_low']:.0f}-{100 * row['optimal_high']:.0f})"
        gain = f"{row['relative_gain']:.3f} ({row['relative_low']:.3f}-{row['relative_high']:.3f})"
        lines.append(
            f"  {row['name']:24}{share:>18}{gain:>24}{_whole(row['steps_99']):>15}{_number(row['rate']):>14}"
        )
    return lines


def verdict(found: dict[str, Any]) -> list[str]:
    """Return, in sentences, how Harmonic R-Learning does on a problem beside SMART, and why."""
    rows = {row["agent"]: row for row in found["agents"]}
    limits = {limit["estimator"]: limit for limit in found["audit"]["estimators"]}
    harmonic, smart = rows["harmonic_r"], rows["smart"]
    measured = (
        f"Harmonic R-Learning ends with an optimal policy in {100 * harmonic['optimal_share']:.0f} % of the runs "
        f"(steps to 99 %: {_whole(harmonic['steps_99'])}), SMART in {100 * smart['optimal_share']:.0f} % "
        f"({_whole(smart['steps_99'])}). Its median learned rate is {_number(harmonic['rate'])}, SMART's "
        f"{_number(smart['rate'])}; the gain is {found['gain']:.4g}."
    )
    told = [measured, _why(found, limits["Harmonic"], harmonic), _held_up(found), _noise(found)]
    return [sentence for sentence in told if sentence]


def _why(found: dict[str, Any], limit: dict[str, Any], measured: dict[str, Any]) -> str:
    gain, rate = found["gain"], limit["rate"]
    if abs(limit["error"]) <= _RIGHT * max(1.0, abs(gain)):
        return "Under the optimal policy the harmonic mean comes to the gain itself: here it is a right estimate."
    wrong = f"Under the optimal policy the harmonic mean comes to {rate:.4g} instead of {gain:.4g}."
    interval = greedy_for(found["audit"])
    if limit["keeps_optimum"]:
        return f"{wrong} An optimal policy is greedy for {interval}, and so for this rate too."
    settled = limit["settled_gain"]
    ends = "and from there goes in circles" if settled is None else f"and settles at a gain of {settled:.4g}"
    return (
        f"{wrong} An optimal policy is greedy only for {interval}, so that who has learned {rate:.4g} leaves it for a "
        f"policy with the gain {limit['greedy_gain']:.4g}, {ends}. Values grow by {limit['drift']:.3g} with each step "
        "at that rate, and with little exploration the action taken first stays ahead: with the actions "
        f"numbered as given {100 * measured['optimal_given']:.0f} % of the runs end with an optimal policy, the other "
        f"way round {100 * measured['optimal_reversed']:.0f} %."
    )


def _held_up(found: dict[str, Any]) -> str:
    """Say where the agent is held up, if it is for any length of time."""
    trap = found["trap"]
    if trap is None or trap["share"] < 0.05:
        return ""
    moves = "grow" if trap["drift"] > 0 else "fall"
    return (
        f"In {100 * trap['share']:.0f} % of the looks at its later policies it has one with the gain {trap['gain']:.4g}. "
        f"Under that one the harmonic mean comes to {trap['harmonic']:.4g} (SMART's rate to {trap['gain']:.4g}; an optimal "
        f"policy is greedy for {greedy_for(found['audit'])}), and values {moves} by {abs(trap['drift']):.3g} with each step."
    )


def _noise(found: dict[str, Any]) -> str:
    rows = {row["estimator"]: row for row in found["estimators"]}
    one, other = rows["Harmonic"], rows["Exponential"]
    if one["error_high"] < other["error_low"]:
        said = "The harmonic mean is the better estimate here"
    elif other["error_high"] < one["error_low"]:
        said = "The ratio of means is the better estimate here"
    else:
        said = "Neither estimate is clearly better here"
    return (
        f"{said}: with the same step size under the optimal policy, the root mean square error of the harmonic "
        f"rate is {one['error']:.3g} ({one['error_low']:.3g} to {one['error_high']:.3g}), that of Relaxed-SMART's ratio "
        f"{other['error']:.3g} ({other['error_low']:.3g} to {other['error_high']:.3g})."
    )


def _part(found: dict[str, Any], runs: int, settings: dict[str, Any]) -> str:
    rows = "\n".join(
        f"| {row['name']} | {_sizes(row['options'])} | {100 * row['optimal_share']:.0f} % "
        f"({100 * row['optimal_low']:.0f} to {100 * row['optimal_high']:.0f}) | {row['relative_gain']:.3f} "
        f"({row['relative_low']:.3f} to {row['relative_high']:.3f}) | {_range(row, 'steps_99')} | "
        f"{_range(row, 'time_99')} | {_number(row['rate'])} | {_number(row['regret'])} |"
        for row in found["agents"]
    )
    limits = {limit["estimator"]: limit for limit in found["audit"]["estimators"]}
    audited = "\n".join(
        f"| {NAMES[agent]} | `{estimator}` | {limits[estimator]['rate']:.4g} | "
        f"{'yes' if limits[estimator]['keeps_optimum'] else 'no'} | {limits[estimator]['greedy_gain']:.4g} | "
        f"{_drift(limits[estimator]['drift'], found)} |"
        for agent, estimator in ESTIMATOR.items()
    )
    errors = "\n".join(
        f"| `{row['estimator']}` | {row['mean']:.4g} | {row['error']:.3g} ({row['error_low']:.3g} to {row['error_high']:.3g}) |"
        for row in found["estimators"]
    )
    told = "\n\n".join(textwrap.fill(sentence, 98) for sentence in verdict(found))
    return f"""## {found["name"]}

{found["states"]:,} state{"" if found["states"] == 1 else "s"}; optimal gain {found["gain"]:.6g}. {runs} runs of each agent.

| agent | step sizes | optimal | relative gain | steps to 99 % | time to 99 % | learned rate | regret |
|---|---|---:|---:|---:|---:|---:|---:|
{rows}

{told}

Exact limits under the optimal policy; an optimal policy is greedy for {greedy_for(found["audit"])}:

| agent | estimator | limit | optimal policy stays greedy | gain of the greedy policy | drift of values |
|---|---|---:|---|---:|---:|
{audited}

Each estimator after {settings["estimator_steps"]:,} steps of the optimal policy, step size {settings["estimator_step_size"]:g} where it has one, {settings["estimator_seeds"]} seeds:

| estimator | mean | root mean square error |
|---|---:|---:|
{errors}
"""


def _sizes(options: dict[str, float]) -> str:
    return ", ".join(f"{size:.3g}" for size in options.values())


def _drift(drift: float, found: dict[str, Any]) -> str:
    return "0" if abs(drift) <= _RIGHT * max(1.0, abs(found["gain"])) else f"{drift:.3g}"


def _range(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return "-"
    return f"{_whole(row[name])} ({_whole(row[f'{name}_low'])} to {_whole(row[f'{name}_high'])})"


def _whole(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"


def _number(number: float | None) -> str:
    return "-" if number is None else f"{number:.4g}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
