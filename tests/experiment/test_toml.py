"""Reading TOML: every mistake is told with its key, its line and the nearest right word."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from seamripper.errors import ExperimentError
from seamripper.experiment import (
    AuditPart,
    CallPart,
    ComparePart,
    ControlPart,
    Data,
    Experiment,
    Network,
    NoisePart,
    PicturesPart,
    StitchPart,
    plan,
)
from seamripper.experiment.experiment import Resources
from seamripper.experiment.toml import line_of


def read(folder: Path, text: str, name: str = "study.toml") -> Experiment:
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return Experiment.read(path)


def said(folder: Path, text: str) -> str:
    """What is said of a wrong text, without the file's name."""
    with pytest.raises(ExperimentError) as e:
        read(folder, text)
    start = f"{folder / 'study.toml'}, "
    assert str(e.value).startswith(start)
    assert "\n" not in str(e.value)
    return str(e.value).removeprefix(start)


WHOLE = """
    name = "whole study"
    about = "every key once"
    threads = 2
    data = {name = "digits/digit", n = 64, n_test = 32, seed = 1}
    resources.gpus = 0.5

    [models.digit]
    train = "zoo:R_1111?width=0.125"
    data = "digits/digit"
    n = 100
    seeds = [0, 1]
    training = "?optimiser=adam&lr=1&momentum=0.5&weight_decay=0.0&batch=16&epochs=2"

    [models."the others'"]
    load = 'theirs.safetensors'

    [matchings]
    long = "task?label_map=1,0"
    "a word" = "direct"

    [[stitch]]
    senders = ["digit"]
    receivers = ["the others'"]
    pairing = "all"
    cuts = ["layer1", "layer1 -> layer2"]
    matchings = ["long", "direct"]
    freeze = ["all", "weights"]
    controls = ["self"]
    rank = true

    [[stitch]]
    senders = ["digit/0"]
    receivers = ["digit/1"]
    cuts = ["layer1"]
    seeds = [5]
    [stitch.data]
    name = "digits/colour"

    [[control]]
    senders = ["digit"]
    receivers = ["digit"]
    cuts = ["layer2"]
    controls = ["shuffled"]

    [[noise]]
    receivers = ["digit"]
    cuts = ["layer2"]
    radius = [0, 0.5]
    classes = [2, 10]
    per_class = 60
    per_class_test = 10
    input = [3, 28, 28]
    rank = true

    [[compare]]
    senders = ["digit"]
    receivers = ["digit"]
    parts = 3
    interval = false

    [[audit]]
    senders = ["digit"]
    receivers = ["digit"]
    cuts = ["layer1"]
    conflict = "digits/conflict"

    [[pictures]]
    senders = ["digit"]
    receivers = ["digit"]
    cuts = ["layer1 -> before:conv1"]
    n = 4
    judge = "digit"

    [pictures.receiver_data]
    name = "digits/colour"
    n = 32

    [[call]]
    function = "mine.py:f"
    seeds = [0, 1]
    args = {deep = true}
    grid.width = [1, 2.5]
    grid."a word" = ["x"]
"""

DIGIT = Network(
    train="zoo:R_1111?width=0.125",
    data="digits/digit",
    n=100,
    seeds=(0, 1),
    training="?optimiser=adam&lr=1&momentum=0.5&weight_decay=0.0&batch=16&epochs=2",
)


