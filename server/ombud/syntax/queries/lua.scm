; Lua: functions, tables that hold them, calls. Read by `ombud.graph.extract.plain`, which knows the captures' names.

(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression table: (identifier) @owner field: (identifier) @name)) @function
(function_declaration name: (method_index_expression table: (identifier) @owner method: (identifier) @name)) @method
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition))) @function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (identifier) @owner field: (identifier) @name))
  (expression_list . value: (function_definition))) @function
(chunk (variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (_) @value)) @variable)
  (#not-match? @value "^function"))
(parameters name: (identifier) @parameter)

(function_call name: (identifier) @called)
(function_call name: (dot_index_expression table: (_) @receiver field: (identifier) @called))
(function_call name: (method_index_expression table: (_) @receiver method: (identifier) @called))
