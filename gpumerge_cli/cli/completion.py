"""Completions for bash, zsh and fish: scripts that know every option, so that no TAB starts the program."""

from __future__ import annotations

from collections.abc import Iterator

from gpumerge_cli.cli.options.commands import COMMANDS
from gpumerge_cli.cli.options.model import Command, Option


def bash() -> str:
    """The script for bash 4 and newer, which needs no other package."""
    own, *others = COMMANDS
    lines = [
        "# Made by gpumerge --show-completion bash.",
        "_gpumerge() {",
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}",
        "    local command= equals= options= operands= kind= values= word",
        "    COMPREPLY=()",
        "    if [[ $cur == = ]]; then",
        "        equals=1 cur=",
        "    elif [[ $prev == = ]]; then",
        "        equals=1 prev=${COMP_WORDS[COMP_CWORD - 2]}",
        "    elif [[ $prev == -[!-]?* ]]; then",
        "        prev=-${prev: -1} # the last of letters written together",
        "    fi",
        "    (( COMP_CWORD > 1 )) && command=${COMP_WORDS[1]}",
        '    case "$command" in',
        '        "" | -*)',
        *_bash_options(own),
        f'            operands="{" ".join(command.name for command in others)}"',
        "            ;;",
    ]
    for command in others:
        lines += [f"        {command.name})", *_bash_options(command)]
        lines += ["            operands=file"] * bool(command.arguments) + ["            ;;"]
    lines += [
        "        *) return ;;",
        "    esac",
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do',
        "        [[ $word == -- ]] && options= kind=",
        "    done",
        "    if [[ -z $kind && $options && $cur == -* ]]; then",
        "        kind=words values=$options",
        "    elif [[ -z $kind ]]; then",
        "        kind=words values=$operands",
        "        [[ $operands == file ]] && kind=file",
        "    fi",
        "    case $kind in",
        "        file | folder)",
        "            compopt -o filenames 2> /dev/null",
        "            [[ $kind == folder ]] && kind=-d || kind=-f",
        '            mapfile -t COMPREPLY < <(compgen $kind -- "$cur")',
        "            ;;",
        '        program) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;',
        '        words) mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur") ;;',
        "    esac",
        "}",
        "complete -F _gpumerge gpumerge",
    ]
    return "\n".join(lines) + "\n"


def _bash_options(command: Command) -> Iterator[str]:
    names = (name for option in command.options for name in (*option.names, *option.off_names))
    offered = [name for name in names if name.startswith("--")]
    yield f'            options="{" ".join(offered)}"'
    values: dict[tuple[str, bool, str], list[str]] = {}
    for option in command.options:
        kind = _kind(option)
        if option.takes_value or option.may_have_value:
            names_of = values.setdefault((kind, option.may_have_value, " ".join(option.choices)), [])
            names_of += _names_with_value(option)
    if not values:
        return
    yield "            case $prev in"
    for (kind, needs_equals, words), names_of in values.items():
        condition = "[[ $equals ]] && " if needs_equals else ""
        given = f' values="{words}"' if words else ""
        yield f"                {' | '.join(names_of)}) {condition}kind={kind}{given} ;;"
    yield "            esac"


def _names_with_value(option: Option) -> tuple[str, ...]:
    """The names of an option that a value follows."""
    if option.may_have_value:
        return option.names[:1]
    return option.names if option.takes_value else ()


def _kind(option: Option) -> str:
    """The kind of words that complete the option's value."""
    if option.choices:
        return "words"
    if option.takes_path:
        return option.kind
    return "program" if option.kind == "program" else "nothing"


