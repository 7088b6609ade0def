"""The command that settles disputes: adjudicate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from .options import (
    Quiet,
    StudyOptions,
    Template,
    flag,
    in_advanced,
    in_method,
    in_output,
    in_study,
    repeated,
)
from .parsing import parse_names
from .terminal import console, progress


def adjudicate(
    template: Template = ".",
    /,
    *,
    study: StudyOptions | None = None,
    predictions: Annotated[str | None, in_study] = None,
    adjudicator: str = "",
    log: Path = Path("manytruths-adjudication"),
    dry_run: Annotated[bool, flag] = False,
    html: Path | None = None,
    xlsx: Path | None = None,
    merge: Annotated[list[Path] | None, repeated] = None,
    pack: Path | None = None,
    min_dice: Annotated[float | None, in_method] = None,
    min_mm: Annotated[float | None, in_method] = None,
    below: Annotated[str | None, in_method] = None,
    unit: Annotated[Literal["lesion", "tile"] | None, in_method] = None,
    tile: Annotated[int | None, in_method] = None,
    lesion_min_size: Annotated[int | None, in_method] = None,
    order: Annotated[Literal["subject", "doubt"] | None, in_method] = None,
    only_group: Annotated[str | None, in_method] = None,
    only_label: Annotated[str | None, in_method] = None,
    only_kind: Annotated[str | None, in_method] = None,
    first_look: Annotated[bool | None, in_method] = None,
    names: Annotated[bool | None, in_method, flag] = None,
    show: Annotated[str | None, in_method] = None,
    practice: Annotated[int | None, in_method] = None,
    controls: Annotated[float | None, in_method] = None,
    repeats: Annotated[float | None, in_method] = None,
    double: Annotated[float | None, in_method] = None,
    role: Annotated[Literal["first", "second", "third"] | None, in_method] = None,
    seed: Annotated[int | None, in_advanced] = None,
    port: Annotated[int | None, in_output] = None,
    browse: Annotated[bool, Parameter(name="--open", group=in_output.group)] = True,
    quiet: Quiet = False,
) -> int:
    """Settle the disputes of a study in a page of the browser.

    A dispute is a lesion that a rater missed, that got several labels, or that was outlined too differently. The page
    is served on this machine alone until Ctrl-C, and nothing is asked of the network. Every decision is kept in a log,
    and the next start goes on where the last one ended. Options that are not given are those of the last start, but for
    --only-group, --only-label and --only-kind.

    Parameters
    ----------
    predictions
        Template of the predictions: predictions/{algorithm}/{case}.png.
    adjudicator
        Who settles the disputes; by default the name of the login.
    log
        Folder for the logs of decisions, on a disk of this machine.
    dry_run
        Show how many disputes each threshold leaves, and stop.
    html
        Write the page as one file that needs no Python and saves decisions as a file to send back.
    xlsx
        Write a workbook with a picture and a row for each dispute, to be filled in.
    merge
        File to take into the logs: decisions saved by such a page, a workbook that was filled in, a pack, or a log of
        another machine; can be given several times.
    pack
        Write all logs to one file, to be merged on another machine.
    min_dice
        Lesions whose two most different outlines have a Dice below this are disputes; 0.7 by default.
    min_mm
        So are lesions with two outlines further apart than this, in mm (or pixels).
    below
        Consensus method that settles all other lesions; vote:0.5 by default.
    unit
        What is settled at once: a lesion (default), or a tile of a structure without lesions, such as vessels.
    tile
        Pixels of a tile along each axis; 128 by default.
    lesion_min_size
        Size of the smallest lesion in pixels, on average of those who drew it; smaller ones are no disputes. 1 by
        default.
    order
        Subject by subject, shuffled (default), or by size times doubt.
    only_group
        Only cases of these groups, separated by commas.
    only_label
        Only disputes of these labels, by name or value, separated by commas.
    only_kind
        Only disputes of these kinds, separated by commas: missed, label, border, tile.
    first_look
        Show the bare image first, and ask whether there is a lesion (default).
    names
        Show the names of raters and cases. By default there are letters, other ones in each case.
    show
        What the page may show when it is asked for, which is logged: votes, consensus, algorithms. By default nothing.
    practice
        Number of disputes to practise on, which do not count; 5 by default, and at most a quarter of them.
    controls
        Share of agreed lesions and unmarked regions that are mixed in; 0.05 by default.
    repeats
        Share of disputes that are shown a second time; 0.05 by default.
    double
        Share of disputes that a second adjudicator settles, too; 0.2 by default.
    role
        Settle all disputes (first, by default), those for a second adjudicator, or those on which two differ (third).
    seed
        Seed of everything random: order, letters, controls, repeats, and disputes for a second adjudicator; by
        default 0.
    port
        Port of the page; by default one for each study, always the same.
    browse
        Open the page in a browser.
    """
    import manytruths as mt

    given = study or StudyOptions()
    opened = mt.Study.open(template, **given.keywords(), predictions=predictions)
    with progress(quiet, "finding disputes") as bar:
        result = mt.adjudicate(
            opened, adjudicator=adjudicator, log=log, dry_run=dry_run, html=html, xlsx=xlsx, merge=merge or (),
            pack=pack, min_dice=min_dice, min_mm=min_mm, below=below, unit=unit, tile=tile,
            lesion_min_size=lesion_min_size, order=order,
            only_group=parse_names(only_group) or (), only_label=parse_names(only_label) or (),
            only_kind=parse_names(only_kind) or (), first_look=first_look, names=names,
            show=None if show is None else parse_names(show) or (), practice=practice, controls=controls,
            repeats=repeats, double=double, role=role, seed=seed, port=port, open=browse, quiet=quiet, progress=bar,
        )  # fmt: skip
    result.print(console(quiet))
    return 0
