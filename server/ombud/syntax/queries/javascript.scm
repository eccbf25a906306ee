; What only JavaScript's grammar has.
(field_definition) @scope
