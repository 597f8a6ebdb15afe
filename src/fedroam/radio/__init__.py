"""What a link is worth: radio models, one file each, one line here."""

from collections.abc import Callable

from fedroam.radio.draws import LinkDraws
from fedroam.radio.links import Links, Reach
from fedroam.radio.model import Radio
from fedroam.radio.urban_macro import UrbanMacro

RADIO: dict[str, Callable[..., Radio]] = {
    "urban-macro": UrbanMacro,
}

__all__ = ["RADIO", "LinkDraws", "Links", "Radio", "Reach", "UrbanMacro"]