def test_built_in_python_equals_read_from_toml(tmp_path: Path) -> None:
    built = Experiment(
        name="whole study",
        about="every key once",
        threads=2,
        data=Data(name="digits/digit", n=64, n_test=32, seed=1),
        resources=Resources(gpus=0.5),
        models={"digit": DIGIT, "the others'": Network(load="theirs.safetensors")},
        matchings={"long": "task?label_map=1,0", "a word": "direct"},
        stitch=(
            StitchPart(
                senders=("digit",),
                receivers=("the others'",),
                pairing="all",
                cuts=("layer1", "layer1 -> layer2"),
                matchings=("long", "direct"),
                freeze=("all", "weights"),
                controls=("self",),
                rank=True,
            ),
            StitchPart(
                senders=("digit/0",),
                receivers=("digit/1",),
                cuts=("layer1",),
                seeds=(5,),
                data=Data(name="digits/colour"),
            ),
        ),
        control=(ControlPart(senders=("digit",), receivers=("digit",), cuts=("layer2",), controls=("shuffled",)),),
        noise=(
            NoisePart(
                receivers=("digit",),
                cuts=("layer2",),
                radius=(0.0, 0.5),
                classes=(2, 10),
                per_class=60,
                per_class_test=10,
                input=(3, 28, 28),
                rank=True,
            ),
        ),
        compare=(ComparePart(senders=("digit",), receivers=("digit",), parts=3, interval=False),),
        audit=(AuditPart(senders=("digit",), receivers=("digit",), cuts=("layer1",), conflict="digits/conflict"),),
        pictures=(
            PicturesPart(
                senders=("digit",),
                receivers=("digit",),
                cuts=("layer1 -> before:conv1",),
                n=4,
                judge="digit",
                receiver_data=Data(name="digits/colour", n=32),
            ),
        ),
        call=(
            CallPart(
                function="mine.py:f", seeds=(0, 1), args={"deep": True}, grid={"width": (1, 2.5), "a word": ("x",)}
            ),
        ),
        folder=str(tmp_path.resolve()),
        file=str(tmp_path / "study.toml"),
    )
    found = read(tmp_path, WHOLE)
    assert found == built
    # To Python True is 1; to a function it is not.
    assert found.call[0].args["deep"] is True
    assert [type(width) for width in found.call[0].grid["width"]] == [int, float]


def test_the_name_is_the_files_unless_it_says_another(tmp_path: Path) -> None:
    assert read(tmp_path, "threads = 1", "my study-2.toml").name == "my study-2"
    assert read(tmp_path, "name = 'other'", "my study-2.toml").name == "other"


def test_file_names_count_from_the_files_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert Experiment.read("sub/a.toml").folder == str((tmp_path / "sub").resolve())


