//! How many of all skills use an everyday word, whatever skills are on the shelf.
//!
//! Five skills cannot say which words are common: `project` or `report` in one of them looks as telling as a
//! name. So every index is read as if it stood beside a large collection, of which this table keeps the
//! words that at least three in a thousand descriptions have, by steps of about two. A word that is not
//! here is rare, and what it tells is left to the shelf.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::function_words::FUNCTION_WORDS;
use super::stem::stem;

/// The part of all descriptions that has a function word.
const FUNCTION_WORD: f32 = 0.3;

/// Words by the part of all descriptions that has them: the middle of a step.
const COMMON: &[(f32, &str)] = &[
    (
        0.004,
        "academic acceptance accessibility accuracy act actionable ad addresses admin advisor \
         aggregator aide algorithms alignment already alternative analyzer android animation \
         annotation answer anti appropriate approval architect architectural archive areas art \
         assumptions async attribution audience authorization autonomous available aware \
         background backup balances bank benchmark better billing binding blockchain blog board \
         body book boot bootstrap bot boundaries brainstorming bridge browse built bulk bump \
         buy card cases catalog cause changelog checker checkpoint chrome claims cleanup click \
         clinical close cloudflare coaching collaboration combining community compact \
         comparison compatibility compatible competitive competitor compilation compose \
         composition compute conditions conducting confidence confirmation consistency \
         consistent constraints consume contains continuous copilot correct craft creative \
         critical crm crypto cs csv customization cycle datasets date deal deciding definitions \
         delegate delivery demand deprecated depth desktop devops diagnostic diff discussions \
         dns docx done drift drive drop due duplicate dynamic e2e edge editor effect effective \
         efficient elements embedded encryption enhanced enrichment entity entries env \
         especially estimate eval experiment expertise explain exploiting express extending \
         extension external facing facts fallback feeds finance financial fit flutter force \
         forecast found frames friendly frontmatter fundamentals gateway gcp gdpr general \
         generic given global goal governance gpt grade graphql grounding growth hand handler \
         handoff hardening harness header headless hello helper hiring home hot hunting hybrid \
         icon identity incremental indicators info initializing insights installing instance \
         instructions intelligence intelligent intent inventory invoices iteration java \
         javascript journey keep know kubernetes lab landing large latency lessons leverage \
         license lights linear linux location login long lookup low major manifest manipulation \
         marketplace materials measurement merge mermaid meta methodology microsoft milestone \
         minimal mistakes mobile mock motion narrative net news npm numbers obsidian online \
         openapi openclaw opportunities ops org outreach overview pagination pairs palette \
         paper parameters partner party password people persistence persona phone pick pitch \
         places plain play playbook playwright plus png pooling portfolio position positioning \
         postgresql prd prefer prep preservation preview privacy private privilege pro \
         procedures proof property proxy prs purpose py pytorch qa rag rankings raw rbac readme \
         recent recovery recurring red reddit refinement refresh register registry regression \
         regulatory relationships relevant reminders remove rendering replace reply resolution \
         responding responsive restore resume retention retrieval retry reusable reverse \
         reviewer rewrite rich right roadmap rollback rooms root router runbook rust s3 saas \
         sandbox scanner scenarios scientific scraping scratch screenshots second section \
         segmentation seo separate serverless severity shell ship short side signature similar \
         slack sleep slides slow snapshot software solana solving spawn speech speed split \
         spring standardizing startup static stock stop stripe sub subagent submission \
         subscriptions success suggestions suite swift switch syntax synthesis synthesizes \
         tailwind takes tdd teaches techniques telegram temperature terms terraform threads \
         threat three throttling throughput tickets tier timeline today top tracker traffic \
         transition translate tree trust truth tts two typography unified upstream utilities ux \
         v3 v4 variants vault vector vercel visualizations volume vue wallet watch weather \
         websocket weekly weight whatsapp wire word workers workloads worktree wrapper writer \
         yaml youtube zero",
    ),
    (
        0.008,
        "activity actual analytics apple approaches article artifacts assets assistant attack \
         audio authoring avoid aws azure back basics batch behavior blocks branch brand \
         breaking brief budget bug builder bundle caching calculator calendar campaigns capture \
         cd chain channels chart chat checklist choose citation class classification clawdbot \
         clean clear cluster codex color com comments communication company compare complex \
         concept contacts container conventions coordination copy coverage creator credentials \
         criteria css cursor customer daily day deep default delete description detailed \
         developer diagnose diagram different directory discover discovery distributed docker \
         domain download draft encountering end enforce engagement engine english ensure \
         enterprise establishing evidence experience explicit explore failed fast feedback \
         fields filtering flag focus folders free frontend functions game gaps gates gpu graph \
         group guidelines hooks hosted http human ideas impact import incident inference \
         injection input inspect instead interactive internal investigation invoke involving io \
         ios isolation items keywords launch layer layout lead lifecycle line linkedin lint \
         live logic look machine macos maintain manual master matching media meeting metadata \
         methods missing ml modern module moving natural navigation never non notifications \
         oauth object observability official onboarding open openai optional options order \
         parallel parsing pass past payment pdf permissions persistent personal phase plugin \
         points policy pre prediction presentation prevent principles prioritization prod \
         professional profile programmatically programming progress proper protection provider \
         public publish pull push queue quick readiness records reduce related remote repo \
         resolve resource results retrieve returns roles runtime safe safety sales save \
         scaffold scale scope scoring screen secure self semantic sequences show sign signals \
         simple simulation single site size smart solutions spaces specialist specialized \
         specifications sql stack staging storage store story strategic streaming summarize \
         surface systematic table tags target tech terminal thinking toolkit topic tracing \
         trading transactions transcription transform trends triage troubleshooting tuning turn \
         twitter unit upgrade upload v2 value variables voice vulnerabilities website windows \
         workspace world",
    ),
    (
        0.017,
        "account actions advanced alerts apis apply assessment auth authentication \
         automatically backend browser business calls ci client cloud codebase collect commit \
         common compliance components config connection contract conversation convert core cost \
         cross custom dashboards database decisions define dependency dev device direct docs \
         driven editing email enables endpoints engineering environment evaluation events \
         example existing expert export failures fetch flow following form format full gemini \
         gen git google guidance health help high history html identify improve index \
         information infrastructure install interact interfaces job js json key knowledge \
         language learning level library limits links llm load logs loop make manager map \
         markdown md memory messages metrics migration mode modifying multiple name native \
         network next node orchestration organization output package path performing post \
         powered pr preparing pricing problems produce prompt protocol quality questions rate \
         react ready real recommendations refactoring release repository response rest risk \
         routing rules says scan schedule scripts sdk secrets see selection send shared social \
         spec standards start state step style summary sync team technical templates text \
         training typescript ui understand url usage used version video view visual vs webhook",
    ),
    (
        0.035,
        "access across add analysis analyze app applications architecture audit based best \
         category changes claude commands complete comprehensive content context control covers \
         debug deploy detection development errors execute extract feature find fix framework \
         functionality github guide handling image implement including issues list local \
         marketing mentions model monitoring multi new page part performance pipelines platform \
         practices process provides python query read reference reports requests requirements \
         research security server service session setup source specific status strategy \
         supports time token tracking type update validation verification web",
    ),
    (
        0.07,
        "agent ai always asks auto build check cli configure current data design documentation \
         files first implementing integration mcp operations optimization patterns plan \
         production project review run schemas setting structure system test using workflow \
         writing",
    ),
    (
        0.15,
        "api automation capability code create generate management needed search skill tasks \
         tools trigger use user working",
    ),
];

static FREQUENCIES: LazyLock<HashMap<String, f32>> = LazyLock::new(|| {
    let mut frequencies = HashMap::new();
    for &(frequency, words) in [(FUNCTION_WORD, FUNCTION_WORDS)].iter().chain(COMMON) {
        for word in words.split_ascii_whitespace() {
            let mut stemmed = word.to_owned();
            stem(&mut stemmed);
            frequencies.entry(stemmed).or_insert(frequency);
        }
    }
    frequencies
});

/// The part of all descriptions that has a word with this stem; 0 where it is rare.
pub(super) fn frequency(stemmed: &str) -> f32 {
    FREQUENCIES.get(stemmed).copied().unwrap_or_default()
}
