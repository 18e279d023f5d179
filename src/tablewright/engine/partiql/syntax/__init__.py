"""The text of a PartiQL statement, and the tree that it is parsed to.

statement_lexer            text to tokens
token_reader               tokens, one after the other
statement_parser           tokens to the tree, by precedence climbing
  keyword_forms              DATE, CAST, CASE and the like, and the names of types
  grammar                    the tables of both
syntax_tree                the tree, and what messages call its nodes
"""
