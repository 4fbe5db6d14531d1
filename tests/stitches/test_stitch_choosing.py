"""Names, options, records, `auto`, and the sentence of every misfit."""

from __future__ import annotations

import itertools
import json

import pytest
from stitch_contract import TABLE, maps, tokens, vector

from seamripper.cut.place import Cut
from seamripper.errors import StitchError
from seamripper.stitches import auto, stitches
from seamripper.stitches.affine import Affine
from seamripper.stitches.conv import Conv
from seamripper.stitches.low_rank import LowRank
from seamripper.stitches.map_to_tokens import MapToTokens

NAMES = [
    "affine",
    "bn_affine",
    "conv",
    "expand_linear",
    "flatten_linear",
    "identity",
    "low_rank",
    "map_to_tokens",
    "orthogonal",
    "pool_linear",
    "resample_tokens",
    "resize",
    "strided",
    "tokens_to_map",
]


def test_all_are_found() -> None:
    assert list(stitches) == NAMES
    assert all(cls.name == name for name, cls in stitches.items())


def test_the_list_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        stitches["affine"] = Conv  # type: ignore[index]


@pytest.mark.parametrize("name", NAMES)
def test_default_options_make_the_default_choice(name: str) -> None:
    assert stitches.make(name) == stitches[name]()
    assert (stitches[name].__doc__ or "").count(">>>") > 0


