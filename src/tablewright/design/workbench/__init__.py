"""NoSQL Workbench: exports a design as a data model, and imports a data model as Python.

model(design)                  a data model for Workbench, with sample items
losses(design)                 what the data model cannot express
source(parse(content))         a Python module, which gives the same tables when exported again

workbench_export   model, losses
workbench_file     read, parse: a file of Workbench, validated
sample_values      values of sample items, however they are wrapped
entity_inference   entities, key templates and types, inferred from sample items
python_module      source: the Python module
"""

from tablewright.design.workbench.python_module import source
from tablewright.design.workbench.workbench_export import losses, model
from tablewright.design.workbench.workbench_file import parse, read

__all__ = ["losses", "model", "parse", "read", "source"]
