"""What all tests share: no network, no home folder, small random encoders, trouble cases.

Sockets are blocked by the options of pytest-socket in pyproject.toml. The environment is set when
this file is read, before any test imports torch or transformers.
"""

import json
import os
import shutil
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import attending

HOME = Path(tempfile.mkdtemp(prefix="attending-tests-"))
os.environ |= {
    "HOME": str(HOME),
    "USERPROFILE": str(HOME),
    "XDG_CACHE_HOME": str(HOME / "cache"),
    "XDG_CONFIG_HOME": str(HOME / "config"),
    "XDG_DATA_HOME": str(HOME / "data"),
    "XDG_STATE_HOME": str(HOME / "state"),
    "HF_HOME": str(HOME / "hub"),
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MPLCONFIGDIR": str(HOME / "matplotlib"),
    "TOKENIZERS_PARALLELISM": "false",
}
# Any of these, whatever its value, makes typer write for a terminal.
for _name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
    os.environ.pop(_name, None)
# The networks are tiny: more threads only get into each other's way.
os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# The first example of a property test also pays for imports.
settings.register_profile("attending", deadline=None)
settings.load_profile("attending")

CASES = Path(__file__).parent / "cases"
FAMILIES = ("bert", "roberta", "electra", "distilbert")
MAX_TOKENS = 64
WORDS = """
    a about after again all am an and any are as at be been bad better but by can chest pain
    chills cough could day days did dizzy dizziness do does dose feel feeling felt fever for from
    get had hand has have he headache heart help her him his hour hours how i if in is it just
    last left leg legs like may me medication message mg more morning my near need new next night
    no not now of on one or out pharmacy please pills question refill results right she short
    shortness breath since so some started still stop stopped swelling swollen syncope take taken
    taking test thank that the them there these they this three time to today took two up urgent
    very visit want was week weeks well what when where which who will with worse would yes
    yesterday you your appointment allergy antibiotic arm asthma bleeding blood pressure blurry
    cancel clinic diabetes doctor emergency faint fainted fell form heavy infection insulin
    insurance kidney lab letter lisinopril metformin nausea numb nurse passed portal prescription
    rash records schedule scan severe speech stomach stroke sugar surgery tablet throat tight
    tired trouble vaccine vision vomiting walk weak weakness wound café são
"""
PIECES = "##s ##ed ##ing ##ness ##er ##ly ##tion ##al ##ache ##y ##n ##e"
MARKS = ".,;:!?'\"()-/%&+0123456789°€“”’–"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def pytest_unconfigure() -> None:
    """Remove the folder that stood in for the user's home."""
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def case() -> Callable[[str], Path]:
    """Return a function from a trouble case's id (``D01`` or its full name) to its folder."""

    def find(name: str) -> Path:
        number = name.partition("-")[0]
        found = [folder for folder in CASES.iterdir() if folder.name.partition("-")[0] == number]
        assert len(found) == 1, f"{len(found)} folders in {CASES} for case {number}"
        return found[0]

    return find


