; Zig. Read by `ombud.graph.extract.plain`, which knows the captures' names.

(Decl (FnProto function: (IDENTIFIER) @name)) @function
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "struct")))))) @struct
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "opaque")))))) @struct
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType . "enum")))))) @enum
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "union")))))) @struct
(Statement (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "struct"))))) @struct)
((Decl (VarDecl "var" variable_type_function: (IDENTIFIER) @name)) @variable)
((Decl (VarDecl "const" variable_type_function: (IDENTIFIER) @name (ErrorUnionExpr) @value .)) @constant
  (#not-match? @value "^@(import|This|cImport)\\b"))
(ContainerField field_member: (IDENTIFIER) @name) @field
(ContainerDecl (ContainerDeclType . "enum")
  (ContainerField . (ErrorUnionExpr (SuffixExpr . (IDENTIFIER) @name .)) .) @enumMember)

(ParamDecl parameter: (IDENTIFIER) @local)

(SuffixExpr . (IDENTIFIER) @called . (FnCallArguments))
(SuffixExpr . (IDENTIFIER) @receiver . (FieldOrFnCall function_call: (IDENTIFIER) @called))
((_) @unknown . (FieldOrFnCall function_call: (IDENTIFIER) @called))
