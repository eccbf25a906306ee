"""What the standard library's containers hold and give, in the cheap form: receivers are (LIB, name, args).

Iterators are taken for the container they come from, as long as they give the same items; else they are an ``Iter``.
"""

from __future__ import annotations

from collections.abc import Callable

from ombud.graph.resolve.values import EXT, FUN, LIB, UNKNOWN, Value, Values


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


POINTERS = words(
    "Box Rc Arc Cow Pin ManuallyDrop Ref RefMut MutexGuard RwLockReadGuard RwLockWriteGuard Lazy LazyLock "
    "LazyCell MappedMutexGuard OwnedMutexGuard AssertUnwindSafe Reverse Wrapping CachePadded"
)
"""Types whose members are those of what they hold."""
MAPS = words("HashMap BTreeMap IndexMap FxHashMap FnvHashMap AHashMap DashMap")
LISTS = words(
    "Vec [] VecDeque LinkedList HashSet BTreeSet IndexSet FxHashSet BinaryHeap Iter SmallVec ArrayVec Iterator "
    "IntoIterator DoubleEndedIterator ExactSizeIterator Peekable Option IntoIter Range Drain"
)
CELLS = words("RefCell Cell UnsafeCell OnceCell OnceLock Mutex RwLock")
_SAME = words(
    "iter iter_mut into_iter drain rev skip take step_by filter skip_while take_while inspect peekable cloned "
    "copied chain cycle by_ref fuse as_ref as_mut as_deref as_deref_mut as_slice as_mut_slice to_vec clone "
    "to_owned or or_else xor replace collect as_mut_slice into_boxed_slice into_vec sorted sorted_by "
    "sorted_by_key sorted_unstable dedup split_off into_sorted_vec range union intersection difference "
    "symmetric_difference insert_entry context with_context map_err into_iter_sorted borrow borrow_mut "
    "get_or_insert skip_last filter_ok unique"
)
_ITEM = words(
    "next next_back first last get get_mut pop peek peek_mut nth find min max min_by max_by min_by_key "
    "max_by_key first_mut last_mut pop_front pop_back front back front_mut back_mut reduce last_entry find_map "
    "exactly_one nth_back get_or_init insert get_mut_or_init swap_remove_entry pop_if next_if first_key_value "
    "last_key_value"
)
_VALUE = words("unwrap expect unwrap_or unwrap_or_default unwrap_or_else unwrap_unchecked into_inner")
_NESTED = words("windows chunks chunks_exact chunks_mut split split_mut rchunks array_windows combinations")
_HELD = words("borrow borrow_mut get_mut get into_inner lock read write try_lock")
MADE = frozenset(("new", "from", "pin", "with", "default", "with_capacity", "Borrowed", "Owned", "Some"))
PASSING = words(
    "map for_each filter filter_map flat_map any all find find_map position rposition take_while skip_while "
    "map_while inspect partition retain retain_mut and_then is_some_and is_ok_and is_none_or map_or "
    "map_or_else sort_by sort_by_key sort_unstable_by sort_unstable_by_key sort_by_cached_key min_by max_by "
    "min_by_key max_by_key dedup_by_key dedup_by and_modify binary_search_by binary_search_by_key try_for_each "
    "group_by chunk_by sorted_by sorted_by_key partition_point then unwrap_or_else map_err or_else inspect_err "
    "fold try_fold scan update reduce"
)


def library_call(receiver: Value, name: str) -> Values:
    """What a method of a library's instance gives."""
    _, kind, args = receiver
    if not args:
        return ((EXT, ""),)
    if kind in ("Entry", "OccupiedEntry", "VacantEntry"):
        found: Values = args[-1]
        return found
    if kind in CELLS and name in _HELD:
        return args[0] if kind in ("RefCell", "Cell") else ((LIB, "Result", (args[0],)),)
    special = _of_map(args, name) if kind in MAPS else _of_option(receiver, name)
    return special or _of_list(receiver, name)


def _of_option(receiver: Value, name: str) -> Values:
    """Of an Option or a Result."""
    _, kind, args = receiver
    held: Values = args[0]
    if kind not in ("Option", "Result", "Poll"):
        return UNKNOWN
    if kind == "Result" and name in ("unwrap_err", "expect_err"):
        return args[1] if len(args) > 1 else UNKNOWN
    if kind == "Result" and name in ("ok", "err"):
        return ((LIB, "Option", (held if name == "ok" else args[-1],)),)
    if name in ("ok_or", "ok_or_else"):
        return ((LIB, "Result", (held,)),)
    if name in _VALUE or name in ("insert", "get_or_insert_with", "get_or_insert_default"):
        return held
    return (receiver,) if name == "take" else UNKNOWN


