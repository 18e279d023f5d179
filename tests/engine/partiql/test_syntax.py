"""What is and what is not a statement."""

from __future__ import annotations

import pytest

from tablewright.dynamo import ValidationException
from tablewright.engine.partiql.statements import Select
from tablewright.engine.partiql.translate import statement
from tests.engine.partiql.session import Session

NOT_WELL_FORMED = "Statement wasn't well formed, can't be processed: "


def refusal(text: str) -> str:
    with pytest.raises(ValidationException) as caught:
        _refuse(text)
    assert caught.value.code == "ValidationException"
    return caught.value.message or ""


def _refuse(text: str) -> None:
    found = statement(text)
    # What is wrong with a SELECT list waits for its index.
    if isinstance(found, Select) and found.flaw is not None:
        raise ValidationException(found.flaw)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Unexpected term"),
        ("SELECT * FROM music WHERE", "Unexpected term"),
        ("SELECT * FROM music WHERE song =", "Missing right-hand side expression of infix operator"),
        ("SELECT * FROM music WHERE song BETWEEN 1 OR 2", "Expected AND keyword"),
        ("SELECT * FROM music WHERE song IS 5", "Expected type name"),
        ("SELECT * FROM music WHERE (song = 1", "Expected RIGHT_PAREN"),
        ("SELECT * FROM music WHERE song = [1", "Expected RIGHT_BRACKET"),
        ("SELECT * FROM music WHERE song = <<1", "Expected RIGHT_DOUBLE_ANGLE_BRACKET"),
        ("SELECT * FROM music WHERE song IS FOO", "Expected type name"),
        ("SELECT * FROM music WHERE song IS INT(1)", "is type argument integer must have arity of 0..0"),
        ("SELECT * FROM music WHERE song IS DECIMAL(a)", "Type parameter must be an unsigned integer literal"),
        ("SELECT * FROM music WHERE IS NULL", "Unexpected operator"),
        ("SELECT * FROM music WHERE song = LIKE", "Unexpected operator"),
        ("SELECT * FROM music WHERE;", "Unexpected term"),
        ("SELECT * FROM music WHERE ORDER BY song", "Unexpected keyword"),
        ("SELECT * FROM music ORDER BY song WHERE song = 'a'", "Unexpected token after expression"),
        ("SELECT * FROM music ORDER song", "Expected BY"),
        (
            "SELECT set FROM music",
            "Expected identifier or an expression but found unexpected keyword 'set' in a select list.",
        ),
        ("SELECT offset FROM music", "Unexpected keyword"),
        # Keywords that begin something else than a name.
        (
            "SELECT * FROM music WHERE date = '2026-01-01'",
            "Expected date string followed by the keyword DATE, found SYMBOL",
        ),
        ("SELECT * FROM music WHERE song = DATE 'today'", "Expected DATE string to be of the format yyyy-MM-dd"),
        (
            "SELECT * FROM music WHERE time > 5",
            "Expected time string followed by the keyword TIME OR TIME WITH TIME ZONE, found SYMBOL",
        ),
        ("SELECT time FROM music", "Expected WITH keyword"),
        ("SELECT time(a) FROM music", "Expected integer value between 0 and 9 for precision"),
        ("SELECT case FROM music", "Expected data manipulation"),
        ("SELECT CASE song END FROM music", "Expected a WHEN clause in CASE"),
        ("SELECT CASE WHEN song END FROM music", "Expected THEN keyword"),
        ("SELECT cast FROM music", "Missing left parenthesis after cast"),
        ("SELECT CAST(a) FROM music", "Expected AS"),
        ("SELECT NULLIF(a) FROM music", "Expected COMMA"),
        ("SELECT trim FROM music", "Expected LEFT_PAREN"),
        ("SELECT SUBSTRING(a) FROM music", "Expected KEYWORD 'from' OR COMMA"),
        (
            "SELECT EXTRACT(a FROM b) FROM music",
            "Expected one of: [year, month, day, hour, minute, second, timezone_hour, timezone_minute]",
        ),
        ("SELECT desc FROM music", "Unexpected term"),
        ("DROP music", "Unexpected token following DROP"),
        ("SELECT COUNT(DISTINCT *) FROM music", "COUNT(DISTINCT *) is not supported"),
        ("SELECT a FROM music GROUP BY 1", "Literals (including ordinals) not supported in GROUP BY"),
        ("SELECT * FROM music WHERE a = ``", ""),
        # Statements inside of others.
        ("SELECT * FROM music WHERE (DELETE FROM music)", "Keyword delete only expected at the top level in the query"),
        (
            "UPDATE music SET a = (INSERT INTO music VALUE 1)",
            "Keyword insert_into only expected at the top level in the query",
        ),
        ("a + UPDATE music SET b = 1", "Keyword null only expected at the top level in the query"),
        ("SELECT * FROM music WHERE year = 1e2147483648", ""),
        ("SELECT * FROM music WHERE year = 1.5e-2147483647", ""),
        ("SELECT * FROM music WHERE year = 1 # note", ""),
        ("SELECT * FROM music WHERE year = 1 /* note", ""),
        ("DELETE FROM WHERE song = 'a'", "Expected identifier for simple path"),
        ("FROM music SET a = 1 WHERE song = 'a'", "Unexpected token after expression"),
        ("INSERT INTO music m VALUE {'song': 'a'}", "Unexpected token after expression"),
        ("INSERT INTO music VALUE {} ON CONFLICT DO NOTHING", "invalid ON CONFLICT syntax"),
        (
            "UPDATE music SET a = 1 WHERE song = 'a' RETURNING ALL OLD a.b.c",
            "More than two paths in RETURNING columns.",
        ),
        ("SELECT song", "Expected FROM after SELECT list"),
        (
            "SELECT song, * FROM music",
            "Other expressions may not be present in the select list when '*' is used without dot notation.",
        ),
        (
            "SELECT * FROM music; SELECT * FROM music",
            "Unexpected token after semicolon. (Only one query is allowed.)",
        ),
        ("SELECT * FROM music RETURNING ALL OLD *", "Unexpected token after expression"),
        # A misspelt SELECT is a name times a FROM without an operation.
        ("SELECTT * FROM music", "Expected data manipulation"),
        ("SELECTT * FROMM music", "Unexpected token after expression"),
        ("UPDATE my-table SET a = 1", "Expected data manipulation"),
        ("UPDATE music WHERE artist = 'A'", "Expected data manipulation"),
        ("UPDATE music SET a WHERE artist = 'A'", "Expected '='"),
        ("UPDATE music SET user = 1 WHERE artist = 'A'", "Expected identifier for simple path"),
        ("UPDATE music REMOVE a, b WHERE artist = 'A'", "Unexpected token after expression"),
        (
            "UPDATE music SET a = 1 WHERE artist = 'A' RETURNING *",
            "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.",
        ),
        ("DELETE music WHERE artist = 'A'", "Expected FROM after DELETE"),
        ("INSERT INTO music (key, b) VALUES (?, ?)", "Unexpected keyword"),
        ("INSERT INTO music VALUE {'a' 1}", "Expected COLON"),
        ("INSERT INTO music VALUE {'a': 1} IF NOT EXISTS", "Unexpected token after expression"),
        # Keywords are names only in quotes.
        ("SELECT * FROM music WHERE user = 'x'", "Unexpected keyword"),
        ("SELECT a.level FROM music", "Invalid path dot component"),
    ],
)
def test_what_cannot_be_parsed_says_why(text: str, reason: str) -> None:
    assert refusal(text) == NOT_WELL_FORMED + reason


