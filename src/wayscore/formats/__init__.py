"""Readers of what the field writes: references and runs, recognised by their content.

references = load_references("R2R_val_unseen.json.gz")
run = load_run("val_unseen_agent.json")
run = load_run("submissions.tar.gz::agents/a.json")
"""

from wayscore.formats.base import Fault, Format
from wayscore.formats.chunks import load_run
from wayscore.formats.sniff import FORMATS, load_references

__all__ = ["FORMATS", "Fault", "Format", "load_references", "load_run"]
