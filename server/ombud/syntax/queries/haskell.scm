; Haskell.

(declarations (function name: (variable) @name) @function)
(declarations (bind name: (variable) @name) @function)
(data_type name: (name) @name) @type
(newtype name: (name) @name) @type
(type_synomym name: (name) @name) @type
(class name: (name) @name) @interface
(class_declarations (signature name: (variable) @name) @function)
(data_constructor constructor: (prefix name: (constructor) @name)) @constructor
(data_constructor constructor: (record name: (constructor) @name)) @constructor
(field name: (field_name (variable) @name)) @field
(patterns (variable) @parameter)

(apply function: (variable) @called)
(infix left_operand: (variable) @called)
(infix right_operand: (variable) @called)
