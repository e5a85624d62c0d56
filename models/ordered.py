"""`OrderedInputs`: what a seat sees with its suits and cards in the order of what they are worth to it.

A ten is a master once the ace is gone, and a suit that is led asks the same of a seat whatever its slot.  A layer of
bits by name would have to learn that card by card and suit by suit.  Here trump comes first, then the suit that is
led, then the others by the seat's own cards; the cards still out, one's own, on the table or hidden, move to the places
they have among themselves, place 0 the highest; and the policy's logits move back to the cards.  With them goes what a
player counts: the points of each card, which own cards take the trick, how far the contract is.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from belote_env.cards import ALL_TRUMP, HIGHER, NO_TRUMP, POINTS, TAKING
from belote_env.observation import LAYOUT, OFFSETS, SIZE
from belote_env.state import LEVEL_VALUES, N_CARDS

_SIZES = {field.name: field.size for field in LAYOUT}


def _span(first: str, last: str) -> slice:
    """The columns from one field to another."""
    return slice(OFFSETS[first], OFFSETS[last] + _SIZES[last])


#: Rows of 32 that are written by rank: own cards, three on the table, three of hidden ones, and the points of a card
#: in tens, own cards that take the trick, the card that wins it so far.
RANKED = 1 + 3 + 3 + 3
#: Fields of which each slot has some bits, written suit by suit: cards that are gone and their tricks by name, who is
#: known to have none, bids.
_BY_SLOT = ("played_me", "played_next", "played_partner", "played_previous", "trick_1", "trick_2", "trick_4")
#: Thermometers of points: what the takers still want, once for them and once for the others; what the others can spare
#: of the points in play; the points on the table.
_WANTED, _ON_TABLE = torch.arange(-20.0, 100.0, 4.0), torch.arange(2.0, 50.0, 4.0)
#: The same three as numbers, in units of these points.
_UNITS = torch.tensor([50.0, 50.0, 20.0])
_DISTANCES = 3 * len(_WANTED) + len(_ON_TABLE) + len(_UNITS)


def ordered_size(columns: int) -> int:
    """How many inputs `OrderedInputs` makes of so many columns."""
    return columns + (RANKED - 7) * N_CARDS + _DISTANCES


def _member(sets: NDArray[np.int64]) -> Tensor:
    """(32, 32) float32 from the bit sets of 32 cards: 1 at [card, other] where the other is in the card's set."""
    return torch.tensor((sets[:N_CARDS, None] >> np.arange(N_CARDS)) & 1, dtype=torch.float32)


