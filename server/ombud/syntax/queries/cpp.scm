; C++: what C does not have.

[
  (namespace_definition)
  (class_specifier body: (_))
  (alias_declaration)
  (lambda_expression)
  (concept_definition)
  (namespace_alias_definition)
  (using_declaration)
] @scope
(class_specifier name: (type_identifier) @forward !body)

[
  (for_range_loop)
  (catch_clause)
  (if_statement)
  (while_statement)
  (switch_statement)
  (lambda_expression)
] @block

; Local variables that are no declarations.
(for_range_loop) @each
(catch_clause) @catch
(lambda_capture_initializer) @capture

[(template_declaration) (access_specifier) (namespace_definition) (class_specifier)] @modern

; Sites.
(new_expression) @new
(field_initializer) @initializer
(qualified_identifier) @qualified
(destructor_name (identifier) @unused)
