"""Lines of keys."""

from __future__ import annotations

from kernelmill.spec.toml_lines import key_lines

TEXT = '''\
# title = "no key"
top = "a # no comment"   # a comment with [brackets] = 1
dotted.key."with.dot" = 'literal \\'

[table]  # comment
"quoted = [key]" = 1
array = [
  1, # one
  "two]",
  { x = 3, y = [4,
    5] },
]
long = """
[no.table]
x = "1" \\""" still
""""
after = 1979-05-27 07:32:00

[other.deep]
x = { a.b = 1, c = "}" }

[[item]]
name = "first"
[item.part]
size = 1
[[item]]
name = "second"
[[item.sub]]
x = 1
[other]
late = true
'''


def test_line_is_found_for_every_kind_of_key() -> None:
    assert key_lines(TEXT) == {
        ("top",): 2,
        ("dotted",): 3,
        ("dotted", "key"): 3,
        ("dotted", "key", "with.dot"): 3,
        ("table",): 5,
        ("table", "quoted = [key]"): 6,
        ("table", "array"): 7,
        ("table", "array", 0): 8,
        ("table", "array", 1): 9,
        ("table", "array", 2): 10,
        ("table", "array", 2, "x"): 10,
        ("table", "array", 2, "y"): 10,
        ("table", "array", 2, "y", 0): 10,
        ("table", "array", 2, "y", 1): 11,
        ("table", "long"): 13,
        ("table", "after"): 17,
        ("other",): 30,
        ("other", "late"): 31,
        ("other", "deep"): 19,
        ("other", "deep", "x"): 20,
        ("other", "deep", "x", "a"): 20,
        ("other", "deep", "x", "a", "b"): 20,
        ("other", "deep", "x", "c"): 20,
        ("item",): 22,
        ("item", 0): 22,
        ("item", 0, "name"): 23,
        ("item", 0, "part"): 24,
        ("item", 0, "part", "size"): 25,
        ("item", 1): 26,
        ("item", 1, "name"): 27,
        ("item", 1, "sub"): 28,
        ("item", 1, "sub", 0): 28,
        ("item", 1, "sub", 0, "x"): 29,
    }


def test_line_is_found_when_lines_end_in_crlf() -> None:
    lines = key_lines("a = 1\r\n\r\nb = [\r\n2]\r\n")
    assert lines == {("a",): 1, ("b",): 3, ("b", 0): 4}


def test_nothing_is_found_when_there_is_nothing() -> None:
    assert key_lines("") == {}
    assert key_lines("# only a comment") == {}
