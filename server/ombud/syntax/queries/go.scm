; Go: what the graph reads. Every capture is a list that `ombud.graph.extract.go` goes through; which scope a node lies in
; is worked out there.

(package_clause (package_identifier) @package)
(import_spec) @import

; Scopes, and the definitions that open them.
[
  (function_declaration)
  (method_declaration)
  (func_literal)
  (type_spec)
  (type_alias)
] @scope

; Blocks: what is declared in one is known to its end.
[
  (block)
  (if_statement)
  (for_statement)
  (expression_switch_statement)
  (type_switch_statement)
  (expression_case)
  (type_case)
  (default_case)
  (communication_case)
] @block

; Names that are bound.
[
  (short_var_declaration)
  (var_spec)
  (const_spec)
  (range_clause)
  (receive_statement)
] @binding
(type_switch_statement alias: (_)) @switch

; Sites.
(call_expression) @call
(type_conversion_expression type: (generic_type)) @generic
(selector_expression) @selector
(qualified_type) @qualified
(composite_literal) @composite
(parameter_declaration name: (identifier) @parameter)
(variadic_parameter_declaration name: (identifier) @parameter)
(identifier) @name
(type_identifier) @type

(ERROR) @error
