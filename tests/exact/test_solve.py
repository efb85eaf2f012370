from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mdpsolver
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_solve
import sojourn as sj
from sojourn.exact.bounds import bounds
from sojourn.exact.multichain import by_components
from sojourn.exact.operators import Workers, arrays, evaluate_block, improve_block, iterate
from sojourn.models import SMDP, end_components, from_arrays, from_matrices, from_transitions
from sojourn.models.chain import solved

SOLVERS = [
    sj.exact.policy_iteration,
    lambda model: sj.exact.value_iteration(model, 1e-9),
    lambda model: sj.exact.modified_policy_iteration(model, 1e-9),
    sj.exact.linear_program,
    sj.solve,
]
NAMES = ["policy iteration", "value iteration", "modified policy iteration", "linear program", "solve"]

GOSAVI = from_matrices(
    [[[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]]],
    rewards=[[[6, -5], [7, 12]], [[10, 17], [-14, 13]]],
    durations=[[[1, 5], [120, 60]], [[50, 75], [7, 2]]],
)


@st.composite
def fraction_models(draw: st.DrawFn, communicating: bool = False) -> naive_solve.Model:
    """Models of up to four states with whole weights: sparse, so that many have several classes."""
    num_states = draw(st.integers(1, 4))
    model = []
    for state in range(num_states):
        actions = []
        for number in range(draw(st.integers(1, 3))):
            weights = draw(st.lists(st.integers(0, 3), min_size=num_states, max_size=num_states).filter(any))
            if communicating and number == 0:
                weights[(state + 1) % num_states] += 1
            total = sum(weights)
            reward, duration = Fraction(draw(st.integers(-20, 20)), 4), Fraction(draw(st.integers(1, 40)), 4)
            actions.append(([Fraction(w, total) for w in weights], reward, duration))
        model.append(actions)
    return model


def as_model(fractions: naive_solve.Model) -> SMDP:
    return from_transitions(
        (s, a, successor, float(p), float(reward), float(duration))
        for s, actions in enumerate(fractions)
        for a, (law, reward, duration) in enumerate(actions)
        for successor, p in enumerate(law)
        if p > 0
    )


def random_model(rng: Any, num_states: int, num_actions: int, width: int, durations: Any = None) -> SMDP:
    pairs = num_states * num_actions
    weights = rng.random((pairs, width))
    return SMDP(
        pair_offsets=np.arange(num_states + 1) * num_actions,
        row_offsets=np.arange(pairs + 1) * width,
        successor=rng.integers(0, num_states, pairs * width),
        probability=(weights / weights.sum(axis=1, keepdims=True)).ravel(),
        reward=rng.normal(size=pairs),
        duration=np.ones(pairs) if durations is None else durations(pairs),
    )


# --- All solvers, one answer ------------------------------------------------------------


@settings(max_examples=60)
@given(fraction_models(communicating=True))
def test_all_solvers_agree_with_all_policies_tried(fractions: naive_solve.Model) -> None:
    """On communicating models every solver finds the gain of the best of all policies, in fractions, to 1e-8."""
    optimal = naive_solve.optimal_gains(fractions)
    assert len(set(optimal)) == 1
    model = as_model(fractions)
    for solver in SOLVERS:
        found = solver(model)
        assert found.gain == pytest.approx(float(optimal[0]), abs=1e-8)
        assert (
            found.lower - 1e-14 <= float(optimal[0]) <= found.upper + 1e-14
        )  # as_model rounds probabilities
        assert found.residual < 1e-6
        assert sj.evaluate(model, found.policy).gain == pytest.approx(float(optimal[0]), abs=1e-8)


@settings(max_examples=60)
@given(fraction_models())
def test_every_start_has_its_own_gain(fractions: naive_solve.Model) -> None:
    """On models of any kind `solve` finds the best gain of every state, and a policy that has it."""
    optimal = [float(gain) for gain in naive_solve.optimal_gains(fractions)]
    model = as_model(fractions)
    found = sj.solve(model)
    assert found.gains == pytest.approx(optimal, abs=1e-8)
    assert sj.evaluate(model, found.policy).gains == pytest.approx(optimal, abs=1e-8)
    assert found.lower - 1e-12 <= min(optimal) <= max(optimal) <= found.upper + 1e-12


