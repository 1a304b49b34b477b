#!/usr/bin/env python3
"""Writes Tables.swift from the Unicode Character Database.

Usage: generate-tables.py [FOLDER] > Tables.swift
       generate-tables.py --web [FOLDER] > ../../clients/web/lookalikes.js
FOLDER holds UnicodeData.txt and its companions; the default is where Debian's `unicode-data` package puts them. That
package lacks confusables.txt (UTS #39), so the skeletons of single characters are taken from ICU (Debian: `libicu72`),
which must have the same version of Unicode.

The tables are generated, not read from the standard library's Unicode data, so that an address stored today is still
normalised the same way after a toolchain update: a new Unicode version is a deliberate change of this one file.
"""
import ctypes
import ctypes.util
import os
import re
import sys

IS_WEB = "--web" in sys.argv
UCD = next((each for each in sys.argv[1:] if each != "--web"), "/usr/share/unicode")
LAST = 0x10FFFF


def path(name):
    return os.path.join(UCD, name)


def properties(name):
    """Yields (first, last, value) of a file in the `0041..005A ; Value # comment` format."""
    with open(path(name), encoding="utf-8") as lines:
        for line in lines:
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            fields = [field.strip() for field in line.split(";")]
            ends = fields[0].split("..")
            yield int(ends[0], 16), int(ends[-1], 16), fields[1]


def members(name, *values):
    found = set()
    for first, last, value in properties(name):
        if value in values:
            found.update(range(first, last + 1))
    return found


def by_code_point(name):
    found = {}
    for first, last, value in properties(name):
        for cp in range(first, last + 1):
            found[cp] = value
    return found


version = re.search(r"-(\d+\.\d+\.\d+)\.txt", open(path("Scripts.txt"), encoding="utf-8").readline()).group(1)

category, combining, step, kind, lower = {}, {}, {}, {}, {}
CANONICAL, COMPATIBLE, WIDTH = 1, 2, 3
first_of_range = None
for line in open(path("UnicodeData.txt"), encoding="utf-8"):
    f = line.rstrip("\n").split(";")
    cp = int(f[0], 16)
    if f[1].endswith(", First>"):
        first_of_range = cp
        continue
    span = range(first_of_range, cp + 1) if f[1].endswith(", Last>") else [cp]
    first_of_range = None
    for each in span:
        category[each] = f[2]
    if f[3] != "0":
        combining[cp] = int(f[3])
    if f[5]:
        parts = f[5].split()
        tag = parts.pop(0) if parts[0].startswith("<") else None
        step[cp] = [int(part, 16) for part in parts]
        kind[cp] = CANONICAL if tag is None else WIDTH if tag in ("<wide>", "<narrow>") else COMPATIBLE
    if f[13]:
        lower[cp] = [int(f[13], 16)]
lower[0x130] = [0x69, 0x307]  # SpecialCasing.txt: the one unconditional mapping to lower case of more than one scalar

excluded = members("DerivedNormalizationProps.txt", "Full_Composition_Exclusion")
pairs = {tuple(step[cp]): cp for cp in step if kind[cp] == CANONICAL and cp not in excluded}

# --- Normalisation (UAX #15), to evaluate HasCompat and Unstable. -----------------------------------------------------

S, L, V, T = 0xAC00, 0x1100, 0x1161, 0x11A7


