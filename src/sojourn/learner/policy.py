"""A standalone learned policy: it acts without the environment, and can be written as CSV or JSON.

It contains the states visited in training, with the values and visit counts of their actions, and knows how
observations are numbered. `sojourn.load_policy` reads the JSON file, which is only data, or the file of a saved
learner; CSV is a table for people and other programs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.agents.networks.protocol import ObservingAgent
from sojourn.data.files import write_text
from sojourn.data.numbers import shown
from sojourn.deploy.interface import About, version
from sojourn.deploy.networks import Network, NetworkPolicy
from sojourn.deploy.spaces import Actions, Form, actions_in_words, form_in_words
from sojourn.deploy.tables import TablePolicy
from sojourn.deploy.tabulation import Tabulation, digits
from sojourn.deploy.tiled import TilePolicy
from sojourn.envs.reader import TableReader
from sojourn.learner.facts import OURS, Recipe, recipe_of_agent
from sojourn.learner.table_agent import HiddenActions
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told
from sojourn.runs.recording import Totals

if TYPE_CHECKING:
    from sojourn.learner.driver import Driver


@told
class LearnedPolicy(TablePolicy):
    """A learned policy, for the states visited in training.

    >>> from sojourn.envs.states import tabulate
    >>> from gymnasium.spaces import Discrete
    >>> policy = LearnedPolicy(tabulate(Discrete(3)), 0, np.array([[2.0, 5.0], [1.0, 0.0], [0.0, 0.0]]),
    ...                        np.array([[4.0, 6.0], [3.0, 3.0], [0.0, 0.0]]))
    >>> policy.act(0), policy.act(0, action_mask=[1, 0]), policy.known(2)
    (1, 0, False)
    >>> policy.table().rows()
    [(0, 1, 5.0, 6, 10), (1, 0, 1.0, 3, 6)]
    """

    def __init__(
        self,
        states: Tabulation,
        first_action: int,
        values: Floats,
        visits: Floats,
        about: About | None = None,
    ) -> None:
        """Take arrays of all states by actions; states that were never visited are dropped."""
        numbers = np.flatnonzero(visits.sum(axis=1) > 0.0)
        super().__init__(states, first_action, numbers.tolist(), values[numbers], visits[numbers], about)

    def table(self, model: SMDP | None = None) -> pl.DataFrame:
        """Return a row for each visited state: the observation, the best action and its value, and how often each occurred.

        Each part of an observation has its own column; a bin is given by its edges. If a model of the same
        states is given and has names, these are columns, too.
        """
        numbers, best = np.array(list(self._rows), dtype=np.int64), self._values.argmax(axis=1)
        names: dict[str, list[str]] = {}
        if model is not None and model.num_states == self.states.num_states:
            if model.state_names is not None:
                names["state_name"] = [model.state_names[number] for number in numbers.tolist()]
            if model.action_names is not None:
                names["action_name"] = [model.action_names[action] for action in best.tolist()]
        columns: dict[str, Any] = {}
        for name, labels in reversed(digits(self.states.to_dict(), "observation")):
            columns[name] = [labels[digit] for digit in (numbers % len(labels)).tolist()]
            numbers //= len(labels)
        rows = np.arange(len(best))
        return pl.DataFrame(
            {
                **dict(reversed(columns.items())),
                **names,
                "action": best + self.first_action,
                "value": self._values[rows, best],
                "action_visits": self._visits[rows, best].astype(np.int64),
                "state_visits": self._visits.sum(axis=1).astype(np.int64),
            }
        )

    def write(self, path: str | Path, model: SMDP | None = None) -> None:
        """Write the table as CSV or the whole policy as JSON, depending on the file's extension."""
        path = Path(path)
        if path.suffix == ".csv":
            write_text(path, self.table(model).write_csv())
        elif path.suffix == ".json":
            super().write(path)
        else:
            raise ValueError(
                f"{path} must end with .csv, for a table, or .json, for a policy that can be loaded"
            )


def policy_of(
    states: Tabulation,
    first_action: int,
    table: Floats,
    hidden: HiddenActions,
    visits: Floats,
    about: About | None = None,
) -> LearnedPolicy:
    """Return the policy of an agent. A hidden action keeps its value if it was ever tried."""
    values = table[: states.num_states].copy()
    for state, action in np.argwhere((values == -np.inf) & (visits > 0.0)).tolist():
        values[state, action] = hidden.values(state)[action]
    return LearnedPolicy(states, first_action, values, visits.copy(), about)


def observing_policy(
    agent: ObservingAgent, observations: Form, actions: Actions, about: About | None = None, seed: int = 0
) -> NetworkPolicy | TilePolicy:
    """Return the policy of an agent of observations, or say why a file cannot hold it."""
    if not isinstance(agent, OURS):
        raise TypeError(
            f"{shown(agent)} is an agent of yours, whose policy only it knows; save it with your own framework, or ask "
            "act(obs) for its action"
        )
    acts = agent.actor()
    if isinstance(acts, Network):
        return NetworkPolicy(acts, observations, actions, about, seed)
    assert actions["kind"] == "numbered"
    return TilePolicy(acts, observations, actions, about, seed)


def about(driver: Driver, environment: str | None) -> About:
    """Return the facts of a learner: how its agent was made, what it sees and does, and what it was trained with."""
    reader = driver.reader
    if isinstance(reader, TableReader):
        seen = reader.states.describe()
        done: Actions = {"kind": "numbered", "count": reader.num_actions, "first": reader.first_action}
    else:
        form, done = reader.forms()
        seen = form_in_words(form)
    recipe = recipe_of_agent(driver.agent) if driver.recipe is None else driver.recipe
    return facts_of(recipe, driver.totals, driver.rate, driver.seed, environment, seen, done)


def facts_of(  # one after the other, as they are shown
    recipe: Recipe,
    totals: Totals,
    rate: float,
    seed: int,
    environment: str | None,
    observations: str,
    actions: Actions,
) -> About:
    """Return these facts as a policy file has them."""
    facts: About = {
        "agent": recipe["agent"],
        "options": recipe["options"],
        "environment": environment or "",
        "observations": observations,
        "actions": actions_in_words(actions),
        "steps": totals.steps,
        "duration": totals.duration,
        "reward": totals.reward,
        "rate": rate,
        "seed": seed,
        "sojourn": version(),
    }
    if environment is None:
        del facts["environment"]
    return facts
