"""What a relaxed search passes over: modifiers, annotations, type parameters, types and bases that the pattern does
not name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.structural.pattern import Inner, Many
from ombud.structural.view import View

if TYPE_CHECKING:
    from ombud.structural.view import Seen

_KINDS = re.compile(
    r"modifier|annotation|attribute|decorator|visibility|type_parameter|throws|storage_class|where_clause|type_constraints|type_qualifier"
    r"|override_specifier|type_arguments|mutable_specifier|superclass|super_interfaces|base_list|base_class_clause|delegation_specifier"
    r"|inheritance_specifier|class_heritage|extends_clause|extends_type_clause|asserts|virtual_specifier|trailing_return|noexcept|ref_qualifier|contextual|async|parameter_type"
    r"|base_clause|interface_clause|^(?:abstract|interfaces|mixins|primary_constructor|class_parameters)$"
)
_FIELDS = (
    "return_type",
    "result",
    "type_parameters",
    "superclass",
    "superclasses",
    "interfaces",
    "bounds",
    "type",
    "extend",
    "derive",
)
_LEADS = frozenset({"->", ":", ",", "extends", "implements"})
_TYPES = re.compile(r"^(?:user_type|nullable_type|function_type|optional_type|array_type|tuple_type|dictionary_type)$")
"""Types that stand behind a colon where the grammar (of Kotlin, Swift) has no field for them."""
_DECLARED = re.compile(r"function|method|property|class|variable")


def optional_apart(view: View, part: Inner, node: Seen) -> list[Seen]:
    """The children of a node that count, without the optional ones that ``part`` does not name."""
    kids = view.kids(node)
    if node.kind_id != part.kind_id or node.kind_id < 0:
        return kids
    wanted = {child.kind_id for child in part.children if isinstance(child, Inner)}
    listed = any(isinstance(child, Many) for child in part.children)
    led = isinstance(part.children[0], Many)
    spare: set[int] = set()
    for field in _FIELDS:
        if field not in part.fields:
            spare.update(child.id for child in node.children_by_field_name(field))  # type: ignore[union-attr]
    out: list[Seen] = []
    for kid in kids:
        loose = (
            kid.is_named
            and kid.kind_id not in wanted
            and not (listed and (out or led))
            and _KINDS.search(kid.type) is not None
        )
        typed = (
            bool(out)
            and out[-1].type in (":", "->")
            and _TYPES.match(kid.type) is not None
            and kid.kind_id not in wanted
        )
        typed = typed and _DECLARED.search(node.type) is not None and not _colons(part)
        if loose or typed or getattr(kid, "id", None) in spare:
            if out and not out[-1].is_named and out[-1].type in _LEADS:
                out.pop()
            continue
        out.append(kid)
    return out


def _colons(part: Inner) -> bool:
    return any(getattr(child, "text", None) == b":" for child in part.children)
