"""Settings: values of options that the command line leaves out, from the environment and configuration files.

The command line wins over the environment, the environment over the project's file, and that over the user's file.
Within one of them, a setting of one command wins over a setting of all commands. Nothing is read unless something is
set.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Literal

from gpumerge_cli.cli.options.commands import COMMANDS, options_of
from gpumerge_cli.cli.options.model import Command, Option, WrittenValue
from gpumerge_cli.cli.setting_files import PREFIX, project_file, set_variables, user_file
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.errors import DisorderError, GpumergeError, UsageError
from gpumerge_cli.secret_values import conceal
from gpumerge_cli.suggestions import nearest, without_value
from gpumerge_cli.units import values_of_switch
from gpumerge_cli.urls import is_url

_NUMBER = re.compile(r"[0-9.^*,%]+ ?[A-Za-z]{0,3}")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_KEYS = frozenset(("key", "field"))
SetValue = str | int | list[str | int]
"""The value of a setting as its option takes it, still to be read. bool is among int."""
_Layer = Literal["environment", "project", "user"]
_LAYERS: tuple[_Layer, ...] = ("environment", "project", "user")


@dataclass(frozen=True)
class Setting:
    """The value of an option in one place."""

    name: str
    value: object
    """A variable's text, or the value in a TOML file."""
    source: str
    """"GPUMERGE_THREADS" or "FILE:LINE"."""
    layer: _Layer
    file: str = ""
    """The file, or ""."""


