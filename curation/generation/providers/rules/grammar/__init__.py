"""The grammar behind the rules: clauses, verb forms, scope and word lists."""
