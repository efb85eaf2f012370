"""Solve a model by name, and keep the answer as a record that is written to `solution.json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sojourn import __version__
from sojourn.exact.solve import solve
from sojourn.models.problems.named import named_model
from sojourn.rules.records import Options, as_json, write_json

FILE = "solution.json"


@dataclass(frozen=True)
class Solved:
    """The largest gain of a model, the bounds it is proven to lie between, and a policy that has it.

    A model that was estimated has no bounds.
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

    def __post_init__(self) -> None:
        """Check that all parts are for the same states."""
        per_state = (self.policy, self.bias or self.policy, self.state_names or self.policy)
        names = len(self.action_names) if self.action_names else max(self.policy, default=0) + 1
        if {len(part) for part in per_state} != {self.states} or not all(
            0 <= one < names for one in self.policy
        ):
            raise ValueError(f"policy, bias and names are not those of {self.states} states")

    def state_name(self, state: int) -> str:
        """Return the name of a state, which is its number where it has none."""
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
    """
    model = named_model(name, options)
    found = solve(model)
    return Solved(
        name=name,
        gain=found.gain,
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
    )
