; Rust: what the graph reads. Every capture is a list that `ombud.graph.extract.rust` goes through; which scope a node lies
; in is worked out there.

; Items, and other nodes that open a scope.
[
  (mod_item)
  (function_item)
  (function_signature_item)
  (struct_item)
  (union_item)
  (enum_item)
  (trait_item)
  (impl_item)
  (type_item)
  (associated_type)
  (const_item)
  (static_item)
  (macro_definition)
  (closure_expression)
] @scope

; Blocks: what is declared in one is known to its end.
(block) @block

; Names that are bound.
(let_declaration) @let
(let_condition) @condition
(for_expression) @for
(match_arm pattern: (match_pattern (_))) @arm
(use_declaration) @use
(extern_crate_declaration) @crate

; Nothing in these is a name of an expression; tokens are read by themselves.
[
  (attribute_item)
  (inner_attribute_item)
  (macro_definition)
  (use_declaration)
  (extern_crate_declaration)
  (visibility_modifier)
  (lifetime)
  (label)
] @dead
(macro_invocation) @macro

; Sites.
(call_expression) @call
(field_expression) @field
[(scoped_identifier) (scoped_type_identifier)] @scoped
(struct_expression) @struct
(struct_pattern) @pattern
(identifier) @name
(type_identifier) @type
(type_binding name: (type_identifier) @bound)

(ERROR) @error