@pytest.mark.parametrize(
    "text",
    [
        'SELECT * FROM "music',
        "SELECT 'x",
        "SELECT /* FROM",
        "SELECT 1e FROM music",
        "SELECT # FROM music",
        "SELECT `1",
    ],
)
def test_what_cannot_even_be_read_gives_no_reason(text: str) -> None:
    assert refusal(text) == NOT_WELL_FORMED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT COUNT(*) FROM music", "Unexpected path component at 1:8:5"),
        ("SELECT song,\n  COUNT(song) FROM music", "Unexpected path component at 2:3:5"),
        ("SELECT song AS s FROM music", "Aliasing is not supported"),
        ("SELECT * FROM music m", "Aliasing is not supported"),
        ("SELECT * FROM 0days", "Aliasing is not supported"),
        ("SELECT * FROM music, plain", "Only select from a single table or index is supported."),
        ('SELECT * FROM "a"."b"."c"', "A path may contain at most 2 components in the FROM clause"),
        ('SELECT * FROM ""', "Path component cannot be an empty string"),
        ('SELECT * FROM "music".""', "Path component cannot be an empty string"),
        ("SELECT song, song FROM music", "Duplicate identifiers in select clause: song"),
        ("SELECT a.b, c.b FROM music", "Duplicate identifiers in select clause: b"),
        ("SELECT * FROM music LIMIT 5", "Unsupported clause: LIMIT at 1:27:1"),
        ("SELECT a[-1] FROM music", "List index is not within the allowable range; index: [-1] at 1:11:1"),
        (
            "SELECT a[4294967296] FROM music",
            "List index is not within the allowable range; index: [4294967296] at 1:10:10",
        ),
        (
            'INSERT INTO "music"."by_year" VALUE {}',
            "FROM clause may only contain a single table name in data manipulation statements at 1:13:7",
        ),
        (
            "DELETE FROM music WHERE artist = 'A' RETURNING MODIFIED OLD *",
            "Invalid returning clause: RETURNING MODIFIED OLD *. "
            "Only RETURNING ALL OLD * is allowed in DELETE statements.",
        ),
        ("SELECT * FROM music WHERE EXISTS(song)", "Unrecognized function: exists at 1:27:6"),
        ("SELECT * FROM music WHERE song = - ?", "Unsupported operator in Condition Expression. Operator: -"),
        (
            "SELECT * FROM music WHERE song LIKE 'a'",
            "Unsupported operator in Condition Expression. Operator: like",
        ),
        (
            "UPDATE music SET s = set_add(t, <<1>>) WHERE artist = 'A'",
            "The first argument to SET_ADD must equal the assignment value at 1:22:7",
        ),
        (
            "UPDATE music SET s = set_delete(s, [1]) WHERE artist = 'A'",
            "The second argument to SET_DELETE must be a value with type SET at 1:33:1",
        ),
    ],
)
def test_what_dynamodb_does_not_run_is_refused_in_its_words(text: str, message: str) -> None:
    assert refusal(text) == message


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("<<>>", "Empty bags are not supported"),
        (
            "<<1, 'a'>>",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
        ),
        (
            "<<'a', 'a'>>",
            "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
        ),
        (
            "<<1, 1.0>>",
            "One or more parameter values were invalid: Input collection [1, 1] contains duplicates! under root",
        ),
        ("[?]", "Unsupported data type: Parameter under key root[0] at 1:39:1"),
        ("{'a': [?]}", "Unsupported data type: Parameter under key root.a[0] at 1:45:1"),
        (
            "[1e200]",
            "Number overflow. Attempting to store a number with magnitude larger than supported range under root[0]",
        ),
        ("[" * 33 + "]" * 33, "Nesting Levels have exceeded supported limits under root" + "[0]" * 32),
    ],
)
def test_a_problem_in_a_literal_is_reported_with_its_place(literal: str, message: str) -> None:
    assert refusal(f"INSERT INTO music VALUE {{'attribute':{literal}}}") == message


