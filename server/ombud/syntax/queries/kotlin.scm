; Kotlin: what the graph reads. `ombud.graph.extract.kotlin` works out which scope a node lies in.

; Definitions, and what opens a scope.
[
  (class_declaration)
  (object_declaration)
  (companion_object)
  (object_literal)
  (enum_entry)
  (function_declaration)
  (secondary_constructor)
  (anonymous_initializer)
  (property_declaration)
  (getter)
  (setter)
  (type_alias)
  (lambda_literal)
  (anonymous_function)
] @scope

; Where a local variable's life ends.
[
  (function_body)
  (control_structure_body)
  (lambda_literal)
  (for_statement)
  (when_expression)
  (when_entry)
  (catch_block)
  (try_expression)
  (anonymous_initializer)
  (secondary_constructor)
] @block

(package_header) @package
(import_header) @import

; Local variables, and tests that say what a name is.
[
  (for_statement)
  (catch_block)
  (when_subject (variable_declaration))
] @binding
[(if_expression) (when_entry) (as_expression)] @test

; Sites.
(call_expression) @call
(constructor_invocation) @constructed
(constructor_delegation_call) @delegation
(navigation_expression) @member
(directly_assignable_expression (navigation_suffix)) @member
(infix_expression) @infix
(comparison_expression . (comparison_expression)) @generic
(callable_reference) @reference
(annotation (user_type) @annotation)
(user_type (type_identifier) (type_identifier)) @scoped
(value_argument . (simple_identifier) @unused . "=")
(user_type (type_identifier) @type)
[(simple_identifier) (interpolated_identifier)] @name

(ERROR) @error
