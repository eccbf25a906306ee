; Shell: functions, and the commands that may be calls of them.

(function_definition name: (word) @name) @function
(command name: (command_name (word) @called))