def test_records_survive_json() -> None:
    for stitch, _, _ in TABLE:
        assert stitches.from_record(json.loads(json.dumps(stitch.as_record()))) == stitch


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("afine", {}, r"no stitch 'afine': did you mean 'affine'"),
        ("zzz", {}, r"no stitch 'zzz': there are: affine, bn_affine"),
        (
            "conv",
            {"kernal": 3},
            r"no option 'kernal': did you mean 'kernel'\? Its options are 'kernel' and 'norm'",
        ),
        ("low_rank", {"zzz": 3}, r"no option 'zzz': Its options are 'rank'"),
        ("identity", {"bias": True}, r"'identity' has no option 'bias': It has none"),
        (
            "low_rank",
            {"rank": "8"},
            r"rank of the stitch 'low_rank' to be a whole number, but got '8'",
        ),
        ("low_rank", {"rank": True}, r"to be a whole number, but got True"),
        ("conv", {"kernel": 3.0}, r"to be a whole number, but got 3.0"),
        ("affine", {"bias": 1}, r"to be True or False, but got 1"),
        ("pool_linear", {"pool": "max"}, r"to be 'mean' or 'cls', but got 'max'"),
        ("map_to_tokens", {"cls": None}, r"to be 'learn', 'pool', 'drop' or 'keep', but got None"),
    ],
)
def test_wrong_names_and_options(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(StitchError, match=message):
        stitches.make(name, **options)
    with pytest.raises(StitchError, match=message):
        stitches.from_record({"name": name, **options})


def test_a_wrong_option_is_refused_where_it_is_given() -> None:
    with pytest.raises(StitchError, match="Expected cls of the stitch 'map_to_tokens'"):
        MapToTokens(cls="first")  # type: ignore[arg-type]


def test_options_are_keywords() -> None:
    with pytest.raises(TypeError):
        LowRank(3)  # type: ignore[misc]


@pytest.mark.parametrize("record", [{}, {"rank": 3}, {"name": 3}])
def test_a_record_without_a_name(record: dict[str, object]) -> None:
    with pytest.raises(StitchError, match="to have a 'name', but got"):
        stitches.from_record(record)


MISFITS = [
    ("identity", {}, maps(3, 4, 4), maps(5, 4, 4), "expected the same width .* 3, 5; use 'affine'"),
    ("identity", {}, maps(3, 4, 4), maps(3, 2, 2), "expected the same grid .* 4x4 and 2x2; use 'resize'"),
    ("identity", {}, vector(3), tokens(1, 3), "same layout .* a vector and tokens; use 'expand_linear'"),
    ("affine", {}, maps(3, 4, 4), maps(3, 2, 4), "expected the same grid .* 4x4 and 2x4; use 'resize'"),
    ("affine", {}, maps(3, 4, 4), tokens(16, 3), "a map and tokens; use 'map_to_tokens'"),
    ("affine", {}, tokens(16, 3), tokens(17, 3), "number of tokens .* 16 and 17; use 'resample_tokens'"),
    ("affine", {}, tokens(16, 3), vector(3), "tokens and a vector; use 'pool_linear'"),
    ("bn_affine", {}, maps(3, 4, 4), maps(3, 2, 2), "expected the same grid"),
    ("bn_affine", {}, tokens(16, 3), maps(3, 4, 4), "tokens and a map; use 'tokens_to_map'"),
    ("orthogonal", {}, tokens(16, 3), tokens(4, 3), "expected the same number of tokens"),
    ("low_rank", {"rank": 2}, maps(3, 4, 4), maps(3, 2, 2), "expected the same grid"),
    (
        "low_rank",
        {"rank": 4},
        vector(3),
        vector(8),
        "rank to lie in 1 … 3, .* but got 4; use rank=3, or 'affine'",
    ),
    (
        "low_rank",
        {"rank": 0},
        vector(3),
        vector(8),
        "rank to lie in 1 … 3, .* but got 0; use rank=1, or 'affine'",
    ),
    (
        "conv",
        {"kernel": 2},
        maps(3, 4, 4),
        maps(3, 4, 4),
        "kernel to be an odd number of 1 or more but got 2",
    ),
    (
        "conv",
        {"kernel": -1},
        maps(3, 4, 4),
        maps(3, 4, 4),
        "kernel to be an odd number of 1 or more but got -1",
    ),
    ("conv", {}, maps(3, 4, 4), maps(3, 2, 2), "expected the same grid .* use 'resize'"),
    ("conv", {}, tokens(16, 3), tokens(16, 3), "expected a map to be joined to a map .* use 'affine'"),
    ("strided", {}, maps(3, 7, 7), maps(3, 4, 4), "whole multiple .* 7x7 and 4x4; use 'resize'"),
    ("strided", {}, maps(3, 8, 2), maps(3, 4, 4), "whole multiple .* 8x2 and 4x4; use 'resize'"),
    ("strided", {}, maps(3, 8, 8), vector(4), "expected a map .* a vector; use 'pool_linear'"),
    ("resize", {}, maps(3, 4, 4), tokens(16, 3), "expected a map .* tokens; use 'map_to_tokens'"),
    ("map_to_tokens", {}, tokens(16, 3), tokens(9, 3), "expected a map .* use 'resample_tokens'"),
    ("map_to_tokens", {}, maps(3, 4, 4), tokens(12, 3), "receiver's tokens to be a square, .* got 12"),
    ("map_to_tokens", {"cls": "keep"}, maps(3, 4, 4), tokens(17, 3), "a map has none; use cls='learn'"),
    ("tokens_to_map", {}, maps(3, 4, 4), maps(3, 2, 2), "expected tokens .* use 'resize'"),
    ("tokens_to_map", {}, tokens(12, 3), maps(3, 4, 4), "sender's tokens to be a square, .* got 12"),
    ("tokens_to_map", {"cls": "learn"}, tokens(17, 3), maps(3, 4, 4), "a map has none; use 'drop'"),
    ("tokens_to_map", {"cls": "keep"}, tokens(16, 3), maps(3, 4, 4), "cls='keep' .* the sender has none"),
    ("tokens_to_map", {"cls": "pool"}, tokens(16, 3), maps(3, 4, 4), "cls='pool' .* the sender has none"),
    ("resample_tokens", {}, tokens(16, 3), maps(3, 4, 4), "expected tokens .* use 'tokens_to_map'"),
    ("resample_tokens", {}, tokens(12, 3), tokens(16, 3), "sender's tokens to be a square"),
    ("resample_tokens", {}, tokens(16, 3), tokens(12, 3), "receiver's tokens to be a square"),
    ("resample_tokens", {}, tokens(16, 3), tokens(10, 3), "the sender has none; use cls='learn'"),
    ("resample_tokens", {}, tokens(17, 3), tokens(9, 3), "the receiver has none; use cls='drop'"),
    ("flatten_linear", {}, vector(3), maps(3, 4, 4), "to be joined to a vector .* use 'expand_linear'"),
    ("pool_linear", {}, vector(3), vector(3), "expected a map or tokens .* use 'affine'"),
    ("pool_linear", {"pool": "cls"}, tokens(16, 3), vector(3), "the sender has none; use pool='mean'"),
    ("pool_linear", {"pool": "cls"}, maps(3, 4, 4), vector(3), "the sender has none; use pool='mean'"),
    ("expand_linear", {}, maps(3, 4, 4), tokens(16, 3), "expected a vector .* use 'map_to_tokens'"),
    ("expand_linear", {}, vector(3), vector(4), "to be joined to a map or tokens .* use 'affine'"),
]


@pytest.mark.parametrize(("name", "options", "source", "target", "message"), MISFITS)
def test_misfits(name: str, options: dict[str, object], source: Cut, target: Cut, message: str) -> None:
    stitch = stitches.make(name, **options)
    with pytest.raises(StitchError, match=message) as caught:
        stitch.build(source, target)
    assert str(caught.value).startswith(f"The stitch '{name}' cannot join {source} to {target}: ")
    assert str(caught.value).endswith(".")
    assert not str(caught.value).endswith("..")


def test_the_misfits_name_every_stitch() -> None:
    assert {name for name, *_ in MISFITS} == set(stitches)


def test_a_misfit_advises_a_stitch_that_fits() -> None:
    pool = [
        maps(3, 4, 4),
        maps(3, 2, 2),
        maps(5, 7, 4),
        tokens(16, 3),
        tokens(17, 3),
        tokens(4, 3),
        vector(3),
    ]
    for name, source, target in itertools.product(NAMES, pool, pool):
        why = stitches[name]().misfit(source, target)
        if why is not None and (advice := why.rsplit("use '", 1)[-1].removesuffix("'")) in NAMES:
            fits = [stitches.make(advice)]
            if advice == "resample_tokens":
                fits = [stitches.make(advice, cls=cls) for cls in ("keep", "learn")]
            assert any(stitch.misfit(source, target) is None for stitch in fits), (name, why)


@pytest.mark.parametrize(
    ("source", "target", "choice"),
    [
        (maps(3, 4, 4), maps(5, 4, 4), "Affine(bias=True)"),
        (tokens(12, 3), tokens(12, 5), "Affine(bias=True)"),
        (vector(3), vector(5), "Affine(bias=True)"),
        (maps(3, 7, 7), maps(5, 4, 4), "Resize()"),
        (maps(3, 8, 8), maps(5, 4, 4), "Resize()"),
        (maps(3, 7, 7), tokens(17, 5), "MapToTokens(cls='learn')"),
        (maps(3, 7, 7), tokens(16, 5), "MapToTokens(cls='learn')"),
        (tokens(17, 3), maps(5, 7, 7), "TokensToMap(cls='drop')"),
        (tokens(17, 3), tokens(10, 3), "ResampleTokens(cls='keep')"),
        (tokens(16, 3), tokens(9, 3), "ResampleTokens(cls='keep')"),
        (tokens(16, 3), tokens(17, 3), "ResampleTokens(cls='learn')"),
        (tokens(17, 3), tokens(16, 3), "ResampleTokens(cls='drop')"),
        (maps(3, 7, 7), vector(5), "PoolLinear(pool='mean')"),
        (tokens(12, 3), vector(5), "PoolLinear(pool='mean')"),
        (vector(5), maps(3, 7, 7), "ExpandLinear()"),
        (vector(5), tokens(12, 3), "ExpandLinear()"),
    ],
)
def test_auto(source: Cut, target: Cut, choice: str) -> None:
    assert repr(auto(source, target)) == choice
    auto(source, target).build(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [(tokens(12, 3), tokens(20, 3)), (maps(3, 4, 4), tokens(12, 3)), (tokens(12, 3), maps(3, 4, 4))],
)
def test_auto_says_why_each_one_failed(source: Cut, target: Cut) -> None:
    with pytest.raises(StitchError, match="No plain stitch can join") as caught:
        auto(source, target)
    lines = str(caught.value).splitlines()
    for name in (
        "Affine",
        "Resize",
        "MapToTokens",
        "TokensToMap",
        "ResampleTokens",
        "PoolLinear",
        "ExpandLinear",
    ):
        assert any(line.strip().startswith(name) for line in lines[1:])
    assert "to be a square" in str(caught.value)


def test_stitches_are_values() -> None:
    assert Affine() == Affine(bias=True)
    assert len({Affine(), Affine(), Affine(bias=False)}) == 2
    with pytest.raises(AttributeError):
        Affine().bias = False  # type: ignore[misc]