@settings(max_examples=50)
@given(fraction_models())
def test_models_of_several_classes_are_refused(fractions: naive_solve.Model) -> None:
    """A solver for one gain names the classes of a model that may have several, or its answer holds."""
    model = as_model(fractions)
    optimal = [float(gain) for gain in naive_solve.optimal_gains(fractions)]
    several = len(end_components(model)) > 1
    for solver in SOLVERS[:4]:
        gains: Any
        try:
            gains = solver(model).gains
        except sj.exact.NotSolvedError as error:
            gains = str(error)
        assert (
            ("classes of states" in gains)
            if isinstance(gains, str)
            else (gains == pytest.approx(optimal, abs=1e-8))
        )
        assert several or not isinstance(gains, str)


@settings(max_examples=200)
@given(fraction_models(), st.lists(st.floats(-100.0, 100.0), min_size=4, max_size=4))
def test_bounds_hold_for_any_bias(fractions: naive_solve.Model, bias: list[float]) -> None:
    """Whatever h, the optimal gain of every state is between L(h) and U(h)."""
    model = as_model(fractions)
    lower, upper = bounds(model, np.array(bias[: model.num_states]))
    optimal = [float(gain) for gain in naive_solve.optimal_gains(fractions)]
    assert lower - 1e-9 <= min(optimal)
    assert max(optimal) <= upper + 1e-9


@settings(max_examples=50)
@given(fraction_models(), st.data())
def test_evaluating_agrees_with_fractions(fractions: naive_solve.Model, data: st.DataObject) -> None:
    """The gains of any policy, of one class or several, are those of the chain in fractions."""
    policy = [data.draw(st.integers(0, len(actions) - 1)) for actions in fractions]
    expected = naive_solve.gains([actions[a] for actions, a in zip(fractions, policy, strict=True)])
    model = as_model(fractions)
    worth = sj.evaluate(model, policy)
    assert worth.gains == pytest.approx([float(gain) for gain in expected], abs=1e-10)
    pairs = [model.pair(s, a) for s, a in enumerate(policy)]
    matrix = np.zeros((model.num_states, model.num_states))
    for s, pair in enumerate(pairs):
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        np.add.at(matrix[s], model.successor[rows], model.probability[rows])
    left = worth.bias + worth.gains * model.duration[pairs] - model.reward[pairs] - matrix @ worth.bias
    assert np.abs(left).max() < 1e-9
    if len(worth.classes) == 1:
        assert worth.stationary @ matrix == pytest.approx(worth.stationary, abs=1e-12)
        assert worth.mean_reward / worth.mean_duration == pytest.approx(worth.gain, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_solvers_agree_on_larger_models(seed: int) -> None:
    """On random models of 300 states with durations of all sizes the solvers agree to 1e-8."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 300, 4, 5, durations=lambda count: np.exp(rng.normal(size=count)))
    found = [solver(model).gain for solver in SOLVERS]
    assert found == pytest.approx([found[0]] * 5, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_solvers_agree_with_mdpsolver(seed: int) -> None:
    """Where every step takes 1, mdpsolver finds the same gain, by its own values, to 1e-8."""
    rng = np.random.default_rng(seed)
    num_states, num_actions, width = 60, 3, 4
    model = random_model(rng, num_states, num_actions, width)
    shape = (num_states, num_actions, width)
    other = mdpsolver.model()
    other.mdp(
        rewards=model.reward.reshape(num_states, num_actions).tolist(),
        tranMatProbs=model.probability.reshape(shape).tolist(),
        tranMatColumns=model.successor.reshape(shape).tolist(),
    )
    other.solve(algorithm="vi", criterion="average", tolerance=1e-10)
    lower, upper = bounds(model, np.array(other.getValueVector()))
    assert upper - lower < 1e-8
    for solver in SOLVERS:
        assert solver(model).gain == pytest.approx((lower + upper) / 2.0, abs=1e-8)


# --- Known answers ------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS, ids=NAMES)
def test_the_textbook_model(solver: Any) -> None:
    """Gosavi's two states (Simulation-Based Optimization, chapter 7): the gain is 5.64 / 2.68, by actions 1 and 2."""
    # In the long run 0.4 of the steps are in the first state: 0.4 * 2.7 + 0.6 * 7.6 over 0.4 * 2.2 + 0.6 * 3.
    found = solver(GOSAVI)
    assert found.gain == pytest.approx(5.64 / 2.68, abs=1e-8)
    assert found.policy.tolist() == [0, 1]
    others = [sj.evaluate(GOSAVI, policy).gain for policy in itertools.product((0, 1), repeat=2)]
    assert max(others) == pytest.approx(5.64 / 2.68, abs=1e-12)


def test_machine_replacement_by_renewal() -> None:
    """A machine that fails at age 3: by renewal the gain of replacing at age n is that of one cycle."""
    # Age k earns 10 - k per step; replacing costs 4 and takes half a step.
    rows: list[Any] = [(k, 0, k + 1, 1.0, 10.0 - k, 1.0) for k in range(3)] + [(3, 0, 0, 1.0, -20.0, 2.0)]
    rows += [(k, 1, 0, 1.0, -4.0, 0.5) for k in range(1, 4)]
    model = from_transitions(rows)
    cycles = [(sum(10.0 - k for k in range(n)) - 4.0) / (n + 0.5) for n in (1, 2, 3)]
    for solver in SOLVERS:
        assert solver(model).gain == pytest.approx(max(cycles), abs=1e-8)


def test_periodic_chains() -> None:
    """A cycle of period 3 is no trouble for any solver."""
    model = from_arrays([[[0, 1, 0]], [[0, 0, 1]], [[1, 0, 0]]], rewards=[[1.0], [2.0], [6.0]], durations=2.0)
    for solver in SOLVERS:
        assert solver(model).gain == pytest.approx(1.5, abs=1e-8)


def test_policies_of_two_classes_on_the_way() -> None:
    """A model in which the steepest policy stays in either of two states is solved: one can go from one to the other."""
    model = from_arrays(
        [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]], rewards=[[1.0, -9.0], [2.0, -9.0]]
    )
    assert len(sj.evaluate(model, [0, 0]).classes) == 2
    for solver in SOLVERS:
        found = solver(model)
        assert found.gain == pytest.approx(2.0, abs=1e-8)
        assert found.policy.tolist() == [1, 0]


