; Dart.

(class_definition name: (identifier) @name) @class
(mixin_declaration (identifier) @name) @class
(enum_declaration name: (identifier) @name) @enum
(enum_constant name: (identifier) @name) @enumMember
(extension_declaration class: (type_identifier) @name) @extension
(function_signature name: (identifier) @name) @function
(getter_signature name: (identifier) @name) @property
(constructor_signature . name: (identifier) @name .) @constructor
(constructor_signature name: (identifier) @name . parameters: (_)) @constructor
(type_alias . (type_identifier) @name) @type
(class_body (declaration (initialized_identifier_list (initialized_identifier (identifier) @name))) @field)
(formal_parameter name: (identifier) @parameter)

((identifier) @called . (selector (argument_part)))
((this) @receiver . (selector (unconditional_assignable_selector (identifier) @called)) . (selector (argument_part)))
((identifier) @receiver . (selector (unconditional_assignable_selector (identifier) @called)) . (selector (argument_part)))
