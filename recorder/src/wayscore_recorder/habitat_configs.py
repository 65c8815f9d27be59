"""Structured configurations of the measures, for Habitat 0.2.3 and later."""

from dataclasses import dataclass
from typing import Any, Dict, Iterable

from habitat.config.default_structured_configs import MeasurementConfig
from hydra.core.config_store import ConfigStore


@dataclass
class NDTWConfig(MeasurementConfig):  # type: ignore[misc]
    """Settings of nDTW: the threshold, and the file of dense ground truth (none: the episode's own path)."""

    type: str = "WayscoreNDTW"
    success_distance: float = 3.0
    gt_path: str = ""
    split: str = ""


@dataclass
class SDTWConfig(MeasurementConfig):  # type: ignore[misc]
    """SDTW has no settings: it multiplies `success` and `ndtw`."""

    type: str = "WayscoreSDTW"


@dataclass
class CLSConfig(NDTWConfig):
    """Settings of CLS."""

    type: str = "WayscoreCLS"


@dataclass
class SEDConfig(NDTWConfig):
    """Settings of SED."""

    type: str = "WayscoreSED"


@dataclass
class RecorderConfig(NDTWConfig):
    """Settings of the recorder: the log, the agent's name, and after how many actions episodes are cut off."""

    type: str = "WayscoreRecorder"
    log: str = "run.jsonl"
    agent: str = ""
    max_episode_steps: int = 0


CONFIGS = {"ndtw": NDTWConfig, "sdtw": SDTWConfig, "cls": CLSConfig, "sed": SEDConfig, "recorder": RecorderConfig}


def measurements(names: Iterable[str] = ("ndtw", "sdtw", "recorder"), **settings: Any) -> Dict[str, Any]:
    """Return configurations to add to `habitat.task.measurements`; each takes those of the settings that it has."""
    unknown = [name for name in settings if not hasattr(RecorderConfig, name)]
    if unknown:
        known = ", ".join(RecorderConfig.__dataclass_fields__)
        raise TypeError(f"the measures have no setting {unknown[0]!r}; they have {known}")
    return {
        name: CONFIGS[name](**{key: value for key, value in settings.items() if hasattr(CONFIGS[name], key)})
        for name in names
    }


for _name, _config in CONFIGS.items():
    ConfigStore.instance().store(
        package=f"habitat.task.measurements.{_name}",
        group="habitat/task/measurements",
        name=f"wayscore_{_name}",
        node=_config,
    )
