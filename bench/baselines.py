"""Let stable-baselines3 learn `offers` with and without RateReward.

    python bench/baselines.py [FOLDER]

writes docs/data/baselines.json, which the page on networks shows, in twenty minutes of processor time. FOLDER is an
environment of Python with stable-baselines3 and Sojourn; it is made if it is not there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import networks
import sojourn as sj

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "data" / "baselines.json"
STEPS, SEEDS = 60_000, 3
ALGORITHMS = ("DQN", "PPO")
REWARDS = {"the reward itself": False, "RateReward": True}


def gain_of(takes: Any, search: float = 0.5) -> float:
    """Return the reward per unit time of a policy for `offers`, which says for many offers at once which it takes.

    Offers are independent of each other, so it is the mean pay over the mean time, here over 2^17 evenly spread offers.
    Who takes everything earns e^(1/4) in 0.5 + e^(1/2):

    >>> round(gain_of(lambda offers: np.ones(len(offers))), 4), round(np.exp(0.25) / (0.5 + np.exp(0.5)), 4)
    (0.5976, 0.5976)
    """
    from scipy.stats import norm, qmc

    offers = norm.ppf(qmc.Sobol(2, seed=0).random_base2(17))
    taken = np.asarray(takes(offers), dtype=np.float64)
    pay, length = np.exp((offers[:, 0] + offers[:, 1]) / 2), np.exp(offers[:, 0])
    return float((taken * pay).mean() / (search + (taken * length).mean()))


def learned(algorithm: str, with_rate: bool, seed: int) -> dict[str, float]:
    """Return what an algorithm of stable-baselines3, with its own settings, makes of `offers`."""
    import gymnasium as gym
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    env: Any = gym.make("sojourn.envs:sojourn/Offers-v0")
    if with_rate:
        env = sj.envs.RateReward(env, rate=sj.Exponential(0.001))
    begun = time.process_time()
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", env, seed=seed, device="cpu").learn(STEPS)
    took = time.process_time() - begun
    gain = gain_of(lambda offers: model.predict(offers.astype(np.float32), deterministic=True)[0])
    return {"gain": gain, "seconds": took}


def environment(folder: Path) -> Path:
    """Return the Python of an environment with stable-baselines3 and Sojourn, made if it is not there."""
    is_new = not folder.exists()
    python = networks.environment(folder)
    if python is None:
        raise SystemExit("stable-baselines3 cannot be installed here, so there is nothing to compare with")
    if is_new:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
    return python


def measure(folder: Path) -> dict[str, Any]:
    """Return what all runs came to, each made in a process of its own."""
    python, rows = environment(folder), []
    for algorithm in ALGORITHMS:
        for reward in REWARDS:
            runs = []
            for seed in range(SEEDS):
                command = [str(python), __file__, "run", algorithm, reward, str(seed)]
                one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
                done = subprocess.run(
                    command, check=True, capture_output=True, text=True, env=os.environ | one_thread
                )
                runs.append(json.loads(done.stdout.splitlines()[-1]))
            rows.append({"algorithm": algorithm, "reward": reward, "runs": runs})
    return {"exact": sj.gain(sj.worlds.continuous.Offers()), "steps": STEPS, "rows": rows}


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        print(json.dumps(learned(sys.argv[2], REWARDS[sys.argv[3]], int(sys.argv[4]))))
    else:
        with tempfile.TemporaryDirectory() as made:
            found = measure(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(made, "baselines"))
        TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