@dataclass(eq=False)
class Settings:
    """All settings.

    Every method raises UsageError or InputError, naming the variable or FILE:LINE, for a wrong setting.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    leaving_out: Set[str] = frozenset()
    """Long names, without dashes, of options whose settings are ignored."""
    used: dict[str, str] = field(default_factory=dict)
    """The source of each setting that was used, by the option's name as written. Clear it ahead of another command."""

    def find(self, command: str, option: Option) -> tuple[SetValue, Setting] | None:
        """The setting of a command's option, and its source; None if there is none."""
        if self._names.isdisjoint(option.setting_names) or not option.settable or option.name in self.leaving_out:
            return None
        for layer in _LAYERS:
            for scope in (command, "") if option.shared else (command,):
                for name in option.setting_names:
                    setting = self._set.get((layer, scope, name))
                    if setting is not None:
                        text = str(setting.value)
                        if layer == "environment" and not _is_plain(option, text):
                            conceal(f"${setting.source}", text)
                        return _value(option, setting), setting
        return None

    def use(self, command: str, option: Option) -> SetValue | None:
        """Use the setting of an option that the command line leaves out; its value, or None."""
        found = self.find(command, option)
        if found is None:
            return None
        value, setting = found
        self.used.update(dict.fromkeys((*option.names, *option.off), setting.source))
        return value

    def others(self, command: str, given: Collection[str]) -> Iterator[tuple[Option, list[WrittenValue]]]:
        """Use the settings of options whose parameters are not among `given`: each option, with its values unread."""
        # Keys that are given, by one of two options, stand for all keys.
        taken = {*given, *_KEYS} if _KEYS.intersection(given) else given
        for option in options_of(command) if self._names else ():
            value = None if option.parameter in taken else self.use(command, option)
            if value is not None:
                values = value if isinstance(value, list) else [value]
                yield option, [one if isinstance(one, bool) else str(one) for one in values]

    def placed(self, error: GpumergeError) -> GpumergeError:
        """`error`, with the source of the setting if it is about an option whose value is a setting."""
        named = re.findall(r"(?<![\w-])--?[A-Za-z0-9][a-z0-9-]*", str(error))
        name = next((name for name in named if name in self.used), "")
        if not name or isinstance(error, DisorderError):  # whose way out is a command
            return error
        source = self.used[name]
        if error.where or not isinstance(error, UsageError):
            error.way_out += f" ({name} is set by {source})"
            return error
        what = error.what
        if source in self.environ:
            what = without_value(what, self.environ[source], f"${source}")
        placed = UsageError(what, where=source, way_out=error.way_out)
        placed.exit_code = error.exit_code
        return placed

    def is_place(self, where: str) -> bool:
        """Whether the place of an error is a variable, or a line of a file, that holds settings."""
        if where in set_variables(self.environ):
            return True
        return where != "" and where.rpartition(":")[0] in (project_file(), user_file(self.environ))

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of all that is set, for whatever command."""
        return frozenset(name for _, _, name in self._set)

    @cached_property
    def _set(self) -> dict[tuple[_Layer, str, str], Setting]:
        found = [*self._variables(), *self._file("project", project_file())]
        found += self._file("user", user_file(self.environ))
        return {(setting.layer, scope, setting.name): setting for scope, setting in found}

    def _variables(self) -> Iterator[tuple[str, Setting]]:
        given = set_variables(self.environ)
        if not given:
            return
        names = self.variables
        for variable, value in given.items():
            if variable not in names:
                near = _nearest(variable, names)
                raise UsageError(
                    "no option has that name",
                    where=variable,
                    way_out=f"did you mean {near}? gpumerge info --config lists all" if near else "unset it",
                )
            scope, name = names[variable]
            yield scope, Setting(name, value, variable, "environment")

    @cached_property
    def variables(self) -> dict[str, tuple[str, str]]:
        """Every variable's command, "" for all, and the setting's name."""
        found = {}
        for command in COMMANDS:
            for option in command.options:
                for name in option.setting_names if option.settable and option.shared else ():
                    found[variable_name(name)] = ("", name)
        for command in COMMANDS:
            for option in command.options:
                for name in option.setting_names if option.settable else ():
                    found.setdefault(variable_name(name, command.name), (command.name, name))
        return found

    def _file(self, layer: _Layer, path: str | None) -> Iterator[tuple[str, Setting]]:
        if path is None or not os.path.exists(path):
            return
        from gpumerge_cli.cli.toml import read_toml

        file = read_toml(path)
        if file is None:
            return
        commands = {command.name: _setting_names((command,)) for command in COMMANDS if command.name}
        everywhere = _setting_names(COMMANDS)
        shared = {name for scope, name in self.variables.values() if not scope}
        for key, value in file.values.items():
            if isinstance(value, dict):
                if key not in commands:
                    raise _unknown(f"there is no command {key!r}", key, commands, file.place(key))
                for name, inner in value.items():
                    place = file.place(key, name)
                    if name not in commands[key]:
                        raise _unknown(_not_of(key, name, everywhere), name, commands[key], place)
                    yield key, Setting(name, inner, place, layer, path)
            elif key not in everywhere:
                raise _unknown(f"no option is called {key!r}", key, everywhere, file.place(key))
            elif key not in shared:
                if layer == "project" and not any(
                    option.project for command in COMMANDS for option in command.options if key in option.setting_names
                ):
                    raise _refused(key, file.place(key))
                having = [f"[{name}]" for name, names in commands.items() if key in names]
                raise UsageError(
                    f"{key} cannot be set for all commands",
                    where=file.place(key),
                    way_out=f"write it below {' or '.join(having)}",
                )
            else:
                yield "", Setting(key, value, file.place(key), layer, path)


class NoSettings(Settings):
    """No option has a setting, whatever the environment and files say."""

    @cached_property
    def _set(self) -> dict[tuple[_Layer, str, str], Setting]:
        return {}


def variable_name(setting: str, command: str = "") -> str:
    """The environment variable of a setting, for one command or, without a name, for all."""
    return PREFIX + "_".join(filter(None, (command, setting))).replace("-", "_").upper()


def _setting_names(commands: Sequence[Command]) -> set[str]:
    return {
        name for command in commands for option in command.options if option.settable for name in option.setting_names
    }


def _unknown(what: str, name: str, known: Collection[str], place: str) -> UsageError:
    near = _nearest(name, known)
    return UsageError(what, where=place, way_out=f"did you mean {near}?" if near else "see gpumerge info --config")


def _not_of(command: str, name: str, everywhere: set[str]) -> str:
    return f"{command} has no setting {name!r}" if name in everywhere else f"no option is called {name!r}"


def _nearest(name: str, known: Collection[str]) -> str:
    """The known setting or variable most like `name`, or the new name of an old one; "" if there is none."""
    for option in (option for command in COMMANDS for option in command.options):
        for former in option.formerly:
            ending = variable_name(former).removeprefix(PREFIX)
            renamed = option.name if name == former else name.replace(ending, variable_name(option.name)[len(PREFIX) :])
            if renamed != name and renamed in known:
                return renamed
    return nearest(name, known)


def _refused(name: str, place: str) -> UsageError:
    way_out = f"set it on the command line or in {user_file(os.environ)}"
    return UsageError(f"a project's file may not set {name}", where=place, way_out=way_out)


def _value(option: Option, setting: Setting) -> SetValue:
    """The setting's value as the option takes it. Raises UsageError for a value of another kind, or from a project's
    file that may not set it.
    """
    if setting.layer == "project" and not option.project:
        raise _refused(setting.name, setting.source)
    value = _from_text(option, setting) if setting.layer == "environment" else _from_toml(option, setting)
    return [_path(option, setting, one) for one in value] if isinstance(value, list) else _path(option, setting, value)


def _is_plain(option: Option, text: str) -> bool:
    """Whether a variable's value is a word or number that the option knows, which anybody may see."""
    return option.kind == "flag" or text in option.choices or bool(_NUMBER.fullmatch(text))


