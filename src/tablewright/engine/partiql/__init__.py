"""PartiQL: ExecuteStatement, BatchExecuteStatement, ExecuteTransaction.

    syntax/                    text to the tree of a statement, with the service's syntax errors
    translate → statements     its form that DynamoDB runs: one table, one item per write, its functions
      operands, where_conditions, assignments
    where_keys                 the conditions of WHERE on keys: the item of a write, the ranges of a read
    select, next_token         reads, and the tokens between their pages
    write_statements           INSERT, UPDATE, DELETE and EXISTS as writes to one item
    execute_statement, batch_execute, execute_transaction   the three operations

Code below this package does not know PartiQL: a SELECT is a ``PageRead``, a write is a ``Write``, and
conditions and updates are programs of the expression language.
"""

from tablewright.engine.partiql.batch_execute import batch_execute_statement
from tablewright.engine.partiql.execute_statement import execute_statement
from tablewright.engine.partiql.execute_transaction import execute_transaction

__all__ = ["batch_execute_statement", "execute_statement", "execute_transaction"]