def zsh() -> str:
    """The script for zsh's completion system, to be put into $fpath or evaluated."""
    own, *others = COMMANDS
    lines = [
        "#compdef gpumerge",
        "# Made by gpumerge --show-completion zsh.",
        "_gpumerge() {",
        "    local curcontext=$curcontext state line",
        "    typeset -A opt_args",
        "    local -a commands=(",
        *(f"        {_quoted(f'{command.name}:{command.summary}')}" for command in others),
        "    )",
        "    _arguments -C \\",
        *(f"        {spec} \\" for option in own.options for spec in _zsh_option(option)),
        "        '1: :->command' '*:: :->rest'",
        "    case $state in",
        "        command) _describe command commands ;;",
        "        rest)",
        "            case $words[1] in",
    ]
    for command in others:
        lines += [f"                {command.name})", "                    _arguments -s -S \\"]
        specs = [spec for option in command.options for spec in _zsh_option(option)]
        specs += [f"'*:{name}:_files'" for name in (one.metavar for one in command.arguments)]
        lines += [f"                        {spec} \\" for spec in specs[:-1]]
        lines += [f"                        {specs[-1]}", "                    ;;"]
    lines += [
        "            esac",
        "            ;;",
        "    esac",
        "}",
        'if [[ $funcstack[1] == _gpumerge ]]; then _gpumerge "$@"; else compdef _gpumerge gpumerge; fi',
    ]
    return "\n".join(lines) + "\n"


_ZSH_ACTIONS = {"file": "_files", "folder": "_files -/", "program": "_command_names -e", "nothing": ""}


def _zsh_option(option: Option) -> Iterator[str]:
    help = option.help
    for letter in "\\[]:":
        help = help.replace(letter, "\\" + letter)
    names = (*option.names, *option.off_names)
    alone = "*" if option.multiple else f"({' '.join(names)})" if len(names) > 1 else ""
    kind = _kind(option)
    action = f"({' '.join(option.choices)})" if kind == "words" else _ZSH_ACTIONS[kind]
    metavar = option.metavar.replace(":", "\\:")
    with_value = _names_with_value(option)
    for name in names:
        value = f":{metavar}:{action}" if name in with_value else ""
        if value and option.may_have_value:
            value = ":" + value
        ending = "" if not value else "=-" if option.may_have_value else "=" if name.startswith("--") else "+"
        yield _quoted(f"{alone}{name}{ending}[{help}]{value}")


def fish() -> str:
    own, *others = COMMANDS
    lines = [
        "# Made by gpumerge --show-completion fish.",
        "function __gpumerge_command",
        "    set -l words (commandline -opc)",
        '    if test (count $argv) -eq 0; test (count $words) -eq 1; else; test "$words[2]" = $argv[1]; end',
        "end",
        "complete -c gpumerge -f",
        *(_fish_option(option, "__gpumerge_command") for option in own.options),
    ]
    for command in others:
        lines.append(
            f"complete -c gpumerge -n __gpumerge_command -a {command.name} -d {_quoted(command.summary, fish=True)}"
        )
    for command in others:
        condition = f"'__gpumerge_command {command.name}'"
        lines += [f"complete -c gpumerge -n {condition} -F"] * bool(command.arguments)
        lines += [_fish_option(option, condition) for option in command.options]
    return "\n".join(lines) + "\n"


_FISH_ACTIONS = {"file": "-rF", "folder": "-xa '(__fish_complete_directories)'", "nothing": "-x"}


def _fish_option(option: Option, condition: str) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    kind = _kind(option)
    if option.may_have_value:
        value = f" -fa {_quoted(' '.join(option.choices))}"
    elif not option.takes_value:
        value = ""
    elif kind == "words":
        value = f" -xa {_quoted(' '.join(option.choices))}"
    elif kind == "program":
        value = " -xa '(__fish_complete_command)'"
    else:
        value = f" {_FISH_ACTIONS[kind]}"
    lines = [f"complete -c gpumerge -n {condition} {names}{value} -d {_quoted(option.help, fish=True)}"]
    lines += [f"complete -c gpumerge -n {condition} -l {name[2:]}" for name in option.off_names]
    return "\n".join(lines)


def _quoted(text: str, *, fish: bool = False) -> str:
    """`text` as one word of a shell."""
    if fish:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + text.replace("'", "'\\''") + "'"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