def _of_list(receiver: Value, name: str) -> Values:
    """Of anything that holds several."""
    _, kind, args = receiver
    held: Values = args[-1] if kind in MAPS else args[0]
    if name in _SAME:
        return (receiver,)
    if name in _ITEM:
        return ((LIB, "Option", (element(receiver),)),)
    if name in ("remove", "swap_remove", "sum", "product"):
        return held
    if name == "enumerate":
        return ((LIB, "Iter", (((LIB, "tuple", (((LIB, "usize", ()),), element(receiver))),),)),)
    if name in _NESTED:
        return ((LIB, "Iter", (((LIB, "[]", (held,)),),)),)
    if name in ("flatten", "concat"):
        return tuple((LIB, "Iter", one[2]) for one in held if one[0] == LIB and one[2]) or ((EXT, ""),)
    return ((EXT, ""),)


def _of_map(args: tuple[Values, ...], name: str) -> Values:
    held = args[-1]
    if name in ("values", "values_mut", "into_values"):
        return ((LIB, "Iter", (held,)),)
    if name in ("keys", "into_keys"):
        return ((LIB, "Iter", (args[0],)),)
    if name in ("get", "get_mut", "remove", "insert"):
        return ((LIB, "Option", (held,)),)
    if name == "entry":
        return ((LIB, "Entry", args),)
    return UNKNOWN


def element(value: Value) -> Values:
    """What iterating over a library's instance gives."""
    _, kind, args = value
    if not args:
        return ((EXT, ""),)
    if kind in MAPS:
        return ((LIB, "tuple", args),)
    found: Values = args[0]
    return found


def passed(receiver: Value, name: str, number: int) -> Values:
    """What a method gives to parameter ``number`` of the closure it is given."""
    _, kind, args = receiver
    if not args or name not in PASSING:
        return UNKNOWN
    if name in ("map_err", "or_else", "inspect_err", "unwrap_or_else") or (name == "map_or_else" and number == 0):
        return args[1] if kind == "Result" and len(args) > 1 else UNKNOWN
    if name in ("fold", "try_fold", "scan"):
        return element(receiver) if number == 1 else UNKNOWN
    if name == "and_modify":
        found: Values = args[-1]
        return found
    if kind in MAPS and name in ("retain", "retain_mut"):
        part: Values = args[min(number, len(args) - 1)]
        return part
    return element(receiver)


def given(receiver: Value, name: str, argument: Values, result: Callable[[Value], Values]) -> Values | None:
    """What a method gives whose result depends on its argument; None where it does not."""
    _, kind, args = receiver
    made = tuple(one for value in argument if value[0] == FUN or value[0] == 0 for one in result(value))
    shell = kind if kind in ("Option", "Result", "Poll") else "Iter"
    if name == "map":
        return ((LIB, shell, (made, *args[1:]) if shell == "Result" else (made,)),)
    if name in ("and_then", "map_or", "map_or_else", "then_with"):
        return made
    if name in ("flat_map", "filter_map"):
        inner = tuple(one for value in made if value[0] == LIB and value[2] for one in value[2][0])
        return ((LIB, "Iter", (inner,)),)
    if name == "then":
        return ((LIB, "Option", (made,)),)
    if name == "then_some":
        return ((LIB, "Option", (argument,)),)
    if name == "zip":
        other = tuple(one for value in argument if value[0] == LIB for one in element(value))
        return ((LIB, "Iter", (((LIB, "tuple", (element(receiver), other)),),)),)
    return None


STD_METHODS = words(
    "clone clone_from eq ne cmp partial_cmp lt le gt ge hash fmt default into try_into to_string to_owned "
    "borrow borrow_mut as_ref as_mut type_id drop deref deref_mut max min clamp from try_from source provide "
    "description cause"
)
"""Members that a type gets from the standard library's traits, often by ``derive``."""
LIKE_ITSELF = words("clone default to_owned borrow borrow_mut as_ref as_mut max min clamp by_ref into_iter")
"""Of these, those that give an instance of the type they are called on, as far as can be told.

`as_ref` and its like give something else where the type says so; then it is an impl of ours."""
STD_ITERATOR = words(
    "next size_hint count last nth step_by chain zip map for_each filter filter_map enumerate peekable "
    "skip_while take_while map_while skip take scan flat_map flatten fuse inspect by_ref collect partition "
    "fold reduce all any find find_map position rposition max min max_by min_by max_by_key min_by_key rev "
    "unzip copied cloned cycle sum product cmp eq ne lt into_iter try_fold try_for_each next_back len rfold "
    "rfind"
)
PRELUDE = words(
    "std core alloc proc_macro Some None Ok Err Option Result Vec String Box ToString ToOwned Clone Copy Send "
    "Sync Sized Drop Fn FnMut FnOnce Iterator IntoIterator Extend Default DoubleEndedIterator "
    "ExactSizeIterator Eq PartialEq Ord PartialOrd AsRef AsMut Into From TryFrom TryInto FromIterator drop "
    "bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 Debug Hash fn [] Unpin Future "
    "IntoFuture AsyncFn size_of align_of size_of_val align_of_val"
)
