; SQL: what is created, and what is called or read by name.

(create_table (object_reference name: (identifier) @name)) @class
(create_view (object_reference name: (identifier) @name)) @class
(create_materialized_view (object_reference name: (identifier) @name)) @class
(create_function (object_reference name: (identifier) @name)) @function
(create_type (object_reference name: (identifier) @name)) @type
(create_trigger . (_) (_) . (object_reference name: (identifier) @name)) @function
(column_definition name: (identifier) @name) @field

(invocation (object_reference name: (identifier) @called))
(relation (object_reference name: (identifier) @referred))
