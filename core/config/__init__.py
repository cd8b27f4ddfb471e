"""pipelines.toml: its values. `core.config.file` reads it, `core.config.options` makes plugins of its tables."""

from core.config.values import BackendConfig, Config, PipelineConfig, Secret, ServerConfig

__all__ = ["BackendConfig", "Config", "PipelineConfig", "Secret", "ServerConfig"]