def test_costs_are_negative_rewards() -> None:
    """With the signs of all rewards turned, the best policy is the one of least cost."""
    model = from_arrays([[[1.0], [1.0]]], rewards=[[-3.0, -2.0]], durations=[[1.0, 2.0]])
    assert sj.solve(model).gain == pytest.approx(-1.0)


def test_one_state_with_one_action() -> None:
    """The smallest model has the gain r / d."""
    model = from_arrays([[[1.0]]], rewards=3.0, durations=2.0)
    assert [solver(model).gain for solver in SOLVERS] == pytest.approx([1.5] * 5)


def test_a_long_queue_that_mixes_slowly() -> None:
    """Where sweeps would go on for ever, linear systems are solved: a random walk of 3,000 states."""
    last = 3000
    rows: list[Any] = [(k, 0, min(k + 1, last), 0.5, -float(k), 1.0) for k in range(last + 1)]
    rows += [(k, 0, max(k - 1, 0), 0.5, -float(k), 1.0) for k in range(last + 1)]
    found = sj.solve(from_transitions(rows))
    assert found.solver == "policy iteration"
    assert found.gain == pytest.approx(-last / 2.0, rel=1e-9)  # by symmetry


def test_very_unequal_durations() -> None:
    """Durations from 1e-6 to 1e6 leave the gain known to 3e-8; a bias in floats proves no more, and that is said."""
    rng = np.random.default_rng(0)
    model = random_model(rng, 200, 3, 6, durations=lambda count: 10.0 ** rng.uniform(-6.0, 6.0, count))
    exact = sj.exact.policy_iteration(model)
    found = sj.exact.modified_policy_iteration(model, 3e-8)
    assert found.gain == pytest.approx(exact.gain, abs=3e-8)
    with pytest.raises(sj.exact.NotSolvedError, match="which is not within the tolerance of 1e-10"):
        sj.exact.modified_policy_iteration(model, 1e-10, max_sweeps=5000)


