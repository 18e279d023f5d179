"""Everything derived from a design: lint, documents, infrastructure, policies, cost. No store is needed.

    load("shop.model")        the designs of a module, by import path or file
    module_at("shop")         a module, with the same error messages
    sample(Order)             an entity made from its declaration
    table_name(table, "dev")  the name of a table in an environment
    place_text("Calls", None) the name of a table, or of an index of it, in a report
    project_files("shop")     the files of a new project
    extra_of("fastapi")       the extra of Tablewright that installs a module

Each subpackage has its public names in its ``__init__``; the modules inside are private to design:

    lint         finds mistakes in a design
    cost         capacity units, monthly bills, hot keys, metered runs, price lists
    diff         changes between two versions of a design, and their migration steps
    document     the design document, with diagrams
    iam          least-privilege policies of roles and consumers
    infra        CloudFormation, Terraform, AWS CLI and boto3
    report       the parts of reports: Markdown, HTML, charts, numbers
    workbench    NoSQL Workbench: export and import

Subpackages are imported where they are needed, not from here: a service that needs the name of a table loads no linter.
"""

from tablewright.design.design_loading import DesignError, NoModuleError, RefusedError, load, module_at
from tablewright.design.extras import extra_of
from tablewright.design.place_names import place_text
from tablewright.design.project_template import ProjectError, project_files
from tablewright.design.sample_entities import sample, samples
from tablewright.design.table_names import logical_names, table_name

__all__ = [
    "DesignError",
    "NoModuleError",
    "ProjectError",
    "RefusedError",
    "extra_of",
    "load",
    "logical_names",
    "module_at",
    "place_text",
    "project_files",
    "sample",
    "samples",
    "table_name",
]
