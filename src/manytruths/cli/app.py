"""The application: all commands, in the order in which ``manytruths --help`` lists them."""

from __future__ import annotations

from cyclopts import App

from .. import __version__
from .exchange_commands import export, import_study
from .learning_commands import predict, train
from .options import ARGUMENTS, COMMON
from .simulation_commands import demo, phantom
from .study_commands import agree, check, evaluate, fuse, report
from .table_commands import plan, rank, reliability

app = App(
    name="manytruths",
    help="Analyse several experts' annotations of the same images: agreement, consensus, evaluation of algorithms.",
    version=__version__,
    group_parameters=COMMON,
    group_arguments=ARGUMENTS,
    suppress_keyboard_interrupt=False,
    help_epilogue=(
        "Exit status: 0 success; 1 the input cannot be used, or an unexpected error; 2 wrong call; 128 + n stopped by "
        "signal n (130: Ctrl-C). With --debug, errors show their traceback."
    ),
)
for _command in (
    check, agree, fuse, evaluate, rank, reliability, plan, report, export, train, predict, phantom, demo,
):  # fmt: skip
    app.command(_command)
app.command(import_study, name="import")
