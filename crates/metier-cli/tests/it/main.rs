//! The command line from outside: the real binary in a clean home, judged by what it prints, what
//! it writes and how it ends.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "these tests build files, start the binary and say what they could not test"
)]

mod agents;
mod approvals;
mod catalog;
mod chat;
mod check;
mod check_fix;
mod check_formats;
mod check_repairs;
mod check_targets;
mod clashes;
mod config;
mod doctor;
mod exec;
mod exec_hostile;
mod export;
mod files;
mod given_files;
mod hidden_text;
mod inspect;
mod interpreters;
mod invoke;
mod library;
mod limits;
mod linked_keys;
mod list;
mod list_busy;
mod list_json;
mod manage_delete;
mod manage_faults;
mod manage_new;
mod manage_open;
mod manage_switch;
mod managed;
mod model_endpoints;
mod offline_requests;
mod one_decision;
mod other_accounts;
mod other_programs;
mod output_cap;
mod outputs;
mod permissions;
mod places;
mod program;
mod read;
mod read_refusals;
mod reads;
mod record_anchor;
mod record_links;
mod recorded_run;
mod refresh;
mod roots;
mod run;
mod run_ceilings;
mod run_changed;
mod run_faults;
mod run_flags;
mod run_floor;
mod run_guarded;
mod run_influence;
mod run_inner;
mod run_invalid;
mod run_key;
mod run_kill;
mod run_named;
mod run_outcome;
mod run_params;
mod run_reads;
mod run_restore;
mod run_server;
mod run_support;
mod run_terminal;
mod run_time;
mod run_tools;
mod run_view;
mod runs_show;
mod runs_verified;
mod same_decision;
mod sandbox;
mod screen;
mod script_question;
mod script_view;
mod search;
mod seed_config;
mod skill_links;
mod support;
mod terminal;
mod trust;
mod watch;
