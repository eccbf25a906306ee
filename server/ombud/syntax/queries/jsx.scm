; Elements: a component's name calls it; a closing tag says nothing new.
(jsx_opening_element name: [(identifier) (member_expression)] @element)
(jsx_self_closing_element name: [(identifier) (member_expression)] @element)
(jsx_closing_element name: [(identifier) (member_expression)] @closing)
