"""Random valid rules, with the referee's settings that say the same in its own words."""

import random

import referee as slow

from belote_env.rules import Rules

_TIE_BREAK = {"another_deal": "continue", "last_winner": "winner of the last deal", "drawn": "drawn"}


def _play(rng: random.Random) -> tuple[dict, dict]:
    partner = rng.choice(["free", "no_trump", "overtrump"])
    ours = {
        "overtrump": True if partner == "overtrump" else rng.random() < 0.7,
        "undertrump": rng.choice(["forced", "free"]),
        "partner_winning": partner,
    }
    theirs = {
        "beatable_trump": "overtrump" if ours["overtrump"] else "any trump",
        "unbeatable_trump": "lower trump" if ours["undertrump"] == "forced" else "any card",
        "partner_plain": "no trump" if partner == "no_trump" else "any",
        "partner_trump": {"free": "any", "no_trump": "no trump", "overtrump": "higher if a trump"}[partner],
    }
    return ours, theirs


def _match(rng: random.Random, ours: dict, theirs: dict) -> None:
    ours["target"] = rng.choice([0, 501, 1000, 2000])
    # without a target the match is its one deal: equal scores are drawn
    ours["tie_break"] = rng.choice(list(_TIE_BREAK)) if ours["target"] and ours.get("tie") != "litige" else "drawn"
    ours["rounding"] = rng.choice([1, 10])
    ours["set_side_waits"] = rng.random() < 0.5
    theirs["target"] = ours["target"] or None
    theirs["match_equal"] = _TIE_BREAK[ours["tie_break"]]
    theirs["rounding"] = ours["rounding"] == 10
    theirs["left_out"] = ours["set_side_waits"] and bool(ours["target"])


def turn_up(rng: random.Random) -> tuple[Rules, dict]:
    """Rules of a turn-up game, and the referee's settings."""
    ours, theirs = _play(rng)
    contract = rng.choice(["majority", "threshold"])
    tie = rng.choice(["made", "failed", "litige"]) if contract == "majority" else "failed"
    lost, capot = rng.random() < 0.5, rng.choice(["never", "always"])
    with_belote = contract != "threshold" or rng.random() < 0.5
    ours |= {
        "second_round": rng.choice(["other", "any"]),
        "contract": contract,
        "tie": tie,
        "threshold_belote": with_belote,
        "belote_on_failure": "lost" if lost else "kept",
        "failed_capot": capot,
    }
    theirs |= {
        "second_round": ours["second_round"],
        "made": "majority" if contract == "majority" else "82 or 92" if with_belote else "82 in tricks",
        "equal": tie,
        "failed_bonuses": "all to the defenders" if lost else "own",
        "failed_capot": 252 if capot == "always" else 162,
    }
    _match(rng, ours, theirs)
    return Rules.preset("classic", **ours), slow.override("classic", **theirs)


def auction(rng: random.Random) -> tuple[Rules, dict]:
    """Rules of an auction game in either way of counting, and the referee's settings."""
    ours, theirs = _play(rng)
    family = rng.choice(["coinche", "contree"])
    contract = rng.choice(["bid", "bid_and_majority"])
    factors = rng.choice([(2, 4), (2, 3)])
    strains = {"no_trump": rng.random() < 0.4, "all_trump": rng.random() < 0.4}
    most = rng.choice([160, 170, 180])
    capot = rng.random() < 0.8
    ours |= {
        "contract": contract,
        "tie": "failed",
        "coinche_factor": factors[0],
        "surcoinche_factor": factors[1],
        "bid_maximum": most,
        "capot_bid": capot,
        "reentry": rng.random() < 0.6,
        "surcoinche_by": rng.choice(["next", "side"]),
        "all_trump_belote": rng.choice(["each_suit", "none"]) if strains["all_trump"] else "each_suit",
        **strains,
    }
    theirs |= {
        "made": "bid" if contract == "bid" else "bid and majority",
        "equal": "failed",
        "factors": {1: 1, 2: factors[0], 4: factors[1]},
        "bids": [*range(80, most + 1, 10), *([250] if capot else [])],
        "strains": [
            "S",
            "H",
            "D",
            "C",
            *(["NT"] if strains["no_trump"] else []),
            *(["AT"] if strains["all_trump"] else []),
        ],
        "reentry": ours["reentry"],
        "surcoinche_by": ours["surcoinche_by"],
        "belote_all_trump": "each" if ours["all_trump_belote"] == "each_suit" else "none",
    }
    if family == "coinche":
        multiplied, always = rng.random() < 0.5, rng.random() < 0.5
        ours |= {"belote_in_multiplier": multiplied, "failed_capot": "always" if always else "doubled"}
        theirs |= {"belote_multiplied": multiplied, "failed_capot": 250 if always else 160}
    _match(rng, ours, theirs)
    return Rules.preset(family, **ours), slow.override(family, **theirs)


def random_rules(rng: random.Random) -> tuple[Rules, dict]:
    """Rules of either kind, and the referee's settings."""
    return rng.choice([turn_up, auction])(rng)
