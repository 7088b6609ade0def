"""The application: all commands, in the order in which ``manytruths --help`` lists them."""

from __future__ import annotations

from cyclopts import App, Group

from .. import __version__
from .adjudication_commands import adjudicate
from .exchange_commands import export, import_study
from .learning_commands import predict, train
from .options import ARGUMENTS, COMMON
from .running_commands import assign, next_reads, study_progress
from .simulation_commands import demo, phantom
from .study_commands import agree, audit, check, evaluate, fuse, report, tally
from .table_commands import mrmc, plan, rank, reliability

app = App(
    name="manytruths",
    help="Several experts annotated the same images: measure agreement, estimate a consensus, evaluate algorithms.",
    version=__version__,
    group_parameters=COMMON,
    group_arguments=ARGUMENTS,
    suppress_keyboard_interrupt=False,
    help_epilogue=(
        "Exit status: 0 success; 1 the input cannot be used, or an unexpected error; 2 wrong call; 128 + n stopped by "
        "signal n (130: Ctrl-C). With --debug, errors show their traceback."
    ),
)
PANELS = {
    "Start": "demo check report",
    "Analyse": "agree fuse audit evaluate rank reliability mrmc plan",
    "Run": "assign next progress",
    "Settle": "adjudicate",
    "Exchange": "import export tally",
    "Learn": "train predict phantom",
    "Help": "--help --version",
}
for _command in (
    demo,
    check,
    report,
    agree,
    fuse,
    audit,
    evaluate,
    rank,
    reliability,
    mrmc,
    plan,
    train,
    predict,
    phantom,
    adjudicate,
):
    app.command(_command)
app.command(export)
app.command(tally)
app.command(import_study, name="import")
app.command(assign)
app.command(next_reads, name="next")
app.command(study_progress, name="progress")
for _row, (_panel, _names) in enumerate(PANELS.items()):
    _group = Group(_panel, sort_key=_row)
    for _column, _name in enumerate(_names.split()):
        app[_name].group, app[_name].sort_key = _group, _column
