; Ruby: what the graph reads. `ombud.graph.extract.ruby` works out which scope a node lies in.

; Definitions, and what opens a scope.
[
  (class)
  (module)
  (singleton_class)
  (method)
  (singleton_method)
  (lambda)
  (block)
  (do_block)
] @scope

; Calls that may make a class.
(assignment left: [(constant) (scope_resolution)] right: (call)) @made

; What is public from there on.
((identifier) @visibility (#any-of? @visibility "private" "public" "protected" "module_function"))
(alias) @alias

; Code that may not run: what is bound in it is one of several possibilities behind it.
[
  (then)
  (else)
  (do)
  (rescue)
  (block)
  (do_block)
] @block
(if_modifier body: (_) @block)
(unless_modifier body: (_) @block)
(while_modifier body: (_) @block)
(rescue_modifier body: (_) @block)

; Names that are bound.
[
  (method_parameters)
  (lambda_parameters)
  (block_parameters)
  (assignment)
  (operator_assignment)
  (for)
  (exception_variable)
  (in_clause)
  (match_pattern)
  (test_pattern)
] @binding
(alias) @used
(undef) @used
(case value: (identifier) (when)) @case

; What a method or a block gives.
(return (argument_list) @return)
(next (argument_list) @return)
(yield (argument_list) @yield)

; Sites.
(call) @call
(super) @super
(constant) @constant
(scope_resolution) @path
[(instance_variable) (class_variable) (global_variable)] @variable
(argument_list (simple_symbol) @quoted)
(block_argument (simple_symbol) @quoted)
(identifier) @name

(ERROR) @error
