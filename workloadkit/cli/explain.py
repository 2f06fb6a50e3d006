"""`workloadkit help`: commands and topics explained."""

from typing import Annotated

import typer

from workloadkit.cli.commands import help_of
from workloadkit.cli.topics import TOPICS
from workloadkit.errors import ParameterError, among, quoted

EXAMPLES = """
workloadkit help
workloadkit help schedulers
workloadkit help simulate --all
"""


def _names(ctx: typer.Context) -> list[str]:
    return [*TOPICS, *_commands(ctx)]


def _commands(ctx: typer.Context) -> list[str]:
    return list(getattr(ctx.find_root().command, "commands", {}))


def explain(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC",
            show_default=False,
            autocompletion=_names,
            help="A topic or a command. By default the topics are listed.",
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Of a command: all options, and its topics, in full.")
    ] = False,
) -> None:
    """Explain a command or a topic."""
    if not words:
        width = max(map(len, TOPICS))
        typer.echo("Topics: workloadkit help TOPIC")
        for name, topic in TOPICS.items():
            typer.echo(f"  {name:<{width}}  {topic.title}")
        typer.echo("\nCommands: workloadkit help COMMAND, with --all for all options")
        typer.echo("  workloadkit --help lists them")
    elif len(words) == 1 and words[0] in TOPICS:
        typer.echo(f"{TOPICS[words[0]].title}\n\n{TOPICS[words[0]].text().strip()}")
    elif (text := help_of(ctx, words, whole=whole)) is not None:
        typer.echo(text)
    else:
        what = " ".join(words)
        raise ParameterError(f"no help on {quoted(what)}; {among(what, _names(ctx))}")
