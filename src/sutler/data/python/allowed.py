"""What code may use without asking: builtins, and members of modules, that reach no file, process, network or memory.

Left out on purpose, though they look harmless, is whatever reads or sets attributes by name, makes classes from data,
or hands out a module: each is a way to everything else.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BUILTINS = _words(
    """
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float
    format frozenset hasattr hash hex id int isinstance issubclass iter len list map max min next object oct ord pow
    print property range repr reversed round set slice sorted staticmethod str sum super tuple zip
    True False None NotImplemented Ellipsis
    ArithmeticError AssertionError AttributeError BaseException EOFError Exception FileExistsError FileNotFoundError
    FloatingPointError GeneratorExit IndexError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
    NameError NotADirectoryError NotImplementedError OSError OverflowError PermissionError RecursionError RuntimeError
    StopIteration SystemExit TimeoutError TypeError UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError
    Warning ZeroDivisionError
    """
)
# Every builtin that is not among them, whatever the code binds it to: a name that is deleted, or bound on one road
# only, is the builtin again.
OTHER_BUILTINS = (frozenset(dir(builtins)) | _words("copyright credits exit help license quit")) - BUILTINS
# Names with two underscores at each side that may be read as attributes, or be methods of a class.
DUNDER_ATTRIBUTES = _words("__name__ __doc__ __init__")
DUNDER_NAMES = _words("__name__ __slots__")
DUNDER_METHODS = _words(
    """
    __init__ __post_init__ __repr__ __str__ __bool__ __len__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    __iter__ __next__ __reversed__ __contains__ __getitem__ __setitem__ __delitem__ __call__ __enter__ __exit__
    __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __matmul__ __truediv__ __floordiv__ __mod__
    __pow__ __neg__ __pos__ __abs__ __int__ __float__ __index__ __round__ __and__ __or__ __xor__ __invert__
    """
)
PRIVATE_ATTRIBUTES = _words("_asdict _fields _make _replace")  # of named tuples
FRAME_ATTRIBUTES = _words(
    """
    gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin ag_frame ag_code ag_await tb_frame tb_next
    f_back f_builtins f_code f_globals f_locals f_trace
    """
)

# Methods that reach files, wherever a path object may be at hand.
PATH_ATTRIBUTES = _words(
    """
    read_text read_bytes write_text write_bytes open exists is_file is_dir is_symlink is_mount stat lstat iterdir glob
    rglob walk mkdir rmdir touch unlink rename symlink_to hardlink_to link_to chmod lchmod owner group resolve absolute
    readlink samefile expanduser home cwd copy_into move move_into info is_junction is_block_device is_char_device
    is_fifo is_socket
    """
)
PATH_READS = _words("read_text read_bytes exists is_file is_dir stat iterdir glob open")
PATH_WRITES = _words("write_text write_bytes mkdir touch")

MEMBERS: Mapping[str, frozenset[str]] = {
    "__future__": _words("annotations"),
    "math": _words(
        """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2
        expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp
        lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt sumprod tan
        tanh tau trunc ulp"""
    ),
    "cmath": _words(
        "acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10"
        " nan nanj phase pi polar rect sin sinh sqrt tan tanh tau"
    ),
    "itertools": _words(
        """accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile
        filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest"""
    ),
    "functools": _words("cache cmp_to_key lru_cache partial reduce"),
    "operator": _words(
        """add and_ concat contains countOf eq floordiv ge getitem gt index indexOf inv invert itemgetter le lt mod mul
        ne neg not_ or_ pos pow sub truediv truth xor"""
    ),
    "collections": _words("ChainMap Counter OrderedDict defaultdict deque namedtuple"),
    "collections.abc": _words(
        """Callable Collection Container Generator Hashable Iterable Iterator Mapping MutableMapping MutableSequence
        MutableSet Reversible Sequence Set Sized"""
    ),
    "heapq": _words("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
    "bisect": _words("bisect bisect_left bisect_right insort insort_left insort_right"),
    "statistics": _words(
        """NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean kde linear_regression
        mean median median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev variance"""
    ),
    "random": _words(
        """Random betavariate choice choices expovariate gauss getrandbits lognormvariate normalvariate paretovariate
        randbytes randint random randrange sample seed shuffle triangular uniform vonmisesvariate weibullvariate"""
    ),
    "decimal": _words(
        """Context Decimal DivisionByZero Inexact InvalidOperation ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN
        ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP getcontext localcontext setcontext"""
    ),
    "fractions": _words("Fraction"),
    "numbers": _words("Complex Integral Number Rational Real"),
    "json": _words("JSONDecodeError JSONEncoder dump dumps load loads"),
    "csv": _words("DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC Sniffer reader writer"),
    "io": _words("BytesIO StringIO"),
    "re": _words(
        """A ASCII DOTALL I IGNORECASE M MULTILINE Match Pattern S VERBOSE X compile error escape findall finditer
        fullmatch match search split sub subn"""
    ),
    "string": _words(
        "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable"
        " punctuation whitespace"
    ),
    "textwrap": _words("TextWrapper dedent fill indent shorten wrap"),
    "difflib": _words("SequenceMatcher context_diff get_close_matches ndiff unified_diff"),
    "pprint": _words("pformat pprint"),
    "unicodedata": _words("bidirectional category combining decimal digit name normalize numeric"),
    "datetime": _words("UTC date datetime time timedelta timezone tzinfo MINYEAR MAXYEAR"),
    "calendar": _words(
        "day_abbr day_name isleap leapdays month month_abbr month_name monthcalendar monthrange weekday"
    ),
    "time": _words(
        """ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time sleep
        strftime strptime struct_time time time_ns"""
    ),
    "hashlib": _words("blake2b blake2s md5 sha1 sha224 sha256 sha384 sha3_256 sha3_512 sha512"),
    "hmac": _words("compare_digest digest new"),
    "base64": _words(
        """a85decode a85encode b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode
        urlsafe_b64decode urlsafe_b64encode"""
    ),
    "binascii": _words("a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 hexlify unhexlify"),
    "zlib": _words("adler32 compress crc32 decompress"),
    "struct": _words("Struct calcsize error iter_unpack pack unpack unpack_from"),
    "array": _words("array"),
    "secrets": _words("choice randbelow token_bytes token_hex token_urlsafe"),
    "uuid": _words("NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL UUID uuid3 uuid4 uuid5"),
    "html": _words("escape unescape"),
    "urllib.parse": _words(
        "parse_qs parse_qsl quote quote_plus unquote unquote_plus urlencode urljoin urlparse urlsplit urlunparse"
    ),
    "copy": _words("copy deepcopy"),
    "enum": _words("Enum Flag IntEnum IntFlag StrEnum auto unique"),
    "dataclasses": _words("asdict astuple dataclass field fields replace"),
    "abc": _words("ABC abstractmethod"),
    "contextlib": _words("ExitStack closing contextmanager nullcontext redirect_stdout suppress"),
    "typing": _words(
        """Annotated Any Callable ClassVar Dict Final FrozenSet Generator Generic Iterable Iterator List Literal Mapping
        NamedTuple Optional Protocol Sequence Set Tuple TypeVar TypedDict Union cast"""
    ),
    "types": _words("SimpleNamespace"),
    "graphlib": _words("CycleError TopologicalSorter"),
    "traceback": _words("format_exc print_exc"),
    "pathlib": _words("Path PurePath PurePosixPath"),
    "sys": _words("byteorder exit float_info getsizeof maxsize platform version version_info"),
    "os": _words("getcwd linesep sep"),
    "os.path": _words("basename commonprefix dirname join normpath split splitext"),
}

# Why the commonest others ask, in plain words.
ABOUT: Mapping[str, str] = {
    **dict.fromkeys(
        _words("subprocess multiprocessing pty concurrent asyncio _posixsubprocess sched code pdb"),
        "it can start processes",
    ),
    **dict.fromkeys(_words("ctypes cffi mmap gc inspect importlib runpy builtins"), "it reaches around every rule"),
    **dict.fromkeys(
        _words(
            "socket ssl http urllib urllib3 requests httpx aiohttp ftplib smtplib imaplib telnetlib xmlrpc websockets"
        ),
        "it reaches the network",
    ),
    **dict.fromkeys(_words("shutil tempfile glob zipfile tarfile sqlite3 shelve dbm fileinput"), "it reaches files"),
    **dict.fromkeys(_words("pickle marshal copyreg"), "reading with it runs code"),
}
