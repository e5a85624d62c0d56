"""`Group`: the processes that train one policy together, under `torchrun`, or this one alone.

Each process plays its share of the tables and takes the gradient over its share of every minibatch; sums over the group
make it the gradient of the whole.  All start from the same weights and apply the same sums, so they stay equal.
"""

import os

import torch
from torch import Tensor
from torch import distributed as dist


class Group:
    """This process's place among `size` processes; without `torchrun`, 0 of 1.

    Args:
        device: "cpu" (the gloo backend) or "cuda" (nccl).

    Raises:
        ValueError: an environment that `torchrun` did not make, or no GPU where one is asked for.
    """

    def __init__(self, device: str = "cpu") -> None:
        try:
            self.rank, self.size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        except ValueError as error:
            raise ValueError("RANK and WORLD_SIZE in the environment are not whole numbers.") from error
        if device == "cuda" and not torch.cuda.is_available():
            raise ValueError("device = 'cuda': torch finds no GPU here.")
        # nccl sums what lies on a GPU alone, and each process has one of its own
        self._device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if device == "cuda" else "cpu")
        if device == "cuda":
            torch.cuda.set_device(self._device)
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if device == "cuda" else "gloo")

    @property
    def leads(self) -> bool:
        """Whether this process writes the run's files."""
        return self.rank == 0

    def sum_(self, tensor: Tensor) -> Tensor:
        """Replace a tensor by its sum over the group."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def sums(self, *numbers: float) -> list[float]:
        """Sums over the group, as float64."""
        return self.sum_(torch.tensor(numbers, dtype=torch.float64, device=self._device)).tolist()

    def least(self, number: int) -> int:
        """The smallest over the group."""
        if self.size == 1:
            return number
        tensor = torch.tensor([number], device=self._device)
        dist.all_reduce(tensor, dist.ReduceOp.MIN)
        return int(tensor)

    def gathered(self, data: dict[str, object]) -> list[dict[str, object]]:
        """Every process's `data`, by rank, at the one that leads; an empty list elsewhere."""
        if self.size == 1:
            return [data]
        everything: list[dict[str, object]] = [{} for _ in range(self.size)] if self.leads else []
        dist.gather_object(data, everything if self.leads else None)
        return everything

    def agreed(self, wish: bool) -> bool:
        """Whether any process wishes it."""
        return (self.size == 1 and wish) or bool(self.sums(float(wish))[0])

    def close(self) -> None:
        """Leave the group."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
