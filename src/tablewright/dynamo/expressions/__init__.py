"""The expression language: conditions, filters, key conditions, projections and updates.

Text is compiled once into a program, kept by its text and ``#names``; a request's ``:values`` are given to
the program's ``check`` and then to its ``evaluate``, ``apply`` or ``bounds``.

    lexer → parser → nodes        text to tree, with DynamoDB's syntax errors and limits
    checks, paths                 everything else it refuses before it looks at an item
    compile                       conditions and filters to closures
    update, projection            what they do to an item
    key_condition                 a condition as a range of keys
    placeholders                  the names and values that come with the expressions
"""

from tablewright.dynamo.expressions.conditions import Condition, compile_condition, condition_from_node
from tablewright.dynamo.expressions.key_condition import (
    KeyConditionProgram,
    bind_bounds,
    compile_key_condition,
)
from tablewright.dynamo.expressions.placeholders import (
    check_expression_attributes,
    check_parameters,
    check_placeholders,
)
from tablewright.dynamo.expressions.projection import Projection, compile_projection
from tablewright.dynamo.expressions.updates import Update, compile_update

__all__ = [
    "Condition",
    "KeyConditionProgram",
    "Projection",
    "Update",
    "bind_bounds",
    "check_expression_attributes",
    "check_parameters",
    "check_placeholders",
    "compile_condition",
    "compile_key_condition",
    "compile_projection",
    "compile_update",
    "condition_from_node",
]
