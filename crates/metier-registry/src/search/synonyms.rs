//! A small list of words that mean the same in requests to agents: file types and what people
//! call them, short and long forms, and the Chinese words for everyday tasks.
//!
//! General on purpose: only pairs that hold for nearly every skill are in it, and a synonym
//! weighs less than the word itself. Read by the planner; edit the table to teach a new word.
//!
//! tidy:allow-cjk

use std::collections::HashMap;
use std::sync::LazyLock;

use super::stem::stem;

/// One line is one meaning; a comma separates its words. A phrase of two words is recognised
/// in a request and looked for as both words.
const MEANINGS: &str = "\
spreadsheet, xlsx, xls, excel, csv, 表格, 电子表格, 工作表
slides, slide, pptx, ppt, powerpoint, presentation, deck, keynote, slideshow, 幻灯片, 演示文稿, 幻灯, 演示
word document, docx, doc, 文档
document, doc, docs, documentation, 文档, 文件
pdf, acrobat
image, picture, photo, photograph, png, jpg, jpeg, screenshot, 图片, 图像, 照片, 画像
video, mp4, mov, movie, clip, footage, 视频, 動画
audio, mp3, wav, m4a, sound, recording, 音频, 录音, 語音
transcribe, transcript, transcription, speech, 转写, 转录, 语音, 转文字, 转成文字
translate, translation, localize, localization, i18n, 翻译
summarize, summary, digest, tldr, recap, 总结, 摘要, 概括, 汇总
total, sum, 总和, 合计, 求和, 总计, 总数, 总量, 总额, 总销量, 总销售额, 总共
average, mean, 平均, 均值, 平均值
count, 多少行, 几行, 行数, 多少条, 条数
region, 地区, 区域
group, breakdown, 分组
overview, outline, 概览, 概述, 概况
project, codebase, 项目
language, 语言
code, source, 代码
duplicate, dedupe, 重复
missing, empty, blank, null, 缺失, 空值
quality, clean, 质量, 干净
column, field, 字段
skill, skills, 技能
trust, safe, 信任, 可信
code review, 代码审查, 审查, 评审
review, audit, critique, inspect, 审查, 审核
bug, debug, troubleshoot, fix, 调试, 修复
error, failure, crash, exception, 错误, 报错, 故障
test, testing, qa, 测试
unit test, tdd, jest, pytest, vitest, junit, coverage, 单元测试
end to end, e2e, cypress, playwright, selenium
lint, linter, eslint, prettier, clippy, ruff
type check, typecheck, mypy, types
benchmark, profile, profiler, profiling, flamegraph
regression, flaky, bisect
log, logs, logging, trace, stacktrace, 日志
incident, outage, postmortem, oncall, pager, 事故
refactor, cleanup, clean up, simplify, 重构
website, webpage, web page, site, homepage, 网站, 网页
browser, chrome, chromium, playwright, puppeteer, 浏览器
scrape, crawl, crawler, extract, 爬虫, 抓取, 爬取, 提取
search, lookup, find, 搜索, 查找, 查询, 检索
research, investigate, 研究, 调研
email, mail, gmail, inbox, 邮件, 邮箱
calendar, schedule, appointment, meeting, 日历, 日程, 会议
reminder, remind, alarm, 提醒
todo, task list, checklist, 待办, 任务, 清单
message, chat, 消息, 聊天
news, headline, 新闻, 资讯
weather, forecast, 天气
stock, equity, 股票
crypto, cryptocurrency, blockchain, 加密货币, 区块链
invoice, bill, billing, 发票, 账单
contract, agreement, 合同, 协议
price, pricing, 价格, 定价
finance, financial, accounting, bookkeeping, ledger, budget, 财务, 会计
tax, taxes, vat, 税
bank, banking, transaction, payment, 银行, 支付
expense, receipt, reimbursement, 报销
invest, investment, portfolio, trading, trader, 投资, 交易
wallet, token, nft, defi, ethereum, solana, bitcoin
hiring, recruit, recruiting, candidate, hr, 招聘
employee, staff, onboarding, people, 员工
project management, jira, linear, asana, trello, kanban, sprint, 项目管理
estimate, estimation, effort, 估算
requirement, requirements, spec, specification, prd, user story, 需求
strategy, positioning, competitor, competitive, market, 策略, 竞品
pitch, investor, fundraising, startup, 融资
event, conference, webinar, 活动
speech, talk, keynote
marketing, promotion, promote, campaign, 营销, 推广
copywriting, slogan, copy, headline, 文案
advertising, advertisement, ads, ad, ppc, paid search, paid social, adwords, 广告
seo, search engine, serp, keywords, backlinks, 搜索引擎
landing page, homepage, sales page, 落地页
newsletter, mailing list, subscribers, 简报
social media, twitter, linkedin, instagram, facebook, tiktok, 社交媒体, 小红书
brand, branding, identity, 品牌
customer, client, crm, lead, prospect, salesforce, hubspot, 客户
sales, revenue, deal, quota, 销售, 销量, 销售额, 销售量
support, helpdesk, zendesk, faq, 客服
survey, questionnaire, poll, feedback, 问卷
write, writing, draft, compose, 写作, 撰写, 起草
article, blog, post, 文章, 博客
report, 报告
resume, cv, curriculum vitae, 简历
database, db, sql, postgres, postgresql, mysql, sqlite, 数据库
data analysis, analytics, analysis, analyze, 数据分析, 分析
chart, graph, plot, diagram, visualization, visualize, 图表, 可视化
diagram, flowchart, mermaid, 流程图
design, ui, ux, interface, 设计, 界面
frontend, react, css, html, 前端
css, stylesheet, style, tailwind, sass, scss, bootstrap, theme, dark mode, classname, class name, 样式
html, markup, dom
color, colour, palette, hex, rgb, hsl, oklch, 颜色, 配色
font, typography, typeface, 字体
layout, responsive, flexbox, grid, 布局
component, widget, storybook, 组件
icon, logo, svg, favicon, 图标
animation, motion, transition, 动画
backend, server, 后端, 服务器
framework, react, vue, svelte, angular, nextjs, next
mobile, ios, android, swift, kotlin, flutter, app, 移动
desktop, electron, tauri, windows, macos, 桌面
migration, migrate, upgrade, port, 迁移, 升级
dependency, dependencies, package, npm, pip, cargo, library, 依赖
architecture, system design, adr, 架构
schema, model, erd, table, 模式
query, sql, select, join
cache, redis, memcached, 缓存
queue, kafka, rabbitmq, pubsub, event, 队列
cloud, aws, azure, gcp, lambda, s3, 云
infrastructure, terraform, iac, ansible, pulumi, 基础设施
webhook, callback, integration, zapier, n8n, 集成
secret, credential, password, token, key, 密钥, 密码
encrypt, encryption, tls, certificate, ssl, 加密
permission, access, role, rbac, policy, 权限
privacy, gdpr, compliance, pii, 隐私, 合规
legal, law, lawyer, clause, nda, 法律
license, licence, licensing, 许可
deploy, deployment, release, ship, 部署, 发布
release notes, changelog, 发布说明, 更新日志
pull request, pr, merge request, 合并请求
commit, git, 提交
branch, merge, rebase, conflict, worktree, 分支
merge, combine, join, 合并
diff, patch, changeset, change, 差异
repository, repo, github, 仓库
issue, ticket, 工单
ci, pipeline, continuous integration, 流水线
kubernetes, k8s
container, docker, 容器
javascript, js, nodejs, node
typescript, ts, tsx
python, py
markdown, md
configuration, config, setting, 配置, 设置
authentication, auth, login, signin, oauth, 认证, 登录
security, vulnerability, 安全, 漏洞
performance, speed, optimize, slow, latency, 性能, 优化
api, endpoint, rest, 接口
download, fetch, 下载
upload, 上传
convert, conversion, transform, export, 转换, 转成, 导出
generate, create, 生成, 创建
memory, remember, recall, 记忆, 记住
note, notes, notebook, obsidian, notion, 笔记
knowledge base, wiki, confluence, 知识库
bookmark, read later, rss, feed, 书签, 订阅
file, folder, directory, rename, organize, 文件夹
backup, sync, archive, restore, 备份
home, smart home, light, thermostat, homeassistant, 智能家居
device, sensor, iot, hardware, firmware, 设备
camera, webcam, stream, streaming, rtsp, 摄像头
phone, call, sms, text message, whatsapp, telegram, 电话, 短信
slack, discord, teams, channel
movie, film, tv, show, 电影
food, restaurant, meal, diet, nutrition, 餐厅, 饮食
sleep, habit, mood, meditation, 睡眠, 习惯
car, vehicle, ev, charging, 汽车
transit, train, bus, route, 公交, 火车
date, time, timezone, 时间, 时区
unit, units, currency, exchange, 单位, 汇率
learn, teach, tutor, tutorial, lesson, explain, 学习, 教学, 讲解, 辅导
homework, exercise, 题目, 习题
math, mathematics, 数学
proof, prove, theorem, lemma, 证明
equation, algebra, calculus, geometry, 方程
statistics, statistical, regression, hypothesis, 统计
machine learning, ml, training, neural, pytorch, 机器学习
llm, gpt, claude, model, openai, anthropic, 大模型
prompt, prompting, system prompt, 提示词
agent, subagent, assistant, bot, 智能体
embedding, vector, rag, retrieval, semantic, 向量
fine tune, finetune, finetuning, lora, 微调
eval, evals, evaluation, evaluate, judge, 评测
experiment, ab test, hypothesis, 实验
science, scientific, lab, biology, chemistry, physics, 科学
medical, clinical, patient, doctor, disease, 医疗
music, song, playlist, 音乐, 歌曲
game, gaming, 游戏
travel, trip, flight, hotel, 旅行, 旅游, 航班, 酒店
recipe, cook, cooking, 食谱, 烹饪
health, fitness, workout, 健康, 健身
shopping, buy, purchase, 购物, 购买
map, location, navigation, 地图, 位置
accessibility, a11y
internationalization, i18n
plan, planning, roadmap, 计划, 规划
brainstorm, ideas, ideation, 头脑风暴, 创意
interview, 面试, 采访
paper, academic, literature, 论文, 文献
book, ebook, epub, 书籍, 电子书
command line, cli, terminal, shell, bash, 命令行, 终端
monitor, monitoring, alert, 监控
automate, automation, workflow, 自动化, 工作流
speech synthesis, tts, voice, 语音合成, 朗读
ocr, text recognition, 文字识别
format, formatting, 格式, 排版
";

