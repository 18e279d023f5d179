"""The expression language: conditions, filters, key conditions, projections and updates.

Text is compiled once into a program, cached by its text and ``#names``; a request's ``:values`` are passed to the
program's ``check`` and then to its ``evaluate``, ``apply`` or ``bounds``.

    lexer → parser → nodes          text to tree, with DynamoDB's syntax errors and limits
    condition_checks, path_checks   the other checks before an item is read
    conditions                      conditions and filters, compiled to closures
    updates, projection             their effect on an item
    update_size                     what an update counts against the size limit of an item
    key_condition                   a condition as a range of keys
    placeholders                    the names and values that come with the expressions
    compile_cache                   programs by their text
    builder                         expressions made by a program instead of parsed: rendered, evaluated, applied

Other packages import from here; ``builder`` is public too.
"""

from tablewright.dynamo.expressions.compile_cache import cached_program
from tablewright.dynamo.expressions.condition_checks import (
    OPERAND_COUNTS,
    ORDERED_TYPES,
    TYPE_NAMES,
    Values,
    compare,
    constant,
    function_problem,
    leaves,
    operands,
    references,
)
from tablewright.dynamo.expressions.conditions import ConditionProgram, compile_condition, condition_from_node
from tablewright.dynamo.expressions.key_condition import Bound, KeyConditionProgram, bind_bounds, compile_key_condition
from tablewright.dynamo.expressions.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    Compare,
    Condition,
    DeleteAction,
    Function,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Placeholder,
    RemoveAction,
    SetAction,
)
from tablewright.dynamo.expressions.parser import InvalidExpression
from tablewright.dynamo.expressions.path_checks import clash, nested_names, top_level_names
from tablewright.dynamo.expressions.placeholders import (
    check_expression_attributes,
    check_parameters,
    check_placeholders,
    hash_order,
    spread_hash,
)
from tablewright.dynamo.expressions.projection import ProjectionProgram, compile_projection
from tablewright.dynamo.expressions.updates import (
    TOO_LARGE_TO_UPDATE,
    UpdateProgram,
    add_values,
    compile_update,
    subtract_elements,
)

__all__ = [
    "OPERAND_COUNTS",
    "ORDERED_TYPES",
    "TOO_LARGE_TO_UPDATE",
    "TYPE_NAMES",
    "Action",
    "AddAction",
    "And",
    "Arithmetic",
    "Between",
    "Bound",
    "Compare",
    "Condition",
    "ConditionProgram",
    "DeleteAction",
    "Function",
    "In",
    "InvalidExpression",
    "KeyConditionProgram",
    "Literal",
    "Not",
    "Operand",
    "Or",
    "Placeholder",
    "ProjectionProgram",
    "RemoveAction",
    "SetAction",
    "UpdateProgram",
    "Values",
    "add_values",
    "bind_bounds",
    "cached_program",
    "check_expression_attributes",
    "check_parameters",
    "check_placeholders",
    "clash",
    "compare",
    "compile_condition",
    "compile_key_condition",
    "compile_projection",
    "compile_update",
    "condition_from_node",
    "constant",
    "function_problem",
    "hash_order",
    "leaves",
    "nested_names",
    "operands",
    "references",
    "spread_hash",
    "subtract_elements",
    "top_level_names",
]
