"""A comparison in words: tables for a terminal and the README, and why each agent ends where it does."""

from __future__ import annotations

import textwrap

from sojourn.agents.named import AGENTS
from sojourn.report.words import number as nicely
from sojourn.studies.audit.answer import Limit
from sojourn.studies.audit.words import greedy_for, number
from sojourn.studies.comparison.record import AgentResult, Comparison, EstimatorError, Problem, RunSettings


def table_lines(found: Problem) -> list[str]:
    """Return the table of one problem for a terminal."""
    lines = [
        f"{found.name}: optimal gain {found.gain:.6g}",
        f"{'':26}{'optimal':>18}{'relative gain':>24}{'steps to 99 %':>15}{'learned rate':>14}",
    ]
    for row in found.agents:
        share = f"{100 * row.optimal_share:.0f} % ({100 * row.optimal_low:.0f}-{100 * row.optimal_high:.0f})"
        gain = f"{row.relative_gain:.3f} ({row.relative_low:.3f}-{row.relative_high:.3f})"
        lines.append(f"  {row.name:24}{share:>18}{gain:>24}{_whole(row.steps_99):>15}{number(row.rate):>14}")
    return lines


def leader(found: Problem) -> str:
    """Say who earned most in the end, and whose interval reaches up to the leader's."""
    best = max(found.agents, key=lambda row: row.relative_gain)
    first = [row.name for row in found.agents if row.relative_gain == best.relative_gain]
    told = (
        f"The highest relative gain in the end is {nicely(best.relative_gain)} (95 % interval "
        f"{nicely(best.relative_low)} to {nicely(best.relative_high)}): {', '.join(first)}."
    )
    behind = [row for row in found.agents if row.relative_gain < best.relative_gain]
    near = [row.name for row in behind if row.relative_high >= best.relative_low]
    if not behind:
        return told
    if not near:
        return f"{told} No other agent's interval reaches up to that."
    return f"{told} The intervals of these reach up to that: {', '.join(near)}."


# --- Why ------------------------------------------------------------------------------


def verdict(found: Problem) -> list[str]:
    """Return, in sentences, how Harmonic R-Learning does on a problem beside SMART, and why."""
    harmonic, smart = found.agent("harmonic_r"), found.agent("smart")
    measured = (
        f"Harmonic R-Learning ends with an optimal policy in {100 * harmonic.optimal_share:.0f} % of the runs "
        f"(steps to 99 %: {_whole(harmonic.steps_99)}), SMART in {100 * smart.optimal_share:.0f} % "
        f"({_whole(smart.steps_99)}). Its median learned rate is {number(harmonic.rate)}, SMART's "
        f"{number(smart.rate)}; the gain is {found.gain:.4g}."
    )
    told = [measured, _why(found, found.audit["Harmonic"], harmonic), _held_up(found), _noise(found)]
    return [sentence for sentence in told if sentence]


def _why(found: Problem, limit: Limit, measured: AgentResult) -> str:
    """Say what the harmonic mean comes to under the optimal policy, and what follows from that."""
    if limit.error == 0.0:
        return "Under the optimal policy the harmonic mean comes to the gain itself: here it is a right estimate."
    rate, interval = number(limit.rate), greedy_for(found.audit)
    wrong = f"Under the optimal policy the harmonic mean comes to {rate} instead of {found.gain:.4g}."
    if limit.keeps_optimum:
        return f"{wrong} An optimal policy is greedy for {interval}, and so for this rate too."
    settled = limit.settled_gain
    ends = "and from there goes in circles" if settled is None else f"and settles at a gain of {settled:.4g}"
    return (
        f"{wrong} An optimal policy is greedy only for {interval}, so that who has learned {rate} leaves it for a "
        f"policy with the gain {number(limit.greedy_gain)}, {ends}. Values grow by {number(limit.drift, 3)} with each "
        "step at that rate, and with little exploration the action taken first stays ahead: with the actions "
        f"numbered as given {100 * measured.optimal_given:.0f} % of the runs end with an optimal policy, the other "
        f"way round {100 * measured.optimal_reversed:.0f} %."
    )


def _held_up(found: Problem) -> str:
    """Say where the agent is held up, if it is for any length of time."""
    trap = found.trap
    if trap is None or trap.share < 0.05:
        return ""
    moves = "grow" if trap.drift > 0 else "fall"
    return (
        f"In {100 * trap.share:.0f} % of the looks at its later policies it has one with the gain {trap.gain:.4g}. "
        f"Under that one the harmonic mean comes to {trap.harmonic:.4g} (SMART's rate to {trap.gain:.4g}; an optimal "
        f"policy is greedy for {greedy_for(found.audit)}), and values {moves} by {abs(trap.drift):.3g} with each step."
    )


