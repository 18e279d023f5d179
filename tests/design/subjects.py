"""The designs that the design tools are tried on: the systems, the seeds, and one that has something of everything."""

import pkgutil
from importlib.util import find_spec

from tablewright import systems
from tablewright.design.design_loading import load
from tablewright.model import Design, Table
from tests.design import models
from tests.model import seed_designs as seeds

SYSTEMS = [
    module.name
    for module in pkgutil.iter_modules(systems.__path__, "tablewright.systems.")
    if module.ispkg and find_spec(f"{module.name}.model") is not None
]

DESIGNS: dict[str, Design] = {design.name: design for system in SYSTEMS for design in load(system)}
DESIGNS["everything"] = models.design
DESIGNS["seed: calls"] = Design("calls", tables=[seeds.CALLS])
DESIGNS["seed: tasks"] = Design("tasks", tables=[seeds.TASKS], collections=[seeds.TaskWithAssignments])
DESIGNS["seed: support"] = Design("support", tables=[seeds.TICKETS], collections=[seeds.Case])
DESIGNS["seed: engagement"] = Design("engagement", tables=[seeds.CANDIDATES])

# Where consumers of these designs store their checkpoints, as those of the systems do.
CHECKPOINT_TABLE = Table("tablewright-internal", "PK", "SK")
