"""The paper's channel: distance path loss, Rayleigh block fading, Shannon's formula."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedroam.arrays import Floats
from fedroam.errors import ConfigError, nearest, require
from fedroam.radio.draws import LinkDraws


@dataclass(frozen=True)
class UrbanMacro:
    """
    The paper's channel: path loss over distance, Rayleigh block fading, Shannon's formula.

    ``log2(1 + SNR)``, ``SNR_dB = power - noise - loss_at_1km - loss_per_decade * log10(D / km)``.

    Power and noise are densities, so the SNR does not depend on the bandwidth and the rate is
    linear in it. Fading multiplies the SNR by an exponential number of mean 1, one draw per user,
    station and round. ``shadowing_db`` is the standard deviation of a lasting log-normal gain per
    link (0: none, as in the paper).
    """

    power_dbm_per_mhz: float = 14.0
    noise_dbm_per_mhz: float = -114.0
    loss_at_1km_db: float = 128.1
    loss_per_decade_db: float = 37.6
    min_distance_m: float = 1.0  # closer counts as this; 10 and 35 are common too
    fading: Literal["rayleigh", "none"] = "rayleigh"
    shadowing_db: float = 0.0

    def __post_init__(self) -> None:
        for name in ("power_dbm_per_mhz", "noise_dbm_per_mhz", "loss_at_1km_db"):
            require(abs(getattr(self, name)) < np.inf, name, getattr(self, name), "a finite number")
        require(
            0 <= self.loss_per_decade_db < np.inf,
            "loss_per_decade_db",
            self.loss_per_decade_db,
            ">= 0",
        )
        require(0 < self.min_distance_m < np.inf, "min_distance_m", self.min_distance_m, "> 0")
        require(0 <= self.shadowing_db < np.inf, "shadowing_db", self.shadowing_db, ">= 0")
        if self.fading not in ("rayleigh", "none"):
            raise ConfigError(
                f"fading: no {self.fading!r}; {nearest(self.fading, ('rayleigh', 'none'))}"
            )

    def efficiency(self, distance_m: Floats, draws: LinkDraws) -> Floats:
        """``log2(1 + SNR)`` of each link."""
        snr = self.mean_snr(distance_m)
        if self.shadowing_db:
            gain_db = self.shadowing_db * draws.normal("shadowing", lasting=True)
            snr *= 10 ** (gain_db / 10)
        if self.fading == "rayleigh":
            snr *= draws.exponential("fading")
        np.log1p(snr, out=snr)  # exact for weak links, where 1 + SNR would round
        return np.multiply(snr, 1 / np.log(2), out=snr)

    def mean_snr(self, distance_m: Floats) -> Floats:
        """
        The SNR without fading, as a ratio.

        ``10 ^ ((a - b log10(D / km)) / 10)`` as ``exp(a' - b / 10 ln(D / m))``: one logarithm and
        one exponential a link.
        """
        a_db = self.power_dbm_per_mhz - self.noise_dbm_per_mhz - self.loss_at_1km_db
        log_snr = np.maximum(distance_m, self.min_distance_m)
        np.log(log_snr, out=log_snr)
        log_snr *= -self.loss_per_decade_db / 10
        log_snr += a_db * np.log(10) / 10 + self.loss_per_decade_db / 10 * np.log(1000.0)
        return np.exp(log_snr, out=log_snr)