# ---- unknown keys


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\nthread = 2", "line 3: the experiment has no key 'thread': did you mean 'threads'?"),
        ("[[stich]]\ncuts = []", "line 1: the experiment has no key 'stich': did you mean 'stitch'?"),
        ("about = ''\n[modles.digit]\nx = 1", "line 2: the experiment has no key 'modles': did you mean 'models'?"),
        (
            "zzzzzz = 1",
            "line 1: the experiment has no key 'zzzzzz': there are: name, about, threads, dtype, data, models, "
            "matchings, resources, audit, call, compare, control and 5 more.",
        ),
        (
            "[models.a]\ntrain = 'x'\ndata = 'y'\n\nepoch = 2",
            "line 5: [models.a] has no key 'epoch': there are: train, data, n, seeds, training, load.",
        ),
        ("[resources]\ngpu = 1", "line 2: `resources` has no key 'gpu': did you mean 'gpus'?"),
        ("data = {name = 'd', nn = 3}", "line 1: `data` has no key 'nn': did you mean 'n'?"),
        ("threads = 1\ndata.naem = 'd'", "line 2: `data` has no key 'naem': did you mean 'name'?"),
        ("[data]\nname = 'd'\nsede = 3", "line 3: `data` has no key 'sede': did you mean 'seed'?"),
        ("models = {a = {lod = 'x'}}", "line 1: [models.a] has no key 'lod': did you mean 'load'?"),
        ("models.a.lod = 'x'", "line 1: [models.a] has no key 'lod': did you mean 'load'?"),
        ("[models]\na.load = 'x'\nb.lod = 'x'", "line 3: [models.b] has no key 'lod': did you mean 'load'?"),
        ("[[call]]\nfuncton = 'f.py:f'", "line 2: the 1st [[call]] has no key 'functon': did you mean 'function'?"),
        ("[[compare]]\nmeasure = ['x']", "line 2: the 1st [[compare]] has no key 'measure': did you mean 'measures'?"),
        (
            "[[audit]]\nconflct = 'x'",
            "line 2: the 1st [[audit]] has no key 'conflct': did you mean 'conflict' or 'controls'?",
        ),
        (
            "[[pictures]]\nmatching = ['x']",
            "line 2: the 1st [[pictures]] has no key 'matching': did you mean 'matchings' or 'pairing'?",
        ),
        ("[[picture]]\nn = 1", "line 1: the experiment has no key 'picture': did you mean 'pictures' or 'probe'?"),
        ("[[noize]]\nradius = [1]", "line 1: the experiment has no key 'noize': did you mean 'noise'?"),
        (
            "[[controls]]\nradius = [1]",
            "line 1: the experiment has no key 'controls': did you mean 'control' or 'pictures'?",
        ),
        (
            "[[noise]]\nreceivers = ['a']\ncuts = ['x']\nradii = [0.1]",
            "line 4: the 1st [[noise]] has no key 'radii': did you mean 'radius'?",
        ),
        (
            "[[noise]]\nreceivers = ['a']\nper_clas = 3\ncuts = ['x']",
            "line 3: the 1st [[noise]] has no key 'per_clas': did you mean 'per_class', 'per_class_test' or 'classes'?",
        ),
        (
            "[[noise]]\n\nsender = ['a']",
            "line 3: the 1st [[noise]] has no key 'sender': did you mean 'seeds'?",
        ),
        (
            "[[control]]\ncontrol = ['self']",
            "line 2: the 1st [[control]] has no key 'control': did you mean 'controls'?",
        ),
        (
            "[[control]]\ncontrols = ['self']\nrank = true",
            "line 3: the 1st [[control]] has no key 'rank': there are: senders, receivers, pairing, data, cuts, "
            "matchings, stitches, freeze, seeds, rates, controls.",
        ),
        ("folder = '/'", "line 1: there is no key 'folder': file names are relative to the folder of this file."),
        ("\nfile = 'x'", "line 2: there is no key 'file': file names are relative to the folder of this file."),
    ],
)
def test_an_unknown_key(tmp_path: Path, text: str, message: str) -> None:
    assert said(tmp_path, text) == message


def test_every_list_of_tables_is_told_as_one(tmp_path: Path) -> None:
    """A table of the experiment that errors have not heard of would be called `noise`, and not the 1st [[noise]]."""
    lists = [name for name, field in Experiment.model_fields.items() if field.default == ()]
    assert len(lists) == 9
    for name in lists:
        assert said(tmp_path, f"\n[[{name}]]\nzzzzzz = 1").startswith(f"line 3: the 1st [[{name}]] has no key 'zzzzzz'")


