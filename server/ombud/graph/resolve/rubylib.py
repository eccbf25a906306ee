"""What Ruby itself brings: classes, the methods that every object has, and what some of its collections give."""

from __future__ import annotations

from ombud.graph.resolve.values import EXT, LIB, Value, Values


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


CORE = words(
    """
    ArgumentError Array BasicObject Benchmark BigDecimal Binding Bundler CSV Class Comparable Complex
    ConditionVariable Data Date DateTime Delegator Digest Dir ENV EOFError ERB Encoding Enumerable
    Enumerator Errno Exception FalseClass Fiber File FileUtils Float FloatDomainError Forwardable
    FrozenError GC Gem Hash IO IOError IndexError Integer Interrupt JSON Kernel KeyError LoadError
    LocalJumpError Logger Marshal MatchData Math Method Minitest Module Monitor Mutex NameError Net
    NilClass NoMatchingPatternError NoMethodError NotImplementedError Numeric Object ObjectSpace
    Observable OpenStruct OptionParser Pathname Proc Process Queue RSpec Ractor Rake Random Range
    RangeError Rational Refinement Regexp RegexpError RuntimeError ScriptError SecureRandom
    SecurityError Set Shellwords Signal SignalException SimpleDelegator Singleton SizedQueue Socket
    StandardError StopIteration String StringIO Struct Symbol SyntaxError SystemCallError SystemExit
    SystemStackError TCPSocket Tempfile Thread ThreadError Time Timeout TracePoint TrueClass TypeError
    URI UnboundMethod UncaughtThrowError WeakRef YAML ZeroDivisionError
    """
)
"""Classes of the language and its standard library: a project that opens one adds to it."""

OBJECT = words(
    """
    Array Complex Float Hash Integer Rational String __callee__ __dir__ __id__ __method__ __send__ abort
    alias_method allocate ancestors at_exit attr attr_accessor attr_reader attr_writer autoload
    autoload? binding block_given? caller caller_locations catch class class_eval class_exec
    class_variable_defined? class_variable_get class_variable_set class_variables clone const_defined?
    const_get const_missing const_set const_source_location constants define_method
    define_singleton_method display dup enum_for eql? equal? eval exec exit exit! extend fail fork
    format freeze frozen? gets global_variables hash include include? included_modules inspect
    instance_eval instance_exec instance_method instance_methods instance_of? instance_variable_defined?
    instance_variable_get instance_variable_set instance_variables is_a? itself kind_of? lambda load
    local_variables loop method method_defined? methods module_eval module_exec module_function name new
    nil? object_id open p pp prepend print printf private private_class_method private_constant
    private_instance_methods private_method_defined? private_methods proc protected protected_methods
    public public_class_method public_instance_method public_instance_methods public_method
    public_methods public_send putc puts raise rand readline readlines refine remove_const
    remove_instance_variable remove_method require require_relative respond_to? respond_to_missing?
    select send set_trace_func singleton_class singleton_method singleton_methods sleep spawn sprintf
    srand superclass syscall system tap test then throw to_enum to_s trap undef_method using warn
    yield_self
    """
)
"""Methods that every object or every module has: a call of one may well be of the language's own."""

STANDARD = words(
    """
    English abbrev base64 benchmark bigdecimal bundler cgi complex coverage csv date delegate digest drb
    enumerator erb etc expect fcntl fiber fiddle fileutils find forwardable getoptlong io ipaddr irb
    json logger matrix minitest monitor mutex_m net nkf objspace observer open-uri open3 openssl
    optparse ostruct pathname pp prettyprint prime pstore psych pty racc rake rational rbconfig readline
    reline resolv rexml rinda ripper rspec ruby2_keywords rubygems securerandom set shellwords singleton
    socket stringio strscan syslog tempfile test thread time timeout tmpdir tracer tsort un
    unicode_normalize uri weakref webrick win32ole yaml zlib
    """
)
"""First parts of what ``require`` finds in the standard library, before a ``lib`` of another part of the project."""

MAKERS = words(
    """
    allocate build create create! find find_by find_by! find_or_create_by find_or_create_by!
    find_or_initialize_by first first! instance last last! sole take take!
    """
)
"""Methods of a class with a library's class above it that give an instance of it (as those of Active Record do)."""

ITERATES = frozenset(("Array", "Set", "Range", "Enumerator", "tuple"))
_ELEMENT = words(
    """
    at delete_at detect dig fetch find first last max max_by min min_by pop rotate sample shift slice!
    """
)
_SAME = words(
    """
    + - << append clone compact compact! concat drop drop_while dup each each_entry each_with_index
    each_with_object entries filter find_all flatten freeze lazy prepend push reject reject! reverse
    reverse_each rotate select select! shuffle sort sort! sort_by take take_while to_a to_set uniq uniq!
    unshift values_at
    """
)
_GIVES = {
    **dict.fromkeys(("to_s", "inspect", "upcase", "downcase", "strip", "gsub", "sub", "join", "chomp"), "String"),
    **dict.fromkeys(("to_sym", "intern"), "Symbol"),
    **dict.fromkeys(("to_i", "size", "length", "count"), "Integer"),
    **dict.fromkeys(("split", "lines", "chars", "bytes", "scan"), "Array"),
}
_HASH_VALUE = frozenset(("fetch", "delete", "dig", "store"))
_HASH_SAME = words("merge select reject filter compact dup each to_h merge! update")


def library_call(value: Value, name: str) -> Values:
    """What method ``name`` of an instance of a core class gives."""
    if value[0] != LIB:
        return ((EXT, ""),)
    kind, args = value[1], value[2]
    found = _of_hash(value, name) if kind == "Hash" and len(args) == 2 else None
    if kind in ITERATES and args:
        found = (value,) if name in _SAME else args[0] if name in _ELEMENT else None
    if found is not None:
        return found
    return ((LIB, _GIVES[name], ()),) if name in _GIVES else ((EXT, ""),)


def _of_hash(value: Value, name: str) -> Values | None:
    key, held = value[2]
    if name in _HASH_VALUE:
        return held  # type: ignore[no-any-return]
    if name in ("values", "keys"):
        return ((LIB, "Array", (held if name == "values" else key,)),)
    if name in _HASH_SAME:
        return (value,)
    if name in ("to_a", "sort_by", "sort"):
        return ((LIB, "Array", (((LIB, "tuple", (key, held)),),)),)
    return None
