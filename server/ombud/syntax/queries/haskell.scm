; Haskell. Read by `ombud.graph.extract.plain`, which knows the captures' names.

[(lambda) (alternative) (do) (let_in) (match)] @block

(function name: (variable) @name) @function
(function (infix operator: (operator) @name)) @function
(function (infix operator: (infix_id (variable) @name))) @function
(declarations (bind name: (variable) @name) @function)
(instance_declarations (bind name: (variable) @name) @function)
(data_type name: (name) @name) @type
(newtype name: (name) @name) @type
(type_synomym name: (name) @name) @type
(class name: (name) @name) @interface
(class_declarations (signature name: (variable) @name) @function)
(class_declarations (signature names: (binding_list name: (variable) @name)) @function)
(class_declarations (bind name: (variable) @name) @function)
(data_constructor constructor: (prefix name: (constructor) @name)) @constructor
(data_constructor constructor: (record name: (constructor) @name)) @constructor
(newtype_constructor name: (constructor) @name) @constructor
(field name: (field_name (variable) @name)) @field
(instance patterns: (type_patterns . (name) @name)) @extension
(instance patterns: (type_patterns . (parens type: (apply constructor: (name) @name)))) @extension

(function patterns: (_) @pattern)
(function (infix left_operand: (_) @pattern right_operand: (_) @pattern))
(lambda patterns: (_) @pattern)
(alternative pattern: (_) @pattern)
(bind pattern: (_) @pattern)
(local_binds (bind name: (variable) @local))

(apply function: (variable) @called)
(infix operator: (infix_id (variable) @called))
((infix left_operand: (variable) @called operator: (operator) @o)
  (#any-of? @o "$" "$!" "." "<$>" ">>=" "=<<" ">>" ">=>" "<=<" "<$!>"))
((infix operator: (operator) @o right_operand: (variable) @called)
  (#any-of? @o "." ">>=" ">>" ">=>" "<=<" "&" "<&>" "<*>"))
(do statement: (exp . (variable) @called .))
(do statement: (bind expression: (variable) @called))
(match expression: (variable) @called)
(apply argument: (variable) @referred)