def decompose(cp, compatible):
    if S <= cp < S + 11172:
        index = cp - S
        tail = index % 28
        return [L + index // 588, V + index % 588 // 28] + ([T + tail] if tail else [])
    if cp in step and (compatible or kind[cp] == CANONICAL):
        return [out for part in step[cp] for out in decompose(part, compatible)]
    return [cp]


def compose(cps):
    cps = list(cps)
    start = 0
    while start < len(cps):  # canonical ordering: stable sort of each run of non-starters
        end = start
        while end < len(cps) and combining.get(cps[end], 0):
            end += 1
        cps[start:end] = sorted(cps[start:end], key=lambda cp: combining[cp])
        start = end + 1
    out, starter, previous = [], None, 0
    for cp in cps:
        ccc = combining.get(cp, 0)
        if starter is not None and (previous < ccc or previous == 0 and starter == len(out) - 1):
            a = out[starter]
            both = pairs.get((a, cp))
            if both is None and L <= a < L + 19 and V <= cp < V + 21:
                both = S + ((a - L) * 21 + cp - V) * 28
            if both is None and S <= a < S + 11172 and (a - S) % 28 == 0 and T < cp < T + 28:
                both = a + cp - T
            if both is not None:
                out[starter] = both
                continue
        if ccc == 0:
            starter = len(out)
        previous = ccc
        out.append(cp)
    return out


def nfkc(cps):
    return compose([out for cp in cps for out in decompose(cp, True)])


# --- Derived properties: RFC 8264 8-9 for PRECIS, RFC 5892 2-3 for domain labels. -------------------------------------

ignorable = members("DerivedCoreProperties.txt", "Default_Ignorable_Code_Point")
white_space = members("PropList.txt", "White_Space")
noncharacter = members("PropList.txt", "Noncharacter_Code_Point")
join_control = members("PropList.txt", "Join_Control")
jamo = members("HangulSyllableType.txt", "L", "V", "T")
ignorable_blocks = members("Blocks.txt", "Combining Diacritical Marks for Symbols", "Musical Symbols",
                           "Ancient Greek Musical Notation")
folding = {}
for line in open(path("CaseFolding.txt"), encoding="utf-8"):
    f = [field.strip() for field in line.split("#", 1)[0].split(";")]
    if len(f) > 2 and f[1] in "CF":
        folding[int(f[0], 16)] = [int(part, 16) for part in f[2].split()]

DISALLOWED, VALID, FREEFORM, SPACE, CONTEXT_J, CONTEXT_O = range(6)
exceptions = {cp: VALID for cp in (0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007)}
exceptions.update({cp: CONTEXT_O for cp in (0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB)})
exceptions.update({cp: CONTEXT_O for cp in list(range(0x660, 0x66A)) + list(range(0x6F0, 0x6FA))})
exceptions.update({cp: DISALLOWED for cp in (0x640, 0x7FA, 0x302E, 0x302F, 0x3031, 0x3032, 0x3033, 0x3034, 0x3035, 0x303B)})
LETTER_DIGITS = {"Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc"}


def precis(cp):
    if cp in exceptions:
        return exceptions[cp]
    if cp not in category:
        return DISALLOWED  # unassigned
    if 0x21 <= cp <= 0x7E:
        return VALID
    if cp in join_control:
        return CONTEXT_J
    gc = category[cp]
    if cp in jamo or cp in ignorable or cp in noncharacter or gc in ("Cc", "Cs"):
        return DISALLOWED
    if gc == "Zs":
        return SPACE  # FREEFORM too, and mapped to U+0020 by the profiles
    if nfkc([cp]) != [cp]:
        return FREEFORM
    if gc in LETTER_DIGITS:
        return VALID
    if gc in ("Lt", "Nl", "No", "Me") or gc[0] in "SP":
        return FREEFORM
    return DISALLOWED


def idna_valid(cp):
    """PVALID, CONTEXTJ or CONTEXTO of RFC 5892 3."""
    if cp in exceptions:
        return exceptions[cp] != DISALLOWED
    if cp not in category:
        return False
    if cp == 0x2D or 0x30 <= cp <= 0x39 or 0x61 <= cp <= 0x7A or cp in join_control:
        return True
    folded = [out for each in nfkc([cp]) for out in folding.get(each, [each])]
    if nfkc(folded) != [cp] or cp in ignorable or cp in white_space or cp in noncharacter:
        return False
    return cp not in ignorable_blocks and cp not in jamo and category[cp] in LETTER_DIGITS


def ranges(value):
    out = []
    for cp in range(LAST + 1):
        v = value(cp)
        if v and out and out[-1][1] == cp - 1 and out[-1][2] == v:
            out[-1][1] = cp
        elif v:
            out.append([cp, cp, v])
    return [first << 32 | last << 8 | v for first, last, v in out]


IDNA_NEVER, IDNA_AS_IS = 1, 2


def idna_difference(cp):
    """How a label differs from the identifier class, once mapped to lower case."""
    if cp < 0x80:
        return 0
    ok, valid = precis(cp) in (VALID, CONTEXT_J, CONTEXT_O), idna_valid(cp)
    assert ok or not valid, hex(cp)
    if cp in lower:
        return IDNA_AS_IS if valid else 0
    return IDNA_NEVER if ok and not valid else 0


bidi = by_code_point("extracted/DerivedBidiClass.txt")
BIDI = {"R": 1, "AL": 1, "AN": 2, "EN": 3, "ES": 4, "CS": 4, "ET": 4, "ON": 4, "BN": 4, "NSM": 5, "L": 0}
joining = by_code_point("extracted/DerivedJoiningType.txt")
JOINING = {"L": 1, "D": 2, "R": 3, "T": 4}
script = by_code_point("Scripts.txt")
SCRIPT = {"Common": 0, "Inherited": 0, "Greek": 1, "Hebrew": 2, "Hiragana": 3, "Katakana": 3, "Han": 3, "Hangul": 4,
          "Bopomofo": 5, "Latin": 6}
SCRIPT.update({name: 7 + index for index, name in enumerate(sorted(set(script.values()) - set(SCRIPT)))})
assert max(SCRIPT.values()) < 256

# --- Skeletons (UTS #39, 4). ------------------------------------------------------------------------------------------


def skeletons():
    """The prototypes of the characters that a nick may have, as far as they differ from it. A character that has a
    decomposition needs none, as skeletons are made of decomposed text; nor do those that PRECIS refuses or replaces."""
    library = ctypes.util.find_library("icui18n")
    number = re.search(r"\.so\.(\d+)", library).group(1)
    icu = ctypes.CDLL(library)
    unicode_version = (ctypes.c_uint8 * 4)()
    getattr(ctypes.CDLL(library.replace("i18n", "uc")), f"u_getUnicodeVersion_{number}")(unicode_version)
    found = ".".join(map(str, unicode_version[:3]))
    assert found == version, f"ICU has Unicode {found}, {UCD} has {version}"
    error = ctypes.c_int(0)
    start = getattr(icu, f"uspoof_open_{number}")
    start.restype = ctypes.c_void_p
    checker = ctypes.c_void_p(start(ctypes.byref(error)))
    skeleton = getattr(icu, f"uspoof_getSkeletonUTF8_{number}")
    out = ctypes.create_string_buffer(256)
    prototypes = {}
    for cp in sorted(category):
        if precis(cp) not in (VALID, FREEFORM, CONTEXT_J, CONTEXT_O) or cp in step or S <= cp < S + 11172:
            continue
        text = chr(cp).encode()
        size = skeleton(checker, 0, text, len(text), out, len(out), ctypes.byref(error))
        assert error.value <= 0, hex(cp)
        prototype = out.raw[:size].decode()
        if prototype != chr(cp):
            prototypes[cp] = [ord(each) for each in prototype]
    return prototypes


confusable = skeletons()

# Letters that look alike in small print only, though one alphabet has both: names of people differ by them, as the Thai
# Ta and Da, the Persian Soraya and Paria, the Hebrew Lian and Leo. They are their own prototypes.
SEPARATE = [
    0x5DF,  # Hebrew final nun, beside vav.
    0x566,  # Armenian za, beside gim.
    0x62B, 0x67E,  # Arabic theh, and peh.
    0x6BA, 0x6D2,  # Arabic noon ghunna and yeh barree, beside yeh, in Urdu.
    0xB9C, 0xBB0, 0xBBE, 0xBC8,  # Tamil ja, ra and the vowel signs aa and ai, beside ai, ii and nnna.
    0xD31, 0xD40, 0xD42, 0xD43,  # Malayalam rra, and the vowel signs ii, uu and vocalic r, beside ra, i and u.
    0xE0B, 0xE0F, 0xE14, 0xE15, 0xE17, 0xE21, 0xE26,  # Thai so so, to patak, do dek, to tao, tho thahan, mo ma, lu.
    0x58EB, 0x9E43,  # Chinese shi (scholar), beside earth; juan (cuckoo), beside li (oriole).
]
for each in SEPARATE:
    del confusable[each]


def skeleton_entries():
    """cp << 43 | length << 22 | the only scalar, or the pool's offset of more."""
    entries, pool = [], []
    for cp in sorted(confusable):
        prototype = confusable[cp]
        entries.append(cp << 43 | len(prototype) << 22 | (prototype[0] if len(prototype) == 1 else len(pool)))
        if len(prototype) > 1:
            pool += prototype
    assert len(pool) < 1 << 22
    return entries, pool


# UAX #31, table 5: the scripts in everyday use.
RECOMMENDED = """Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul
Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai
Tibetan""".split()


def web_look_alikes():
    """Letters and digits that look like those of another script in everyday use, or like ASCII; the marks of prototypes
    are left out, since the web client compares names without marks."""
    def is_letter(cp):
        return category.get(cp, "Cn")[0] in "LN"

    groups = {}
    for cp in sorted(confusable):
        parts = [out for each in confusable[cp] for out in decompose(each, True)]
        prototype = "".join(chr(each) for each in parts if is_letter(each))
        if cp > 0x7F and is_letter(cp) and prototype and prototype != chr(cp):
            groups.setdefault(prototype, []).append(chr(cp))
    for prototype, letters in sorted(groups.items()):
        scripts = {script[ord(each)] for each in [*letters, *prototype]} & set(RECOMMENDED)
        if len(scripts) > 1 or prototype.isascii():
            yield prototype + (":" if len(prototype) > 1 else "") + "".join(letters)


if IS_WEB:
    print(f"""// Generated by Sources/Addresses/generate-tables.py from Unicode {version}. Do not edit.
//
// Copyright © 1991-2022 Unicode, Inc. All rights reserved. Distributed under the Terms of Use in
// https://www.unicode.org/copyright.html (Unicode License Agreement - Data Files and Software). The data has been
// modified: it is a part, without marks.

const GROUPS = "{" ".join(web_look_alikes())}";

/** Letters and digits that look like those of another script, or like ASCII, each with its prototype (UTS 39, 4). */
export const PROTOTYPES = new Map(GROUPS.split(" ").flatMap((group) => {{
  const [, prototype, letters] = /^(.+):(.+)$/u.exec(group) ?? /^(.)(.+)$/u.exec(group);
  return [...letters].map((letter) => [letter, prototype]);
}}));""")
    sys.exit()


def lower_runs():
    """start << 43 | end << 22 | every-other << 21 | delta + 0x100000"""
    runs = []
    for cp in sorted(lower):
        if len(lower[cp]) != 1:
            continue
        delta = lower[cp][0] - cp
        for stride in (1, 2):
            if runs and runs[-1][3] == delta and runs[-1][1] + stride == cp and runs[-1][2] in (0, stride):
                runs[-1][1], runs[-1][2] = cp, stride
                break
        else:
            runs.append([cp, cp, 0, delta])
    return [a << 43 | b << 22 | (1 if stride == 2 else 0) << 21 | delta + 0x100000 for a, b, stride, delta in runs]


def decomposition_runs():
    """Runs of code points with mappings of one kind and length, laid one after another in the pool; or, when `rising`,
    of one scalar each, counting up from the first. start << 43 | count << 31 | rising << 30 | kind << 28 | length << 22
    | the pool's offset or the first scalar."""
    runs, pool = [], []
    keys = sorted(step)
    i = 0
    while i < len(keys):
        cp = keys[i]
        same = 1
        while i + same < len(keys) and keys[i + same] == cp + same and kind[keys[i + same]] == kind[cp] \
                and len(step[keys[i + same]]) == len(step[cp]):
            same += 1
        rising = 0
        while len(step[cp]) == 1 and rising < same and step[cp + rising][0] == step[cp][0] + rising:
            rising += 1
        if rising >= 3 or rising == same == 1:
            runs.append(cp << 43 | rising << 31 | 1 << 30 | kind[cp] << 28 | 1 << 22 | step[cp][0])
            i += rising
            continue
        # Stop a plain run where a rising one worth its own entry starts.
        count = 1
        while count < same and not (len(step[cp]) == 1 and count + 2 < same and all(
                step[cp + count + k][0] == step[cp + count][0] + k for k in range(3))):
            count += 1
        runs.append(cp << 43 | count << 31 | kind[cp] << 28 | len(step[cp]) << 22 | len(pool))
        for k in range(count):
            pool += step[cp + k]
        i += count
    assert len(pool) < 1 << 22
    return runs, pool


runs, pool = decomposition_runs()


def emit(name, doc, values, element="UInt64"):
    print(f"\n  /// {doc}")
    print(f"  static let {name}: [{element}] = [")
    line = "   "
    for value in values:
        text = f" 0x{value:x},"
        if len(line) + len(text) > 132:
            print(line)
            line = "   "
        line += text
    print(line)
    print("  ]")


print(f"""// Generated by generate-tables.py from the Unicode Character Database {version}. Do not edit.
//
// Copyright © 1991-2022 Unicode, Inc. All rights reserved. Distributed under the Terms of Use in
// https://www.unicode.org/copyright.html (Unicode License Agreement - Data Files and Software). The data has been
// modified: properties are derived, merged and packed.

// swift-format-ignore-file

/// Unicode properties that PRECIS (RFC 8264), IDNA (RFC 5892, RFC 5893), the normalisation forms (UAX #15) and skeletons
/// (UTS #39) need.
///
/// Unless said otherwise a table holds ranges, `first << 32 | last << 8 | value`, sorted; a scalar in no range has
/// value 0.
enum UnicodeTables {{
  /// The version of the data.
  static let version = "{version}\"""")
emit("derived", "`DerivedProperty` of RFC 8264 8.", ranges(precis))
emit("idna", "The deviations of RFC 5892 from the identifier class after mapping to lower case: 1 disallowed, 2 valid as it is.",
     ranges(idna_difference))
emit("marks", "1 for General_Category M: what must not begin a label (RFC 5891 4.2.3.2).",
     ranges(lambda cp: 1 if category.get(cp, "")[:1] == "M" else 0))
unsettled = members("DerivedNormalizationProps.txt", "NFC_QC") | set(combining)  # the file lists No and Maybe only
emit("unsettled", "1 for what keeps a string from being in form C at a glance: NFC_Quick_Check No or Maybe, or a combining class.",
     ranges(lambda cp: 1 if cp in unsettled else 0))
emit("combining", "Canonical_Combining_Class.", ranges(lambda cp: combining.get(cp, 0)))
emit("bidi", "`BidiClass`, by the groups RFC 5893 2 distinguishes.", ranges(lambda cp: BIDI.get(bidi.get(cp, "L"), 6)))
emit("joining", "`JoiningType`, as far as RFC 5892 A.1 asks.", ranges(lambda cp: JOINING.get(joining.get(cp), 0)))
emit("script", "The script as a number, 0 for Common and Inherited; `ScriptGroup` names the first ones.",
     ranges(lambda cp: SCRIPT.get(script.get(cp), 0)))
emit("lowercase", "Simple mappings to lower case: start << 43 | end << 22 | every other << 21 | delta + 0x100000.",
     lower_runs())
emit("decompositions", "One-step mappings: start << 43 | count << 31 | rising << 30 | kind << 28 | length << 22 | offset "
     "or first.", runs)
emit("decompositionPool", "The scalars of the mappings.", pool, "UInt32")
emit("compositions", "Canonical pairs: first << 42 | second << 21 | composite.",
     sorted(a << 42 | b << 21 | cp for (a, b), cp in pairs.items()))
entries, skeleton_pool = skeleton_entries()
emit("skeletons", "Prototypes of confusable characters: scalar << 43 | length << 22 | the only scalar or the offset.", entries)
emit("skeletonPool", "The scalars of longer prototypes.", skeleton_pool, "UInt32")
print("}")
