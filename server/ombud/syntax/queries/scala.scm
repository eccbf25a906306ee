; Scala. Read by `ombud.graph.extract.plain`, which knows the captures' names.

[(block) (indented_block) (for_expression) (lambda_expression) (case_clause) (catch_clause) (extension_definition) (given_definition) (template_body)] @block

(class_definition name: (identifier) @name) @class
(object_definition name: (identifier) @name) @namespace
(trait_definition name: (identifier) @name) @trait
(enum_definition name: (identifier) @name) @enum
(simple_enum_case name: (identifier) @name) @enumMember
(full_enum_case name: (identifier) @name) @enumMember
(function_definition name: (identifier) @name) @function
(function_declaration name: (identifier) @name) @function
(type_definition name: (type_identifier) @name) @type
(template_body (val_definition pattern: (identifier) @name) @field)
(template_body (var_definition pattern: (identifier) @name) @field)
(template_body (val_declaration name: (identifier) @name) @field)
(compilation_unit (val_definition pattern: (identifier) @name) @variable)
(compilation_unit (var_definition pattern: (identifier) @name) @variable)
(class_definition "case" (class_parameters (class_parameter name: (identifier) @name) @field))
(class_parameter "val" name: (identifier) @name) @field
(class_parameter "var" name: (identifier) @name) @field

(class_definition name: (identifier) @heir extend: (extends_clause type: (type_identifier) @base))
(object_definition name: (identifier) @heir extend: (extends_clause type: (type_identifier) @base))
(trait_definition name: (identifier) @heir extend: (extends_clause type: (type_identifier) @base))

(parameter name: (identifier) @local)
(class_parameter name: (identifier) @local)
(val_definition pattern: (identifier) @local)
(var_definition pattern: (identifier) @local)
(val_definition pattern: (identifiers (identifier) @local))
(val_definition pattern: (tuple_pattern (identifier) @local))
(enumerator . (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(binding name: (identifier) @local)
(case_class_pattern pattern: (identifier) @local)
(typed_pattern pattern: (identifier) @local)
(case_clause pattern: (identifier) @local)

(call_expression function: (identifier) @called)
(call_expression function: (generic_function function: (identifier) @called))
(call_expression function: (field_expression value: (_) @receiver field: (identifier) @called))
(call_expression function: (generic_function function: (field_expression value: (_) @receiver field: (identifier) @called)))
(instance_expression (type_identifier) @called)
(instance_expression (generic_type type: (type_identifier) @called))