def test_keywords_are_read_in_any_case_and_comments_are_skipped(run: Session) -> None:
    run("insert INTO music vAlUe {'artist': 'A', 'song': 'it''s'} -- done")
    found = run.items('Select "song" /* and no more */ from "music" where artist = \'A\';')
    assert found == [{"song": {"S": "it's"}}]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM music WHERE " + "(" * 4000,
        "SELECT * FROM music WHERE " + "NOT " * 2000 + "a = 1",
        "SELECT * FROM music WHERE a = " + "- " * 4000 + "1",
        "SELECT * FROM music WHERE " + "a=" * 4000 + "1",
        "SELECT * FROM music WHERE " + " = ".join(["(a = 1)"] * 800),
        "SELECT * FROM music WHERE " + " AND ".join(["(artist = 'A' OR artist = 'B')"] * 230),
        "SELECT * FROM music WHERE a = " + "[" * 8000,
        "SELECT " + "a." * 4000 + "a FROM music",
        "UPDATE music SET a = " + "+".join(["1"] * 4000) + " WHERE artist = 'A'",
        "EXISTS(" * 1000,
        "SELECT * FROM music WHERE a = " + "9" * 8000,
        "SELECT * FROM music WHERE a = 1e999999999999",
        "'" * 8191,
    ],
)
def test_hostile_statements_are_refused(run: Session, text: str) -> None:
    assert run.invalid(text[:8192])
