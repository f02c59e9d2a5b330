//! Tools as text, for models and people that do not speak MCP: parameter lists, the prompt section, XML calls and
//! plain results. Clients over MCP never see these: they get schemas and results untouched.

pub mod command;
pub mod convert;
pub mod openai;
pub mod params;
pub mod prompt;
pub mod view;
pub mod xml;
