"""The product is right for shapes that nobody chose, in both layouts and for each format."""

from types import ModuleType

import pytest
from reference import Generate, assert_product
from where import has_few_shapes

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
EXAMPLES = 6 if has_few_shapes() else 60
LARGEST = 140 if has_few_shapes() else 400  # the gfx942 kernel's tile is 128 x 128


@hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(
    m=st.integers(1, LARGEST),
    n=st.integers(1, LARGEST),
    k=st.integers(1, 3 * LARGEST),
    a=st.sampled_from("km"),
    b=st.sampled_from("kn"),
)
def test_product_is_right_for_random_shapes(
    *, gemm: ModuleType, generate: Generate, fp8: str, m: int, n: int, k: int, a: str, b: str
) -> None:
    operands = generate(m, n, k, fp8, a=a, b=b)
    assert_product(gemm.gemm(*operands.as_tuple()), operands)
