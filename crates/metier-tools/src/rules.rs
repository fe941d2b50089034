//! The rules of the configuration as layers of the policy.
//!
//! The configuration keeps each file's rules apart, with their lines; so does the policy.

use metier_config::{ApprovalTarget, PermissionLayer, Scope, Settings};
use metier_policy::{
    Effect, Example, ExampleFault, Layer, Permission, PlacedRule, Places, PolicyError, Rule,
    RuleSource, check_examples,
};

/// The layers that the settings amount to: administrators' rules, the user's, the project's, and the tools that ask
/// before each use.
pub fn layers_of(settings: &Settings) -> Result<Vec<Layer>, PolicyError> {
    let mut layers = Vec::new();
    for file in &settings.permissions {
        layers.push(layer_of(file)?);
    }
    let targets = &settings.execution.require_approval_for;
    if !targets.is_empty() {
        let asks = targets.iter().filter_map(|target| permission_of(*target)).map(|permission| {
            let permission = permission.as_str().to_owned();
            let rule = Rule { permission, pattern: "*".to_owned(), effect: Effect::Ask };
            PlacedRule { rule, line: None }
        });
        let origin = "execution.require_approval_for";
        layers.push(Layer::new(RuleSource::Approval, origin, asks)?);
    }
    Ok(layers)
}

fn layer_of(file: &PermissionLayer) -> Result<Layer, PolicyError> {
    let source = match file.scope {
        Scope::Managed => RuleSource::Managed,
        Scope::User => RuleSource::User,
        Scope::Project => RuleSource::Project,
    };
    let placed = file.rules.iter().map(|placed| PlacedRule {
        rule: Rule {
            permission: placed.rule.permission.clone(),
            pattern: placed.rule.pattern.clone(),
            effect: effect_of(placed.rule.effect),
        },
        line: Some(placed.line),
    });
    Layer::new(source, &*file.origin, placed)
}

/// The examples of all files that do not come out as their authors expect. `places` should not be
/// those of this run: whether an example holds must not depend on where the program was started.
pub fn failed_examples(
    settings: &Settings,
    places: &Places,
) -> Result<Vec<ExampleFault>, PolicyError> {
    let mut faults = Vec::new();
    for file in &settings.permissions {
        let examples: Vec<_> = file
            .examples
            .iter()
            .map(|placed| {
                let request = placed.example.request.clone();
                let expect = effect_of(placed.example.expect);
                (Example { request, expect }, Some(placed.line))
            })
            .collect();
        faults
            .extend(check_examples(&layer_of(file)?, &examples, places).err().unwrap_or_default());
    }
    Ok(faults)
}

fn effect_of(effect: metier_config::Effect) -> Effect {
    match effect {
        metier_config::Effect::Allow => Effect::Allow,
        metier_config::Effect::Ask => Effect::Ask,
        metier_config::Effect::Deny => Effect::Deny,
    }
}

/// The permission of a target; the configuration may one day know more targets than we do.
fn permission_of(target: ApprovalTarget) -> Option<Permission> {
    Some(match target {
        ApprovalTarget::ReadFile => Permission::ReadFile,
        ApprovalTarget::ListDir => Permission::ListDir,
        ApprovalTarget::Grep => Permission::Grep,
        ApprovalTarget::RunScript => Permission::RunScript,
        ApprovalTarget::WriteFile => Permission::WriteFile,
        ApprovalTarget::DeleteFile => Permission::DeleteFile,
        ApprovalTarget::NetworkRequest => Permission::NetworkRequest,
        ApprovalTarget::RunCommand => Permission::RunCommand,
        ApprovalTarget::ScriptNetwork => Permission::ScriptNetwork,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_and_the_approvals_are_a_layer() {
        let user = r#"{ "permissions": [
            { "permission": "write_file", "pattern": "docs/*", "effect": "allow" } ] }"#;
        let project = r#"{ "execution": { "require_approval_for": ["network", "grep"] },
            "permissions": [ { "permission": "*", "pattern": "*", "effect": "deny" } ] }"#;
        let user = metier_config::parse(user, "user.json", Scope::User).expect("parses");
        let project = metier_config::parse(project, "p.json", Scope::Project).expect("parses");
        let settings = Settings::merge(Some(&user), Some(&project));
        let layers = layers_of(&settings).expect("layers");
        let told: Vec<_> = layers.iter().map(|layer| (layer.source(), layer.origin())).collect();
        assert_eq!(
            told,
            [
                (RuleSource::User, "user.json"),
                (RuleSource::Project, "p.json"),
                (RuleSource::Approval, "execution.require_approval_for"),
            ]
        );
    }

    #[test]
    fn a_rule_that_cannot_be_used_is_told_with_its_line() {
        let text = "{ \"permissions\": [\n{ \"permission\": \"a b\", \"pattern\": \"*\", \"effect\": \"deny\" } ] }";
        let user = metier_config::parse(text, "user.json", Scope::User).expect("parses");
        let error = layers_of(&Settings::merge(Some(&user), None)).expect_err("no permission");
        assert_eq!(error.to_string(), "user.json:2: `a b` is no name of a permission");
    }
}