@pytest.mark.parametrize("name", sj.problems.PROBLEMS)
def test_the_linear_program_solves_every_problem(name: str) -> None:
    """On every named problem the linear program has the gain that `solve` proves."""
    model = sj.problems.PROBLEMS[name]()
    best = sj.solve(model)
    assert sj.exact.linear_program(model).gain == pytest.approx(best.gain, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rare", [1e-8, 9e-10, 5e-10, 1e-13])
def test_rare_transitions_in_the_linear_program(rare: float) -> None:
    """A pair with successors that are too rare for HiGHS is not forbidden: the better action here has thirty of them.

    HiGHS takes coefficients up to 1e-9 for 0. With these dropped, more left state 0 than entered any state.
    """
    often = [(0, 0, 0, 0.5, 5.0, 1.0), (0, 0, 1, 0.5 - 30 * rare, 5.0, 1.0)]
    rarely = [(0, 0, state, rare, 5.0, 1.0) for state in range(2, 32)]
    worse = [(0, 1, 0, 0.5, 1.0, 1.0), (0, 1, 1, 0.5, 1.0, 1.0)]
    back = [(state, 0, 0, 1.0, 2.0, 1.0) for state in range(1, 32)]
    model = from_transitions([*often, *rarely, *worse, *back])
    found = sj.exact.linear_program(model)
    assert found.policy[0] == 0
    assert found.gain == pytest.approx(4.0, rel=1e-12)  # two steps of state 0 to one elsewhere


def test_a_gain_that_depends_on_rare_transitions_is_refused() -> None:
    """Where HiGHS cannot see what decides the gain, the linear program says so instead of answering."""
    stay = 1.0 - 1e-10
    model = from_arrays([[[stay, 1e-10]], [[1e-10, stay]]], rewards=[[3.0], [0.0]], durations=[[1.0], [1.0]])
    assert sj.solve(model).gain == pytest.approx(1.5, rel=1e-5)  # 1 - 1e-10 is rounded
    with pytest.raises(
        sj.exact.NotSolvedError, match=r"has the value 3, but its policy has the gain 1\.5.*below 1e-9"
    ):
        sj.exact.linear_program(model)


def test_unequal_numbers_of_actions() -> None:
    """A policy speaks of the numbers that actions have, also where a state lacks some."""
    model = from_transitions([(0, 0, 1, 1.0, 0.0, 1.0), (0, 2, 1, 1.0, 5.0, 1.0), (1, 1, 0, 1.0, 1.0, 1.0)])
    for solver in SOLVERS:
        assert solver(model).policy.tolist() == [2, 1]


# --- Several classes ----------------------------------------------------------------------


def islands() -> SMDP:
    """A start from which one may go to a good island, with a risk of the bad one, or stay."""
    return from_transitions(
        [
            ("start", "stay", "start", 1.0, 4.0, 1.0),
            ("start", "sail", "good", 0.8, 0.0, 1.0),
            ("start", "sail", "bad", 0.2, 0.0, 1.0),
            ("good", "stay", "good", 1.0, 6.0, 1.0),
            ("bad", "stay", "bad", 1.0, 1.0, 1.0),
        ]
    )


def test_several_classes_are_named() -> None:
    """The refusal and the findings name the classes; `solve` has a gain for each start, and no single one."""
    model = islands()
    sentence = (
        r"the model has 3 classes of states that a policy can stay in for ever, \{start\}, \{good\}, \{bad\}, "
        "so its gain may depend on the start; sojourn.solve finds the gain of each state"
    )
    for solver in SOLVERS[:4]:
        with pytest.raises(sj.exact.NotSolvedError, match=sentence):
            solver(model)
    found = sj.solve(model)
    assert found.gains == pytest.approx([5.0, 6.0, 1.0])
    assert found.policy.tolist() == [1, 0, 0]
    assert (found.lower, found.upper) == pytest.approx((1.0, 6.0))
    with pytest.raises(ValueError, match=r"the gain depends on the first state, from 1 .state 2. to 6"):
        _ = found.gain
    assert found.findings[0] == "state 1 (good) is absorbing: no action leaves it"
    assert found.findings[2].startswith("the model has 3 classes")


def test_a_policy_of_several_classes() -> None:
    """Evaluating it gives a gain for each state; a single stationary law is refused."""
    worth = sj.evaluate(islands(), [1, 0, 0])
    assert worth.gains == pytest.approx([5.0, 6.0, 1.0])
    assert [law.tolist() for law in worth.class_laws] == [[1.0], [1.0]]
    with pytest.raises(
        ValueError, match=r"the policy has 2 recurrent classes, \{good\}, \{bad\}, and a law for each"
    ):
        _ = worth.stationary


def test_many_classes_are_not_all_named() -> None:
    """A sentence about a hundred classes stays short."""
    model = from_arrays(np.eye(100)[:, None, :], rewards=np.arange(100.0)[:, None])
    with pytest.raises(sj.exact.NotSolvedError, match=r"has 100 classes .* and 95 more, so") as caught:
        sj.exact.policy_iteration(model)
    assert len(str(caught.value)) < 250
    assert sj.solve(model).gains.tolist() == list(range(100))
    assert sj.solve(model).findings[5] == "95 more states are absorbing"


def test_components_by_any_solver() -> None:
    """The parts of a model may be solved by each of the solvers."""
    for solver in SOLVERS[:4]:
        assert by_components(islands(), solver).gains == pytest.approx([5.0, 6.0, 1.0])


# --- Refusals -----------------------------------------------------------------------------


def test_too_few_sweeps_are_told() -> None:
    """A solver that may not go on says how far it has come."""
    model = random_model(np.random.default_rng(0), 30, 2, 3)
    with pytest.raises(
        sj.exact.NotSolvedError,
        match=r"after 2 sweeps the optimal gain is known to be between .* use policy_it",
    ):
        sj.exact.value_iteration(model, max_sweeps=2)
    with pytest.raises(sj.exact.NotSolvedError, match="sweeps the optimal gain is known to be between"):
        sj.exact.modified_policy_iteration(model, max_sweeps=2)
    with pytest.raises(sj.exact.NotSolvedError, match="after 1 iteration the policy still changes"):
        sj.exact.policy_iteration(model, max_iterations=1)


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ([0, 0, 0], r"policy has the shape \(3,\); it must have an action for each of 2 states"),
        ([0, 2], "state 1 has no action 2; it has 0, 1"),
        ([-1, 0], "state 0 has no action -1; it has 0, 1"),
        ([[0.5, 0.5], [0.5, 0.6]], r"the policy in state 1 is \[0.5, 0.6\]; it must be probabilities"),
        ([[1.5, -0.5], [1.0, 0.0]], "the policy in state 0 is"),
    ],
)
def test_policies_that_are_none(policy: Any, sentence: str) -> None:
    """A policy that does not fit the model is refused with the state."""
    with pytest.raises(ValueError, match=sentence):
        sj.evaluate(GOSAVI, policy)


