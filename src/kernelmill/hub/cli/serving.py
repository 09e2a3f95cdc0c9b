"""What ``kernel-hub serve`` does, in its order."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.hub.errors import DataFolderError, SettingError
from kernelmill.hub.server import reserve_port, serve
from kernelmill.hub.service.accounts import ensure_admin_token, ensure_trusted
from kernelmill.hub.service.files import write_private
from kernelmill.hub.service.hub import open_hub
from kernelmill.hub.settings import MIB, Settings
from kernelmill.hub.wire.names import check_account_name

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.hub.service.hub import Hub

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command's options."""

    host: str
    port: int
    trusted: tuple[str, ...]
    ready_file: Path | None
    token_file: Path | None
    max_upload_mib: int
    is_verbose: bool


def run(data: Path, options: Options) -> None:
    """Serve the Hub in the folder ``data`` until a signal says stop.

    Raises:
        SettingError: an option is wrong; nothing was written.
        DataFolderError: the folder cannot be used.
        ListenError: the address cannot be used.
    """
    check_options(options)
    logging.basicConfig(format="kernel-hub: %(message)s", level=logging.WARNING)
    level = logging.DEBUG if options.is_verbose else logging.INFO
    logging.getLogger("kernelmill.hub").setLevel(level)
    # The port comes first: whoever cannot have it finds no new folder and no token spent.
    with reserve_port(options.host, options.port) as reserved:
        remove_ready_file(options)
        hub = open_hub(Settings(data=data, max_upload_bytes=options.max_upload_mib * MIB))
        try:
            log.info("data in %s", data)
            prepare_accounts(hub, options)
            serve(
                hub,
                host=options.host,
                port=reserved.getsockname()[1],
                announce=lambda url: announce(options, url),
            )
        finally:
            hub.close()
    remove_ready_file(options)
    log.info("stopped")


def check_options(options: Options) -> None:
    """Find mistakes before anything is written.

    Raises:
        SettingError: an option is wrong.
        InvalidRequest: a trusted organisation cannot have its name.
    """
    if not 0 <= options.port <= 65535:
        raise SettingError(f"{options.port} is not a port: 0 to 65535")
    if options.max_upload_mib < 1:
        raise SettingError(f"--max-upload-mib is {options.max_upload_mib}, want at least 1")
    for org in options.trusted:
        check_account_name(org)


def prepare_accounts(hub: Hub, options: Options) -> None:
    """Create the administrator and the trusted organisations, where they are missing."""
    file = options.token_file
    token = ensure_admin_token(hub, again=file is not None and not file.exists())
    if token is not None:
        print(f"admin token (shown once): {token}", flush=True)
        if file is not None:
            write_private(file, f"{token}\n")
    for org in options.trusted:
        ensure_trusted(hub, org)
        log.info("%s is a trusted publisher", org)


def remove_ready_file(options: Options) -> None:
    """Remove what says that a Hub answers, as it does not yet or no longer.

    Raises:
        DataFolderError: it cannot be removed.
    """
    if options.ready_file is None:
        return
    try:
        options.ready_file.unlink(missing_ok=True)
    except OSError as error:
        raise DataFolderError(
            f"the file cannot be removed: {error.strerror}", where=str(options.ready_file)
        ) from error


def announce(options: Options, url: str) -> None:
    """Say where the Hub answers, to people and to scripts."""
    print(f"listening at {url}", flush=True)
    if options.ready_file is not None:
        ready = {"version": 1, "url": url, "pid": os.getpid()}
        write_private(options.ready_file, json.dumps(ready) + "\n")
