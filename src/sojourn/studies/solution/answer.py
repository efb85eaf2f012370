"""Solve a model by name, and keep the answer as a record that is written to `solution.json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sojourn import __version__
from sojourn.exact.ratio import solve_ratio
from sojourn.exact.solve import solve
from sojourn.models.problems.named import named_model
from sojourn.rules.records import Options, as_json, write_json
from sojourn.runs.named import refuse_world

FILE = "solution.json"


@dataclass(frozen=True)
class Solved:
    """The largest gain of a model, the bounds it is proven to lie between, and a policy that attains it.

    A model that was estimated has no bounds. If the gain depends on the first state, `gain` is the gain from state 0,
    `gains` has the gain from each state, and `ratio` is the largest ratio of mean reward to mean time over runs from
    state 0.
    """

    name: str
    gain: float
    lower: float | None
    upper: float | None
    policy: tuple[int, ...]
    states: int
    solver: str
    seconds: float
    bias: tuple[float, ...] | None = None
    findings: tuple[str, ...] = ()
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    options: Options = field(default_factory=dict)
    version: str = ""
    gains: tuple[float, ...] | None = None
    ratio: float | None = None

    def __post_init__(self) -> None:
        """Check that all parts are for the same states."""
        per_state = (
            self.policy, self.bias or self.policy, self.state_names or self.policy, self.gains or self.policy
        )  # fmt: skip
        names = len(self.action_names) if self.action_names else max(self.policy, default=0) + 1
        if {len(part) for part in per_state} != {self.states} or not all(
            0 <= one < names for one in self.policy
        ):
            raise ValueError(f"policy, bias, gains and names do not all belong to {self.states} states")

    def state_name(self, state: int) -> str:
        """Return the name of a state, or its number if it has no name."""
        return self.state_names[state] if self.state_names else str(state)

    def action_name(self, state: int) -> str:
        """Return the name of the action that the policy takes in a state."""
        action = self.policy[state]
        return self.action_names[action] if self.action_names else str(action)

    def write(self, folder: Path) -> None:
        """Write the record into a folder, which is made if it does not exist."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, as_json(self))


def solve_named(name: str, options: Options) -> Solved:
    """Solve a problem by name, or the model in a file.

    >>> found = solve_named("long-shot", {})
    >>> found.gain, found.policy, found.action_names
    (5.0, (0,), ('A', 'B'))
    >>> found = solve_named("gemini", {})
    >>> found.gains, found.ratio
    ((10.0, 20.0, 0.0), 4.0)
    """
    refuse_world(name, "solve")
    model = named_model(name, options)
    found = solve(model)
    several = len(set(found.gains.tolist())) > 1
    return Solved(
        name=name,
        gain=float(found.gains[0]),
        lower=None if found.is_estimate else found.lower,
        upper=None if found.is_estimate else found.upper,
        policy=tuple(found.policy.tolist()),
        states=model.num_states,
        solver=found.solver,
        seconds=found.seconds,
        bias=tuple(found.bias.tolist()),
        findings=tuple(found.findings),
        state_names=None if model.state_names is None else tuple(model.state_names),
        action_names=None if model.action_names is None else tuple(model.action_names),
        options=options,
        version=__version__,
        gains=tuple(found.gains.tolist()) if several else None,
        ratio=solve_ratio(model).gain if several else None,
    )