def _from_text(option: Option, setting: Setting) -> SetValue:
    text = str(setting.value)
    if option.kind == "flag" and text not in option.choices:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise UsageError(f"${setting.source} must be true or false", where=setting.source, way_out="write 1 or 0")
        return text.lower() in _TRUE
    if option.multiple:
        import shlex

        try:
            return [*shlex.split(text)]
        except ValueError as error:
            raise UsageError(
                f"${setting.source}: {str(error).lower()}", where=setting.source, way_out="quote as in a shell"
            ) from None
    return text


def _from_toml(option: Option, setting: Setting) -> SetValue:
    values = setting.value if option.multiple and isinstance(setting.value, list) else [setting.value]
    read: list[str | int] = []
    for value in values:
        if option.kind == "flag":
            fits = isinstance(value, bool) or value in option.choices
            expected, example = values_of_switch(option.choices), "true"
        elif option.kind in ("number", "files"):
            fits, expected, example = type(value) is int, "a whole number", "1"
        else:
            fits, expected, example = type(value) in (str, int), "text", '"..."'
        if not fits or not isinstance(value, str | int):
            raise UsageError(
                f"{setting.name} must be {expected}, not {_shown(value)}",
                where=setting.source,
                way_out=f"write {setting.name} = {example}",
            )
        if "\0" in str(value):
            raise UsageError(f"{setting.name} holds a NUL", where=setting.source, way_out="leave it out")
        read.append(str(value) if option.kind == "text" else value)
    return read if option.multiple else read[0]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else repr(value)


def _path(option: Option, setting: Setting, value: str | int) -> str | int:
    """The path in a file's setting. Relative paths start from its folder; those of a project's file stay inside it."""
    if not setting.file or not isinstance(value, str):
        return value
    if not option.takes_path or (value == "-" and setting.layer != "project"):
        return value
    if not value:  # joined to the folder, it would name the folder
        raise UsageError(
            f"{setting.name} is empty", where=setting.source, way_out="name a place, or leave the setting out"
        )
    folder = os.path.dirname(setting.file)
    path = value
    if not is_url(value):
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(value)))
    if setting.layer == "project":
        real = os.path.realpath(folder)
        if is_url(path) or os.path.commonpath((os.path.realpath(path), real)) != real:
            raise UsageError(
                f"{setting.name} = {value!r} is outside of the project's folder",
                where=setting.source,
                way_out="name a place in it, or set it in the user's file",
            )
        if option.kind == "file" and not os.path.isfile(path):  # a pipe may have no end
            what = "is not a regular file" if os.path.exists(path) else "does not exist"
            raise UsageError(
                f"{setting.name} = {value!r} {what}", where=setting.source, way_out="name another, or leave it out"
            )
    return path
