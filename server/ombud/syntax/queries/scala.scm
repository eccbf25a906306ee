; Scala.

(class_definition name: (identifier) @name) @class
(object_definition name: (identifier) @name) @namespace
(trait_definition name: (identifier) @name) @trait
(enum_definition name: (identifier) @name) @enum
(simple_enum_case name: (identifier) @name) @enumMember
(function_definition name: (identifier) @name) @function
(function_declaration name: (identifier) @name) @function
(type_definition name: (type_identifier) @name) @type
(template_body (val_definition pattern: (identifier) @name) @field)
(template_body (var_definition pattern: (identifier) @name) @field)
(compilation_unit (val_definition pattern: (identifier) @name) @variable)
(parameter name: (identifier) @parameter)

(call_expression function: (identifier) @called)
(call_expression function: (field_expression value: (_) @receiver field: (identifier) @called))
(instance_expression (type_identifier) @called)
