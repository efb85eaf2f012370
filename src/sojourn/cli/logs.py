"""The commands about logs of past decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.app import AsJson, command, echo_json, echo_lines
from sojourn.cli.parsing import fractions_of


@command(
    "sojourn log decisions.csv",
    "sojourn log decisions.parquet --state queue,hour --next-state next_queue,next_hour --out out/decisions",
    "sojourn log fleet.parquet --unit bus --time date --state miles:width=25000 --action done --reward cost --per month",
    "sojourn log decisions.csv --advice policy.json",
    "sojourn log decisions.csv --policy policy.json --json",
)
def log(  # every column of a log is an option
    file: Annotated[
        Path, typer.Argument(help="A CSV or Parquet file with one row for each decision, or a pattern.")
    ],
    state: Annotated[
        str,
        typer.Option(
            help="Column of the state, or several, such as a,b; events: also a:width=10, a:quantiles=8."
        ),
    ] = "state",
    action: Annotated[
        str | None, typer.Option(help="Column of the action, or several.", show_default="action")
    ] = None,
    reward: Annotated[
        str | None, typer.Option(help="Column of the reward; events: or a number.", show_default="reward")
    ] = None,
    duration: Annotated[str, typer.Option(help="Column of the duration.")] = "duration",
    next_state: Annotated[
        str | None,
        typer.Option(help="Column of the next state, or several; by default, the state of the next row."),
    ] = None,
    trajectory: Annotated[
        str | None, typer.Option(help="Column that says which trajectory a row belongs to.")
    ] = None,
    probability: Annotated[
        str | None, typer.Option(help="Column of the probability with which the action was taken.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of the time: each row is an event, and lasts until the unit's next."),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Events: column of the machine, ticket or cab.")] = None,
    earning: Annotated[
        str | None, typer.Option(help="Events: column or number of the reward per unit of time.")
    ] = None,
    amounts: Annotated[
        str | None,
        typer.Option(
            help="Columns of further amounts of a row, such as lost,energy=kwh; answers have their rates."
        ),
    ] = None,
    flows: Annotated[
        str | None, typer.Option(help="Events: columns of further amounts per unit of time.")
    ] = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(
            help='Limit on an amount that the advice keeps, such as "lost 0.05 per calls"; may be repeated.'
        ),
    ] = None,
    at_least: Annotated[list[str] | None, typer.Option(help="The same, for the least.")] = None,
    ends: Annotated[
        str, typer.Option(help="Events: what follows the last row: censored, renew, continue, or a column.")
    ] = "censored",
    until: Annotated[
        str | None,
        typer.Option(
            help="Events: time at which units were last watched, or its column; last rows then last longer than that."
        ),
    ] = None,
    censored: Annotated[
        str | None,
        typer.Option(help="Column that is true where the end of a row was not seen; not for events."),
    ] = None,
    durations: Annotated[
        str, typer.Option(help="Law of durations if rows are censored: kaplan-meier, exponential or weibull.")
    ] = "kaplan-meier",
    per: Annotated[
        str | None, typer.Option(help="Events: unit of time, such as hour or month.", show_default="day")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="JSON file with a policy to evaluate: {state: action}, or an --advice."),
    ] = None,
    advice: Annotated[
        Path | None,
        typer.Option(help="JSON file for the policy that is better, which sojourn.deploy.load_policy reads."),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option(help="Folder for log.json, which `sojourn report` shows.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a log of past decisions earned, and which policy would very probably earn more.

    It assumes that the states are Markov, that the log is stationary, and that
    every action had some chance of being taken. Rows that cannot be used are
    left out and reported.
    """
    from sojourn.answers.log import answered_file, lines
    from sojourn.data.hints import as_json as record
    from sojourn.exact.constraints import limit_of

    given = {"action": action, "reward": reward, "probability": probability, "per": per}
    given |= {
        "next_state": next_state,
        "trajectory": trajectory,
        "time": time,
        "unit": unit,
        "earning": earning,
        "until": until,
        "censored": censored,
        "amounts": amounts,
        "flows": flows,
    }
    columns = {"state": state, "duration": duration, "ends": ends, "durations": durations}
    columns |= {name: column for name, column in given.items() if column is not None}
    limits = [limit_of(each, False) for each in at_most or ()]
    limits += [limit_of(each, True) for each in at_least or ()]
    found = answered_file(file, columns, level, policy, limits, advice)
    if out is not None:
        found.write(out)
    if as_json:
        echo_json(record(found))
    else:
        echo_lines(lines(found))
    if advice is not None and found.kept:
        raise ValueError(f"nothing is clearly better than what was done, so {advice} was not written")


@command(
    "sojourn rates decisions.csv",
    "sojourn rates decisions.parquet --reward pay --duration hours --out out/rates",
    "sojourn rates decisions.csv --estimators Exponential,Harmonic --step-sizes 0.01,0.1 --json",
)
def rates(
    file: Annotated[
        Path, typer.Argument(help="A CSV or Parquet file with one row for each transition, in order.")
    ],
    reward: Annotated[str, typer.Option(help="Column of the reward.")] = "reward",
    duration: Annotated[str, typer.Option(help="Column of the duration.")] = "duration",
    estimators: Annotated[
        str, typer.Option(help="Estimators to compare, separated by commas.")
    ] = "Exponential,Cumulative,AdaptiveRatio",
    step_sizes: Annotated[
        str, typer.Option(help="Step sizes for estimators that have one, separated by commas.")
    ] = "0.0001,0.0003,0.001,0.003,0.01,0.03,0.1,0.3",
    out: Annotated[
        Path | None, typer.Option(help="Folder for rates.json and the figure of the rates over time.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the estimator of the rate, and the step size, that best fit a log whose rate may change.

    Estimators are scored by how well each predicts the next row; the true rate
    need not be known. Rows that cannot be used are left out and reported.
    """
    from sojourn.answers.rates import lines, rated_file, write
    from sojourn.data.hints import as_json as record

    kinds = [word.strip() for word in estimators.split(",") if word.strip()]
    found = rated_file(
        file,
        reward=reward,
        duration=duration,
        kinds=kinds,
        step_sizes=fractions_of("--step-sizes", step_sizes),
    )
    if out is not None:
        write(found, out)
    if as_json:
        echo_json(record(found))
    else:
        echo_lines(lines(found))