STITCH = """[[stitch]]
senders = ["a"]
receivers = ["b"]
cuts = ["x"]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{STITCH}rnak = true", "line 5: the 1st [[stitch]] has no key 'rnak': did you mean 'rank'?"),
        (f"{STITCH}{STITCH}cutz = 1", "line 9: the 2nd [[stitch]] has no key 'cutz': did you mean 'cuts'?"),
        (f"{STITCH}cutz = 1\n{STITCH}", "line 5: the 1st [[stitch]] has no key 'cutz': did you mean 'cuts'?"),
        (f"{STITCH * 3}cutz = 1", "line 13: the 3rd [[stitch]] has no key 'cutz': did you mean 'cuts'?"),
        (f"{STITCH * 11}cutz = 1", "line 45: the 11th [[stitch]] has no key 'cutz': did you mean 'cuts'?"),
        (
            f"{STITCH}[stitch.data]\nname = 'd'\n{STITCH}[stitch.data]\nname = 'd'\nsed = 1",
            "line 13: `data` of the 2nd [[stitch]] has no key 'sed': did you mean 'seed' or 'ready'?",
        ),
        (
            f"{STITCH}data = {{name = 'd', sed = 1}}",
            "line 5: `data` of the 1st [[stitch]] has no key 'sed': did you mean 'seed' or 'ready'?",
        ),
        (
            f"{STITCH}[[compare]]\nsenders = ['a']\n{STITCH}frieze = ['all']",
            "line 11: the 2nd [[stitch]] has no key 'frieze': did you mean 'freeze'?",
        ),
        # In an array over several lines the table has no line of its own: that of the array is told.
        (
            "threads = 1\nstitch = [\n  {senders = ['a'], receivers = ['b'], cuts = ['x']},\n  {sender = ['a']},\n]",
            "line 2: the 2nd [[stitch]] has no key 'sender': did you mean 'senders' or 'seeds'?",
        ),
    ],
)
def test_an_unknown_key_of_one_of_several_tables(tmp_path: Path, text: str, message: str) -> None:
    assert said(tmp_path, text) == message


# ---- what only looks like keys and headers


@pytest.mark.parametrize(
    "above",
    [
        "# thread = 1\n# [models.a]",
        'about = "thread = 1"',
        'about = "a \\" [ b"',
        'about = "a # b"  # [c',
        "about = 'C:\\'  # a backslash that escapes nothing",
        'about = "ends in a backslash \\\\"',
        'about = """\nthread = 1\n[models.a]\n[[stitch]]\n"""',
        'about = """a \\""" [\nthread = 1\n"""',
        'about = """a quote at the end""""',
        "about = '''\nthread = 1\n[models.a] \"\"\"\n'''",
        "about = '''it's [ one line'''",
        "[models.m]\nload = 'x'\nseeds = [\n  1, # thread = 2 ]\n  0,\n]\n[resources]\ngpus = 0",
        'call = [{function = "f.py:f", args = {x = """a"""", y = "]"}}]',
        "about = 'a \u2028 b \x85 c'",
    ],
)
def test_what_only_looks_like_a_key_does_not_move_the_line(tmp_path: Path, above: str) -> None:
    """The mistake is in a table of its own, behind all that."""
    line = above.count("\n") + 3
    message = said(tmp_path, f"{above}\n[models.thread]\nthread = 1\nload = 'x'\n")
    assert message == f"line {line}: [models.thread] has no key 'thread': did you mean 'train'?"


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ('[models."a.b"]', "[models.a.b]"),
        ("[models.'a b']  # so", "[models.a b]"),
        ('[ models . "a[0]" ]', "[models.a[0]]"),
        ('["models"."#"]', "[models.#]"),
        ('[models."a\\"b"]', '[models.a"b]'),
        ('[models."\\u00e9"]', "[models.é]"),
        # Words by which pydantic calls the members of a union.
        ("[models.Data]", "[models.Data]"),
        ("[models.str]", "[models.str]"),
        ("[models.constrained-str]", "[models.constrained-str]"),
        ("[models.1]", "[models.1]"),
    ],
)
def test_names_of_tables_as_toml_writes_them(tmp_path: Path, header: str, shown: str) -> None:
    message = said(tmp_path, f"threads = 1\n{header}\nload = 'x'\n'load ' = 'y'")
    assert message == f"line 4: {shown} has no key 'load ': did you mean 'load'?"


def test_quoted_keys_and_windows_lines(tmp_path: Path) -> None:
    assert said(tmp_path, '"about" = "a"\n"thre ads" = 1').startswith("line 2: the experiment has no key 'thre ads'")
    (tmp_path / "study.toml").write_bytes(b"about = 'a'\r\n\r\nthread = 1\r\n")
    with pytest.raises(ExperimentError, match="line 3: the experiment has no key 'thread'"):
        Experiment.read(tmp_path / "study.toml")


