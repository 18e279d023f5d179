"""What DynamoDB says of PartiQL that it can parse and does not run, and where in the statement."""

from __future__ import annotations

import pytest

from tests.engine.partiql.session import Session

IN = (
    "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq "
    "with at least one member"
)
NO_BOOLEAN = "WHERE clause must contain an expression that resolves to a boolean"
NO_EXPRESSION = "The arguments to AND/OR must be Expressions"
NO_ITEM = (
    "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement."
)
NO_LITERAL = "The left hand side argument to IS must be a Variable Reference, Literal, or Path"
CLASH = "Two document paths {} with each other; must remove or rewrite one of these paths; path one: "
NO_NAME = "Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'."
NOT_A_PATH = "Statement wasn't well formed, can't be processed: Expected identifier for simple path"
NO_BAG = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
NO_STRING = "Tuple keys must be of type String. Actual type: "


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("id", NO_BOOLEAN),
        ("a.b", NO_BOOLEAN),
        ("true", NO_BOOLEAN),
        ("[1]", NO_BOOLEAN),
        ("size(a)", NO_BOOLEAN),
        ("NOT a", "The argument to NOT must be a Type or Expression"),
        ("NOT size(a)", "Incorrect operand type for operator or function; operator or function: NOT, operand type: N"),
        ("a = 1 AND b", NO_EXPRESSION),
        ("1 OR a = 1", NO_EXPRESSION),
        (
            "a = 1 OR size(a)",
            "Incorrect operand type for operator or function; operator or function: OR, operand type: N",
        ),
        ("a IN []", IN),
        ("a IN b", IN),
        ("a IN ?", IN),
        ("a IN {'b': 1}", IN),
        ("a = MISSING", "MISSING must be compared using IS operator"),
        ("size(a) IS STRING", NO_LITERAL),
        ("[1] IS LIST", NO_LITERAL),
        ("MISSING IS MISSING", NO_LITERAL),
        ("f(a)", "Unrecognized function: f at 1:27:1"),
        ("Set_Add(a, <<1>>) = a", "Unrecognized function: set_add at 1:27:7"),
        ("contains(a, f(g(b)))", "Unrecognized function: g at 1:41:1"),
        ("EXISTS(a)", "Unrecognized function: exists at 1:27:6"),
        ("EXISTS(SELECT * FROM plain)", "Unsupported token in expression: SELECT at 1:34:6"),
        ("COUNT(a) = 1", "Unsupported token in expression: count at 1:27:5"),
        ("list_append(a, b) = c", "The function is not allowed in a condition expression; function: list_append"),
        ("a NOT LIKE 'b'", "Unsupported operator in Condition Expression. Operator: like"),
        ("a[*] = 1", "Wildcard path component like a[*].b are not supported at 1:29:1"),
        ("a.* = 1", "Unpivot path component like a.*.b are not supported at 1:29:1"),
        ("a[-1] = 1", "List index is not within the allowable range; index: [-1] at 1:30:1"),
        ("a[2147483648] = 1", "List index is not within the allowable range; index: [2147483648] at 1:29:10"),
        ("a = -0.0", "Negative zero decimal is not supported under key root at 1:32:3"),
        ("a = `1`", "Ion Literals are not supported: INT under key root at 1:31:3"),
        ("a = [`{{aGVs}}`]", "Ion Literals are not supported: BLOB under key root[0] at 1:32:10"),
        ("a = CAST(b AS INT)", "Unsupported token in expression: cast at 1:31:4"),
        ("CASE WHEN a = 1 THEN b END", "Unsupported token in expression: CASE at 1:27:4"),
        ("trim(a) = 'b'", "Unrecognized function: trim at 1:27:4"),
        ("a = <<>>", "Empty bags are not supported"),
        ("a = <<?>>", NO_BAG),
        ("a = <<'b', true>>", NO_BAG),
        (
            "attribute_type(a, 'X')",
            "Invalid attribute type name found; type: X, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}",
        ),
        ("a = <<'b', 1>>", NO_BAG),
        ("a = {'b': c}", "Unsupported data type: Id under key root.b at 1:37:1"),
        ("a = [1, {'b': f(c)}]", "Unsupported data type: Call under key root[1].b at 1:41:1"),
        ("a = {1: 2}", f"{NO_STRING}INT under root at 1:32:1"),
        ("a = {'b': {1.5: 2}}", f"{NO_STRING}DECIMAL under root.b at 1:38:3"),
        ("a = {b: 1}", f"{NO_STRING}Id under root at 1:32:1"),
        ("a = {'b': 1, 'b': 2}", "Duplicate keys in tuple. Key: b under root at 1:31:1"),
    ],
)
def test_conditions(run: Session, condition: str, message: str) -> None:
    assert run.invalid(f"SELECT * FROM plain WHERE {condition}") == message


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("INT", "INTEGER"),
        ("INT4", "INTEGER4"),
        ("BIGINT", "INTEGER8"),
        ("DOUBLE PRECISION", "DOUBLE_PRECISION"),
        ("VARCHAR(3)", "CHARACTER_VARYING"),
        ("DECIMAL(1, 2)", "DECIMAL"),
        ("BAG", "BAG"),
    ],
)
def test_is_has_fewer_types_than_partiql(run: Session, written: str, named: str) -> None:
    message = (
        f"Unsupported data type for IS operator: {named}. Supported data types are "
        "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at 1:29:2"
    )
    assert run.invalid(f"SELECT * FROM plain WHERE a IS {written}") == message
    assert run.invalid(f"SELECT * FROM plain WHERE a IS NOT {written}") == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("set_add(a)", "SET_ADD must have exactly two arguments at 1:22:7"),
        ("set_delete(a, <<1>>, <<2>>)", "SET_DELETE must have exactly two arguments at 1:22:10"),
        ("set_add(b, <<1>>)", "The first argument to SET_ADD must equal the assignment value at 1:22:7"),
        ("set_add(a, 1)", "The second argument to SET_ADD must be a value with type SET at 1:30:1"),
        ("set_add(a, <<1>>) + 1", "Unrecognized function: set_add at 1:22:7"),
        ("f(a)", "Unrecognized function: f at 1:22:1"),
        ("size(a)", "The function is not allowed in an update expression; function: size"),
        ("attribute_exists(a)", "The function is not allowed in an update expression; function: attribute_exists"),
        ("MISSING", "MISSING must be compared using IS operator"),
        ("a IS NULL", "IS operator is not supported in update expressions"),
        ("a < 1", "Unsupported operator in Update Expression. Operator: <"),
        ("a NOT IN [1]", "Unsupported operator in Update Expression. Operator: in"),
        (
            "-a",
            "Incorrect number of operands for operator or function; operator or function: -, number of operands: 1",
        ),
        ("(SELECT * FROM plain)", "Unsupported token in expression: SELECT at 1:23:6"),
        ("b[*]", "Wildcard path component like a[*].b are not supported at 1:24:1"),
    ],
)
def test_updates(run: Session, value: str, message: str) -> None:
    assert run.invalid(f"UPDATE plain SET a = {value} WHERE id = 'a'") == message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO plain VALUE 5", f"{NO_ITEM} at 1:25:1"),
        ("INSERT INTO plain VALUE id", f"{NO_ITEM} at 1:25:2"),
        ("INSERT INTO plain VALUES ('a')", "Unsupported operation: Insert"),
        ("INSERT INTO plain VALUE {} AT 1", "AT is not supported in insert statements. at 1:1:6"),
        ("INSERT INTO plain VALUE {} ON CONFLICT WHERE a DO NOTHING", "Unsupported clause: ON CONFLICT"),
        ("INSERT INTO plain VALUE {'id': 'a'} RETURNING ALL OLD *", "RETURNING is not supported in INSERT"),
        ("INSERT INTO plain VALUE {'a': x}", "Unsupported data type: x under key root at 1:31:1"),
        ("INSERT INTO plain VALUE {'a': x.y}", "Unsupported data type: PATH under key root at 1:31:1"),
        ("INSERT INTO plain VALUE {'a': MISSING}", "Unsupported data type: MISSING under key root at 1:31:7"),
        ("INSERT INTO plain VALUE {'a': 1 + 1}", "Unsupported data type: + under key root at 1:33:1"),
        ("INSERT INTO plain VALUE {'a': b NOT IN [1]}", "Unsupported data type: not under key root at 1:33:3"),
        (
            "INSERT INTO plain VALUE {'a': set_add(<<'a'>>, <<'b'>>)}",
            "Unsupported data type: set_add under key root at 1:31:7",
        ),
        ("INSERT INTO plain VALUE {'a': 1, 'a': 2}", "Duplicate keys in tuple. Key: a under root at 1:34:3"),
        ("INSERT INTO plain VALUE {true: 1}", f"{NO_STRING}BOOL under root at 1:26:4"),
        (
            "UPDATE plain INSERT INTO a VALUE 1 WHERE id = 'a'",
            "Unsupported FROM ... WHERE ... clause in INSERT statement. at 1:1:6",
        ),
        (
            "UPDATE plain SET a = 1 INSERT INTO a VALUE 1 WHERE id = 'a'",
            "Only SET and REMOVE are supported in update expressions at this time",
        ),
        ("SET a = 1", "Only select from a single table or index is supported."),
        ("REMOVE a", "Only select from a single table or index is supported."),
        (
            "UPDATE plain SET a = 1 WHERE id = 'a' RETURNING ALL OLD *, ALL NEW *",
            "Invalid syntax with multiple returning elements in RETURNING clause",
        ),
        (
            "DELETE FROM plain WHERE id = 'a' RETURNING ALL OLD id",
            "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause",
        ),
        ("SELECT DISTINCT a FROM plain", "Unsupported token in expression: DISTINCT"),
        ("SELECT VALUE a FROM plain", "Select projection doesn't support value or pivot keywords"),
        ("SELECT VALUE a FROM plain LIMIT 1", "Unsupported clause: LIMIT at 1:33:1"),
        ("SELECT a FROM plain GROUP BY a LIMIT 1", "Unsupported clause: GROUP BY"),
        ("SELECT a.* FROM plain", "Changing item's hierarchy while reading isn't supported"),
        ("SELECT a, 1 + 1 FROM plain", "Unexpected path component at 1:13:1"),
        ("SELECT ? FROM plain", "Unexpected path component at 1:8:1"),
        ("SELECT a, b, a.c FROM plain", f"{CLASH.format('overlap')}[a, c], path two: [a]"),
        ("SELECT a.b, a[0] FROM plain", f"{CLASH.format('conflict')}[a, [0]], path two: [a, b]"),
        ("UPDATE plain SET a = 1 REMOVE a.b WHERE id = 'a'", f"{CLASH.format('overlap')}[a, b], path two: [a]"),
        ("SELECT * FROM ab WHERE f(a)", NO_NAME),
        ("UPDATE 'plain' SET a = 1 WHERE id = 'a'", NOT_A_PATH),
        ('DELETE FROM "pl ain" WHERE id = 1', NO_NAME),
        ('SELECT * FROM plain."i" WHERE id = 1', NO_NAME),
        ("a IS INT4", "Unsupported operation: IsType"),
        ("a IS CHARACTER VARYING", "Unsupported operation: IsType"),
        ("a NOT IN [1]", "Unsupported operation: Not"),
        ("a.b", "Unsupported operation: Path"),
        ("<<1>>", "Unsupported operation: Bag"),
        ("-a", "Unsupported operation: Neg"),
        ("SELECT * FROM plain UNION ALL SELECT * FROM music", "Unsupported operation: Union"),
    ],
)
def test_statements(run: Session, statement: str, message: str) -> None:
    assert run.invalid(statement) == message


