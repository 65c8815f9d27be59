"""Records navigation episodes where agents run: exact live nDTW, and a log that wayscore scores.

log = Recorder("run.jsonl", agent="mine")
episode = log.episode("7", "17DRP5sb8fy", reference=path, threshold=3.0)
score = episode.step(position)  # nDTW so far
episode.stop()
"""

from wayscore_recorder.episode import Episode
from wayscore_recorder.logfile import LockedError, finished
from wayscore_recorder.recorder import Recorder
from wayscore_recorder.running import RecorderError, RunningDTW

__version__ = "0.1.0"
__all__ = ["Episode", "LockedError", "Recorder", "RecorderError", "RunningDTW", "finished"]
