"""Conventions: the choices that change a number, those of the field by name, and the signature that prints them."""

from wayscore.convention.choices import CHOICES, PAPER, Convention
from wayscore.convention.presets import CONVENTIONS, conventions, find_convention, read_signed, signed

__all__ = ["CHOICES", "CONVENTIONS", "PAPER", "Convention", "conventions", "find_convention", "read_signed", "signed"]