def test_every_line_of_a_whole_study_is_found() -> None:
    text = textwrap.dedent(WHOLE)
    lines = text.split("\n")
    for where, line in [
        (("name",), 'name = "whole study"'),
        (("data", "n_test"), 'data = {name = "digits/digit", n = 64, n_test = 32, seed = 1}'),
        (("resources", "gpus"), "resources.gpus = 0.5"),
        (("models", "the others'"), '[models."the others\'"]'),
        (("models", "the others'", "load"), "load = 'theirs.safetensors'"),
        (("matchings", "long"), 'long = "task?label_map=1,0"'),
        (("matchings", "a word"), '"a word" = "direct"'),
        (("stitch", 0, "pairing"), 'pairing = "all"'),
        (("stitch", 1, "seeds", 0), "seeds = [5]"),
        (("stitch", 1, "data", "name"), 'name = "digits/colour"'),
        (("noise", 0, "radius", 1), "radius = [0, 0.5]"),
        (("control", 0, "controls", 0), 'controls = ["shuffled"]'),
        (("compare", 0, "parts"), "parts = 3"),
        (("audit", 0, "conflict"), 'conflict = "digits/conflict"'),
        (("pictures", 0, "n"), "n = 4"),
        (("call", 0, "grid", "a word", 0), 'grid."a word" = ["x"]'),
    ]:
        assert lines[line_of(text, where) - 1] == line
    assert lines[line_of(text, ("stitch", 1)) - 1] == "[[stitch]]"
    assert line_of(text, ("stitch", 1)) > line_of(text, ("stitch", 0, "controls"))
    assert line_of(text, ("nowhere",)) == 1


@pytest.mark.parametrize(
    "inner", ["['models']", '[ "models" ]  # a list', "'''\n[models]\n''',", "'a', # ]\n['models']"]
)
def test_lines_within_an_array_are_no_headers(inner: str) -> None:
    text = f"[data]\nseeds = [\n{inner}\n]\nlr = 1\n[models]\na.load = 'x'\n"
    lines = text.split("\n")
    assert lines[line_of(text, ("data", "lr")) - 1] == "lr = 1"
    assert line_of(text, ("models",)) == lines.index("[models]", lines.index("lr = 1")) + 1


# ---- wrong types and values