def test_numbers_that_make_no_sense() -> None:
    """Tolerances are positive, and a bias has a number for each state."""
    for solver in (sj.solve, sj.exact.value_iteration, sj.exact.modified_policy_iteration):
        with pytest.raises(ValueError, match=r"tolerance is 0.0; it must be finite and greater than 0"):
            solver(GOSAVI, 0.0)
    with pytest.raises(ValueError, match="bias has the shape"):
        bounds(GOSAVI, np.zeros(3))


# --- Parts --------------------------------------------------------------------------------


def test_a_policy_by_names() -> None:
    """A dictionary of names says the same as numbers; states with one action may be left out, and a slip gets a sentence."""
    machine = sj.problems.tijms_maintenance()
    named = {"condition 2": "repair", "condition 3": "leave", "condition 4": "repair"}
    assert sj.evaluate(machine, named).gain == sj.evaluate(machine, [0, 1, 0, 1, 1]).gain
    assert sj.audit(machine, named).gain == sj.audit(machine, [0, 1, 0, 1, 1]).gain
    pair = from_transitions([(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 0, 1.0, 2.0, 1.0)])
    assert repr(sj.evaluate(pair, {0: 1})) == "PolicyValue(gain=2.0)"
    for policy, sentence in (
        ({"condition 2": "repair"}, r"no action for state 2 \(condition 3\); it can be leave, repair"),
        (named | {"condition 6": "leave"}, "the policy names 'condition 6', which is not a state"),
        (
            named | {"condition 1": "repair"},
            r"state 0 \(condition 1\) has no action 'repair'; there are leave",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            sj.evaluate(machine, policy)


@pytest.mark.parametrize("given", ["queue.toml", {"a": {}}, None])
def test_what_is_no_model_is_refused_with_a_sentence(given: Any) -> None:
    """A file's name or a dictionary is not yet a model, and the sentence says how to make one of it."""
    for what in (sj.solve, lambda one: sj.evaluate(one, [0]), sj.audit):
        with pytest.raises(TypeError, match="make it an SMDP first, with "):
            what(given)


def test_a_stochastic_policy() -> None:
    """A policy that mixes actions has the gain of the mixed chain."""
    worth = sj.evaluate(GOSAVI, [[0.5, 0.5], [0.0, 1.0]])
    # P = [[.8, .2], [.2, .8]]: half of the steps in each state.
    assert worth.stationary == pytest.approx([0.5, 0.5])
    assert worth.gain == pytest.approx((6.7 + 7.6) / (27.35 + 3.0))


def test_a_pure_policy_given_as_probabilities() -> None:
    """Probabilities of 0 and 1 are the policy of those actions."""
    assert sj.evaluate(GOSAVI, np.eye(2)).gain == pytest.approx(sj.evaluate(GOSAVI, [0, 1]).gain, abs=1e-14)


def test_sweeps_interpreted_and_compiled() -> None:
    """The loops give the same bits compiled as in Python, and from two threads as from one."""
    rng = np.random.default_rng(1)
    model = random_model(rng, 50, 3, 4, durations=lambda count: rng.uniform(0.5, 2.0, count))
    bias = rng.normal(size=50)
    results = []
    for improve, follow, go in (
        (improve_block, evaluate_block, iterate),
        (improve_block.python, evaluate_block.python, iterate.python),
    ):
        pairs, ratio, surplus, new = model.pair_offsets[:-1].copy(), np.empty(50), np.empty(50), np.empty(50)
        improve(arrays(model), 0, 25, bias, 0.3, 0.0, False, pairs, ratio, surplus)
        improve(arrays(model), 25, 50, bias, 0.3, 0.0, True, pairs, ratio, surplus)
        follow(arrays(model), 0, 50, bias, 0.3, 0.9, pairs, surplus, new)
        gone, known = bias.copy(), np.array([-np.inf, np.inf])
        go(arrays(model), 0.4, 1e-9, 5, gone, pairs, ratio, known)
        results.append((pairs.tolist(), new.tolist(), gone.tolist(), known.tolist()))
    assert results[0] == results[1]


def test_threads_share_the_states() -> None:
    """A model large enough for threads has the same gain as by exact solution of its policy."""
    rng = np.random.default_rng(2)
    model = random_model(rng, 9000, 4, 8, durations=lambda count: rng.uniform(0.5, 2.0, count))
    with Workers(model) as workers:
        found = sj.solve(model)
        assert workers.alone or found.solver == "modified policy iteration"
    assert sj.evaluate(model, found.policy).gain == pytest.approx(found.gain, abs=1e-8)
    assert sj.exact.value_iteration(model, 1e-9).gain == pytest.approx(found.gain, abs=1e-8)


def test_linear_systems_of_every_size() -> None:
    """Small and large systems are solved to rounding, also where iterations fail."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    for size in (3, 600):
        system = sparse.eye_array(size) + 0.3 * sparse.eye_array(size, k=1)
        right = rng.normal(size=size)
        assert np.abs(system @ solved(system, right) - right).max() < 1e-12
    walk = sparse.diags_array([0.5, 0.5], offsets=[-1, 1], shape=(2000, 2000))
    system, right = sparse.eye_array(2000) - walk, np.ones(2000)
    answer = solved(system, right)  # the time to leave, k (2001 - k)
    assert answer[:3] == pytest.approx([2000.0, 2.0 * 1999.0, 3.0 * 1998.0], rel=1e-9)


@given(fraction_models(communicating=True))
@settings(max_examples=30)
def test_scaling(fractions: naive_solve.Model) -> None:
    """Rewards times c are gains times c; durations times k are gains over k."""
    model = as_model(fractions)
    gain = sj.solve(model).gain
    assume(abs(gain) > 1e-6)
    other = SMDP(
        model.pair_offsets, model.row_offsets, model.successor, model.probability,
        model.reward * 3.0, model.duration * 7.0, model.action,
    )  # fmt: skip
    assert sj.solve(other).gain == pytest.approx(gain * 3.0 / 7.0, rel=1e-9)


def test_the_mean_cycle_is_the_time_between_visits() -> None:
    """Measured along a long run of Gosavi's chain, and infinite for a state that is left for good."""
    model = sj.problems.gosavi()
    cycle = sj.evaluate(model, [0, 1]).mean_cycle
    rng = np.random.default_rng(0)
    move, taken = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([[1.0, 5.0], [7.0, 2.0]])
    steps, clock, state, visits = 200_000, 0.0, 0, np.zeros(2)
    for u in rng.random(steps):
        visits[state] += 1
        after = int(u >= move[state, 0])
        clock += taken[state, after]
        state = after
    # The share of a state's visits has a standard error of about 0.3 % here.
    assert clock / visits == pytest.approx(cycle, rel=0.02)
    passing = from_arrays([[[0.0, 1.0]], [[0.0, 1.0]]], rewards=1.0, durations=[[2.0], [3.0]])
    assert sj.evaluate(passing, [0, 0]).mean_cycle.tolist() == [np.inf, 3.0]
