#!/bin/sh
# What a project is made of: README title and first paragraph, build files, languages, top folders. Plain POSIX sh.
#
#   overview.sh [--lang en|zh] [FOLDER]
#
# The headings are in English or Chinese (tidy:allow-cjk).
# Reads names and line counts only, follows no links, leaves out hidden folders, dependencies and build
# output, and stops at 20,000 files. Writes nothing into the project.
set -eu
LC_ALL=C
export LC_ALL

fail() {
    printf 'overview.sh: %s\n' "$1" >&2
    exit "${2:-1}"
}

# said ENGLISH CHINESE: the one that is spoken.
said() {
    if [ "$SPOKEN" = zh ]; then printf '%s' "$2"; else printf '%s' "$1"; fi
}

SPOKEN=en
if [ "${1:-}" = --lang ]; then
    SPOKEN=${2:-}
    case $SPOKEN in en | zh) ;; *) fail "--lang takes en or zh" 2 ;; esac
    shift 2
fi
export SPOKEN
[ $# -le 1 ] || fail "usage: overview.sh [--lang en|zh] [FOLDER]" 2
wanted=${1:-.}
case $wanted in
    -h | --help) printf 'usage: overview.sh [--lang en|zh] [FOLDER]\n'; exit 0 ;;
    -*) fail "unknown option: $wanted" 2 ;;
