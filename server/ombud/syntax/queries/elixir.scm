; Elixir: definitions are calls of `def` and its like. Read by `ombud.graph.extract.plain`.

((call target: (identifier) @keyword (arguments . (alias) @name)) @namespace
  (#any-of? @keyword "defmodule" "defprotocol"))
((call target: (identifier) @keyword (arguments . (alias) @name)) @namespace @unbound
  (#eq? @keyword "defimpl"))
((call target: (identifier) @keyword (arguments . (call target: (identifier) @name))) @function
  (#any-of? @keyword "def" "defp" "defguard" "defguardp" "defdelegate")
  (#not-eq? @name "unquote"))
((call target: (identifier) @keyword (arguments . (identifier) @name)) @function
  (#any-of? @keyword "def" "defp" "defdelegate"))
((call target: (identifier) @keyword
   (arguments . (binary_operator left: (call target: (identifier) @name)))) @function
  (#any-of? @keyword "def" "defp" "defguard" "defguardp")
  (#not-eq? @name "unquote"))
((call target: (identifier) @keyword
   (arguments . (binary_operator left: (identifier) @name operator: "when"))) @function
  (#any-of? @keyword "def" "defp"))
((call target: (identifier) @keyword (arguments . (call target: (identifier) @name))) @macro
  (#any-of? @keyword "defmacro" "defmacrop")
  (#not-eq? @name "unquote"))
((call target: (identifier) @keyword (arguments . (identifier) @name)) @macro
  (#any-of? @keyword "defmacro" "defmacrop"))
((call target: (identifier) @keyword
   (arguments . (binary_operator left: (call target: (identifier) @name) operator: "when"))) @macro
  (#any-of? @keyword "defmacro" "defmacrop"))

((call target: (identifier) @called) @call
  (#not-match? @called "^(def[a-z]*|use|alias|import|require|if|unless|case|cond|with|for|fn|quote|unquote|doc|moduledoc|typedoc|spec|type|typep|opaque|callback|impl|super)$"))
(call target: (dot left: (_) @receiver right: (identifier) @called)) @call
(binary_operator operator: "|>" right: (identifier) @called)
(binary_operator operator: "|>" right: (call) @piped)
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @referred operator: "/" right: (integer) @call))
