"""A stand-in for the parts of Habitat that measures meet, and a small world to walk in.

`install` puts modules of Habitat's names where `import` finds them: with structured configurations (hydra), as in 0.2.3
and later, or without (yacs), as in the 0.1.7 of VLN-CE.
"""

import sys
import types
from collections import OrderedDict
from math import cos, pi, sin, sqrt

import numpy as np


class Measure:
    """What a measure inherits."""

    def __init__(self, *args, **kwargs):
        self.uuid = self._get_uuid(*args, **kwargs)
        self._metric = None

    def get_metric(self):
        return self._metric


class Registry:
    """Where measures are registered by name."""

    def __init__(self):
        self.measures = {}

    def register_measure(self, to_register=None, *, name=None):
        def wrap(measure):
            assert issubclass(measure, Measure)
            self.measures[name or measure.__name__] = measure
            return measure

        return wrap if to_register is None else wrap(to_register)

    def get_measure(self, name):
        return self.measures.get(name)


class Store:
    """Hydra's store of configurations."""

    stored = {}  # noqa: RUF012 - one for all, as there

    @classmethod
    def instance(cls):
        return cls()

    def store(self, name, node, group, package):
        self.stored[group, name] = (package, node)


def install(monkeypatch, structured):
    """Make Habitat importable, and forget the recorder's modules for an earlier one; return its registry."""
    registry = Registry()
    contents = {
        "habitat": {},
        "habitat.core": {},
        "habitat.core.embodied_task": {"Measure": Measure},
        "habitat.core.registry": {"registry": registry},
        "habitat.config": {},
    }
    if structured:
        from dataclasses import dataclass

        @dataclass
        class MeasurementConfig:
            type: str = ""

        contents["habitat.config.default_structured_configs"] = {"MeasurementConfig": MeasurementConfig}
        contents.update({"hydra": {}, "hydra.core": {}, "hydra.core.config_store": {"ConfigStore": Store}})
        monkeypatch.setattr(Store, "stored", {})
    for name in [name for name in sys.modules if name.split(".")[0] in ("habitat", "hydra")]:
        monkeypatch.delitem(sys.modules, name)
    for name, content in contents.items():
        module = types.ModuleType(name)
        module.__path__ = []
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
    forget(monkeypatch)
    return registry


def forget(monkeypatch):
    """Forget the recorder's modules for Habitat."""
    import wayscore_recorder

    for name in ("habitat", "habitat_configs"):
        monkeypatch.delitem(sys.modules, "wayscore_recorder." + name, raising=False)
        monkeypatch.delattr(wayscore_recorder, name, raising=False)


class Thing:
    """Anything with attributes."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Simulator:
    """An agent on a floor that is open everywhere but beyond x = 10; the goal is behind a wall of 2 m."""

    previous_step_collided = False

    def reset(self, start):
        self.position = np.array(start, dtype=np.float32)
        self.turned = 0.0
        self.previous_step_collided = False

    def get_agent_state(self):
        half = self.turned / 2
        return Thing(position=self.position.copy(), rotation=Thing(w=cos(half), x=0.0, y=sin(half), z=0.0))

    def act(self, action):
        if action == "left":
            self.turned += pi / 12
            self.previous_step_collided = False
        elif action != "stop":
            there = self.position + np.array([0.25, 0.0, 0.0], dtype=np.float32)
            self.previous_step_collided = bool(there[0] > 10)
            self.position = self.position if self.previous_step_collided else there

    def geodesic_distance(self, a, b):
        return sqrt(sum((x - y) ** 2 for x, y in zip(a.tolist(), b))) + 2.0


class DistanceToGoal(Measure):
    """As Habitat's own: measured at the start, and after every action."""

    def __init__(self, *args, sim, **kwargs):
        self._sim = sim
        super().__init__(*args, **kwargs)

    def _get_uuid(self, *args, **kwargs):
        return "distance_to_goal"

    def reset_metric(self, *args, episode, **kwargs):
        self.update_metric(episode=episode)

    def update_metric(self, *args, episode, **kwargs):
        self._metric = self._sim.geodesic_distance(self._sim.position, episode.goals[0].position)


class Success(Measure):
    """As Habitat's own: stopped within 3 m."""

    def _get_uuid(self, *args, **kwargs):
        return "success"

    def reset_metric(self, *args, task, **kwargs):
        self.update_metric(task=task)

    def update_metric(self, *args, task, **kwargs):
        near = task.measurements.measures["distance_to_goal"].get_metric() < 3.0
        self._metric = float(near and task.is_stop_called)


class Environment:
    """Habitat's Env, as far as measures see it."""

    def __init__(self, registry, configs, max_episode_steps=500):
        self.sim = Simulator()
        kinds = {"DistanceToGoal": DistanceToGoal, "Success": Success}
        measures = OrderedDict()
        self.task = Thing(is_stop_called=False, measurements=Thing(measures=measures))
        for config in configs:
            kind = config["type" if "type" in config else "TYPE"]
            measure = (kinds.get(kind) or registry.get_measure(kind))(
                sim=self.sim, config=config, dataset=None, task=self.task
            )
            assert measure.uuid not in measures
            measures[measure.uuid] = measure
        self.max_episode_steps = max_episode_steps

    def reset(self, episode):
        self.episode, self.steps, self.episode_over = episode, 0, False
        self.task.is_stop_called = False
        self.sim.reset(episode.start_position)
        for measure in self.task.measurements.measures.values():
            measure.reset_metric(episode=episode, task=self.task, observations={})

    def step(self, action):
        assert not self.episode_over
        self.task.is_stop_called = action == "stop"
        self.sim.act(action)
        for measure in self.task.measurements.measures.values():
            measure.update_metric(episode=self.episode, action={"action": action}, task=self.task, observations={})
        self.steps += 1
        self.episode_over = self.task.is_stop_called or self.steps >= self.max_episode_steps

    def get_metrics(self):
        return {name: measure.get_metric() for name, measure in self.task.measurements.measures.items()}


def episode(name, length=4.0, reference=True):
    """Return an episode of the dataset, straight ahead."""
    path = [[x, 0.0, 0.0] for x in (0.0, length / 2, length)]
    return Thing(
        episode_id=name,
        scene_id="data/scene_datasets/mp3d/house/house.glb",
        start_position=path[0],
        goals=[Thing(position=path[-1])],
        reference_path=path if reference else None,
    )