def test_what_is_accepted_beside_that(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 5, 'l': ['x', ['y']], 'm': {'sub': 'z'}, 't': -0}")
    assert run.items("SELECT l[-0], m[sub], l[1][ - 0 ] FROM plain WHERE id = 'a'") == [
        {"l[0]": {"S": "x"}, "sub": {"S": "z"}, "l[1][0]": {"S": "y"}}
    ]
    for condition in (
        "'x' IS STRING",
        "1 IS NOT STRING",
        "n IS NUMERIC(3)",
        "n IN <<4, 5>>",
        "n IN (5, other, ?)",
        "n IN (VALUES (5)) = false",
        "((n = 5) = id) = false",
        "((n = 5) = missing_one) = false",
    ):
        assert run.column(f"SELECT id FROM plain WHERE id = 'a' AND {condition}", {"N": "9"}) == ["a"], condition
    run("UPDATE plain SET n = n + 1 - (n - 2), k = if_not_exists(k, n + n), l[-0] = 'w' WHERE id = 'a'")
    assert run.items("SELECT n, k, l[0] FROM plain") == [{"n": {"N": "3"}, "k": {"N": "10"}, "l[0]": {"S": "w"}}]


def test_sums_are_as_long_as_a_statement(run: Session) -> None:
    run("INSERT INTO plain VALUE {'id': 'a', 'n': 0}")
    run(f"UPDATE plain SET n = n{' + 1' * 300} WHERE id = 'a'")
    assert run.column("SELECT n FROM plain") == ["300"]
