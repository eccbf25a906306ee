; Lua: functions, tables that hold them, calls. Read by `ombud.graph.extract.plain`, which knows the captures' names.

[(block) (function_definition) (for_statement) (while_statement) (repeat_statement) (do_statement)] @block

(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression table: (_) @owner field: (identifier) @name)) @function
(function_declaration name: (method_index_expression table: (_) @owner method: (identifier) @name)) @method
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition))) @function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @owner field: (identifier) @name))
  (expression_list . value: (function_definition))) @function
(assignment_statement
  (variable_list . name: (identifier) @owner)
  (expression_list . value: (table_constructor
    (field name: (identifier) @name value: (function_definition)) @function)))
(return_statement (expression_list (table_constructor
  (field name: (identifier) @name value: (function_definition)) @function @unbound)))
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name)) @variable))
(chunk (variable_declaration (variable_list name: (identifier) @name)) @variable)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @variable)

(parameters name: (identifier) @local)
(variable_declaration (assignment_statement (variable_list name: (identifier) @local)))
(variable_declaration (variable_list name: (identifier) @local))
(for_generic_clause (variable_list name: (identifier) @local))
(for_numeric_clause name: (identifier) @local)

(function_call name: (identifier) @called)
(function_call name: (dot_index_expression table: (_) @receiver field: (identifier) @called))
(function_call name: (method_index_expression table: (_) @receiver method: (identifier) @called))
