; Elixir: definitions are calls of `def` and its like.

((call target: (identifier) @keyword (arguments . (alias) @name)) @namespace
  (#any-of? @keyword "defmodule" "defprotocol"))
((call target: (identifier) @keyword (arguments . (call target: (identifier) @name))) @function
  (#any-of? @keyword "def" "defp" "defguard" "defguardp" "defdelegate"))
((call target: (identifier) @keyword (arguments . (identifier) @name)) @function
  (#any-of? @keyword "def" "defp" "defdelegate"))
((call target: (identifier) @keyword
   (arguments . (binary_operator left: (call target: (identifier) @name)))) @function
  (#any-of? @keyword "def" "defp" "defguard" "defguardp"))
((call target: (identifier) @keyword (arguments . (call target: (identifier) @name))) @macro
  (#any-of? @keyword "defmacro" "defmacrop"))

((call target: (identifier) @called)
  (#not-any-of? @called "def" "defp" "defmodule" "defmacro" "defmacrop" "defguard" "defguardp" "defprotocol" "defimpl"
    "defdelegate" "defstruct" "use" "alias" "import" "require" "if" "unless" "case" "cond" "with" "for" "fn" "quote"))
(call target: (dot left: (_) @receiver right: (identifier) @called))
