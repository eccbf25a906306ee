; Zig.

(Decl (FnProto function: (IDENTIFIER) @name)) @function
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "struct")))))) @struct
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "enum")))))) @enum
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType "union")))))) @struct
(source_file (Decl (VarDecl variable_type_function: (IDENTIFIER) @name)) @variable)
(ContainerField field_member: (IDENTIFIER) @name) @field
(ParamDecl parameter: (IDENTIFIER) @parameter)

(SuffixExpr . (IDENTIFIER) @called . (FnCallArguments))
(SuffixExpr . (IDENTIFIER) @receiver . (FieldOrFnCall function_call: (IDENTIFIER) @called))