class OrderedInputs(nn.Module):
    """Bits of the columns that a tower for cards reads → numbers for its first layer.

    Args:
        columns: (K,) int64, the columns, rising; every field of cards is among them.

    Raises:
        ValueError: columns that do not rise or lie outside the observation, or lack one that is needed.
    """

    #: The fields of cards, with which an observation begins: own ones, those gone, on the table, hidden ones.
    HAND, GONE = _span("hand", "hand"), _span("played_me", "played_previous")
    TABLE, HIDDEN = _span("table_next", "table_previous"), _span("possible_next", "possible_previous")
    #: What decides the order of the suits, the first most: trump, led, how many own cards, and a bit for each of eight
    #: places, own cards before hidden ones.
    TRUMP, LED, COUNT, OWN = 2.0**21, 2.0**20, 2.0**16, 2.0**8
    #: Points of all cards in a suit contract (rules 1.2), and what is wanted where no bid names a number.
    ALL_POINTS, MORE_THAN_HALF = 152.0, 82.0
    #: A thermometer of trick points has a bit for so many.
    STEP = 8.0

    def __init__(self, columns: NDArray[np.int64]) -> None:
        super().__init__()
        if not (columns[0] >= 0 and columns[-1] < SIZE and (np.diff(columns) > 0).all()):
            raise ValueError(f"the columns of ordered inputs rise within 0..{SIZE - 1}")
        at = {int(column): place for place, column in enumerate(columns)}
        needed = [*range(self.HIDDEN.stop)]
        for name in ("leader", "winner", "taker", "belote", "points_us", "points_them"):
            needed += range(OFFSETS[name], OFFSETS[name] + _SIZES[name])
        if not at.keys() >= set(needed):
            raise ValueError(
                "ordered inputs need all columns of the cards, leader, winner, taker, belote and the points"
            )
        strains = [(strain, at.get(OFFSETS["strain"] + strain)) for strain in (NO_TRUMP, ALL_TRUMP)]
        #: strains that rank otherwise than trump in slot 0, and their columns
        self.strains = [(strain, place) for strain, place in strains if place is not None]
        self.leader, self.winner = at[OFFSETS["leader"]], at[OFFSETS["winner"]]

        def constant(name: str, value: Tensor) -> None:
            self.register_buffer(name, value, persistent=False)

        # where trump is a suit it is slot 0: one table does for all four; other strains add what differs from it
        for strain in (0, *(strain for strain, _ in self.strains)):
            tables = {"above": _member(HIGHER[strain]).T, "takes": _member(TAKING[strain])}
            tables["points"] = torch.tensor(POINTS[strain], dtype=torch.float32)
            for name, table in tables.items():
                constant(f"{name}_{strain}", table - getattr(self, f"{name}_0") if strain else table.contiguous())
        constant("sums", self._sums(at))
        by_slot = self._by_slot(at)
        moved = {*range(self.HAND.stop), *by_slot.flatten().tolist()}
        moved.update(*(range(fields.start, fields.stop) for fields in (self.TABLE, self.HIDDEN)))
        constant("by_slot", by_slot)
        constant("rest", torch.tensor([place for place in range(len(columns)) if place not in moved]))
        constant("earlier", torch.ones(4, 4).tril(-1))
        constant("levels", torch.tensor(LEVEL_VALUES, dtype=torch.float32))
        constant("wanted", _WANTED)
        constant("on_table", _ON_TABLE)
        constant("units", _UNITS)

    def _sums(self, at: dict[int, int]) -> Tensor:
        """(K, …) what is added up of the bits: 32 cards that are out, bids by level, and numbers."""
        whole = torch.zeros(SIZE, N_CARDS + len(LEVEL_VALUES) + 7 + 2 * len(self.strains))
        out, bids, numbers = whole.split([N_CARDS, len(LEVEL_VALUES), 7 + 2 * len(self.strains)], 1)
        for fields in (self.HAND, self.TABLE, self.HIDDEN):
            out[fields] = torch.eye(N_CARDS).repeat((fields.stop - fields.start) // N_CARDS, 1)
        auction = _span("auction", "auction")
        for level in range(len(LEVEL_VALUES)):
            bids[auction.start + 8 * level : auction.start + 8 * level + 8, level] = 1
        for k, name in enumerate(("points_us", "points_them")):
            numbers[_span(name, name), k] = self.STEP
        belote, taker = OFFSETS["belote"], OFFSETS["taker"]
        numbers[[belote, belote + 2], 2] = 20
        numbers[[belote + 1, belote + 3], 3] = 20
        numbers[[taker, taker + 2], 4] = 1
        for k, strain in enumerate((0, *(strain for strain, _ in self.strains))):
            points = getattr(self, f"points_{strain}")
            numbers[self.TABLE, 5 + 2 * k] = points.repeat(3)
            numbers[self.GONE, 6 + 2 * k] = points.repeat(4)
            numbers[self.TABLE, 6 + 2 * k] = -points.repeat(3)
        return whole[list(at)]

    @staticmethod
    def _by_slot(at: dict[int, int]) -> Tensor:
        """(4, m) places among the columns of what each slot has of itself."""
        bits = [[OFFSETS[name] + 8 * slot + rank for slot in range(4)] for name in _BY_SLOT for rank in range(8)]
        bits += [[OFFSETS["voids"] + 4 * who + slot for slot in range(4)] for who in range(3)]
        bits += [[OFFSETS["auction"] + 8 * level + slot for slot in range(4)] for level in range(len(LEVEL_VALUES))]
        return torch.tensor([[at[bit] for bit in row] for row in bits if at.keys() >= set(row)]).T.contiguous()

    def _by_strain(self, name: str, bits: Tensor, of: Tensor | None = None) -> Tensor:
        """A table of the strain in each row, or `of` times it."""
        table: Tensor = getattr(self, f"{name}_0")
        result = table if of is None else of @ table
        for strain, place in self.strains:
            more: Tensor = getattr(self, f"{name}_{strain}")
            result = result + bits[:, place, None] * (more if of is None else of @ more)
        return result

    def forward(self, bits: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and where the cards went.

        Args:
            bits: (n, K) float32, 0 or 1, in the canonical frame.

        Returns:
            inputs, (n, `ordered_size(K)`) float32; places, (n, 32) int64, of each card: 8 · place of its suit + how
            many of the cards still out rank above it in the suit, 32 for a card that is gone.
        """
        sums, bids, numbers = (bits @ self.sums).split([N_CARDS, len(self.levels), 7 + 2 * len(self.strains)], 1)
        out = (sums > 0).float()
        above = self._by_strain("above", bits, out)
        hand, table, hidden = bits[:, self.HAND], bits[:, self.TABLE], bits[:, self.HIDDEN]
        suits = self._order(bits, above, hand, table, hidden)
        places = torch.where(out > 0, above.long() + 8 * suits.repeat_interleave(8, 1), N_CARDS)
        best = (table.view(-1, 3, N_CARDS) * bits[:, self.winner + 1 : self.winner + 4, None]).sum(1)
        takes = torch.where(best.sum(1, keepdim=True) > 0, self._by_strain("takes", bits, best), 1.0) * hand
        cards = torch.cat([hand, table, hidden, self._by_strain("points", bits) * out / 10, takes, best], 1)
        ranked = torch.zeros(len(bits), RANKED, N_CARDS + 1, device=bits.device)
        ranked.scatter_(2, places[:, None].expand(-1, RANKED, -1), cards.view(-1, RANKED, N_CARDS))
        rows = ranked[:, :, :N_CARDS].flatten(1)
        own = bits[:, self.by_slot.flatten()].view(len(bits), 4, -1)
        by_suit = torch.zeros_like(own).scatter_(1, suits[:, :, None].expand_as(own), own).flatten(1)
        return torch.cat([rows, by_suit, bits[:, self.rest], *self._distances(bits, bids, numbers)], 1), places

    def _order(self, bits: Tensor, above: Tensor, hand: Tensor, table: Tensor, hidden: Tensor) -> Tensor:
        """(n, 4) int64, the place of each slot's suit: how many suits come before it."""
        weight = torch.exp2(7 - above)
        unseen = hidden.view(-1, 3, N_CARDS).amax(1)
        led = (table.view(-1, 3, N_CARDS) * bits[:, self.leader + 1 : self.leader + 4, None]).sum(1)
        key = hand * (weight * self.OWN + self.COUNT) + unseen * weight + led * self.LED
        key = key.view(-1, 4, 8).sum(2)
        key[:, 0] += self.TRUMP  # slot 0 is trump's
        for _, place in self.strains:  # where a suit is trump
            key[:, 0] -= self.TRUMP * bits[:, place]
        mine, other = key[:, :, None], key[:, None, :]
        return ((other > mine) | ((other == mine) & (self.earlier > 0))).sum(2)

    def _distances(self, bits: Tensor, bids: Tensor, numbers: Tensor) -> list[Tensor]:
        """How far the takers are from what they bid, (n, …) each.

        The observation has each side's points in steps of 8, and all cards that are gone, hence the sum of both: the
        middle of what that allows is taken.
        """
        us, them, belote_us, belote_them, ours, now, made = numbers[:, :7].unbind(1)
        for k, (_, place) in enumerate(self.strains):
            now, made = now + bits[:, place] * numbers[:, 7 + 2 * k], made + bits[:, place] * numbers[:, 8 + 2 * k]
        us = (torch.maximum(us, made - them - (self.STEP - 1)) + torch.minimum(us + (self.STEP - 1), made - them)) / 2
        bid = ((bids > 0) * self.levels).amax(1)
        bid = torch.where(bid > 0, bid, self.MORE_THAN_HALF)
        want = (bid - torch.where(ours > 0, us + belote_us, made - us + belote_them))[:, None]
        left, now = self.ALL_POINTS - made[:, None], now[:, None]
        wanted = (want >= self.wanted).float()
        theirs = wanted * (1 - ours[:, None])
        spare = (left - want >= self.wanted).float()
        return [
            wanted - theirs,
            theirs,
            spare,
            (now >= self.on_table).float(),
            torch.cat([want, left, now], 1) / self.units,
        ]
