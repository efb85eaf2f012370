"""The public names, by the file that defines them."""

from sojourn.rates.adaptive import AdaptiveRatio, ClippedExponential, TimeForgetting
from sojourn.rates.centred import Centred
from sojourn.rates.contrast import Fixed, MeanOfRates, TimeSmoothed
from sojourn.rates.harmonic import CumulativeHarmonic, CumulativeWeightedHarmonic, Harmonic, WeightedHarmonic
from sojourn.rates.means import (
    coupling,
    harmonic_mean,
    modified_harmonic_mean,
    ratio_of_means,
    weighted_harmonic_mean,
)
from sojourn.rates.meter import RateMeter
from sojourn.rates.power import PowerMean
from sojourn.rates.protocol import Steps, carry, limit, update, value
from sojourn.rates.ratio import Cumulative, Exponential, Incremental, SmoothedCumulative
from sojourn.rates.scheduled import Scheduled, Visits
from sojourn.rates.score import RateChoice, RateScore, choose_rate, rate_score

__all__ = [
    "AdaptiveRatio",
    "Centred",
    "ClippedExponential",
    "Cumulative",
    "CumulativeHarmonic",
    "CumulativeWeightedHarmonic",
    "Exponential",
    "Fixed",
    "Harmonic",
    "Incremental",
    "MeanOfRates",
    "PowerMean",
    "RateChoice",
    "RateMeter",
    "RateScore",
    "Scheduled",
    "SmoothedCumulative",
    "Steps",
    "TimeForgetting",
    "TimeSmoothed",
    "Visits",
    "WeightedHarmonic",
    "carry",
    "choose_rate",
    "coupling",
    "harmonic_mean",
    "limit",
    "modified_harmonic_mean",
    "rate_score",
    "ratio_of_means",
    "update",
    "value",
    "weighted_harmonic_mean",
]
