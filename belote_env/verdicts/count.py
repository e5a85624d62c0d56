"""How a deal was counted, row by row, as a score sheet shows it (rules 1.4, 5, 6).

Law: the rows of the score add up to the deal's scores as the engine counted them.
"""

from dataclasses import dataclass

from belote_env.game import Game
from belote_env.rules import Rules
from belote_env.scoring import CAPOT_EXTRA
from belote_env.state import FAILED, MADE, TIED


@dataclass(frozen=True)
class Row:
    """A line of the sheet: what it is, and the points of (takers, defenders)."""

    text: str
    takers: int
    defenders: int


@dataclass(frozen=True)
class Count:
    """A deal that is over and was taken.

    Attributes:
        points: rows that make up the totals, the totals last.
        result: "made", "failed" or "litige".
        reason: why, in words.
        score: rows that add up to the deal's scores.
        held_back: points that wait for the next deal.
    """

    points: list[Row]
    result: str
    reason: str
    score: list[Row]
    held_back: int


def counted(game: Game) -> Count | None:
    """The count of a deal that is over; None where all passed.

    Raises:
        ValueError: the deal is not over.
    """
    if not game.deal_over:
        raise ValueError(f"the deal is not over; position: {game.to_text()}")
    if game.contract is None:
        return None
    s, rules = game._states[0], game.rules
    mine = game.contract.taker % 2
    points = game.points[mine], game.points[1 - mine]
    belote = int(s["belote_points"][mine]), int(s["belote_points"][1 - mine])
    tricks = int(s["won"][mine])
    last = (_last_trick(tricks), 0) if (int(s["leader"]) - mine) % 2 == 0 else (0, _last_trick(8 - tricks))
    totals = points[0] + belote[0], points[1] + belote[1]
    rows = [Row("cards", points[0] - last[0], points[1] - last[1])]
    rows.append(Row("last trick" if 10 in last else "capot, all eight tricks", *last))
    if any(belote):
        rows.append(Row("belote", *belote))
    rows.append(Row("total", *totals))
    made = int(s["made"])
    bid = game.contract.value or 0
    deal = _Deal(rules, made, totals, belote, points[0], tricks, bid, game.contract.multiplier)
    score = deal.rows()
    before = int(s["pot_before"])
    held_back = before + points[0] if made == TIED else 0
    if before and made != TIED:
        score.append(Row("pot of the litige", *((before, 0) if made == MADE else (0, before))))
    score += _rounding(rules, score)
    result = {MADE: "made", FAILED: "failed", TIED: "litige"}[made]
    return Count(rows, result, deal.reason(), score, held_back)


def _last_trick(tricks: int) -> int:
    return 100 if tricks == 8 else 10


def _rounding(rules: Rules, score: list[Row]) -> list[Row]:
    step = rules.rounding
    sums = sum(row.takers for row in score), sum(row.defenders for row in score)
    if step == 1 or not any(part % step for part in sums):
        return []
    takers, defenders = ((part + step // 2) // step * step - part for part in sums)
    return [Row(f"to the nearest {step}", takers, defenders)]


@dataclass(frozen=True)
class _Deal:
    """What the score of a deal depends on; pairs are (takers, defenders)."""

    rules: Rules
    made: int
    totals: tuple[int, int]
    belote: tuple[int, int]
    points: int
    tricks: int
    bid: int
    multiplier: int

    def rows(self) -> list[Row]:
        """What each side scores, before pot and rounding (the columns of rules 6)."""
        if self.made == TIED:
            return [Row("litige: own belote; own total", self.belote[0], self.totals[1])]
        if self.multiplier > 1:
            return self._doubled()
        if self.rules.made_score == "bid_only":
            winner = (self.bid, 0) if self.made == MADE else (0, self.bid)
            return [Row("the bid", *winner), *self._belote()]
        if self.made == MADE:
            bid = [Row("the bid", self.bid, 0)] if self.bid else []
            return [Row("own total", *self.totals), *bid]
        capot = self.tricks == 0 and self.rules.failed_capot == "always"
        base = self.rules.base_points + CAPOT_EXTRA * capot
        rows = [Row(f"contract failed{', capot' if capot else ''}", 0, base)]
        if self.bid:
            rows.append(Row("the bid", 0, self.bid))
        return [*rows, *self._belote()]

    def _lost(self) -> bool:
        return self.made == FAILED and self.rules.belote_on_failure == "lost"

    def _belote(self) -> list[Row]:
        """Each side's own belote, or all to the defenders."""
        if not any(self.belote):
            return []
        return [Row("belote lost", 0, sum(self.belote))] if self._lost() else [Row("belote", *self.belote)]

    def _doubled(self) -> list[Row]:
        rules = self.rules
        factor = rules.coinche_factor if self.multiplier == 2 else rules.surcoinche_factor
        call = "coinche" if self.multiplier == 2 else "surcoinche"
        made = self.made == MADE
        winner, loser = self.belote if made else self.belote[::-1]
        if rules.belote_doubled == "winner" or self._lost():
            winner, loser = winner + loser, 0
        inside = winner if rules.belote_in_multiplier else 0
        capot = self.tricks == 8 if made else self.tricks == 0 and rules.failed_capot != "never"
        base = rules.base_points + CAPOT_EXTRA * capot
        multiplied = f"{self.bid} bid" + (f" + {inside} belote" if inside else "")
        rows = []
        if rules.made_score == "bid_only":
            amount = (self.bid + inside) * factor
        elif rules.doubled_on == "bid":
            amount = (self.bid + inside) * factor
            rows.append(self._won("deal won, capot" if capot else "deal won", base))
        else:
            multiplied = f"{base} + {multiplied}"
            amount = (base + self.bid + inside) * factor
        many = "+" in multiplied
        rows.append(self._won(f"{call}: {f'({multiplied})' if many else multiplied} x {factor}", amount))
        rest = (winner - inside, loser) if made else (loser, winner - inside)
        return [*rows, *([Row("belote", *rest)] if any(rest) else [])]

    def _won(self, text: str, amount: int) -> Row:
        return Row(text, amount, 0) if self.made == MADE else Row(text, 0, amount)

    def reason(self) -> str:
        """Why the contract was made or failed, or is undecided (rules 6, "made when")."""
        r, (total, other) = self.rules, self.totals
        result = {MADE: "made", FAILED: "failed", TIED: "litige"}[self.made]
        if r.taker_needs_trick and self.tricks == 0:
            return "failed: the takers have no trick"
        if r.contract == "threshold":
            if not r.threshold_belote:
                return f"{result}: the takers have {self.points} of the 82 trick points they need"
            needs, why = (92, ", belote being held") if any(self.belote) else (82, "")
            return f"{result}: the takers' total is {total} of the {needs} they need{why}"
        if self.bid >= 250:
            return f"{result}: the takers have {self.tricks} of the eight tricks they bid"
        if r.contract != "majority":
            if total < self.bid:
                return f"failed: the takers' total of {total} does not reach the bid of {self.bid}"
            if r.contract == "bid":
                return f"made: the takers' total of {total} reaches the bid of {self.bid}"
        reached = f" reaches the bid of {self.bid}," if self.bid else ""
        if total == other:
            return f"{result}: the takers' total of {total}{reached} equals the defenders' {other}"
        than = "is higher than" if total > other else "is not higher than"
        return f"{result}: the takers' total of {total}{reached} {than} the defenders' {other}"
