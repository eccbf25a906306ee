; Dart. Read by `ombud.graph.extract.plain`, which knows the captures' names.

[(block) (for_statement) (for_element) (function_expression) (try_statement)] @block

(class_definition name: (identifier) @name) @class
(mixin_declaration (identifier) @name) @trait
(enum_declaration name: (identifier) @name) @enum
(enum_constant name: (identifier) @name) @enumMember
(extension_declaration name: (identifier) @name) @class
(extension_declaration . class: (type_identifier) @name) @extension
(extension_type_declaration name: (identifier) @name) @class
(function_signature name: (identifier) @name) @function
(getter_signature name: (identifier) @name) @property
(setter_signature name: (identifier) @name) @property
(constructor_signature . name: (identifier) @name .) @constructor
(constructor_signature name: (identifier) @name . parameters: (_)) @constructor
(constant_constructor_signature (identifier) @name . (formal_parameter_list)) @constructor
(factory_constructor_signature (identifier) @name . (formal_parameter_list)) @constructor
(type_alias . (type_identifier) @name) @type
(declaration (initialized_identifier_list (initialized_identifier . (identifier) @name)) @field)
(declaration (static_final_declaration_list (static_final_declaration . (identifier) @name)) @field)
(program (static_final_declaration_list (static_final_declaration . (identifier) @name) @variable))
(program (initialized_identifier_list (initialized_identifier . (identifier) @name) @variable))

(class_definition name: (identifier) @heir superclass: (superclass (type_identifier) @base))
(class_definition name: (identifier) @heir superclass: (superclass (mixins (type_identifier) @base)))
(class_definition name: (identifier) @heir interfaces: (interfaces (type_identifier) @base))
(extension_declaration name: (identifier) @heir class: (type_identifier) @base)

(formal_parameter name: (identifier) @local)
(formal_parameter (identifier) @local . (formal_parameter_list))
(formal_parameter . (identifier) @local .)
(initialized_variable_definition name: (identifier) @local)
(initialized_variable_definition (initialized_identifier . (identifier) @local))
(for_loop_parts name: (identifier) @local)
(catch_parameters (identifier) @local)

((identifier) @called . (selector (argument_part)))
((this) @receiver . (selector (unconditional_assignable_selector (identifier) @called)) . (selector (argument_part)))
((super) @receiver . (unconditional_assignable_selector (identifier) @called) . (selector (argument_part)))
((identifier) @receiver . (selector (unconditional_assignable_selector (identifier) @called)) . (selector (argument_part)))
((selector) @unknown . (selector (unconditional_assignable_selector (identifier) @called)) . (selector (argument_part)))
(cascade_section (cascade_selector (identifier) @called) @unknown (argument_part))
(new_expression (type_identifier) @called . (arguments))
(const_object_expression (type_identifier) @called . (arguments))
(new_expression (type_identifier) @receiver . (identifier) @called . (arguments))
(const_object_expression (type_identifier) @receiver . (identifier) @called . (arguments))
