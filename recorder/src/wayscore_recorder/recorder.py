"""Recorder: a run of one agent, written to a log."""

import os
from itertools import takewhile
from typing import Any, Dict, Iterator, List, Optional

from wayscore_recorder.episode import Episode
from wayscore_recorder.logfile import LockedError, LogFile, PathLike, names_of_logs, read_log
from wayscore_recorder.running import Distance, RecorderError


class Recorder:
    """A run of one agent, written to a log: one JSON line for each finished episode.

    A log that exists is continued, so that a run that was interrupted can skip what is `finished`.

    Args:
        path: the log; its folder must exist.
        agent: what to call the agent.
        shared: several processes record one run: the first writes to `path`, the next to `run-1.jsonl` beside it, and
            so on. Without it, a log that another process is writing to is an error.

    Attributes:
        path: the log.
    """

    def __init__(self, path: PathLike, agent: Optional[str] = None, *, shared: bool = False) -> None:
        self.agent = agent
        self._log = _first_free(path) if shared else LogFile(path)
        self.path = self._log.path
        try:
            logs = takewhile(os.path.exists, names_of_logs(path)) if shared else [self.path]
            self._finished = dict.fromkeys(name for log in logs for name in self._episodes_of(log))
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<Recorder {self.path}: {len(self)} episodes>"

    @property
    def finished(self) -> List[str]:
        """The names of the episodes in the log."""
        return list(self._finished)

    def __contains__(self, episode: object) -> bool:
        return str(episode) in self._finished

    def __len__(self) -> int:
        return len(self._finished)

    def episode(
        self,
        episode: object,
        scene: Optional[str] = None,
        *,
        reference: Any = None,
        threshold: float = 3.0,
        distance: Optional[Distance] = None,
        repeats: str = "keep",
    ) -> "Episode":
        """Start an episode; several may be under way at the same time.

        Args:
            episode: its name in the dataset (text or a number).
            scene: its scene.
            reference: the ground-truth path: points, or names of nodes. Without one, there is no nDTW.
            threshold: d_th of nDTW, metres.
            distance: of node names, or instead of straight lines: a function of two, or `distance[a][b]`; the first is
                a node of the reference.
            repeats: "drop" leaves positions out of nDTW that repeat the one before, as agents log them that turn in
                place; "keep" scores each. The log has all of them.
        """
        name = str(episode)
        if name in self._finished:
            raise RecorderError(
                f"{self.path}: episode {name!r} is finished already; skip it (`if {name!r} in log`), or use another log"
            )
        return Episode(name, scene, reference, threshold, distance, repeats, self._finish)

    def close(self) -> None:
        """Close the log; episodes that are under way are lost."""
        self._log.close()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _episodes_of(self, log: str) -> Iterator[str]:
        for record in read_log(log):
            other = record.get("agent")
            if None not in (other, self.agent) and other != self.agent:
                raise RecorderError(
                    f"{log}: holds episodes of the agent {other!r}; give {self.agent!r} a log of its own"
                )
            yield str(record["episode"])

    def _finish(self, name: str, record: Dict[str, Any]) -> None:
        if name in self._finished:
            raise RecorderError(f"{self.path}: episode {name!r} was started twice, and is finished already")
        self._log.append({"episode": name, "agent": self.agent, **record})
        self._finished[name] = None


def _first_free(path: PathLike) -> LogFile:
    """Open the first of the logs of a run that no other process is writing to."""
    for log in names_of_logs(path):
        try:
            return LogFile(log)
        except LockedError:
            continue
    raise AssertionError  # names do not end
