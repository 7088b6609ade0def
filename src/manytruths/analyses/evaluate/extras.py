"""What ``evaluate`` makes of masks beyond scores: a second look, frame-intensity curves, a grading sheet, grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from ...core.columns import Column
from ...core.errors import CallError, ManytruthsError
from ...evaluation.grading.blinding import Ticket
from ...evaluation.grading.grades import GradeScale
from ...evaluation.intensity import frame_intensity
from ...evaluation.second_look import SecondLook, second_look
from ...io.grades import read_grades
from ...study import Case, Progress, Study
from ...study.consensus import binary_mask
from ..printing import counted
from ..summaries import Settings
from .frames import Frames, frame_curves
from .gaps import Missing
from .grading import Graded, grade_metrics
from .grading_sheet import draw_tickets, plan_sheet, refuse_graded, write_sheet
from .hard import MEAN, HardScores, by_case, truths_of
from .measures import EVERYBODY
from .scenes import Array, Scene
from .second_look_table import Look, Looks, draw_places, second_looks

GRADED = ("dice", "iou", "cohen_kappa", "hausdorff_95", "mean_surface_distance", "surface_dice", "soft_accuracy")
"""What is held against the grades, beside extended Dice."""


@dataclass(frozen=True)
class ExtraPlan:
    """What else to make."""

    frames: bool = False
    second_look: bool = True
    algorithms: int = 2
    raters: float = 0.25
    least: int = 5
    sheet: Path | None = None
    """The folder of the grading sheet."""
    repeats: float = 0.1
    per_subject: int | None = None
    grades: Path | None = None
    key: Path | None = None
    scale: GradeScale = field(default_factory=GradeScale)


@dataclass(frozen=True)
class Extras:
    """What was made."""

    looks: Looks | None = None
    frames: Frames | None = None
    graded: Graded | None = None
    sheet: Path | None = None
    """The folder of the grading sheet; it is no part of a run's files, so that no later run removes it."""
    sheet_notes: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Of all of it."""
        parts = [part for part in (self.looks, self.frames, self.graded) if part is not None]
        return [note for part in parts for note in part.notes] + list(self.sheet_notes)


@dataclass(frozen=True)
class _Seen:
    look: SecondLook | None
    intensity: Mapping[Column, float] | None
    pixel: float
    """The shortest side of a pixel, in the units of depths."""
    bare: bool
    """Whether it is on the grading sheet without its image."""


def make_extras(
    study: Study,
    plan: ExtraPlan,
    hard: HardScores | None,
    threshold: float | None,
    missing: Missing,
    settings: Settings,
    progress: Progress | None = None,
) -> Extras:
    """All that was asked for, in one more pass over the cases."""
    if hard is None:
        wanted = [name for name in ("frames", "sheet", "grades") if getattr(plan, name)]
        if wanted:
            raise CallError(f"{wanted[0]}: grey predictions have no masks; cut them with --threshold")
        return Extras()
    if plan.frames and study.options.images is None:
        raise CallError("frame-intensity curves want the images; give them with --images")
    graded = _graded(study, plan, hard, missing, settings)
    looks = plan.second_look and len(study.algorithms) > 1
    tickets = _planned(study, plan, settings)
    if not (looks or plan.frames or tickets):
        return Extras(graded=graded)
    work = partial(_seen, plan=plan, looks=looks, tickets=tickets, threshold=threshold)
    seen = {case.name: one for case, one in study.map(work, jobs=settings.jobs, progress=progress)}
    found = None
    if looks:
        regions = {c.name: "whole" if c.roi is None else "mask" for c in study}
        groups = {c.name: "; ".join(c.groups) for c in study}
        places = {name: one.look for name, one in seen.items() if one.look is not None}
        pixels = {name: one.pixel for name, one in seen.items()}
        found = second_looks(places, regions=regions, groups=groups, pixels=pixels)
    intensities = {n: one.intensity for n, one in seen.items() if one.intensity is not None}
    frames = frame_curves(intensities, {c.name: c.subject for c in study}, settings) if plan.frames else None
    if plan.sheet is not None:
        write_sheet(plan.sheet, tickets, plan.scale)
    bare = sum(one.bare for one in seen.values())
    return Extras(found, frames, graded, plan.sheet, tuple(_bare(bare, len({t.case for t in tickets}), study)))


def _bare(count: int, of: int, study: Study) -> Iterator[str]:
    """Cases that are on the sheet without their image."""
    if count and study.options.images is None:
        yield "there are no images: the grading sheet shows outlines on grey; give --images"
    elif count:
        yield (
            f"{count} of {counted(of, 'case')} on the grading sheet {'has' if count == 1 else 'have'} no image of the "
            "masks' size, and outlines on grey (manytruths check says why)"
        )


def _planned(study: Study, plan: ExtraPlan, settings: Settings) -> tuple[Ticket, ...]:
    if plan.sheet is None:
        return ()
    refuse_graded(plan.sheet)
    return plan_sheet(study, seed=settings.seed, repeats=plan.repeats, per_subject=plan.per_subject)


def _seen(case: Case, plan: ExtraPlan, looks: bool, tickets: Sequence[Ticket], threshold: float | None) -> _Seen:
    scene = Scene.of(case.read(), threshold)
    raters, predictions = _marks(scene)
    image = _image(case, scene.reading.grid.shape) if plan.frames or tickets else None
    own = [t for t in tickets if t.case == case.name]
    if own and plan.sheet is not None:
        marks = np.sum([np.ma.filled(m, False) for m in (*raters.values(), *predictions.values())], axis=0)
        outlines = {c.name: {"outline": np.ma.filled(m, False)} for c, m in predictions.items()}
        draw_tickets(plan.sheet, own, image, outlines, where=marks, spacing=scene.reading.grid.spacing)
    look = None
    if looks:
        seen = _look(scene, plan)
        look = second_look(
            seen.predictions, seen.masks, algorithms=plan.algorithms, raters=plan.raters, least=plan.least,
            spacing=seen.spacing, inside=seen.inside,
        )  # fmt: skip
    intensity = frame_intensity(image, raters | predictions) if plan.frames and image is not None else None
    return _Seen(look, intensity, min(scene.reading.grid.spacing or [1.0]), bool(own) and image is None)


def _marks(scene: Scene) -> tuple[dict[Column, Array], dict[Column, Array]]:
    """What raters in their first session, and algorithms, marked at all."""
    first = {scene.table.columns[i] for i in scene.table.raters}
    void = scene.reading.case.options.void
    raters = {c: binary_mask(m, None, void) for c, m in scene.reading.masks.items() if c in first}
    return raters, {c: binary_mask(m, None, void) for c, m in scene.predictions.items()}


def _look(scene: Scene, plan: ExtraPlan) -> Look:
    raters, predictions = _marks(scene)
    region = scene.reading.case.region(scene.reading.grid)
    return Look(
        None,
        {c.name: a for c, a in predictions.items()},
        {c.name: a for c, a in raters.items()},
        scene.reading.grid.spacing,
        None if isinstance(region, str) else region.astype(bool),
        plan.algorithms,
        plan.raters,
    )


def _image(case: Case, shape: tuple[int, ...]) -> Array | None:
    """The image, where it can be read and has the size of the masks; ``check`` says what is wrong with others."""
    try:
        image = case.picture()
    except ManytruthsError:
        return None
    return image if image is not None and image.shape[: len(shape)] == shape else None


def _graded(study: Study, plan: ExtraPlan, hard: HardScores, missing: Missing, settings: Settings) -> Graded | None:
    if plan.grades is None:
        return None
    names = [c.name for c in study.algorithms]
    read = read_grades(plan.grades, cases=[c.name for c in study], algorithms=names, scale=plan.scale, key=plan.key)
    return grade_metrics(
        _metrics(study, hard, missing), read.grades, names, subjects={c.name: c.subject for c in study},
        scale=plan.scale, blank=read.blank, settings=settings,
    )  # fmt: skip


def _metrics(study: Study, hard: HardScores, missing: Missing) -> dict[str, dict[tuple[str, str], float]]:
    """Metrics by case and algorithm: against each rater on average, each truth that is no rater, and all raters."""
    part = hard.parts[0]
    found: dict[str, dict[tuple[str, str], float]] = {}
    for truth in [t for t in truths_of(part) if t.role != "rater"] + [MEAN]:
        for name in ("extended_dice",) if truth == EVERYBODY else GRADED:
            values = [by_case(part, a, truth, name) for a in study.algorithms]
            if np.isnan(np.array(values, np.float64)).all():
                continue
            known = part.filled(name, values, "worst")
            keys = [(case, a.name) for a in study.algorithms for case in part.tallies]
            title = name if truth == EVERYBODY else f"{name} [{truth.name}]"
            found[title] = dict(zip(keys, [v for row in known for v in row], strict=True))
    return found


def write_places(study: Study, looks: Looks, plan: ExtraPlan, threshold: float | None, folder: Path) -> list[Path]:
    """Pictures of the strongest places."""

    def load(name: str) -> Look:
        scene = Scene.of(study[name].read(), threshold)
        image = _image(study[name], scene.reading.grid.shape)
        return replace(_look(scene, plan), image=image, everybody=study.rater_names)

    return draw_places(folder, looks.ranked, load)
