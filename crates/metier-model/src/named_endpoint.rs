//! The endpoints that are known by a name: where they are, which protocol they speak, which key they
//! want. A new one is a new line in the table; nothing else has to change.
//!
//! It is data only. The caller reads variables and opens the connection.

/// The protocol of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `OpenAI`'s chat completions or Responses.
    OpenAi,
    /// Anthropic's Messages.
    Anthropic,
}

/// An endpoint that `NAME:MODEL` reaches.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedEndpoint {
    /// The word in settings, flags and records.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Its address.
    pub base_url: &'static str,
    /// The variable that replaces the address.
    pub base_url_env: Option<&'static str>,
    /// The variable that holds the key; nothing where none is needed.
    pub key_env: Option<&'static str>,
    /// The model where none is named, for servers that have just one loaded.
    pub default_model: Option<&'static str>,
}

/// All of them: the two whose protocols the others speak, servers on one's own machine, services.
pub const NAMED_ENDPOINTS: &[NamedEndpoint] = &[
    NamedEndpoint {
        base_url_env: Some("OPENAI_BASE_URL"),
        ..service(
            "openai",
            "OpenAI, and every server that speaks its protocol.",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
        )
    },
    NamedEndpoint {
        protocol: Protocol::Anthropic,
        base_url_env: Some("ANTHROPIC_BASE_URL"),
        ..service(
            "anthropic",
            "Anthropic, and every server that speaks Messages.",
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
        )
    },
    local("ollama", "Ollama on this machine.", "http://127.0.0.1:11434/v1"),
    NamedEndpoint {
        default_model: Some("default"),
        ..local("llamacpp", "llama.cpp's server on this machine.", "http://127.0.0.1:8080/v1")
    },
    NamedEndpoint {
        default_model: Some("default"),
        ..local("lmstudio", "LM Studio on this machine.", "http://127.0.0.1:1234/v1")
    },
    local("vllm", "vLLM on this machine.", "http://127.0.0.1:8000/v1"),
    service("openrouter", "OpenRouter.", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    service(
        "gemini",
        "Google's Gemini.",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
    ),
    service("deepseek", "DeepSeek.", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    service("mistral", "Mistral.", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    service("groq", "Groq.", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    service("together", "Together.", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    service("xai", "xAI's Grok.", "https://api.x.ai/v1", "XAI_API_KEY"),
    service("moonshot", "Moonshot's Kimi.", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY"),
    service(
        "dashscope",
        "Alibaba's Qwen.",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
    ),
];

const fn service(
    name: &'static str,
    about: &'static str,
    base_url: &'static str,
    key_env: &'static str,
) -> NamedEndpoint {
    NamedEndpoint { key_env: Some(key_env), ..local(name, about, base_url) }
}

const fn local(name: &'static str, about: &'static str, base_url: &'static str) -> NamedEndpoint {
    NamedEndpoint {
        name,
        about,
        protocol: Protocol::OpenAi,
        base_url,
        base_url_env: None,
        key_env: None,
        default_model: None,
    }
}

impl NamedEndpoint {
    /// The endpoint of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        NAMED_ENDPOINTS.iter().find(|endpoint| endpoint.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_keys_travel_by_https_alone() {
        for endpoint in NAMED_ENDPOINTS {
            let same = NAMED_ENDPOINTS.iter().filter(|other| other.name == endpoint.name);
            assert_eq!(same.count(), 1, "{}", endpoint.name);
            let is_local = endpoint.base_url.starts_with("http://127.0.0.1:");
            assert_eq!(is_local, endpoint.key_env.is_none(), "{}", endpoint.name);
            assert!(is_local || endpoint.base_url.starts_with("https://"), "{}", endpoint.name);
            assert!(!endpoint.name.contains([':', '/', ' ']), "{}", endpoint.name);
        }
    }
}
