"""OpenSpiel's information-set Monte Carlo tree search on Belote, in the arena as a player.

    pip install -e ".[openspiel]" -c examples/constraints/torch.txt
    python examples/openspiel_ismcts.py

Nothing is trained: the bot searches anew at every decision, in deals drawn from what its seat can know.
Ran with open_spiel 2.0.2.
"""

import sys

import numpy as np
import pyspiel
from measure import measure
from open_spiel.python.algorithms.ismcts import ISMCTSBot
from open_spiel.python.algorithms.mcts import RandomRolloutEvaluator

from belote_env.envs.adapters.openspiel import BotPlayer

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 30
SIMULATIONS = 30

game = pyspiel.load_game("belote(rules=classic)")
rng = np.random.RandomState(1)
bot = ISMCTSBot(game, RandomRolloutEvaluator(1, rng), uct_c=100.0, max_simulations=SIMULATIONS, random_state=rng)
bot.set_resampler(lambda state, player: state.resample_from_infostate(player, rng.uniform))
measure(BotPlayer(bot, f"IS-MCTS {SIMULATIONS}"), "open_spiel", pairs=PAIRS)
