"""SQL over tables: DuckDB reads them once, and then runs what DynamoDB cannot: joins, groups, sums.

    query ──▶ which tables it needs ──▶ scan, in parallel segments ──▶ a temporary DuckDB database ──▶ rows, files

sql_session        SqlSession: the tables, the cost of reading them, queries and exports
query_relations    which tables a query needs
relation_rows      items as rows: of their table, and of the entities that a design finds in it
relation_loading   the scan, and the DuckDB tables created from it
column_types       the type of a column, by its values
locked_connection  DuckDB without files, network or extensions, within limits of memory, threads and time
workbook           rows as an Excel file
"""

from tablewright.sql.locked_connection import SqlLimits
from tablewright.sql.query_relations import SqlError
from tablewright.sql.relation_loading import LoadProgress
from tablewright.sql.relation_rows import Relation
from tablewright.sql.sql_session import ScanEstimate, SqlResult, SqlSession, TableScan

__all__ = ["LoadProgress", "Relation", "ScanEstimate", "SqlError", "SqlLimits", "SqlResult", "SqlSession", "TableScan"]
