; Java: what the graph reads. `ombud.graph.extract.java` works out which scope a node lies in.

; Definitions, and what opens a scope.
[
  (class_declaration)
  (interface_declaration)
  (enum_declaration)
  (record_declaration)
  (annotation_type_declaration)
  (method_declaration)
  (constructor_declaration)
  (compact_constructor_declaration)
  (annotation_type_element_declaration)
  (field_declaration)
  (constant_declaration)
  (enum_constant)
  (lambda_expression)
  (object_creation_expression (class_body))
] @scope

; Where a local variable's life ends.
[
  (block)
  (constructor_body)
  (for_statement)
  (enhanced_for_statement)
  (try_with_resources_statement)
  (catch_clause)
  (switch_block_statement_group)
  (switch_rule)
  (lambda_expression)
] @block

[(package_declaration) (import_declaration) (module_declaration)] @head

; Local variables.
[
  (local_variable_declaration)
  (enhanced_for_statement)
  (catch_formal_parameter)
  (resource)
  (instanceof_expression)
  (type_pattern)
  (record_pattern_component)
] @binding
(record_pattern (identifier) @type)

(return_statement (_) @return)

; Sites.
(method_invocation) @call
(object_creation_expression) @new
(explicit_constructor_invocation) @delegation
(method_reference) @method
(field_access field: (identifier)) @member
[(marker_annotation) (annotation)] @annotation
(scoped_type_identifier) @scoped
(switch_label (identifier) @case)
[
  (element_value_pair key: (identifier) @unused)
  (labeled_statement (identifier) @unused)
  (break_statement (identifier) @unused)
  (continue_statement (identifier) @unused)
]
(type_identifier) @type
(identifier) @name

(ERROR) @error
