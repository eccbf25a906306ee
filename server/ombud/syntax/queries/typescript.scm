; What only TypeScript's grammars have.
[
  (abstract_class_declaration)
  (interface_declaration)
  (enum_declaration)
  (internal_module)
  (module)
  (type_alias_declaration)
  (function_signature)
  (method_signature)
  (abstract_method_signature)
  (call_signature)
  (construct_signature)
  (function_type)
  (constructor_type)
  (object_type)
  (property_signature)
  (index_signature)
  (public_field_definition)
] @scope
(statement_block (enum_declaration)) @scope

(import_alias) @alias
(extends_type_clause) @heritage
(nested_type_identifier) @nested
(type_identifier) @name
(type_parameter name: (type_identifier) @parameter)
(infer_type (type_identifier) @parameter)