NOISE = "[[noise]]\nreceivers = ['a']\ncuts = ['x']\n"
CONTROL = STITCH.replace("stitch", "control")
LENET = "[models.a]\ntrain = 'zoo:lenet'\ndata = 'digits'\ntraining = "
NETWORK = "[models.a]\ntrain = 'x'\ndata = 'y'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threads = 'two'", "line 1: Expected `threads` to be a whole number, but got 'two'."),
        ("threads = 1.0", "line 1: Expected `threads` to be a whole number, but got 1.0."),
        ("threads = true", "line 1: Expected `threads` to be a whole number, but got True."),
        ("about = 3", "line 1: Expected `about` to be a string, but got 3."),
        ("\ndata = 3", "line 2: Expected `data` to be a string or a table, but got 3."),
        ("data = {name = 3}", "line 1: Expected `data.name` to be a string, but got 3."),
        ("models = []", "line 1: Expected `models` to be a table, but got []."),
        ("[models]\na = 'x'", "line 2: Expected [models.a] to be a table, but got 'x'."),
        ("stitch = 3", "line 1: Expected `stitch` to be a list, but got 3."),
        (
            "threads = 1\n[stitch]\nsenders = ['a']",
            "line 2: Expected `stitch` to be a list of tables: write [[stitch]] for [stitch].",
        ),
        (f"{NETWORK}training = 1", "line 4: Expected `training` of [models.a] to be a string, but got 1."),
        ("[matchings]\na = 1", "line 2: Expected `a` of [matchings] to be a string, but got 1."),
        ("[matchings.a]\nway = 'task'", "line 1: Expected `a` of [matchings] to be a string, but got {'way': 'task'}."),
        (f"{NETWORK}seeds = 0", "line 4: Expected `seeds` of [models.a] to be a list, but got 0."),
        (f"{NETWORK}seeds = ['0']", "line 4: Expected `seeds` of [models.a] to be a whole number, but got '0'."),
        (f"{NETWORK}seeds = [false]", "line 4: Expected `seeds` of [models.a] to be a whole number, but got False."),
        (
            "[[compare]]\nsenders = ['a']\nreceivers = ['b']\ninterval = 1",
            "line 4: Expected `interval` of the 1st [[compare]] to be true or false, but got 1.",
        ),
        (
            "[[stitch]]\nsenders = [\n  'a',\n  3,\n]\nreceivers = ['b']\ncuts = ['x']",
            "line 2: Expected `senders` of the 1st [[stitch]] to be a string, but got 3.",
        ),
        (f"{STITCH}rank = 1", "line 5: Expected `rank` of the 1st [[stitch]] to be true or false, but got 1."),
        (f"{NOISE}radius = 0.1", "line 4: Expected `radius` of the 1st [[noise]] to be a list, but got 0.1."),
        (
            f"{NOISE}classes = [2.5]",
            "line 4: Expected `classes` of the 1st [[noise]] to be a whole number, but got 2.5.",
        ),
        (
            "[noise]\nreceivers = ['a']\ncuts = ['x']",
            "line 1: Expected `noise` to be a list of tables: write [[noise]] for [noise].",
        ),
        (
            "[[stitch]]\nsenders = 'a'\nreceivers = ['b']\ncuts = ['x']",
            "line 2: Expected `senders` of the 1st [[stitch]] to be a list, but got 'a'.",
        ),
        (
            "[[call]]\nfunction = 'f.py:f'\n[call.grid]\nx = 3",
            "line 4: Expected `grid.x` of the 1st [[call]] to be a list, but got 3.",
        ),
        (
            "[[call]]\nfunction = 'f.py:f'\n[call.args]\nint = [1]",
            "line 4: Expected `args.int` of the 1st [[call]] to be a string or true or false or a whole number or "
            "a number, but got [1].",
        ),
    ],
)
def test_a_wrong_type(tmp_path: Path, text: str, message: str) -> None:
    assert said(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threads = 0", "line 1: Expected `threads` to be greater than or equal to 1, but got 0."),
        ("threads = 2000", "line 1: Expected `threads` to be less than or equal to 1024, but got 2000."),
        ("resources.gpus = -0.5", "line 1: Expected `resources.gpus` to be greater than or equal to 0, but got -0.5."),
        ("data = {name = 'd', n = 1}", "line 1: Expected `data.n` to be greater than or equal to 2, but got 1."),
        ("data = ''", "line 1: Expected `data` to have at least 1 character, but got ''."),
        (
            f"{NETWORK}training = ''",
            "line 4: Expected `training` of [models.a] to have at least 1 character, but got ''.",
        ),
        ("resources.gpus = nan", "line 1: Expected `resources.gpus` to be a finite number, but got nan."),
        ("resources.gpus = +inf", "line 1: Expected `resources.gpus` to be a finite number, but got inf."),
        (f"{NETWORK}seeds = []", "line 4: Expected `seeds` of [models.a] to have at least 1 item, but got []."),
        (
            f"{NETWORK}seeds = [0, -1]",
            "line 4: Expected `seeds` of [models.a] to be greater than or equal to 0, but got -1.",
        ),
        (
            f"{NETWORK}seeds = [4294967296]",
            "line 4: Expected `seeds` of [models.a] to be less than 4294967296, but got 4294967296.",
        ),
        (
            "[[stitch]]\nsenders = []\nreceivers = ['b']\ncuts = ['x']",
            "line 2: Expected `senders` of the 1st [[stitch]] to have at least 1 item, but got [].",
        ),
        (
            f"{STITCH}matchings = ['']",
            "line 5: Expected `matchings` of the 1st [[stitch]] to have at least 1 character, but got ''.",
        ),
        (
            f"{NOISE}radius = [0.1, -1]",
            "line 4: Expected `radius` of the 1st [[noise]] to be greater than or equal to 0, but got -1.",
        ),
        (
            f"{NOISE}radius = [inf]",
            "line 4: Expected `radius` of the 1st [[noise]] to be a finite number, but got inf.",
        ),
        (f"{NOISE}radius = []", "line 4: Expected `radius` of the 1st [[noise]] to have at least 1 item, but got []."),
        (
            f"{NOISE}classes = [1]",
            "line 4: Expected `classes` of the 1st [[noise]] to be greater than or equal to 2, but got 1.",
        ),
        (
            f"{CONTROL}controls = []",
            "line 5: Expected `controls` of the 1st [[control]] to have at least 1 item, but got [].",
        ),
        (
            "[[compare]]\nsenders = ['a']\nreceivers = ['b']\nfolds = 1",
            "line 4: Expected `folds` of the 1st [[compare]] to be greater than or equal to 2, but got 1.",
        ),
        (
            "[[call]]\nfunction = 'f.py:f'\n[call.args]\nx = nan",
            "line 4: Expected `args.x` of the 1st [[call]] to be a string or true or false or a whole number or "
            "a finite number, but got nan.",
        ),
        (
            "[[call]]\nfunction = 'f.py:f'\ngrid = {x = []}",
            "line 3: Expected `grid.x` of the 1st [[call]] to have at least 1 item, but got [].",
        ),
        (
            "name = 'a/b'",
            r"line 1: Expected `name` to match the pattern '^[\w][\w .-]*$', but got 'a/b'.",
        ),
        (
            "threads = 1\n[models.'a/0']\nload = 'x'",
            "line 2: Expected [models.a/0] to match the pattern '^[^/]+$', but got 'a/0'.",
        ),
    ],
)
def test_a_value_out_of_bounds(tmp_path: Path, text: str, message: str) -> None:
    assert said(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{STITCH}freeze = ['all', 'weight']",
            "line 5: Expected `freeze` of the 1st [[stitch]] to be 'all' or 'weights', but got 'weight'. "
            "Did you mean 'weights'?",
        ),
        (
            f"{STITCH}{STITCH}pairing = 'zzz'",
            "line 9: Expected `pairing` of the 2nd [[stitch]] to be 'matched', 'others' or 'all', but got 'zzz'.",
        ),
        (
            "[[compare]]\nsenders = ['a']\nreceivers = ['b']\nsampling = 'flaten'",
            "line 4: Expected `sampling` of the 1st [[compare]] to be 'positions', 'flatten' or 'pool', but got "
            "'flaten'. Did you mean 'flatten'?",
        ),
    ],
)
def test_a_wrong_word(tmp_path: Path, text: str, message: str) -> None:
    assert said(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[stitch]]\nsenders = ['a']\ncuts = ['x']", "line 1: the 1st [[stitch]] needs the key 'receivers'."),
        (f"{STITCH}\n[[audit]]\nsenders = ['a']\nreceivers = ['b']", "line 6: the 1st [[audit]] needs the key 'cuts'."),
        (CONTROL, "line 1: the 1st [[control]] needs the key 'controls'."),
        ("[[noise]]\nreceivers = ['a']", "line 1: the 1st [[noise]] needs the key 'cuts'."),
        ("\n[[call]]\nseeds = [1]", "line 2: the 1st [[call]] needs the key 'function'."),
        ("threads = 1\ndata = {n = 3}", "line 2: `data` needs the key 'name'."),
        (f"{STITCH}[stitch.data]\nn = 3", "line 5: `data` of the 1st [[stitch]] needs the key 'name'."),
        ("\n[models.a]\ntrain = 'x'", "line 2: [models.a]: expected `data`: what the network is trained on."),
        (
            "[models.a]",
            "line 1: [models.a]: expected either `train` (an architecture of the zoo) or `load` (an existing model).",
        ),
    ],
)
def test_a_missing_key(tmp_path: Path, text: str, message: str) -> None:
    assert said(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[models.a]\nload = 'x'\n\nseeds = [1]",
            "line 4: [models.a]: a model that is loaded takes no 'seeds': that is for one trained here.",
        ),
    ],
)
def test_keys_that_do_not_go_together_are_told_at_the_line_of_the_wrong_one(
    tmp_path: Path, text: str, message: str
) -> None:
    assert said(tmp_path, text) == message


