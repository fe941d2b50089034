//! The table of rules. Data only: a new pattern is one entry here and one case in the tests.
//!
//! How severe a finding is depends on where it stands. In a script or a block of commands it is about to be
//! executed; quoted in prose it is usually an explanation (skills about security are full of attacks), and then
//! [`ScanRule::mentioned`] counts. `high` stops an installation, so a pattern earns it only where honest skills
//! practically never have it: on the collection that the tests read, each rule prints its share.
//! Some patterns read Chinese: tidy:allow-cjk.

use serde::Serialize;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Worth knowing.
    Low,
    /// Worth a look before it is used.
    Medium,
    /// Stops an installation until a person accepts it.
    High,
}

impl FindingSeverity {
    /// The word that is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Where a pattern is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Text for people and models.
    Prose,
    /// Scripts, blocks of commands, data that programs act on.
    Executed,
    /// Both.
    Everything,
}

/// One rule.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ScanRule {
    /// The stable code.
    pub code: &'static str,
    /// What it weighs where it would be executed or obeyed.
    pub severity: FindingSeverity,
    /// What it weighs as a quotation in prose; nothing where that means nothing.
    pub mentioned: Option<FindingSeverity>,
    /// What was found, as a sentence about the skill.
    pub what: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    #[serde(skip)]
    pub(crate) reads: Reads,
    /// A regular expression; empty for rules that are more than a pattern.
    #[serde(skip)]
    pub(crate) pattern: &'static str,
    /// Words in small letters that every match has: of each list, with ` · ` between words, at least one. Where a text
    /// lacks them, the pattern is not tried: one search for all words takes a tenth of the time of all patterns.
    #[serde(skip)]
    pub(crate) needs: &'static [&'static str],
    /// Whether a dubious address in the match makes it `high`.
    #[serde(skip)]
    pub(crate) raised_by_address: bool,
}

use FindingSeverity::{High, Low, Medium};
use Reads::{Everything, Executed, Prose};

const BASE: ScanRule = ScanRule {
    code: "",
    severity: Medium,
    mentioned: None,
    what: "",
    advice: "",
    reads: Everything,
    pattern: "",
    needs: &[],
    raised_by_address: false,
};

/// All rules, those with a pattern first.
pub const fn rules() -> &'static [ScanRule] {
    RULES
}

/// The rule with this code.
pub fn rule(code: &str) -> Option<&'static ScanRule> {
    RULES.iter().find(|rule| rule.code == code)
}

/// The rule about keys and tokens in files.
pub const SECRET_RULE: &str = "holds-a-secret";

