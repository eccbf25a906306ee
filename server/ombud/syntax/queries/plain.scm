; What `ombud.graph.extract.plain` looks for in all languages beside their own queries.

(ERROR) @error
