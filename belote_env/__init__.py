"""Belote as a reinforcement-learning environment: one compiled rules engine behind PettingZoo and NumPy doors."""

from typing import TYPE_CHECKING, Any

import gymnasium

from belote_env.game import Game
from belote_env.rules import Rules
from belote_env.rulings import legal_cards, score_deal

__version__ = "0.1.0"
__all__ = ["Game", "Rules", "belote_v0", "legal_cards", "score_deal"]

ENV_ID = "belote/Belote-v0"

# The one side effect of the import, so that `gymnasium.make("belote_env:belote/Belote-v0")` finds it.
if ENV_ID not in gymnasium.registry:
    gymnasium.register(
        ENV_ID,
        entry_point="belote_env.envs.single:BeloteEnv",
        vector_entry_point="belote_env.envs.gym_vector:BeloteVectorEnv",
    )

if TYPE_CHECKING:
    from belote_env.envs import belote_v0


def __getattr__(name: str) -> Any:
    """`belote_v0` on first use: PettingZoo is slow to import, and a `Game` does without it."""
    if name == "belote_v0":
        from belote_env.envs import belote_v0

        return belote_v0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