# ---- words, looked up when the study is planned


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[matchings]\nd = 'regresion'", 2, "`d` of [matchings]: There is no matching 'regresion': did you mean"),
        (
            "[matchings]\na = 'task'\nd = 'direct?lr=1'",
            3,
            "`d` of [matchings]: The matching 'direct' has no option",
        ),
        ("matchings.d = 'direct?ridge=-1'", 1, "`d` of [matchings]: Expected ridge of the matching 'direct' to be a"),
        (
            "matchings.d = 'task?lr'",
            1,
            "`d` of [matchings]: Expected options like ?name=value&name=value, but got",
        ),
        (f"{LENET}'?optimiser=adm'", 4, "`training` of [models.a]: Expected optimiser of the training 'smith' to be"),
        (f"{LENET}'?lr=0'", 4, "`training` of [models.a]: Expected lr of a training to be a number above 0"),
        (f"{LENET}'smth'", 4, "`training` of [models.a]: There is no training 'smth': did you mean 'smith'"),
        (f"{LENET}'?epochs=0'", 4, "`training` of [models.a]: Expected epochs of a training to be at least 1"),
        (
            "\n[models.a]\ntrain = 'zoo:lent'\ndata = 'digits'",
            3,
            "`train` of [models.a]: There is no zoo network",
        ),
    ],
)
def test_a_word_that_means_nothing_is_told_with_its_key_and_line_though_nobody_uses_it(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    study = read(tmp_path, text + "\n[[call]]\nfunction = 'f.py:f'\n")
    (tmp_path / "f.py").write_text("def f():\n    return {}\n")
    with pytest.raises(ExperimentError) as e:
        plan(study)
    assert str(e.value).startswith(f"{tmp_path / 'study.toml'}, line {line}: {message}")
    (tmp_path / "study.toml").unlink()
    with pytest.raises(ExperimentError) as e:
        plan(study)
    assert str(e.value).startswith(message)


# ---- files


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"threads = = 1", "is not TOML: Invalid value (at line 1, column 11)."),
        (b"threads = 1\n[models.a\n", "is not TOML: Expected ']' at the end of a table declaration"),
        (b"threads = 1\nthreads = 2", "is not TOML: Cannot overwrite a value (at "),
        (b"name = '\xff'", "is not TOML: 'utf-8' codec can't decode byte 0xff"),
        (b"\x00", "is not TOML: "),
    ],
)
def test_what_is_not_toml(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(data)
    with pytest.raises(ExperimentError) as e:
        Experiment.read(path)
    assert str(e.value).startswith(f"{path} {message}")


@pytest.mark.parametrize("name", ["study.json", "study", "study.toml.txt"])
def test_what_is_not_a_toml_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("threads = 1")
    with pytest.raises(ExperimentError) as e:
        Experiment.read(tmp_path / name)
    assert str(e.value) == f"Expected an experiment in a .toml file, but got '{tmp_path / name}'."


def test_a_file_that_is_not_there_is_told_with_its_neighbours(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError) as e:
        Experiment.read(tmp_path / "stdy.toml")
    assert str(e.value) == f"There is no file {tmp_path / 'stdy.toml'}."
    for name in ("study.toml", "other.toml", "other.json"):
        (tmp_path / name).touch()
    with pytest.raises(ExperimentError) as e:
        Experiment.read(tmp_path / "stdy.toml")
    assert str(e.value) == (
        f"There is no file {tmp_path / 'stdy.toml'}. In that folder there are: other.toml, study.toml."
    )
    with pytest.raises(ExperimentError, match="There is no file"):
        Experiment.read(tmp_path / "no folder" / "study.toml")


def test_a_folder_of_that_name_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "study.toml").mkdir()
    with pytest.raises(ExperimentError, match=r"There is no file .*study\.toml"):
        Experiment.read(tmp_path / "study.toml")


def test_a_name_taken_from_the_file_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"line 1: Expected `name` to match .* but got 'a \(1\)'"):
        read(tmp_path, "threads = 1", "a (1).toml")