/// The meanings, and which of them each word or phrase (stemmed) belongs to.
#[derive(Debug)]
pub(super) struct Synonyms {
    meanings: Vec<Vec<Vec<String>>>,
    by_word: HashMap<String, Vec<u16>>,
}

/// The table above, read once.
pub(super) static SYNONYMS: LazyLock<Synonyms> = LazyLock::new(|| Synonyms::read(MEANINGS));

impl Synonyms {
    fn read(table: &str) -> Self {
        let mut meanings = Vec::new();
        let mut by_word: HashMap<String, Vec<u16>> = HashMap::new();
        for (number, line) in (0u16..).zip(table.lines()) {
            let mut words: Vec<Vec<String>> = Vec::new();
            for entry in line.split(',') {
                let phrase: Vec<String> = entry.split_whitespace().map(stemmed).collect();
                by_word.entry(phrase.join(" ")).or_default().push(number);
                if !words.contains(&phrase) {
                    words.push(phrase);
                }
            }
            meanings.push(words);
        }
        Self { meanings, by_word }
    }

    /// The meanings of a stemmed word, or of two joined by a space.
    pub(super) fn meanings_of(&self, key: &str) -> &[u16] {
        self.by_word.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// The words and phrases (stemmed) that share a meaning.
    pub(super) fn words_of(&self, meaning: u16) -> &[Vec<String>] {
        self.meanings.get(usize::from(meaning)).map(Vec::as_slice).unwrap_or_default()
    }
}

fn stemmed(word: &str) -> String {
    let mut word = word.to_owned();
    stem(&mut word);
    word
}
