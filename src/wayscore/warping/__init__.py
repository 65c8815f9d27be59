"""Dynamic time warping of one pair of paths (`alignment`), and one step at a time (`running`)."""

from wayscore.warping.alignment import Alignment, align, dtw, fast_dtw, ndtw, sdtw

__all__ = ["Alignment", "align", "dtw", "fast_dtw", "ndtw", "sdtw"]