esac
# A script of a skill starts in a directory of its own; the project is in WORKSPACE_DIR.
case $wanted in
    /*) folder=$wanted ;;
    *)
        # Without it there is nothing here but the script's own directory.
        [ -n "${WORKSPACE_DIR:-}" ] || [ -z "${SKILL_OUTPUT_DIR:-}" ] ||
            fail "this folder is not shown to scripts: name a project's folder with metier -C DIR"
        folder=${WORKSPACE_DIR:-.}/$wanted
        [ -d "$folder" ] || folder=$wanted
        ;;
esac
[ -d "$folder" ] || fail "$(said "there is no folder $wanted" "没有文件夹 $wanted")"
cd "$folder" 2>/dev/null || fail "$(said "$wanted cannot be opened" "无法打开 $wanted")"

limit=20000
work=$(mktemp -d "${TMPDIR:-/tmp}/overview.XXXXXX") || fail "$(said "no place for a temporary file" "无法创建临时文件")"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Names with line breaks would be two files in the list: they are left out.
find . \( -type d \( -name node_modules -o -name target -o -name dist -o -name build -o -name vendor \
    -o -name venv -o -name __pycache__ \
    -o \( -name '.?*' ! -name .github ! -name .gitlab \) \) ! -name . \
    -prune \) -o \( -type f ! -name '*
*' -print \) 2>/dev/null | head -n "$((limit + 1))" >"$work/all" || true
head -n "$limit" "$work/all" | sort >"$work/files"
files=$(wc -l <"$work/files" | tr -d ' ')

printf '%s%s\n' "$(said 'Folder: ' '文件夹：')" "$(basename "$(pwd -P)")"
for readme in README.md README.rst README.txt README Readme.md readme.md; do
    [ -f "$readme" ] && [ -r "$readme" ] || continue
    # The first heading, or else the first line with letters in it; markup is taken off.
    title=$(head -n 60 "$readme" | tr -d '\r' | awk '
        /^#+[ \t]/ { sub(/^#+[ \t]*/, ""); print; found = 1; exit }
        first == "" && /[A-Za-z0-9]/ && !/^[ \t]*[<!\[]/ { first = $0 }
        END { if (!found && first != "") print first }
    ' | cut -c 1-200)
    [ -z "$title" ] || printf '%s%s (%s)\n' "$(said 'Title: ' '标题：')" "$title" "$readme"
    # The first paragraph below it; badges, images and markup lines are passed over.
    about=$(head -n 80 "$readme" | tr -d '\r' | awk '
        /^#/ || /^(===|---)/ { if (text != "") exit; next }
        text == "" && /^[ \t]*([<!|>`]|\[)/ { next }
        /^[ \t]*$/ { if (text != "") exit; next }
        { sub(/^[ \t]+/, ""); text = text (text == "" ? "" : " ") $0 }
        END { print text }
    ' | cut -c 1-600)
    [ -z "$about" ] || [ "$about" = "$title" ] || printf '%s%s\n' "$(said 'About: ' '简介：')" "$about"
    break
done
printf '%s%s' "$(said 'Files: ' '文件数：')" "$files"
[ "$(wc -l <"$work/all" | tr -d ' ')" -le "$limit" ] || said ' (the first found; there are more)' '（只数到这里，还有更多）'
printf '\n'
[ "$files" -gt 0 ] || exit 0

printf '\n%s\n' "$(said 'Build and settings files:' '构建与配置文件：')"
awk -F/ '
    BEGIN { zh = ENVIRON["SPOKEN"] == "zh" }
    function known(name) {
        return name ~ /^(Cargo\.toml|package\.json|pyproject\.toml|setup\.py|requirements\.txt|go\.mod|pom\.xml|build\.gradle|build\.gradle\.kts|CMakeLists\.txt|Makefile|GNUmakefile|meson\.build|configure\.ac|Dockerfile|docker-compose\.yml|compose\.yaml|Gemfile|composer\.json|mix\.exs|Package\.swift|deno\.json|tsconfig\.json|flake\.nix|WORKSPACE|BUILD\.bazel|justfile|Justfile|stack\.yaml|dune-project|pubspec\.yaml)$/ \
            || name ~ /\.(sln|csproj|fsproj|cabal|gemspec)$/
    }
    known($NF) && NF <= 4 {
        path = substr($0, 3)
        if (++shown <= 20) print "  " path; else more++
    }
    END {
        if (!shown) print "  " (zh ? "没有已知的" : "none known")
        if (more) print zh ? "  还有 " more " 个" : "  and " more " more"
    }
' "$work/files"

# Lines are counted in files of known languages only, none of them larger than 2 MB.
awk -F/ '
    BEGIN {
        n = split("rs Rust|py Python|js JavaScript|mjs JavaScript|cjs JavaScript|jsx JavaScript|ts TypeScript|tsx TypeScript|go Go|java Java|kt Kotlin|kts Kotlin|scala Scala|c C|h C|cc C++|cpp C++|cxx C++|hpp C++|hh C++|cs C#|fs F#|vb VB|rb Ruby|php PHP|pl Perl|pm Perl|lua Lua|r R|jl Julia|swift Swift|m Objective-C|dart Dart|ex Elixir|exs Elixir|erl Erlang|hs Haskell|ml OCaml|clj Clojure|zig Zig|nim Nim|sh Shell|bash Shell|zsh Shell|ps1 PowerShell|sql SQL|html HTML|htm HTML|css CSS|scss CSS|less CSS|vue Vue|svelte Svelte|md Markdown|rst reStructuredText|tex TeX|json JSON|yaml YAML|yml YAML|toml TOML|xml XML|tf Terraform|proto Protobuf|csv CSV|ipynb Notebook", pairs, "|")
        for (i = 1; i <= n; i++) { split(pairs[i], two, " "); language[two[1]] = two[2] }
    }
    {
        name = $NF
        suffix = ""
        if (match(name, /\.[A-Za-z0-9]+$/) && RSTART > 1) suffix = tolower(substr(name, RSTART + 1))
        if (name == "Makefile" || name == "GNUmakefile") print "Make\t" $0
        else if (name == "Dockerfile") print "Docker\t" $0
        else if (suffix in language) print language[suffix] "\t" $0
        else print "other\t" $0
    }
' "$work/files" >"$work/languages"
: >"$work/counted"
# xargs splits at blanks and quotes: one file a call through the shell keeps every name whole, but a
# process a file is too slow, so plain names go in bulk and the rest is counted as files only.
grep -v '^other' "$work/languages" | cut -f 2- >"$work/readable" || true
awk '!/[][ \t"\047\\*?(){}|&;<>$`!#^]/' "$work/readable" >"$work/plain" || true
if [ -s "$work/plain" ]; then
    xargs sh -c '
        find "$@" -prune -type f -size -4096 -print
    ' sh <"$work/plain" 2>/dev/null >"$work/small" || true
    xargs sh -c 'wc -l "$@" /dev/null' sh <"$work/small" 2>/dev/null |
        awk '$2 != "total" && $2 != "/dev/null" { print $2 "\t" $1 }' >"$work/counted" || true
fi

printf '\n%s\n' "$(said 'Languages:' '语言：')"
awk -F '\t' '
    FILENAME == ARGV[1] { lines[$1] = $2; next }
    {
        files[$1]++
        if ($2 in lines) total[$1] += lines[$2]; else if ($1 != "other") uncounted++
    }
    END {
        for (name in files) if (name != "other") printf "%d\t%d\t%s\n", total[name], files[name], name
        if (uncounted) printf "-1\t%d\tuncounted\n", uncounted
        if (files["other"]) printf "-2\t%d\tother\n", files["other"]
    }
' "$work/counted" "$work/languages" | sort -t "$(printf '\t')" -k 1,1nr -k 2,2nr -k 3,3 | awk -F '\t' '
    function files(number) { return zh ? "个文件" : (number == 1 ? "file" : "files") }
    BEGIN { zh = ENVIRON["SPOKEN"] == "zh" }
    $1 == -1 { note = zh ? "  有 " $2 " 个文件没有数行（太大或文件名特殊）" : "  lines of " $2 ($2 == 1 ? " file" : " files") " were not counted (large, or unusual names)"; next }
    $1 == -2 { printf "  %-18s %6d %s\n", zh ? "其他" : "other", $2, files($2); next }
    ++shown <= 15 { printf "  %-18s %6d %s%s %9d %s\n", $3, $2, files($2), !zh && $2 == 1 ? " " : "", $1, zh ? "行" : ($1 == 1 ? "line" : "lines"); next }
    { more++ }
    END {
        if (more) printf zh ? "  还有 %d 种语言\n" : (more == 1 ? "  and %d more language\n" : "  and %d more languages\n"), more
        if (note != "") print note
    }
'

printf '\n%s\n' "$(said 'Top folders by number of files:' '文件最多的文件夹：')"
awk -F/ '{ folders[NF > 2 ? $2 : (ENVIRON["SPOKEN"] == "zh" ? "（顶层）" : "(top level)")]++ } END { for (name in folders) printf "%d\t%s\n", folders[name], name }' \
    "$work/files" | sort -t "$(printf '\t')" -k 1,1nr -k 2,2 | head -n 12 |
    awk -F '\t' '{ printf "  %-24s %6d\n", $2, $1 }'
