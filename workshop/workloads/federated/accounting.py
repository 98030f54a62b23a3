"""What noise promises: epsilon, from Google's dp-accounting, which is imported when something is reckoned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Of Rényi divergences. dp-accounting's own are finer, take five times as long for each size of a sample, and change
# epsilon by a hundredth where it is small enough to promise anything.
ORDERS = (*range(2, 64), 128, 256, 512, 1024)


@dataclass
class Ledger:
    """How often noise has hidden whom. Rényi differential privacy (Mironov 2017, arXiv:1702.07476) of the Gaussian
    mechanism on samples in which everything is by itself with the same probability; neighbouring data sets differ by
    one thing that is there or isn't.

    `noise` is the noise's standard deviation over how far one thing can move what it is added to. Epsilon is for
    `delta`. Those who are hidden are known by number.
    """

    noise: float
    delta: float
    _spent: dict[int, Any] = field(default_factory=dict)  # Rényi divergence by order
    _of_one: dict[float, Any] = field(default_factory=dict)  # of one time, by the sample's share

    def spend(self, whom: int, share: float, times: int = 1) -> None:
        """Something with noise was told so often, each time of a sample of `share`."""
        self._spent[whom] = self._spent.get(whom, 0.0) + times * self._once(share)

    def epsilon(self, whom: int) -> float:
        """What all that was told until now promises: 0 where there was nothing, infinite where there was no noise."""
        from dp_accounting import rdp

        if whom not in self._spent:
            return 0.0
        return float(rdp.compute_epsilon(ORDERS, self._spent[whom], self.delta)[0])

    def _once(self, share: float) -> Any:
        import dp_accounting
        from dp_accounting import rdp

        if share not in self._of_one:
            event = dp_accounting.GaussianDpEvent(self.noise)
            sampled = event if share >= 1 else dp_accounting.PoissonSampledDpEvent(share, event)
            self._of_one[share] = rdp.RdpAccountant(ORDERS).compose(sampled).rdp
        return self._of_one[share]
