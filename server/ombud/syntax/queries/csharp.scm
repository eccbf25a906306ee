; C#: what the graph reads. `ombud.graph.extract.csharp` works out which scope a node lies in.

; Definitions, and what opens a scope.
[
  (namespace_declaration)
  (class_declaration)
  (struct_declaration)
  (interface_declaration)
  (record_declaration)
  (enum_declaration)
  (delegate_declaration)
  (method_declaration)
  (constructor_declaration)
  (destructor_declaration)
  (operator_declaration)
  (conversion_operator_declaration)
  (property_declaration)
  (indexer_declaration)
  (event_declaration)
  (event_field_declaration)
  (field_declaration)
  (enum_member_declaration)
  (local_function_statement)
  (lambda_expression)
  (anonymous_method_expression)
] @scope
(file_scoped_namespace_declaration) @namespace
(using_directive) @using

; Where a local variable's life ends.
[
  (block)
  (for_statement)
  (foreach_statement)
  (using_statement)
  (fixed_statement)
  (catch_clause)
  (switch_section)
  (switch_expression_arm)
  (lambda_expression)
  (query_expression)
  (arrow_expression_clause)
] @block

; Local variables.
[
  (variable_declaration)
  (foreach_statement)
  (catch_declaration)
  (declaration_pattern name: (_))
  (declaration_expression)
  (recursive_pattern name: (_))
  (var_pattern)
  (from_clause)
  (join_clause)
  (join_into_clause)
  (let_clause)
] @binding

(return_statement (_) @return)

; Sites.
(invocation_expression) @call
(object_creation_expression) @new
(implicit_object_creation_expression) @plain
(constructor_initializer) @delegation
(member_access_expression) @member
(conditional_access_expression (member_binding_expression)) @bound
(initializer_expression (assignment_expression left: (identifier) @init))
(with_initializer . (identifier) @with)
(subpattern . (identifier) @sub)
(subpattern . (member_access_expression) @path)
(attribute name: (_) @attribute)
[
  (attribute_argument name: (identifier) @unused)
  (argument name: (identifier) @unused)
  (labeled_statement . (identifier) @unused)
  (goto_statement (identifier) @unused)
  (tuple_element name: (identifier) @unused)
  (anonymous_object_creation_expression (identifier) @unused . "=")
  (alias_qualified_name alias: (identifier) @unused)
  (preproc_if condition: (identifier) @unused)
  (preproc_elif condition: (identifier) @unused)
  (preproc_if condition: (_ (identifier) @unused))
  (preproc_elif condition: (_ (identifier) @unused))
  (type_parameter_constraints_clause . (identifier) @unused)
  (preproc_define (_) @unused)
  (preproc_undef (_) @unused)
]
(qualified_name) @scoped
(_ type: [(identifier) @type (generic_name) @applied])
(_ returns: [(identifier) @type (generic_name) @applied])
(type_argument_list [(identifier) @type (generic_name) @applied])
(as_expression right: [(identifier) @type (generic_name) @applied])
(is_expression right: [(identifier) @type (generic_name) @applied])
(explicit_interface_specifier [(identifier) @type (generic_name) @applied])
(identifier) @name

(ERROR) @error