const RULES: &[ScanRule] = &[
    ScanRule {
        code: "fetch-and-run",
        severity: Medium,
        mentioned: Some(Low),
        what: "downloads a program and runs it unseen",
        advice: "Read what the address serves before you run it, or install the program from your package manager.",
        pattern: r#"(?i)\b(?:curl|wget)\b[^\n|;]{0,300}\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:[\w./-]*/)?(?:ba|z|da|k)?sh\b|\b(?:(?:ba|z)?sh\s+-c|eval|source)\s+["']?(?:\$\(|<\()\s*(?:curl|wget)\b[^\n]{0,200}|\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)\b[^\n]{0,200}\|\s*(?:iex|invoke-expression)\b|\b(?:iex|invoke-expression)\b[^\n]{0,80}\b(?:downloadstring|iwr|irm|invoke-webrequest)\b[^\n]{0,200}|\b(?:exec|eval)\s*\(\s*[^\n]{0,80}\b(?:urlopen|requests\.get|httpx\.get)\s*\([^\n]{0,200}"#,
        raised_by_address: true,
        needs: &["curl · wget · iex · invoke-expression · urlopen · requests.get · httpx.get"],
        ..BASE
    },
    ScanRule {
        code: "decode-and-run",
        severity: High,
        mentioned: Some(Medium),
        what: "decodes a text and runs it as a program",
        advice: "Decode it yourself and read it. Honest skills ship their commands as text.",
        pattern: r"(?i)\bbase64\s+(?:-d|--decode)\b[^\n|]{0,80}\|\s*(?:sudo\s+)?(?:[\w./-]*/)?(?:(?:ba|z|da|k)?sh|python3?|perl|node)\b|\b(?:exec|eval|Function)\s*\(\s*(?:\w+[.(]\s*){0,4}(?:b64decode|b85decode|a85decode|unhexlify|fromhex|atob|zlib\.decompress|marshal\.loads)\b|\b(?:eval|Function)\s*\(\s*Buffer\.from\s*\(|-e(?:nc(?:odedcommand)?)?\s+[A-Za-z0-9+/]{60,}",
        reads: Everything,
        needs: &[
            "base64 · b64decode · b85decode · a85decode · unhexlify · fromhex · atob · zlib.decompress · marshal.loads · buffer.from · -e",
        ],
        ..BASE
    },
    ScanRule {
        code: "reverse-shell",
        severity: High,
        mentioned: Some(Low),
        what: "gives control of a shell to another machine",
        advice: "Do not run it.",
        pattern: r"(?i)\b(?:ba|z)?sh\s+-i\s*>&|>\s*/dev/tcp/|\bnc(?:at)?\b[^\n]{0,60}\s-e\s*/bin/|\bsocat\b[^\n]{0,80}exec:|\bos\.dup2\s*\(\s*\w+\.fileno\(\)",
        reads: Executed,
        needs: &[">& · /dev/tcp/ · /bin/ · socat · os.dup2"],
        ..BASE
    },
    ScanRule {
        code: "install-hook",
        severity: High,
        what: "runs a download or an inline program when a package is installed",
        advice: "Remove the hook, or install with scripts switched off.",
        pattern: r#"(?i)"(?:pre|post)?(?:install|start|prepare)"\s*:\s*"[^"\n]*(?:\b(?:curl|wget)\b[^"\n]*https?:|node\s+-e|base64|python3?\s+-c)"#,
        reads: Executed,
        needs: &[r#"install" · start" · prepare""#],
        ..BASE
    },
    ScanRule {
        code: "locked-download",
        severity: High,
        mentioned: Some(High),
        what: "asks for a download that is locked with a password, which no scanner can open",
        advice: "Do not download it. A password that stands beside the download protects only against scanners.",
        pattern: r#"(?i)(?:\bdownload\b[^\n]{0,200}(?:\.zip|\.rar|\.7z|\.exe|\.dmg|\.msi)\b[^\n]{0,120}\bpass(?:word|code|phrase)?\b\s*(?:is|:|=)\s*[`"'*]*\w+)|\*{0,2}\bextract\b\*{0,2}[^\n]{0,40}\b(?:with|using)\b[^\n]{0,12}\bpass(?:word)?\b\s*(?:is|:|=)\s*[`"'*]*\w+"#,
        reads: Prose,
        needs: &["pass", ".zip · .rar · .7z · .exe · .dmg · .msi · extract"],
        ..BASE
    },
    ScanRule {
        code: "pasted-command",
        severity: High,
        mentioned: Some(High),
        what: "sends the reader to a page of pasted text for a command to execute",
        advice: "Do not run what such a page says: anyone can change it at any time.",
        pattern: r"(?i)https?://(?:www\.)?(?:glot\.io|rentry\.(?:co|org)|pastebin\.com|paste\.ee|hastebin\.com|ghostbin\.\w+|controlc\.com)/[^\n]{0,160}\b(?:execute|run|paste|terminal)\b|\b(?:execute|run|paste)\b[^\n]{0,120}https?://(?:www\.)?(?:glot\.io|rentry\.(?:co|org)|pastebin\.com|paste\.ee|hastebin\.com|ghostbin\.\w+|controlc\.com)/",
        reads: Prose,
        needs: &[
            "glot.io · rentry. · pastebin.com · paste.ee · hastebin.com · ghostbin. · controlc.com",
        ],
        ..BASE
    },
    ScanRule {
        code: "piped-secrets",
        severity: High,
        mentioned: Some(Low),
        what: "sends a file of credentials or all environment variables over the network",
        advice: "Do not run it.",
        pattern: r#"(?i)\b(?:cat|tar|base64)\b[^\n|]{0,120}(?:\.ssh\b|\.aws\b|\.gnupg\b|\.netrc\b|\.kube\b|\.env\b|credentials(?:\.json)?\b|auth-profiles|openclaw\.json|id_rsa|id_ed25519)[^\n|]{0,80}\|[^\n]{0,80}\b(?:curl|wget|nc|ncat)\s|\bcurl\b[^\n]{0,160}(?:-d|-T|-F|--data\S*|--upload-file)\s*["']?(?:\w+=)?@(?:~|\$HOME|\$\{HOME\})/\.[^\n]{0,80}|\b(?:env|printenv)\s*\|[^\n]{0,60}\b(?:curl|nc|wget)\b|(?:-d|--data\S*)\s+["']?\$\((?:env|printenv)\b|\.post\([^\n]{0,120}(?:dict\(\s*os\.environ|json\.dumps\(\s*dict\(os\.environ|process\.env\s*\))"#,
        reads: Everything,
        needs: &[
            ".ssh · .aws · .gnupg · .netrc · .kube · env · credentials · auth-profiles · openclaw.json · id_rsa · id_ed25519 · @~ · @$home · @${home} · .post(",
            "| · curl · $( · .post(",
        ],
        ..BASE
    },
    ScanRule {
        code: "destroys-files",
        severity: High,
        mentioned: Some(Low),
        what: "deletes the home directory or the whole disk",
        advice: "Do not run it.",
        pattern: r#"(?im)\brm\s+-[a-z]*(?:rf|fr)[a-z]*\s+(?:--no-preserve-root\s+)?(?:/|~|~/|\$HOME|\$\{HOME\}|"\$HOME")/?\*?\s*(?:$|[;&|'"`)])|\bmkfs\.\w+\s+/dev/|\bdd\b[^\n]{0,60}\bof=/dev/(?:sd|nvme|disk)"#,
        reads: Executed,
        ..BASE
    },
    ScanRule {
        code: "break-out",
        severity: High,
        mentioned: Some(Low),
        what: "closes the block that a skill stands in, to speak as the system",
        advice: "Remove the marks. Metier encloses skills in marks that they cannot contain; other agents may not.",
        pattern: r"(?im)^\s*(?:</(?:skill|skills|available_skills|skill_content|system|system[-_]prompt|system[-_]reminder|tool_result|function_results)>|<(?:system|system[-_]prompt|system[-_]reminder)>|<\|(?:im_start|im_end|start_header_id|eot_id|system|assistant)\|>|\[/?INST\]|<</?SYS>>)",
        reads: Prose,
        needs: &[
            "</skill · </available_skills · </system · </tool_result · </function_results · <system · <| · inst] · sys>>",
        ],
        ..BASE
    },
    ScanRule {
        code: "overrides-instructions",
        severity: High,
        mentioned: Some(Low),
        what: "tells the model to ignore its other instructions",
        advice: "Remove the sentence.",
        pattern: r"(?im)(?:^|[.!?]\s+)(?:please\s+|now\s+|you\s+(?:must|should)\s+)?(?:ignore|disregard|forget|override)\s+(?:(?:all|any|the|your|of)\s+){0,3}(?:previous|prior|above|earlier|preceding|system)\s+(?:instructions?|prompts?|rules?|messages?|guidelines?)(?:[\s.,!]|$)|(?:^|。)忽略(?:之前|以上|前面|先前)的?(?:所有)?(?:指令|提示|规则|说明)",
        reads: Prose,
        needs: &[
            "ignore · disregard · forget · override · 忽略",
            "instruction · prompt · rule · message · guideline · 指令 · 提示 · 规则 · 说明",
        ],
        ..BASE
    },
    ScanRule {
        code: "conceals",
        severity: Medium,
        mentioned: Some(Low),
        what: "tells the model to keep something from the user",
        advice: "Ask why the user may not know.",
        pattern: r"(?i)\b(?:do\s+not|don['’]t|never|without)\s+(?:ever\s+)?(?:mention(?:ing)?|tell(?:ing)?|inform(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|notify(?:ing)?|alert(?:ing)?)\b[^.\n]{0,40}\bthe\s+(?:user|human|operator)\b|(?:不要|别|勿)(?:告诉|告知|提醒|通知)用户",
        reads: Prose,
        needs: &[
            "user · human · operator · 用户",
            "mention · tell · inform · reveal · disclos · notify · alert · 告诉 · 告知 · 提醒 · 通知",
            "not · don · never · without · 不要 · 别 · 勿",
        ],
        ..BASE
    },
    ScanRule {
        code: "asks-for-secrets",
        severity: Medium,
        mentioned: Some(Low),
        what: "asks the model to send keys or passwords to an address",
        advice: "Check whose address it is and why it needs them.",
        pattern: r"(?i)\b(?:send|post|share|output|upload|submit|forward|transmit|report)\b[^.\n]{0,120}\b(?:api[ _-]?keys?|tokens|credentials|secrets|passwords|environment variables|private keys?|seed phrases?)\b[^\n]{0,120}\b(?:to|at)\b[^\n]{0,60}https?://",
        reads: Prose,
        needs: &[
            "api key · api_key · api-key · apikey · tokens · credentials · secrets · passwords · environment variables · private key · seed phrase",
            "http:// · https://",
        ],
        ..BASE
    },
    ScanRule {
        code: "drop-address",
        severity: Medium,
        mentioned: Some(Low),
        what: "sends data to a service that collects requests anonymously",
        advice: "Find out what is sent there.",
        pattern: r"(?i)https?://[\w.-]*(?:webhook\.site|requestbin\.\w+|pipedream\.net|\bngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com|burpcollaborator\.net|oastify\.com|oast\.\w+|interact\.sh|beeceptor\.com|requestcatcher\.com)\b",
        reads: Executed,
        needs: &[
            "webhook.site · requestbin. · pipedream.net · ngrok · trycloudflare.com · burpcollaborator.net · oastify.com · oast. · interact.sh · beeceptor.com · requestcatcher.com",
        ],
        ..BASE
    },
    ScanRule {
        code: "sweeps-environment",
        severity: Medium,
        what: "collects environment variables by words such as key, secret or token",
        advice: "Name the variables that are needed.",
        pattern: r"(?i)(?:Object\.(?:entries|keys)\(\s*process\.env\s*\)|os\.environ\.(?:items|keys)\(\))[^\n]{0,40}\n?[^\n]{0,80}(?:key|secret|token|pass|cred)[^\n]{0,40}(?:\||,)[^\n]{0,40}(?:key|secret|token|pass|cred)|\b(?:env|printenv)\s*\|\s*grep\s+-\w*i\w*\s+\S*(?:key|secret|token|pass)",
        reads: Executed,
        needs: &["process.env · os.environ. · grep"],
        ..BASE
    },
    ScanRule {
        code: "reads-credentials",
        severity: Low,
        what: "names a file of credentials in code",
        advice: "Check that this is what the skill is for.",
        pattern: r"(?i)\.ssh/(?:id_\w+|\*)|\.aws/credentials\b|\.gnupg/|\.netrc\b|\.kube/config\b|\.docker/config\.json\b|\.config/gcloud\b|\.git-credentials\b|\.claude/\.credentials\.json|\.codex/auth\.json|auth-profiles\.json|\.openclaw/openclaw\.json|\.clawdbot/(?:\.env|clawdbot\.json)|\bsecurity\s+(?:find-generic-password|find-internet-password|dump-keychain)\b|\bLogin Data\b|\bcookies\.sqlite\b|\bwallet\.dat\b",
        reads: Executed,
        needs: &[
            ".ssh/ · .aws/credentials · .gnupg/ · .netrc · .kube/config · .docker/config.json · .config/gcloud · .git-credentials · .claude/.credentials.json · .codex/auth.json · auth-profiles.json · .openclaw/openclaw.json · .clawdbot/ · find-generic-password · find-internet-password · dump-keychain · login data · cookies.sqlite · wallet.dat",
        ],
        ..BASE
    },
    ScanRule {
        code: "stays-after-the-run",
        severity: Low,
        what: "makes a program start by itself later: at login, by a timer or with a shell",
        advice: "Check what starts, and how to remove it.",
        pattern: r#"(?i)>>\s*["']?(?:~|\$HOME|\$\{HOME\})/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)|\|\s*crontab\s+-|\bcrontab\s+-e\b|/etc/cron\.|Library/LaunchAgents/|\bsystemctl\s+(?:--user\s+)?enable\b|>\s*\S*\.git/hooks/"#,
        reads: Executed,
        needs: &[
            ".bashrc · .zshrc · .profile · .bash_profile · .zprofile · .zshenv · crontab · /etc/cron. · library/launchagents/ · systemctl · .git/hooks/",
        ],
        ..BASE
    },
    ScanRule {
        code: "switches-guards-off",
        severity: Low,
        what: "starts an agent with its questions switched off",
        advice: "Run it in a sandbox, or without the flag.",
        pattern: r"(?i)--dangerously-(?:skip-permissions|bypass\S*)|--yolo\b|\bbypassPermissions\b",
        reads: Executed,
        needs: &["--dangerously- · --yolo · bypasspermissions"],
        ..BASE
    },
    ScanRule {
        code: "unsafe-load",
        severity: Low,
        what: "loads data in a format that can carry a program",
        advice: "Use JSON, or `yaml.safe_load`.",
        pattern: r"\b(?:pickle|marshal|dill|joblib)\.loads?\s*\(|\byaml\.load\s*\([^)\n]*\)",
        reads: Executed,
        needs: &[".load"],
        ..BASE
    },
    ScanRule {
        code: "hidden-markup",
        severity: Medium,
        what: "holds markup that is not shown on a page but is read by a model",
        advice: "Remove it, or make it visible.",
        pattern: r#"(?i)<\w+[^>\n]{0,80}\bstyle\s*=\s*["'][^"'\n]*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?:[;"'\s]|\.0))"#,
        reads: Prose,
        needs: &["style", "display · visibility · font-size · opacity"],
        ..BASE
    },
    ScanRule {
        code: SECRET_RULE,
        severity: Medium,
        mentioned: Some(Medium),
        what: "holds what looks like a private key or a token that works",
        advice: "Remove it, and have it withdrawn where it was issued: everyone who has the file has it.",
        pattern: r"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|\s|[\w-]+: [^\n]{0,100}\n){1,12}[A-Za-z0-9+/=]{40}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{40}|\bxox[abprs]-[0-9]{8,14}-[A-Za-z0-9-]{16}|\bglpat-[A-Za-z0-9_-]{20}|\bsk-ant-[A-Za-z0-9_-]{40}|\bsk-proj-[A-Za-z0-9_-]{40}|\b[sr]k_live_[A-Za-z0-9]{24}|\bAIza[A-Za-z0-9_-]{35}\b|\bnpm_[A-Za-z0-9]{36}\b|\bhf_[A-Za-z]{34}\b",
        needs: &[
            "private key · akia · asia · ghp_ · gho_ · ghu_ · ghs_ · ghr_ · github_pat_ · xoxa- · xoxb- · xoxp- · xoxr- · xoxs- · glpat- · sk-ant- · sk-proj- · k_live_ · aiza · npm_ · hf_",
        ],
        ..BASE
    },
    // The rest is more than a pattern.
    ScanRule {
        code: "hidden-text",
        severity: High,
        what: "holds text that a model reads and a person does not see",
        advice: "Remove the characters: `metier check --fix` shows where they are.",
        ..BASE
    },
    ScanRule {
        code: "padded-text",
        severity: Medium,
        what: "pushes text out of sight with blank lines or blanks",
        advice: "Scroll to the line and read it.",
        ..BASE
    },
    ScanRule {
        code: "disguised-command",
        severity: High,
        what: "spells a command or an address with letters of another script that look the same",
        advice: "Do not run it.",
        ..BASE
    },
    ScanRule {
        code: "hidden-instruction",
        severity: High,
        what: "holds an instruction where a page does not show it: in a comment or in the title of a link",
        advice: "Remove it, or write it where a person reads it.",
        ..BASE
    },
    ScanRule {
        code: "encoded-command",
        severity: High,
        what: "holds a command or an instruction in an encoded form",
        advice: "Read what it decodes to. Honest skills ship their commands as text.",
        ..BASE
    },
    ScanRule {
        code: "split-word",
        severity: High,
        what: "puts the name of a dangerous function together from pieces",
        advice: "Read what the pieces spell. Honest code has no reason for this.",
        ..BASE
    },
    ScanRule {
        code: "secrets-leave",
        severity: Medium,
        what: "reads credentials and talks to the network in the same file",
        advice: "Check what is sent, and to whom.",
        ..BASE
    },
    ScanRule {
        code: "opaque-code",
        severity: Medium,
        what: "ships a compiled program, which cannot be read",
        advice: "Ask for its source, or build it yourself.",
        ..BASE
    },
    ScanRule {
        code: "nested-archive",
        severity: Medium,
        what: "ships an archive inside the skill, which is not inspected",
        advice: "Unpack it and scan what is inside.",
        ..BASE
    },
    ScanRule {
        code: "undeclared-network",
        severity: Low,
        what: "has scripts that use the network although `allowed-tools` lists nothing that does",
        advice: "Declare it, so that users know.",
        ..BASE
    },
];
