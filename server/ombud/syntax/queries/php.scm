; PHP: what the graph reads. `ombud.graph.extract.php` works out which scope a node lies in.

; Definitions, and what opens a scope.
[
  (class_declaration)
  (interface_declaration)
  (trait_declaration)
  (enum_declaration)
  (anonymous_class)
  (function_definition)
  (method_declaration)
  (anonymous_function)
  (arrow_function)
  (property_hook)
  (const_declaration)
  (property_declaration)
  (enum_case)
] @scope
(namespace_definition) @namespace
(namespace_use_declaration) @use
(use_declaration) @traits

; Blocks that may not run: what is bound in them is one of several possibilities behind them.
(if_statement body: (_) @block)
(else_if_clause body: (_) @block)
(else_clause body: (_) @block)
(for_statement body: (_) @block)
(foreach_statement body: (_) @block)
(while_statement body: (_) @block)
(try_statement body: (_) @block)
(catch_clause body: (_) @block)
[(case_statement) (default_statement)] @block

; Local variables.
[
  (assignment_expression)
  (reference_assignment_expression)
  (augmented_assignment_expression)
  (foreach_statement)
  (catch_clause)
  (static_variable_declaration)
  (global_declaration)
] @binding
(binary_expression operator: "instanceof") @narrow
(comment) @comment

(return_statement (_) @return)
(yield_expression) @yield

; Sites.
[
  (function_call_expression)
  (member_call_expression)
  (nullsafe_member_call_expression)
  (scoped_call_expression)
] @call
(object_creation_expression) @new
[
  (member_access_expression)
  (nullsafe_member_access_expression)
  (scoped_property_access_expression)
  (class_constant_access_expression)
] @member
[
  (include_expression)
  (include_once_expression)
  (require_expression)
  (require_once_expression)
] @include
(attribute . [(name) (qualified_name) (relative_name)] @class)
(named_type (_) @class)
(scoped_call_expression scope: [(name) (qualified_name) (relative_name)] @class)
(scoped_property_access_expression scope: [(name) (qualified_name) (relative_name)] @class)
(class_constant_access_expression . [(name) (qualified_name) (relative_name)] @class)
(binary_expression operator: "instanceof" right: [(name) (qualified_name) (relative_name)] @class)

; Constants: names where a value stands.
(encapsed_string (subscript_expression (_) (name) @unused))
(heredoc_body (subscript_expression (_) (name) @unused))
(argument name: (name) @unused)
(argument [(name) (qualified_name) (relative_name)] @constant)
(assignment_expression right: [(name) (qualified_name) (relative_name)] @constant)
(augmented_assignment_expression right: [(name) (qualified_name) (relative_name)] @constant)
(binary_expression [(name) (qualified_name) (relative_name)] @constant)
(unary_op_expression argument: [(name) (qualified_name) (relative_name)] @constant)
(conditional_expression [(name) (qualified_name) (relative_name)] @constant)
(parenthesized_expression [(name) (qualified_name) (relative_name)] @constant)
(subscript_expression [(name) (qualified_name) (relative_name)] @constant)
(sequence_expression [(name) (qualified_name) (relative_name)] @constant)
(array_element_initializer [(name) (qualified_name) (relative_name)] @constant)
(return_statement [(name) (qualified_name) (relative_name)] @constant)
(echo_statement [(name) (qualified_name) (relative_name)] @constant)
(cast_expression value: [(name) (qualified_name) (relative_name)] @constant)
(match_conditional_expression return_expression: [(name) (qualified_name) (relative_name)] @constant)
(match_default_expression return_expression: [(name) (qualified_name) (relative_name)] @constant)
(match_condition_list [(name) (qualified_name) (relative_name)] @constant)
(case_statement value: [(name) (qualified_name) (relative_name)] @constant)
(arrow_function body: [(name) (qualified_name) (relative_name)] @constant)
(const_element (name) . [(name) (qualified_name) (relative_name)] @constant)
(_ default_value: [(name) (qualified_name) (relative_name)] @constant)
(static_variable_declaration value: [(name) (qualified_name) (relative_name)] @constant)
(enum_case value: [(name) (qualified_name) (relative_name)] @constant)

(ERROR) @error
