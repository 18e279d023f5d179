"""Statement text to tokens.

The lexemes are those of PartiQL: words are keywords in any case unless they are quoted, so an attribute
with the name of one has to be; two words that belong together (``NOT IN``, ``INSERT INTO``, ``ALL OLD``)
become one token. A token has its place, because DynamoDB's messages name it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tablewright.dynamo import is_big_decimal

NAME = "name"
QUOTED_NAME = "quoted name"
STRING = "string"
NUMBER = "number"
BOOLEAN = "boolean"
ION = "ion"
PARAMETER = "?"
KEYWORD = "keyword"
OPERATOR = "operator"
END = "end"

_TOKEN = re.compile(
    r"""(?P<space>[ \t\v\f\r\n]+|--[^\r\n]*|/\*.*?\*/)
      | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
      | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<string>'[^']*(?:''[^']*)*')
      | (?P<quoted>"[^"]*(?:""[^"]*)*")
      | (?P<ion>`[^`]*`)
      | (?P<operator>!=|<=|<>|>=|\|\||<(?!<)|>(?!>)|/(?!\*)|[%=@+-])
      | (?P<symbol><<|>>|[()\[\]{}:,*;?.])
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)

_WORDS = """
absolute action add all allocate alter and any are as asc assertion at authorization avg bag begin
between bigint bit bit_length blob bool boolean by can_cast can_lossless_cast cascade cascaded case cast
catalog char char_length character character_length check clob close coalesce collate collation column
commit conflict connect connection constraint constraints continue convert corresponding count create
cross current current_date current_time current_timestamp current_user cursor date date_add date_diff
deallocate dec decimal declare default deferrable deferred delete desc describe descriptor diagnostics
disconnect distinct do domain double drop else end escape except exception exec execute exists external
extract false fetch first float for foreign found from full get global go goto grant group having
identity immediate in index indicator initially inner input insensitive insert int int2 int4 int8 integer
integer2 integer4 integer8 intersect interval into is isolation join key language last left let level
like limit list local lower match max min missing modified module names national natural nchar new next
no not nothing null nullif numeric octet_length of offset old on only open option or order outer output
overlaps pad partial pivot position precision prepare preserve primary prior privileges procedure public
read real references relative remove restrict returning revoke right rollback rows schema scroll section
select session session_user set sexp size smallint some space sql sqlcode sqlerror sqlstate string struct
substring sum symbol system_user table temporary then time timestamp to transaction translate translation
trim true tuple union unique unknown unpivot update upper usage user using value values varchar varying
view when whenever where with work write zone
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words that cannot be names without quotes."""
WORD_OPERATORS = frozenset({"and", "or", "not", "is", "in", "between", "like", "union", "except", "intersect"})

_PAIRS = {
    ("not", "in"): OPERATOR,
    ("is", "not"): OPERATOR,
    ("not", "between"): OPERATOR,
    ("not", "like"): OPERATOR,
    ("intersect", "all"): OPERATOR,
    ("except", "all"): OPERATOR,
    ("union", "all"): OPERATOR,
    ("character", "varying"): KEYWORD,
    ("double", "precision"): KEYWORD,
    ("cross", "join"): KEYWORD,
    ("inner", "join"): KEYWORD,
    ("left", "join"): KEYWORD,
    ("right", "join"): KEYWORD,
    ("full", "join"): KEYWORD,
    ("outer", "join"): KEYWORD,
    ("insert", "into"): KEYWORD,
    ("on", "conflict"): KEYWORD,
    ("do", "nothing"): KEYWORD,
    ("modified", "old"): KEYWORD,
    ("modified", "new"): KEYWORD,
    ("all", "old"): KEYWORD,
    ("all", "new"): KEYWORD,
}
_NUMBER = re.compile(r"\d*(?:\.(?P<fraction>\d*))?(?:[eE](?P<exponent>[+-]?\d+))?", re.ASCII)


_ION_TYPES = [
    (re.compile(begin), name)
    for begin, name in (
        (r'\{\{\s*["\']', "CLOB"),
        (r"\{\{", "BLOB"),
        (r"\{", "STRUCT"),
        (r"\[", "LIST"),
        (r"\(", "SEXP"),
        (r'"|\'\'\'', "STRING"),
        (r"(?:true|false)\b", "BOOL"),
        (r"null\b", "NULL"),
        (r"\d{4}(?:T|-)", "TIMESTAMP"),
        (r"[+-]?(?:\d+(?:\.\d*)?[eE]|inf\b|nan\b)", "FLOAT"),
        (r"-?\d+[.dD]", "DECIMAL"),
        (r"-?\d", "INT"),
    )
]


class Unreadable(Exception):
    """A character that begins no token, or a token that does not end."""


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is one of the constants above or the symbol; ``text`` is a keyword in lower case, a name
    or a string without its quotes, a number as written, or the position of a parameter."""

    kind: str
    text: str
    statement: str
    start: int
    length: int

    @property
    def place(self) -> str:
        """Line, column and length, as DynamoDB's messages have them."""
        before = self.statement[: self.start]
        line = 1 + before.count("\n") + before.count("\r") - before.count("\r\n")
        column = self.start - max(before.rfind("\n"), before.rfind("\r"))
        return f"{line}:{column}:{self.length}"


def tokenize(statement: str) -> list[Token]:
    """The tokens, closed by one of kind ``END``; raises Unreadable."""
    tokens: list[Token] = []
    position = 0
    parameters = 0
    while position < len(statement):
        match = _TOKEN.match(statement, position)
        if match is None:
            raise Unreadable
        position = match.end()
        group, text = match.lastgroup, match[0]
        if group == "space":
            continue
        kind = text
        if group == "word":
            kind, text = _word(text)
        elif group == "number":
            kind = NUMBER
            if statement[position : position + 1] in ("e", "E") or not _is_decimal(text):
                raise Unreadable
        elif group == "string":
            kind, text = STRING, text[1:-1].replace("''", "'")
        elif group == "quoted":
            kind, text = QUOTED_NAME, text[1:-1].replace('""', '"')
        elif group == "ion":
            kind, text = ION, _ion_type(text[1:-1].strip())
        elif group == "operator":
            kind, text = OPERATOR, "<>" if text == "!=" else text
        elif text == "?":
            parameters += 1
            text = str(parameters)
        token = Token(kind, text, statement, match.start(), match.end() - match.start())
        _append(tokens, token)
    tokens.append(Token(END, "", statement, position, 0))
    return tokens


def _is_decimal(text: str) -> bool:
    """Whether a number can be read at all."""
    match = _NUMBER.fullmatch(text)
    assert match is not None
    exponent = match["exponent"] or "0"
    return len(exponent.lstrip("+-0")) <= 10 and is_big_decimal(len(match["fraction"] or ""), int(exponent))


def _ion_type(text: str) -> str:
    """The type of a literal in Ion, by how it begins."""
    if not text:
        raise Unreadable
    return next((name for begin, name in _ION_TYPES if begin.match(text)), "SYMBOL")


def _word(text: str) -> tuple[str, str]:
    lower = text.lower()
    if lower in WORD_OPERATORS:
        return OPERATOR, lower
    if lower in ("true", "false"):
        return BOOLEAN, lower
    if lower in KEYWORDS:
        return KEYWORD, lower
    return NAME, text


def _append(tokens: list[Token], token: Token) -> None:
    if tokens and token.kind in (KEYWORD, OPERATOR) and tokens[-1].kind in (KEYWORD, OPERATOR):
        last = tokens[-1]
        kind = _PAIRS.get((last.text, token.text))
        if kind is not None:
            # A pair has the place of its first word.
            tokens[-1] = Token(kind, f"{last.text} {token.text}", last.statement, last.start, last.length)
            return
    tokens.append(token)
