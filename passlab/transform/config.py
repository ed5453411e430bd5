"""The options of pass contexts: each is registered once with its type, default and meaning.

    register_config_option("my.pass.max_depth", int, 256, "Deepest nesting that MyPass rewrites.")

Booleans and integers share one type, as in Relay. This module declares options, not the passes that read them.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import ConfigError, Diagnostic, did_you_mean

_TYPE_KEYS: dict[type, str] = {
    bool: "IntImm",
    int: "IntImm",
    float: "FloatImm",
    str: "runtime.String",
    list: "Array",
    dict: "Map",
}


@dataclass(frozen=True)
class ConfigOption:
    """One option: its key, the type of its values, its default and its meaning."""

    key: str
    type: type
    default: Any = None
    doc: str = ""

    @property
    def type_key(self) -> str:
        """Relay's name of the type; the Python name of a record class."""
        return _TYPE_KEYS.get(self.type, self.type.__name__)

    def convert(self, value: Any) -> Any:
        """Return a value in its stored form. Raises `ConfigError` if it is None or has another type."""
        if value is None:
            raise ConfigError(Diagnostic(f"{self.key} is None", hint="leave the option out to get its default"))
        if self.type in (bool, int) and isinstance(value, (bool, int, np.bool_, np.integer)):
            return bool(value) if self.type is bool else operator.index(int(value))
        if self.type is float and isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            return float(value)
        if self.type is list and isinstance(value, (list, tuple)):
            return list(value)
        if self.type is dict and isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, self.type):
            return value
        if isinstance(value, Mapping) and self.type not in _TYPE_KEYS:
            return self._record(value)
        raise ConfigError(
            Diagnostic(
                f"expect config {self.key} to have type {self.type_key} but get {type(value).__name__}",
                expected=self.type.__name__,
                found=repr(value),
            )
        )

    def _record(self, fields: Mapping[str, Any]) -> Any:
        names = list(getattr(self.type, "__dataclass_fields__", {}))
        for name in fields:
            if names and name not in names:
                hint = did_you_mean(name, names) or f"its fields are {', '.join(names)}"
                raise ConfigError(Diagnostic(f"config {self.key} has no field `{name}`", hint=hint))
        try:
            return self.type(**fields)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                Diagnostic(f"bad fields for config {self.key}: {error}", found=repr(dict(fields)))
            ) from None


_options: dict[str, ConfigOption] = {}


@checked
def register_config_option(key: str, type: type, default: Any = None, doc: str = "") -> ConfigOption:
    """Register an option. Raises `ConfigError` if the key has a different option; registering the same again is
    allowed.

    >>> _ = transform.register_config_option("doc.budget", int, 100, "How many nodes may be added.")
    >>> with transform.PassContext(config={"doc.budget": 7}):
    ...     transform.PassContext.current().config["doc.budget"]
    7
    """
    option = ConfigOption(key, type, default, doc)
    if _options.setdefault(key, option) != option:
        raise ConfigError(
            Diagnostic(
                f"the config option {key} is registered twice", found=f"{_options[key].type_key} and {option.type_key}"
            )
        )
    return option


def find_option(key: str) -> ConfigOption:
    """Return a registered option. Raises `ConfigError`, which suggests similar keys."""
    if key in _options:
        return _options[key]
    if key.startswith("relay.ext.") and key.endswith(".options"):  # one per external compiler, named by its user
        return ConfigOption(key, dict, None, "Options of an external compiler.")
    suggestion = did_you_mean(key, _options)
    hint = f"{suggestion + ' ' if suggestion else ''}candidates are: {' ,'.join(sorted(_options))}"
    raise ConfigError(Diagnostic(f"Invalid config option '{key}'", hint=hint))


def convert_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a config with every value checked and converted to its stored form. Raises `ConfigError`."""
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise ConfigError(Diagnostic("a config is a dict of options", expected="dict[str, Any]", found=repr(config)))
    return {str(key): find_option(str(key)).convert(value) for key, value in config.items()}


def list_options() -> list[ConfigOption]:
    """Return all registered options, sorted by key."""
    return [_options[key] for key in sorted(_options)]


_ACCEPTED = "Accepted so that existing programs run unchanged; has no effect here."
for _key, _type, _default, _doc in [
    ("relay.fallback_device_type", int, 1, "The device of expressions without a device annotation."),
    ("relay.FuseOps.max_depth", int, 256, "The largest number of operators that FuseOps puts into one function."),
    ("relay.FuseOps.link_params", bool, False, "Whether FuseOps keeps constants inside the functions it creates."),
    ("relay.ToMixedPrecision.keep_orig_output_dtype", bool, False, "Whether ToMixedPrecision casts results back."),
    ("relay.remove_standalone_reshapes.enable", bool, True, "Whether ahead-of-time code drops reshapes on their own."),
    ("relay.backend.use_auto_scheduler", bool, False, _ACCEPTED),
    ("relay.backend.use_meta_schedule", bool, False, _ACCEPTED),
    ("relay.backend.use_meta_schedule_dispatch", int, 0, _ACCEPTED),
    ("relay.backend.tir_converter", str, "default", _ACCEPTED),
    ("relay.frontend.fill_span", bool, False, "Whether importers store layer names in the spans of nodes."),
    ("relay.collage.tvm_max_depth", int, 4, _ACCEPTED),
    ("relay.collage.byoc_max_depth", int, 3, _ACCEPTED),
    ("relay.collage.byoc_fusion_style", list, [], _ACCEPTED),
    ("ir.enable_si_builder", bool, False, _ACCEPTED),
    ("testing.immutable_module", bool, False, "Whether each pass is checked not to change its input."),
    ("te.keep_schedule_record", bool, False, _ACCEPTED),
    ("tir.HoistIfThenElse", dict, {}, _ACCEPTED),
    ("tir.LoopPartition", dict, {}, _ACCEPTED),
    ("tir.add_lower_pass", list, [], _ACCEPTED),
    ("tir.detect_global_barrier", bool, False, _ACCEPTED),
    ("tir.enable_debug", bool, False, _ACCEPTED),
    ("tir.enable_equiv_terms_in_cse_tir", bool, False, _ACCEPTED),
    ("tir.noalias", bool, True, _ACCEPTED),
    ("tir.disable_assert", bool, False, _ACCEPTED),
    ("tir.disable_cse_tir", bool, False, _ACCEPTED),
    ("tir.disable_storage_rewrite", bool, False, _ACCEPTED),
    ("tir.disable_vectorize", bool, False, _ACCEPTED),
    ("tir.instrument_bound_checkers", bool, False, _ACCEPTED),
    ("tir.UnrollLoop", dict, {}, _ACCEPTED),
    ("tir.usmp.enable", bool, False, _ACCEPTED),
]:
    register_config_option(_key, _type, _default, _doc)
