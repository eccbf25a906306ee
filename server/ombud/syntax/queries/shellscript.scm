; Shell: functions, and the commands that may be calls of them. Read by `ombud.graph.extract.plain`.

(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable @unbound)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable @unbound)

(command name: (command_name (word) @called))
((command name: (command_name (word) @trap) . argument: (word) @referred)
  (#eq? @trap "trap"))
