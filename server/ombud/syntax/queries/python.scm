; Python: what the graph reads. Every capture is a list that `ombud.graph.extract.python` goes through in the order of
; the text; which scope a node lies in is worked out there.

; Scopes, and the definitions that open them.
[
  (class_definition)
  (function_definition)
  (lambda)
  (list_comprehension)
  (set_comprehension)
  (dictionary_comprehension)
  (generator_expression)
] @scope

; Blocks that may not run: what is bound in them is one of several possibilities behind them.
(if_statement consequence: (block) @block)
(elif_clause consequence: (block) @block)
(else_clause body: (block) @block)
(for_statement body: (block) @block)
(while_statement body: (block) @block)
(try_statement body: (block) @block)
(except_clause (block) @block)
(case_clause consequence: (block) @block)

; Names that are bound.
[(import_statement) (import_from_statement)] @import
[
  (assignment)
  (augmented_assignment)
  (for_statement)
  (for_in_clause)
  (named_expression)
  (as_pattern)
  (type_alias_statement)
] @binding
[(global_statement) (nonlocal_statement)] @outer

; Tests that say what a name is.
[(if_statement) (elif_clause) (assert_statement) (conditional_expression)] @test

; What a function gives.
(return_statement (_) @return)
(yield (_) @yield)

; Sites.
(decorator) @decorator
(call) @call
(attribute) @attribute
(class_definition superclasses: (argument_list) @bases)
(keyword_argument name: (identifier) @keyword)
(type (string) @quoted)
(identifier) @name

(ERROR) @error
