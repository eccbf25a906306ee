; C, and what C++ shares with it. `ombud.graph.extract.cfamily` works out which scope a node lies in.

; Definitions, and what opens a scope.
[
  (function_definition)
  (struct_specifier body: (_))
  (union_specifier body: (_))
  (enum_specifier body: (_))
  (enumerator)
  (declaration)
  (field_declaration)
  (type_definition)
  (preproc_def)
  (preproc_function_def)
] @scope
(struct_specifier name: (type_identifier) @forward !body)
(union_specifier name: (type_identifier) @forward !body)

; Where a local variable's life ends.
[(compound_statement) (for_statement)] @block

(preproc_include path: (_) @include)
(return_statement (_) @return)

; Sites.
(call_expression) @call
(field_expression) @member
(initializer_list (initializer_pair)) @fields
(compound_literal_expression) @literal
(type_identifier) @type
(identifier) @name

(ERROR) @error
(MISSING) @error
