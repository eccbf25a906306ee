; Swift.

(class_declaration declaration_kind: "class" name: (type_identifier) @name) @class
(class_declaration declaration_kind: "actor" name: (type_identifier) @name) @class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @enum
(class_declaration declaration_kind: "extension" name: (user_type . (type_identifier) @name)) @extension
(protocol_declaration name: (type_identifier) @name) @interface
(typealias_declaration . name: (type_identifier) @name) @type
(typealias_declaration (modifiers) . name: (type_identifier) @name) @type
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @function
(init_declaration name: "init" @name) @constructor
(enum_entry name: (simple_identifier) @name) @enumMember
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field)
(parameter name: (simple_identifier) @parameter)

(call_expression . (simple_identifier) @called)
(call_expression . (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @called)))