def _noise(found: Problem) -> str:
    """Say which of two estimates has the smaller error where only it differs."""
    rows = {row.estimator: row for row in found.estimators}
    one, other = rows["Harmonic"], rows["Exponential"]
    if one.error_high < other.error_low:
        said = "The harmonic mean is the better estimate here"
    elif other.error_high < one.error_low:
        said = "The ratio of means is the better estimate here"
    else:
        said = "Neither estimate is clearly better here"
    return (
        f"{said}: with the same step size under the optimal policy, the root mean square error of the harmonic "
        f"rate is {_error(one)}, that of Relaxed-SMART's ratio {_error(other)}."
    )


# --- The README -----------------------------------------------------------------------


def readme(found: Comparison) -> str:
    """Return the README of a comparison's folder."""
    settings, problems = found.settings, found.problems
    runs = 2 * settings.seeds
    parts = "\n".join(_part(problem, runs, settings) for problem in problems)
    sizes, rates, discounts = map(
        _listed_sizes, (settings.step_sizes, settings.rate_step_sizes, settings.discounts)
    )
    return f"""# Comparison of all agents on {_listed([problem.name for problem in problems])}

Made by Sojourn {found.version}.

## What was run

Every agent runs for {settings.steps:,} steps, exploring with probability {settings.exploration:g}, {runs} times: with {settings.seeds} seeds,
and with each on the problem as it is and on the problem with its actions numbered the other way round
(ties go to the lowest number, so that an agent may owe its policy to the numbering). Step sizes are
chosen for each agent and problem on {settings.tuning_seeds} other seeds: {sizes} for values and
{rates} for rates, and for the discounted agent the discount rates {discounts} over the mean
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
`policy_gain` and `relative_gain`; the folder of each problem holds its two sweeps. In `figures/`,
`outcomes` has the final relative gains; that of each problem has the learning curves and the audit.
"""


def _part(found: Problem, runs: int, settings: RunSettings) -> str:
    rows = "\n".join(map(_agent_row, found.agents))
    audited = "\n".join(
        _limit_row(row.name, limit)
        for row in found.agents
        for limit in found.audit.estimators
        if row.agent in AGENTS and limit.estimator == AGENTS[row.agent].estimator
    )
    errors = "\n".join(f"| `{row.estimator}` | {row.mean:.4g} | {_error(row)} |" for row in found.estimators)
    told = "\n\n".join(textwrap.fill(sentence, 98) for sentence in found.findings)
    return f"""## {found.name}

{found.states:,} state{"" if found.states == 1 else "s"}; optimal gain {found.gain:.6g}. {runs} runs of each agent.

| agent | step sizes | optimal | relative gain | steps to 99 % | time to 99 % | learned rate | regret |
|---|---|---:|---:|---:|---:|---:|---:|
{rows}

{told}

Exact limits under the optimal policy; an optimal policy is greedy for {greedy_for(found.audit)}:

| agent | estimator | limit | optimal policy stays greedy | gain of the greedy policy | drift of values |
|---|---|---:|---|---:|---:|
{audited}

Each estimator after {settings.estimator_steps:,} steps of the optimal policy, step size {settings.estimator_step_size:g} where it has one, {settings.estimator_seeds} seeds:

| estimator | mean | root mean square error |
|---|---:|---:|
{errors}
"""


def _agent_row(row: AgentResult) -> str:
    sizes = ", ".join(f"{size:.3g}" for size in row.options.values())
    steps = _range(row.steps_99, row.steps_99_low, row.steps_99_high)
    time = _range(row.time_99, row.time_99_low, row.time_99_high)
    return (
        f"| {row.name} | {sizes} | {100 * row.optimal_share:.0f} % "
        f"({100 * row.optimal_low:.0f} to {100 * row.optimal_high:.0f}) | {row.relative_gain:.3f} "
        f"({row.relative_low:.3f} to {row.relative_high:.3f}) | {steps} | {time} | "
        f"{number(row.rate)} | {number(row.regret)} |"
    )


def _limit_row(name: str, limit: Limit) -> str:
    kept = {True: "yes", False: "no", None: "-"}[limit.keeps_optimum]
    return (
        f"| {name} | `{limit.estimator}` | {number(limit.rate)} | {kept} | "
        f"{number(limit.greedy_gain)} | {number(limit.drift, 3)} |"
    )


def _error(row: EstimatorError) -> str:
    return f"{row.error:.3g} ({row.error_low:.3g} to {row.error_high:.3g})"


def _range(middle: float | None, low: float | None, high: float | None) -> str:
    return "-" if middle is None else f"{_whole(middle)} ({_whole(low)} to {_whole(high)})"


def _whole(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"


def _listed_sizes(sizes: tuple[float, ...]) -> str:
    return ", ".join(f"{size:g}" for size in sizes)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
