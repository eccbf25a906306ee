; SQL: what is created, and what is called or read by name. Read by `ombud.graph.extract.plain`.

[(statement)] @block

(create_table (object_reference name: (identifier) @name)) @class
(create_view (object_reference name: (identifier) @name)) @class
(create_materialized_view (object_reference name: (identifier) @name)) @class
(create_function (object_reference name: (identifier) @name)) @function
(create_type (object_reference name: (identifier) @name)) @type
(create_trigger (keyword_trigger) . (object_reference name: (identifier) @name)) @function
(column_definition name: (identifier) @name) @field @unbound

(cte . (identifier) @local)

(invocation (object_reference name: (identifier) @called))
(create_trigger (keyword_execute) . (_) . (object_reference name: (identifier) @called))
(create_trigger (keyword_on) . (object_reference name: (identifier) @referred))
(create_index (object_reference name: (identifier) @referred))
(relation (object_reference name: (identifier) @referred))
(insert (object_reference name: (identifier) @referred))
(from (object_reference name: (identifier) @referred))
(column_definition (object_reference name: (identifier) @referred))
(constraint (object_reference name: (identifier) @referred))
(alter_table (object_reference name: (identifier) @referred))