@pytest.fixture(scope="session")
def portal_rows() -> list[dict[str, Any]]:
    """Return the rows of the bundled corpus as plain dicts, read without the package's readers."""
    path = Path(attending.__file__).parent / "data" / "portal" / "portal.jsonl"
    with path.open(encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def make_tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that makes (once) a random two-layer encoder of a family.

    The folder holds config.json, tokenizer.json and model.safetensors, as a downloaded encoder
    does: hidden size 32, 4 heads, 64 positions, about 300 tokens, weights from a fixed seed and
    large enough for attention to be far from uniform.
    """
    made: dict[str, Path] = {}

    def make(family: str) -> Path:
        assert family in FAMILIES, f"no tiny encoder of family {family}"
        if family not in made:
            made[family] = tmp_path_factory.mktemp(f"tiny-{family}")
            save_tiny_encoder(family, made[family])
        return made[family]

    return make


@pytest.fixture(scope="session")
def tiny_encoder(make_tiny: Callable[[str], Path]) -> Path:
    """Return the folder of a random two-layer BERT, lower-casing, for read-only use."""
    return make_tiny("bert")


def save_tiny_encoder(family: str, folder: Path) -> None:
    """Write a random encoder with its tokenizer to a folder."""
    import torch
    import transformers

    tokenizer = byte_tokenizer() if family == "roberta" else wordpiece_tokenizer()
    tokenizer.save_pretrained(folder)
    sizes = {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": MAX_TOKENS + (2 if family == "roberta" else 0),
        "pad_token_id": tokenizer.pad_token_id,
        "initializer_range": 0.2,
    }
    if family == "distilbert":
        sizes |= {"dim": 32, "n_heads": 4, "n_layers": 2, "hidden_dim": 64}
    else:
        sizes |= {
            "hidden_size": 32,
            "num_attention_heads": 4,
            "num_hidden_layers": 2,
            "intermediate_size": 64,
        }
    if family == "electra":
        sizes["embedding_size"] = 16
    if family == "roberta":
        sizes |= {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = transformers.AutoConfig.for_model(family, **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2020)
        transformers.AutoModel.from_config(config).save_pretrained(folder)


def wordpiece_tokenizer() -> Any:
    """Return a lower-casing WordPiece tokenizer over the fixed word list."""
    import tokenizers
    import transformers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [*LETTERS, *(f"##{letter}" for letter in LETTERS)]
    words = [*PIECES.split(), *without_accents(WORDS).split()]
    entries = list(dict.fromkeys([*special, *MARKS, *letters, *words]))
    core = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({t: i for i, t in enumerate(entries)}, unk_token="[UNK]")
    )
    core.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    core.decoder = tokenizers.decoders.WordPiece()
    core.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, entries.index(t)) for t in ("[CLS]", "[SEP]")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        model_max_length=MAX_TOKENS,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def byte_tokenizer() -> Any:
    """Return a byte-level tokenizer, as RoBERTa's, with merges learned from the word list."""
    import tokenizers
    import transformers

    core = tokenizers.ByteLevelBPETokenizer(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    core.train_from_iterator([WORDS], vocab_size=320, special_tokens=special, show_progress=False)
    start, end = (("<s>", 0), ("</s>", 2))
    core.post_processor = tokenizers.processors.RobertaProcessing(
        end, start, trim_offsets=True, add_prefix_space=False
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core._tokenizer,
        model_max_length=MAX_TOKENS,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def without_accents(text: str) -> str:
    """Return a text as the lower-casing normalizer leaves it."""
    letters = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@pytest.fixture(scope="session")
def urgency() -> Any:
    """Return the label set of the bundled corpus, with keywords, from least to most urgent."""
    from attending.data.labels import load_labels

    return load_labels("portal")


@pytest.fixture(scope="session")
def messages(portal_rows: list[dict[str, Any]]) -> Any:
    """Return 48 short messages of the bundled corpus as documents.

    20 are medium, 20 not urgent, 8 urgent; they come in the order of the corpus.
    """
    from attending.records import Document

    wanted = {"medium": 20, "non-urgent": 20, "urgent": 8}
    chosen = []
    for row in portal_rows:
        if wanted[row["label"]] and len(row["text"]) <= 90:
            wanted[row["label"]] -= 1
            chosen.append(Document(row["id"], row["text"], (row["label"],)))
    return tuple(chosen)


@pytest.fixture(scope="session")
def tiny_recipe(tiny_encoder: Path) -> Callable[..., Any]:
    """Return a function that loads a shipped recipe for the tiny encoder, with overrides.

    Neural recipes train two epochs of batches of 8 in float32 unless told otherwise.
    """
    from attending.recipe import Recipe

    def load(name: str, **settings: Any) -> Any:
        recipe = Recipe.load(name)
        light = recipe.family == "neural" and recipe["encoder"].kind != "pretrained"
        if not light:
            recipe = recipe.with_encoder(str(tiny_encoder))
        changes = {key.replace("__", "."): value for key, value in settings.items()}
        if recipe.family == "neural":
            quick = {"epochs": 2, "batch_size": 8, "learning_rate": 3e-3, "precision": "float32"}
            changes = {f"training.{k}": v for k, v in quick.items()} | changes
            if getattr(recipe["encoder"], "layers", None) and not light:
                changes = {"encoder.layers": 1} | changes
            if light:
                changes = {"encoder.dimension": 12, "encoder.min_count": 1} | changes
            if recipe["encoder"].kind == "awd-lstm":
                changes = {"encoder.hidden": 16, "encoder.width": 12} | changes
            if recipe["label_attention"].kind == "cross":
                changes = {"label_attention.heads": 4, "label_attention.ffn": 64} | changes
        return recipe.override(changes)

    return load


@pytest.fixture(scope="session")
def annotated() -> Any:
    """Return ten short documents with spans of two types; two documents hold none."""
    from attending.records import Document, Span

    texts = [
        ("severe chest pain since morning", [("severe chest pain", "Finding")]),
        ("left leg is swollen", [("swollen", "Finding")]),
        ("took lisinopril, the rash is better", [("lisinopril", "Drug"), ("rash", "Finding")]),
        ("please send the form to my doctor", []),
        ("insulin and an antibiotic for weeks", [("insulin", "Drug"), ("antibiotic", "Drug")]),
        ("no fever but right arm is numb!", [("fever", "Finding"), ("numb", "Finding")]),
        ("when can i get my test results?", []),
        ("stomach is tight, took insulin", [("tight", "Finding"), ("insulin", "Drug")]),
        ("dizzy after lisinopril", [("dizzy", "Finding"), ("lisinopril", "Drug")]),
        ("cough and fever at night", [("cough", "Finding"), ("fever", "Finding")]),
    ]
    return tuple(
        Document(
            f"d{i}",
            text,
            spans=tuple(Span(text.index(s), text.index(s) + len(s), label) for s, label in found),
        )
        for i, (text, found) in enumerate(texts)
    )


@pytest.fixture(scope="session")
def tiny_tagger(tiny_encoder: Path) -> Callable[..., Any]:
    """Return a function that loads a shipped recipe that tags for the tiny encoder, as above."""
    from attending.recipe import Recipe

    def load(name: str, **settings: Any) -> Any:
        recipe = Recipe.load(name)
        changes = {key.replace("__", "."): value for key, value in settings.items()}
        if recipe.family == "neural":
            quick = {"epochs": 10, "batch_size": 4, "learning_rate": 5e-3, "precision": "float32"}
            changes = {f"training.{k}": v for k, v in quick.items()} | changes
            changes = {"windows.overlap": 16} | changes
            if recipe["encoder"].kind == "pretrained":
                recipe = recipe.with_encoder(str(tiny_encoder))
            else:
                changes = {"encoder.dimension": 12, "encoder.min_count": 1} | changes
            if recipe["encoder"].kind == "awd-lstm":
                changes = {"encoder.hidden": 16, "encoder.width": 12} | changes
        return recipe.override(changes)

    return load
