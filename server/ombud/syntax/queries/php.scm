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
(encapsed_string (subscript_expression (_) (name) @unused))
(heredoc_body (subscript_expression (_) (name) @unused))

; No pattern asks for a child of what expressions nest: thousands of operands would each be compared with all others.
"instanceof" @instanceof
(name) @name

(ERROR) @error
