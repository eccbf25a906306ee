"""Which tests a text has, and by what ids they are debugged."""

from __future__ import annotations

from pathlib import PurePath

import pytest
from ombud.debug.tests import LARGEST, has_tests, outline

PYTHON = '''\
"""Docs:
def test_in_a_string(): ...
"""
def helper():
    def test_within(): ...

@mark("""
def test_in_a_decorator(): ...
""")
async def test_one(
    a,
):
    text = "it's"
    def test_inner(): ...

if True:
    def test_two(): pass

class Cart(unittest.IsolatedAsyncioTestCase):
    x = \'\'\'
class TestNo:
\'\'\'
    def setUp(self): ...
    def test_total(self): ...
    class TestInner:
\tdef test_tab(self): ...

class Plain:
    def test_not_collected(self): ...

class TestAfter(
    Base
):
    def test_last(self): ...
# def test_comment(): ...
def testing_word(): ...
def test_half(
'''
GO = """\
package x
/*
func TestComment(t *testing.T) {}
*/
func TestMain(m *testing.M) {}
func TestOne(t *testing.T) {
	s := `
func TestString(t *testing.T) {}
`
}
func Testify() {}
func (s *Suite) TestMethod() {}
func FuzzTwo(f *testing.F) {}
func Test_under(t *testing.T) {}
"""
SCRIPT = """\
// it("comment", () => {})
import x from "http://x";
describe("cart", () => {
  describe('empty', function () {
    it(`sums`, () => {});
  });
  it.only("it's odd", async () => {});
  it.each([1])("each %d", () => {});
  test(`made ${x}`, () => {});
  const s = `
  it("in a template", () => {})
`;
});
test("alone", t => {});
submit("x", () => {});
"""


@pytest.mark.parametrize(
    ("path", "language", "text", "names"),
    [
        (
            "tests/test_cart.py",
            "python",
            PYTHON,
            "test_one test_two Cart::test_total Cart::TestInner::test_tab TestAfter::test_last testing_word test_half",
        ),
        ("pkg/x_test.go", "go", GO, "TestOne FuzzTwo Test_under"),
    ],
)
def test_names(path: str, language: str, text: str, names: str) -> None:
    assert [one.name for one in outline(PurePath(path), language, text)] == names.split()


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_where_they_stand(ends: str) -> None:
    text = SCRIPT.replace("\n", ends)
    found = outline(PurePath("cart.test.ts"), "typescript", text)
    assert [one.name for one in found] == ["cart::empty::sums", "cart::it's odd", "alone"]
    lines = text.split(ends)
    assert [lines[one.line][one.start : one.end] for one in found] == [
        "it(`sums`",
        'it.only("it\'s odd"',
        'test("alone"',
    ]


@pytest.mark.parametrize(
    ("path", "language", "is_one"),
    [
        ("test_a.py", "python", True),
        ("a_test.py", "python", True),
        ("tests.py", "python", True),
        ("contest.py", "python", False),
        ("a_test.go", "go", True),
        ("a.go", "go", False),
        ("a.spec.tsx", "typescriptreact", True),
        ("a-test.cjs", "javascript", True),
        ("__tests__/a.js", "javascript", True),
        ("latest.js", "javascript", False),
        ("test_a.py", "plaintext", False),
    ],
)
def test_files_of_tests(path: str, language: str, is_one: bool) -> None:
    assert has_tests(PurePath(path), language) is is_one


def test_B3_long_texts_and_open_strings_end() -> None:
    """Time linear in the text: what is quadratic takes minutes here."""
    path = PurePath("test_a.py")
    for piece in ('"""\n', "'", '"\\', "class A(", "def test_", "(" * 50 + "\n", "\t \n"):
        text = piece * (LARGEST // len(piece))
        assert len(outline(path, "python", text)) <= 1
        outline(PurePath("a.test.js"), "javascript", text.replace("'", "`"))
        outline(PurePath("a_test.go"), "go", text.replace('"', "/*"))
    assert outline(path, "python", "def test_a(): ...\n" * LARGEST) == []
