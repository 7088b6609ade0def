"""Claims about sessions: which one counts where raters read cases several times, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.undefined import Note
from ..study import Study
from .claim import ClaimKind, ClaimLog
from .sentences import Sentence, capitalise, join_names, plain_text

COUNTED = ClaimKind(
    "sessions.counted", "description",
    "Which session of a rater enters agreement and consensus, and which cases other sessions lack.",
    "a rater has several sessions",
)  # fmt: skip


def session_sentences(study: Study, *, past: bool = False) -> Iterator[Sentence]:
    """Which session counts, for raters with the same sessions together, and what is missing."""
    has, have, take, are = ("had", "had", "took", "were") if past else ("has", "have", "take", "are")
    does = "did" if past else "does"
    alike: dict[tuple[str, ...], list[str]] = {}
    for rater, columns in study.sessions.items():
        alike.setdefault(tuple(column.session for column in columns), []).append(rater)
    for sessions, raters in alike.items():
        who = f"rater {raters[0]} {has}" if len(raters) == 1 else f"raters {join_names(raters)} {have}"
        named = [session or "without a name" for session in sessions]
        yield (f"{who} the sessions {join_names(named)}: agreement and consensus {take} session {named[0]}, with "
               f"which their other sessions {are} compared",)  # fmt: skip
    for rater, columns in study.sessions.items():
        for i, column in enumerate(columns):
            gaps = [case.name for case in study if column not in case.masks]
            lacks = f"session {column.session} of rater {rater} {has} no mask of {join_names(gaps, 4)}"
            if gaps:
                yield (f"{lacks}, where the rater {does} not count" if i == 0 else lacks,)


def session_notes(study: Study) -> Iterator[Note]:
    """The same as notes."""
    said = [plain_text(sentence) for sentence in session_sentences(study)]
    if said and not study.options.exchangeable:
        yield Note("sessions", f"{'; '.join(said)} (--session chooses another)")


def consider_sessions(log: ClaimLog, study: Study) -> None:
    """Which session counts, where there are several."""
    sentences, results = (
        [] if study.options.exchangeable else [(*capitalise(s), ".") for s in session_sentences(study, past=past)]
        for past in (False, True)
    )
    for sentence, result in zip(sentences, results, strict=True):
        log.consider(COUNTED, sentence, result=result)
    if not sentences:
        log.consider(COUNTED, (COUNTED.says,), why_not=Note("one_session", "no rater has several sessions"))
