"""The tables of the grammar: how tightly operators bind, which keywords are functions, types or joins."""

from __future__ import annotations

MAX_DEPTH = 64

PRECEDENCE = {
    "union": 5,
    "union all": 5,
    "except": 5,
    "except all": 5,
    "intersect": 5,
    "intersect all": 5,
    "or": 10,
    "and": 20,
    "=": 40,
    "<>": 40,
    "is": 40,
    "is not": 40,
    "in": 40,
    "not in": 40,
    "<": 50,
    "<=": 50,
    ">": 50,
    ">=": 50,
    "between": 50,
    "not between": 50,
    "like": 50,
    "not like": 50,
    "+": 60,
    "-": 60,
    "||": 60,
    "*": 70,
    "/": 70,
    "%": 70,
}
NOT_PRECEDENCE = 30
SELECT_PRECEDENCE = 6
AGGREGATES = frozenset({"avg", "count", "max", "min", "sum"})
FUNCTION_KEYWORDS = AGGREGATES | {
    "bag",
    "bit_length",
    "char_length",
    "character_length",
    "exists",
    "list",
    "lower",
    "octet_length",
    "sexp",
    "size",
    "upper",
}
_PLAIN_TYPES = """
any bag blob boolean clob date integer integer4 integer8 list missing null real sexp smallint string struct symbol
timestamp tuple
"""
TYPES = dict.fromkeys(_PLAIN_TYPES.split(), 0) | {
    "character": 1,
    "character varying": 1,
    "decimal": 2,
    "double precision": 0,
    "float": 1,
    "numeric": 2,
    "time": 1,
}
"""The types, and how many parameters each may have at most."""
TYPE_ALIASES = {
    "bigint": "integer8",
    "bool": "boolean",
    "char": "character",
    "dec": "decimal",
    "int": "integer",
    "int2": "smallint",
    "int4": "integer4",
    "int8": "integer8",
    "integer2": "smallint",
    "varchar": "character varying",
}
PARTICLES = frozenset({"as", "asc", "at", "by", "desc", "for"})
"""Keywords that stand between other things only."""
# What no element of a SELECT list may begin with.
STATEMENT_KEYWORDS = frozenset({"delete", "from", "insert into", "remove", "select", "set", "update", "where"})
JOINS = frozenset({"join", "cross join", "inner join", "left join", "right join", "full join", "outer join"})
MAPPINGS = {
    "all old": "ALL OLD",
    "all new": "ALL NEW",
    "modified old": "MODIFIED OLD",
    "modified new": "MODIFIED NEW",
}
SYMBOL_NAMES = {
    "(": "LEFT_PAREN",
    ")": "RIGHT_PAREN",
    "]": "RIGHT_BRACKET",
    "}": "RIGHT_CURLY",
    ">>": "RIGHT_DOUBLE_ANGLE_BRACKET",
    ":": "COLON",
}
