"""The grammar that the rules rest on: clauses, verb forms, scope, and word lists."""
