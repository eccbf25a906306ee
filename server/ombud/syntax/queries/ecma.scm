; JavaScript and TypeScript: what the graph reads in both. `ombud.graph.extract.ecma` goes through each capture in the
; order of the text; which scope a node lies in is worked out there.

; Definitions and scopes.
[
  (class_declaration)
  (class)
  (class_static_block)
  (function_declaration)
  (generator_function_declaration)
  (function_expression)
  (generator_function)
  (arrow_function)
  (method_definition)
  (object)
  (pair)
  (variable_declarator)
  (for_statement)
  (for_in_statement)
  (catch_clause)
] @scope
(statement_block [(lexical_declaration) (function_declaration) (class_declaration)]) @scope
(switch_body (_ body: (lexical_declaration))) @scope
(assignment_expression left: (member_expression)) @scope

; What may not run: what is assigned there is one of several possibilities behind it.
(if_statement consequence: (_) @branch)
(else_clause (_) @branch)
(for_statement body: (_) @branch)
(for_in_statement body: (_) @branch)
(while_statement body: (_) @branch)
(try_statement body: (_) @branch)
(catch_clause body: (_) @branch)
(switch_case) @branch
(switch_default) @branch

; Imports and exports.
(import_statement) @import
(export_statement) @export

; Names that are assigned behind their definition.
(assignment_expression) @assign

; Tests that say what a name is.
(binary_expression operator: "instanceof") @test

; What a function gives.
(return_statement (_) @return)
(yield_expression) @yield

; Sites.
(call_expression) @call
(new_expression) @new
(decorator) @decorator
(class_heritage) @heritage
(member_expression) @member
(identifier) @name
(shorthand_property_identifier) @name
(comment) @comment

(ERROR) @error
