; Swift. Read by `ombud.graph.extract.plain`, which knows the captures' names.

[(statements) (lambda_literal) (for_statement) (if_statement) (while_statement) (switch_entry) (catch_block) (function_body) (init_declaration) (subscript_declaration) (computed_setter)] @block

(class_declaration declaration_kind: "class" name: (type_identifier) @name) @class
(class_declaration declaration_kind: "actor" name: (type_identifier) @name) @class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @enum
(class_declaration declaration_kind: "extension" name: (user_type (type_identifier) @name .)) @extension
(protocol_declaration name: (type_identifier) @name) @interface
(typealias_declaration . name: (type_identifier) @name) @type
(typealias_declaration (modifiers) . name: (type_identifier) @name) @type
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @function
(init_declaration name: "init" @name) @constructor
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(enum_entry name: (simple_identifier) @name) @enumMember
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)
  computed_value: (_)) @property)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)
  computed_value: (_)) @property)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @property

(class_declaration name: (type_identifier) @heir
  (inheritance_specifier inherits_from: (user_type . (type_identifier) @base)))
(protocol_declaration name: (type_identifier) @heir
  (inheritance_specifier inherits_from: (user_type . (type_identifier) @base)))

(parameter name: (simple_identifier) @local)
(lambda_parameter name: (simple_identifier) @local)
(pattern bound_identifier: (simple_identifier) @local)
(pattern (pattern (simple_identifier) @local))
(if_statement bound_identifier: (simple_identifier) @local)
(while_statement bound_identifier: (simple_identifier) @local)
(guard_statement bound_identifier: (simple_identifier) @local)

(call_expression . (simple_identifier) @called)
(call_expression . (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @called)))
(constructor_expression constructed_type: (user_type . (type_identifier) @called . (type_arguments) .))
