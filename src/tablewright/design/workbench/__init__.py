"""NoSQL Workbench's data models: a design as one, and one as a design to start from.

    model(design)                  what Workbench opens, with sample items
    losses(design)                 what of the design it has no place for
    source(parse(content))         a Python module; importing it and exporting it again gives the same tables

exporting   model, losses
reading     parse: a file of Workbench, checked
inference   what entities there are, how their keys are made, what types their attributes have
writing     source: the Python module
"""

from tablewright.design.workbench.python_module import source
from tablewright.design.workbench.workbench_export import losses, model
from tablewright.design.workbench.workbench_file import parse, read

__all__ = ["losses", "model", "parse", "read", "source"]
