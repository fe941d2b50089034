#!/bin/sh
# Summarise a CSV file, whole or grouped by columns. Plain POSIX sh and awk.
#
#   summarise.sh [--by COLUMN] [--column COLUMN] [--top N] [--delimiter CHAR] [--lang en|zh] FILE
#
# Quoted fields may hold delimiters, doubled quotes and line breaks; CRLF and a byte order mark are
# taken off. A column counts as numeric when every value in it that is not missing is a number; $300,
# 1,234.50, 1.234,50 and 1,5 are numbers too, and the output says which columns were read so. A comma or a point
# means the same in all of a column; a column that cannot be read so, or mixes currencies, is named and not summed.
# A common column may be named in Chinese where its header is English, and the other way round; the output says
# so (tidy:allow-cjk).
set -eu
LC_ALL=C
export LC_ALL

# said ENGLISH CHINESE: the one that is spoken.
said() {
    if [ "$lang" = zh ]; then printf '%s' "$2"; else printf '%s' "$1"; fi
}

usage() {
    printf '%s%s\n' "$(said 'usage: ' '用法：')" "summarise.sh [--by COLUMN] [--column COLUMN] [--top N] [--delimiter CHAR] [--lang en|zh] FILE" >&2
}

fail() {
    printf 'summarise.sh: %s\n' "$1" >&2
    exit "${2:-1}"
}

by=
only=
top=
delimiter=
file=
# The language first: what is wrong with the rest is said in it.
lang=en
before=
for word; do
    [ "$before" != --lang ] || [ "$word" != zh ] || lang=zh
    before=$word
done
while [ $# -gt 0 ]; do
    case $1 in
        --by | --column | --top | --delimiter | --lang)
            [ $# -ge 2 ] || { usage; fail "$(said "$1 needs a value" "$1 缺少值")" 2; }
            case $1 in
                --by) by=$2 ;;
                --column) only=$2 ;;
                --top) top=$2 ;;
                --lang) lang=$2 ;;
                *) delimiter=$2 ;;
            esac
            shift 2
            ;;
        --help | -h) usage; exit 0 ;;
        --) shift; break ;;
        -?*) usage; fail "$(said "unknown option: $1" "未知选项：$1")" 2 ;;
        *)
            [ -z "$file" ] || { usage; fail "$(said "one file at a time, and \"$1\" is a second one" "一次只处理一个文件，“$1”是第二个")" 2; }
            file=$1
            shift
            ;;
    esac
done
if [ -z "$file" ] && [ $# -eq 1 ]; then
    file=$1
    shift
fi
[ -n "$file" ] && [ $# -eq 0 ] || { usage; fail "$(said "name the file to summarise" "请指明要汇总的文件")" 2; }

# A script of a skill starts in a directory of its own; the project is elsewhere.
if [ ! -e "$file" ] && [ -n "${WORKSPACE_DIR:-}" ] && [ -e "$WORKSPACE_DIR/$file" ]; then
    path=$WORKSPACE_DIR/$file
else
    path=$file
fi
# The file is called as the project calls it.
[ -z "${WORKSPACE_DIR:-}" ] || file=${file#"$WORKSPACE_DIR"/}
case $file in */stage/given/*) file=${file##*/} ;; esac
[ -e "$path" ] || fail "$(said "there is no file $file" "没有文件 $file")"
[ -f "$path" ] || fail "$(said "$file is not a file" "$file 不是文件")"
[ -r "$path" ] || fail "$(said "$file cannot be read" "无法读取 $file")"
[ -s "$path" ] || fail "$(said "$file is empty" "$file 是空文件")"
case $top in
    *[!0-9]* | 0) fail "$(said "--top takes a number" "--top 后面要写数字")" 2 ;;
esac
case $lang in
    en | zh) ;;
    *) fail "--lang takes en or zh" 2 ;;
esac
case $delimiter in
    '' | ? | tab) ;;
    *) fail "$(said "the delimiter is one character, or the word tab" "分隔符是一个字符，或单词 tab")" 2 ;;
esac
not_text=$(said "$file is not UTF-8 text; save it as UTF-8 first (in Excel: \"CSV UTF-8\")" \
    "$file 不是 UTF-8 文本；请先另存为 UTF-8（Excel 中选“CSV UTF-8”）")
# UTF-16 and binary files have zero bytes, which awk may drop.
[ "$(tr -cd '\000' <"$path" | wc -c)" -eq 0 ] || fail "$not_text"

# The words go through the environment: awk -v would read backslashes in them.
SPOKEN=$lang BY=$by ONLY=$only TOP=$top DELIMITER=$delimiter NAME=$file NOT_TEXT=$not_text awk '
function fail(message) {
    print "summarise.sh: " message | "cat 1>&2"
    close("cat 1>&2")
    failed = 1
    exit 1
}

function trimmed(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

# The character that the header has most often outside quotes, of those that are usual.
function guess(line,    at, c, inside, seen, best, marks, i) {
    marks = ",;\t|"
    inside = 0
    for (at = 1; at <= length(line); at++) {
        c = substr(line, at, 1)
        if (c == "\"") inside = !inside
        else if (!inside) seen[c]++
    }
    best = ","
    for (i = 1; i <= 4; i++) {
        c = substr(marks, i, 1)
        if (seen[c] + 0 > seen[best] + 0) best = c
    }
    return best
}

# Splits one record into field[1..n]; answers n, or 0 when a quote is still open at its end.
function split_record(text,    at, rest, n, value, next_quote, cut) {
    n = 0
    at = 1
    for (;;) {
        n++
        if (substr(text, at, 1) == "\"") {
            value = ""
            at++
            for (;;) {
                rest = substr(text, at)
                next_quote = index(rest, "\"")
                if (next_quote == 0) return 0
                value = value substr(rest, 1, next_quote - 1)
                at += next_quote
                if (substr(text, at, 1) != "\"") break
                value = value "\""
                at++
            }
            # What follows a closing quote up to the delimiter is kept as it stands.
            rest = substr(text, at)
            cut = index(rest, mark)
            field[n] = value (cut ? substr(rest, 1, cut - 1) : rest)
        } else {
            rest = substr(text, at)
            cut = index(rest, mark)
            field[n] = cut ? substr(rest, 1, cut - 1) : rest
        }
        if (cut == 0) return n
        at += cut
    }
}

function is_number(text) {
    return text ~ /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/
}

# Whether bytes are UTF-8.
function is_utf8(text) {
    if (text !~ /[\200-\377]/) return 1
    gsub(/[\302-\337][\200-\277]/, "", text)
    gsub(/\340[\240-\277][\200-\277]|[\341-\354\356\357][\200-\277][\200-\277]|\355[\200-\237][\200-\277]/, "", text)
    gsub(/\360[\220-\277][\200-\277][\200-\277]|[\361-\363][\200-\277][\200-\277][\200-\277]|\364[\200-\217][\200-\277][\200-\277]/, "", text)
    return text !~ /[\200-\377]/
}

# Takes money and per cent off a number: sets unit to the sign, bare to the rest with its sign.
function take_unit(text,    sign) {
    unit = sign = ""
    if (text ~ /^[+-]/) { sign = substr(text, 1, 1); text = substr(text, 2) }
    if (match(text, /^(\$|\342\202\254|\302\243|\302\245|\357\277\245)[ ]*/) || match(text, /[ ]*(\$|%|\342\202\254|\302\243|\302\245|\357\277\245)$/)) {
        unit = substr(text, RSTART, RLENGTH)
        text = RSTART == 1 ? substr(text, RLENGTH + 1) : substr(text, 1, RSTART - 1)
        gsub(/ /, "", unit)
        if (unit == "\357\277\245") unit = "\302\245"
    }
    bare = text ~ /^[+-]/ ? "" : sign text
}

# What the commas and points of a number say: "" none; where it is sure "point" (1.5), "thousands" (1,234.5 and
# 1,234,567), "comma" (1,5) or "european" (1.234,5 and 1.234.567); "comma?" (1,234) and "point?" (1.234), which can
# be either; "no" for what is no number.
function style(text) {
    sub(/^[+-]/, "", text)
    if (text ~ /^[0-9]+$/) return ""
    if (text ~ /^[1-9][0-9]?[0-9]?\.[0-9][0-9][0-9]$/) return "point?"
    if (is_number(text)) return "point"
    if (text ~ /^[1-9][0-9]?[0-9]?,[0-9][0-9][0-9]$/) return "comma?"
    if (text ~ /^[1-9][0-9]?[0-9]?(,[0-9][0-9][0-9])+(\.[0-9]+)?$/) return "thousands"
    if (text ~ /^[0-9]+,[0-9]+$/) return "comma"
    if (text ~ /^[1-9][0-9]?[0-9]?(\.[0-9][0-9][0-9])+,[0-9]+$/ || text ~ /^[1-9][0-9]?[0-9]?\.[0-9][0-9][0-9]\.[0-9][0-9][0-9]$/) return "european"
    return "no"
}

# A number as awk reads it: with a decimal comma where the column has one, else with a decimal point.
function meant(text, has_decimal_comma) {
    take_unit(text)
    text = bare
    if (has_decimal_comma) { if (style(text) != "point") { gsub(/\./, "", text); sub(/,/, ".", text) } }
    else gsub(/,/, "", text)
    return text
}

# Remembers the first cell of a column in which its commas and points are used so, and the first with each unit.
function note_style(i, value, kind) {
    if (kind != "" && !((i, kind) in styled)) styled[i, kind] = value
    if (unit == "" && bare + 0 == 0) return
    if (!((i, unit) in united)) {
        united[i, unit] = value
        # A bare number beside money is money; beside per cent it may be a share of one.
        if (unit != "" && other_unit[i] != "" && other_unit[i] != unit) clash(i, united[i, other_unit[i]], value)
        if (unit != "" && other_unit[i] == "") other_unit[i] = unit
        if ((i, "%") in united && (i, "") in united) clash(i, united[i, ""], united[i, "%"])
    }
}

function clash(i, one, other) {
    if (!(i in clash_one)) { clash_one[i] = one; clash_other[i] = other }
}

# Whether two ways of writing stand in one column; then it is not read as numbers.
function rivals(i, one, other) {
    if (((i, one) in styled) && ((i, other) in styled)) clash(i, styled[i, one], styled[i, other])
}

# One reading of a column: what a comma is.
function decide_style(i) {
    rivals(i, "comma", "comma?"); rivals(i, "comma", "thousands"); rivals(i, "comma", "point")
    rivals(i, "european", "comma?"); rivals(i, "european", "thousands"); rivals(i, "european", "point")
    if (!((i, "european") in styled)) rivals(i, "comma", "point?")
    if (!((i, "point") in styled) && !((i, "thousands") in styled)) rivals(i, "comma?", "point?")
    decimal_comma[i] = ((i, "comma") in styled) || ((i, "european") in styled)
}

# The column with this name; "products" finds "product" where there is no closer one, and a common name in Chinese
# finds the English one and the other way round.
function column_of(name,    found) {
    found = column_named(name)
    return found ? found : translated_column(name)
}

function translated_column(name,    i, n, pairs, pair, other, found) {
    n = split("地区 region,区域 region,城市 city,国家 country,省份 province,产品 product,商品 product," \
        "类别 category,分类 category,客户 customer,部门 department,日期 date,年份 year,月份 month,月 month," \
        "季度 quarter,数量 units,数量 quantity,销量 units,单价 price,价格 price,金额 amount,销售额 sales," \
        "销售额 revenue,收入 revenue,成本 cost,利润 profit,状态 status,类型 type,姓名 name,名称 name,年龄 age", \
        pairs, ",")
    for (i = 1; i <= n; i++) {
        split(pairs[i], pair, " ")
        other = pair[1] == name ? pair[2] : (pair[2] == tolower(name) ? pair[1] : "")
        found = other == "" ? 0 : column_named(other)
        if (found) { translated = translated (translated == "" ? "" : ", ") name said(" as ", " 即 ") header[found]; return found }
    }
    return 0
}

function column_named(name,    i, lower) {
    for (i = 1; i <= columns; i++) if (header[i] == name) return i
    lower = tolower(name)
    for (i = 1; i <= columns; i++) if (tolower(header[i]) == lower) return i
    for (i = 1; i <= columns; i++) if (tolower(header[i]) == lower "s" || tolower(header[i]) "s" == lower) return i
    sub(/ies$/, "y", lower)
    for (i = 1; i <= columns; i++) if (tolower(header[i]) == lower) return i
    return 0
}

function counted(number, word) {
    return number " " word (number == 1 ? "" : "s")
}

# What is said in English or in Chinese.
function said(english, chinese) {
    return ENVIRON["SPOKEN"] == "zh" ? chinese : english
}

function names(    i, list) {
    for (i = 1; i <= columns; i++) list = list (i > 1 ? ", " : "") header[i]
    return list
}

function no_column(name) {
    return said("there is no column \"" name "\"; the columns are: " names(), "没有“" name "”这一列；各列是：" names())
}

# The heads of the columns of numbers.
function heads() {
    cell[1, 2] = said("count", "个数"); cell[1, 3] = said("sum", "总和"); cell[1, 4] = said("mean", "平均")
    cell[1, 5] = said("min", "最小"); cell[1, 6] = said("max", "最大")
}

function read_header(n,    i) {
    columns = n
    for (i = 1; i <= n; i++) {
        header[i] = trimmed(field[i])
        if (header[i] == "") header[i] = "column " i
    }
    if (ENVIRON["BY"] != "") {
        groups = split(ENVIRON["BY"], wanted, ",")
        whole = column_of(trimmed(ENVIRON["BY"]))
        if (whole) { groups = 1; key[1] = whole }
        else for (i = 1; i <= groups; i++) {
            key[i] = column_of(trimmed(wanted[i]))
            if (!key[i]) fail(no_column(trimmed(wanted[i])))
        }
        for (i = 1; i <= groups; i++) is_key[key[i]] = 1
    }
    if (ENVIRON["ONLY"] != "") {
        only = column_of(trimmed(ENVIRON["ONLY"]))
        if (!only) fail(no_column(trimmed(ENVIRON["ONLY"])))
    }
}

function read_row(n,    i, value, kind, whole, group) {
    if (n == 1 && trimmed(field[1]) == "" && columns > 1) return
    rows++
    if (n != columns) { uneven++; if (!first_uneven) first_uneven = rows }
    group = ""
    for (i = 1; i <= groups; i++) {
        value = key[i] <= n ? trimmed(field[key[i]]) : ""
        group = group (i > 1 ? " / " : "") (value == "" ? "(missing)" : value)
    }
    if (!(group in count)) { count[group] = 0; group_name[++group_count] = group }
    count[group]++
    for (i = 1; i <= columns; i++) {
        value = i <= n ? trimmed(field[i]) : ""
        if (value == "") { missing[i]++; continue }
        present[i]++
        if (!((i, value) in seen_value)) { seen_value[i, value] = 1; distinct[i]++ }
        times[i, value]++
        if (times[i, value] > most[i] || (times[i, value] == most[i] && value < common[i])) {
            most[i] = times[i, value]
            common[i] = value
        }
        if (value ~ /^[+-]?[0-9]+$/ && length(value) < 16) {
            # Most cells are such: the rest of this takes as long again.
            unit = ""; bare = value
            if (!((i, "") in united)) note_style(i, value, "")
            numbers[i]++
            have[group, i]++
            add(0, group, i, value + 0)
            add(1, group, i, value + 0)
            continue
        }
        take_unit(value)
        kind = style(bare)
        if (kind == "no") {
            words[i]++
            if (first_word[i] == "") first_word[i] = value
            if (first_spaced[i] == "" && bare ~ /^[+-]?[0-9][0-9]?[0-9]?((\302\240|\342\200\257|\342\200\211| |\047)[0-9][0-9][0-9])+([.,][0-9]+)?$/) first_spaced[i] = value
            continue
        }
        note_style(i, value, kind)
        whole = bare
        sub(/^[+-]?0*/, "", whole)
        if (kind ~ /^(point|comma)$/) sub(/[.,].*$/, "", whole)
        gsub(/[^0-9]/, "", whole)
        # An awk counts in doubles, which are exact up to 9007199254740992.
        if (long[i] == "" && length(whole) > 15 && bare !~ /[eE]/) long[i] = value
        if ((unit != "" || kind ~ /[,?]|comma|thousands|european/) && kind != "point?" && first_read[i] == "") first_read[i] = value
        if (unit != "" && first_read[i] == "") first_read[i] = value
        numbers[i]++
        have[group, i]++
        # Which of the two readings holds is known at the end.
        add(0, group, i, kind == "" || kind ~ /^point/ ? bare + 0 : meant(value, 0) + 0)
        add(1, group, i, kind == "" || kind == "point" ? bare + 0 : meant(value, 1) + 0)
    }
}

function add(reading, group, i, number) {
    sum[reading, group, i] += number
    if (have[group, i] == 1 || number < low[reading, group, i]) low[reading, group, i] = number
    if (have[group, i] == 1 || number > high[reading, group, i]) high[reading, group, i] = number
}

# Up to six decimals, without the zeros at the end.
function shown(number,    text) {
    if (number == int(number) && number < 1e15 && number > -1e15) return sprintf("%.0f", number)
    text = sprintf("%.6f", number)
    sub(/0+$/, "", text)
    sub(/\.$/, "", text)
    return text
}

# By name, or by value when all names are numbers; a Shell sort, for there may be many.
function in_order(    i, j, name, gap, all) {
    all = 1
    for (i = 1; i <= group_count; i++) if (!is_number(group_name[i])) all = 0
    for (gap = int(group_count / 2); gap >= 1; gap = int(gap / 2)) {
        for (i = gap + 1; i <= group_count; i++) {
            name = group_name[i]
            for (j = i - gap; j >= 1; j -= gap) {
                if (all ? group_name[j] + 0 <= name + 0 : group_name[j] "" <= name "") break
                group_name[j + gap] = group_name[j]
            }
            group_name[j + gap] = name
        }
    }
}

# The groups with the largest sums of a column, or with the most rows, first; as many as were asked for.
function largest_first(column,    i, j, name) {
    for (i = 2; i <= group_count; i++) {
        name = group_name[i]
        for (j = i - 1; j >= 1 && size_of(group_name[j], column) < size_of(name, column); j--) group_name[j + 1] = group_name[j]
        group_name[j + 1] = name
    }
    if (top < group_count) group_count = top
}

function size_of(group, column) {
    return column ? sum[decimal_comma[column], group, column] + 0 : count[group]
}

# Columns of a terminal, not bytes: the later bytes of UTF-8 have no width, and characters of three bytes from
# U+3000 on (Chinese, Japanese, Korean) take two.
function wide(text,    double) {
    double = gsub(/[\343-\355\357]/, "&", text)
    gsub(/[\200-\277]/, "", text)
    return length(text) + double
}

# Rows of cells, padded to the widest of their column; numbers stand right.
function print_table(lines, width,    i, j, size, text, line) {
    for (j = 1; j <= width; j++) {
        size[j] = 0
        for (i = 1; i <= lines; i++) if (wide(cell[i, j]) > size[j]) size[j] = wide(cell[i, j])
    }
    for (i = 1; i <= lines; i++) {
        line = ""
        for (j = 1; j <= width; j++) {
            text = cell[i, j]
            while (wide(text) < size[j]) text = (j == 1 ? text " " : " " text)
            line = line (j > 1 ? "  " : "") text
        }
        sub(/ +$/, "", line)
        print line
    }
}

function table(column,    i, line, group) {
    cell[1, 1] = groups ? group_title : said("column", "列")
    heads()
    line = 1
    for (i = 1; i <= group_count; i++) {
        group = group_name[i]
        line++
        cell[line, 1] = groups ? group : header[column]
        fill(line, group, column)
    }
    print_table(line, 6)
}

function fill(line, group, column,    reading, total) {
    cell[line, 2] = have[group, column] + 0
    if (have[group, column]) {
        reading = decimal_comma[column]
        total = sum[reading, group, column]
        if (total > 9007199254740992 || total < -9007199254740992) rounded[column] = 1
        cell[line, 3] = shown(total)
        cell[line, 4] = shown(total / have[group, column])
        cell[line, 5] = shown(low[reading, group, column])
        cell[line, 6] = shown(high[reading, group, column])
    } else {
        cell[line, 3] = cell[line, 4] = cell[line, 5] = cell[line, 6] = "-"
    }
}

BEGIN { mark = ENVIRON["DELIMITER"] == "tab" ? "\t" : ENVIRON["DELIMITER"] }

{
    sub(/\r$/, "")
    # Control characters in the header are of a binary file.
    if (!is_utf8($0) || (NR == 1 && $0 ~ /[\001-\010\016-\037]/)) fail(ENVIRON["NOT_TEXT"])
    if (NR == 1) {
        if (substr($0, 1, 3) == "\357\273\277") $0 = substr($0, 4)
        if (mark == "") mark = guess($0)
    }
    record = open_record ? record "\n" $0 : $0
    if (!open_record && record == "") next
    fields = split_record(record)
    if (fields == 0) {
        if (!open_record) opened_at = NR
        open_record = 1
        next
    }
    open_record = 0
    if (!columns) read_header(fields)
    else read_row(fields)
}

END {
    if (failed) exit 1
    if (open_record) fail(said("a quote that opens on line " opened_at " of " ENVIRON["NAME"] " is never closed", ENVIRON["NAME"] " 第 " opened_at " 行的引号没有闭合"))
    if (!columns) fail(said(ENVIRON["NAME"] " has no header line", ENVIRON["NAME"] " 没有表头"))
    print ENVIRON["NAME"] said(": " counted(rows + 0, "row") ", " counted(columns, "column") " (" names() ")", "：" rows + 0 " 行，" columns " 列（" names() "）")
    if (translated != "") print said("Read: " translated ".", "按以下对应读取：" translated "。")
    if (uneven == 1) print said("Note: row " first_uneven " has more or fewer fields than the header.", "注意：第 " first_uneven " 行的字段数与表头不一致。")
    else if (uneven) print said("Note: " uneven " rows have more or fewer fields than the header; the first is row " first_uneven ".", "注意：有 " uneven " 行的字段数与表头不一致，第一处是第 " first_uneven " 行。")
    if (!rows) { print said("There is a header and no row.", "只有表头，没有数据行。"); exit 0 }
    in_order()
    for (i = 1; i <= columns; i++) if (numbers[i] && !words[i]) {
        decide_style(i)
        if (!(i in clash_one) && long[i] == "") { numeric[i] = 1; numeric_count++ }
    }
    if (only && !numeric[only] && !words[only]) {
        if (only in clash_one) fail(said("the column \"" header[only] "\" cannot be added up: \"" clash_one[only] "\" and \"" clash_other[only] "\" are written in two ways", "“" header[only] "”列无法求和：“" clash_one[only] "”与“" clash_other[only] "”的写法不一致"))
        if (long[only] != "") fail(said("the column \"" header[only] "\" cannot be added up exactly: \"" long[only] "\" has more than 15 digits", "“" header[only] "”列无法精确求和：“" long[only] "”超过 15 位"))
        fail(said("the column \"" header[only] "\" is empty", "“" header[only] "”列是空的"))
    }
    if (only && !numeric[only]) fail(said("the column \"" header[only] "\" is not numeric: it holds \"" first_word[only] "\"", "“" header[only] "”列不全是数字：其中有“" first_word[only] "”"))
    if (groups) {
        for (i = 1; i <= groups; i++) group_title = group_title (i > 1 ? " / " : "") header[key[i]]
        top = ENVIRON["TOP"] + 0
        if (top) {
            all_groups = group_count
            largest_first(only)
            print said("The " (group_count == 1 ? "largest" : group_count " largest") " of " counted(all_groups, "group") ", by " (only ? "the sum of " header[only] : "rows") ".", "共 " all_groups " 组，按" (only ? " " header[only] " 之和" : "行数") "取最大的 " group_count " 组。")
        }
        print ""
        print said("Rows by " group_title ":", "按 " group_title " 统计的行数：")
        cell[1, 1] = group_title; cell[1, 2] = said("rows", "行数")
        for (i = 1; i <= group_count; i++) { cell[i + 1, 1] = group_name[i]; cell[i + 1, 2] = count[group_name[i]] }
        print_table(group_count + 1, 2)
        for (i = 1; i <= columns; i++) {
            if (!numeric[i] || is_key[i] || (only && i != only)) continue
            print ""
            print said(header[i] " by " group_title ":", "按 " group_title " 统计的 " header[i] "：")
            table(i)
        }
    } else if (numeric_count) {
        print ""
        print said("Numeric columns:", "数值列：")
        cell[1, 1] = said("column", "列")
        heads()
        line = 1
        for (i = 1; i <= columns; i++) if (numeric[i] && (!only || i == only)) { cell[++line, 1] = header[i]; fill(line, "", i) }
        print_table(line, 6)
    }
    if (!groups && !only && numeric_count < columns) {
        print ""
        print said("Other columns:", "其他列：")
        cell[1, 1] = said("column", "列"); cell[1, 2] = said("values", "值"); cell[1, 3] = said("distinct", "不同值")
        cell[1, 4] = said("most frequent", "最常见"); cell[1, 5] = said("times", "次数")
        line = 1
        for (i = 1; i <= columns; i++) if (!numeric[i]) {
            cell[++line, 1] = header[i]; cell[line, 2] = present[i] + 0; cell[line, 3] = distinct[i] + 0
            cell[line, 4] = present[i] ? common[i] : "-"; cell[line, 5] = most[i] + 0
        }
        print_table(line, 5)
    }
    gaps = ""
    for (i = 1; i <= columns; i++) if (missing[i]) gaps = gaps (gaps == "" ? "" : ", ") header[i] " " missing[i]
    if (gaps != "") { print ""; print said("Missing values: " gaps ".", "缺失值：" gaps "。") }
    as_numbers = ""
    for (i = 1; i <= columns; i++) if (numeric[i] && first_read[i] != "" && (!only || i == only)) as_numbers = as_numbers (as_numbers == "" ? "" : ", ") header[i] said(" (\"" first_read[i] "\" as " meant(first_read[i], decimal_comma[i]) ")", "（“" first_read[i] "”读作 " meant(first_read[i], decimal_comma[i]) "）")
    if (as_numbers != "") print said("Read as numbers: " as_numbers ".", "按数字读取：" as_numbers "。")
    clashes = exact = about = spaced = ""
    for (i = 1; i <= columns; i++) {
        if (i in clash_one && !words[i]) clashes = clashes (clashes == "" ? "" : ", ") header[i] said(" (\"" clash_one[i] "\" and \"" clash_other[i] "\")", "（“" clash_one[i] "”与“" clash_other[i] "”）")
        else if (long[i] != "" && !words[i]) exact = exact (exact == "" ? "" : ", ") header[i] said(" (\"" long[i] "\")", "（“" long[i] "”）")
        if (rounded[i]) about = about (about == "" ? "" : ", ") header[i]
        if (first_spaced[i] != "" && !numbers[i]) spaced = spaced (spaced == "" ? "" : ", ") header[i] said(" (such as \"" first_spaced[i] "\")", "（例如“" first_spaced[i] "”）")
    }
    if (clashes != "") print said("Not read as numbers, for they are written in two ways: " clashes ".", "未按数字读取，因为同一列有两种写法：" clashes "。")
    if (exact != "") print said("Not summed, for more than 15 digits cannot be added exactly: " exact ".", "未求和，因为超过 15 位的数字无法精确相加：" exact "。")
    if (about != "") print said("Rounded, for sums above 15 digits are not exact: " about ".", "已四舍五入，因为超过 15 位的总和不精确：" about "。")
    if (spaced != "") print said("Not read as numbers, for there are blanks or apostrophes in them: " spaced ".", "未按数字读取，因为其中有空格或撇号：" spaced "。")
    mixed = ""
    for (i = 1; i <= columns; i++) if (numbers[i] && words[i]) mixed = mixed (mixed == "" ? "" : ", ") header[i] said(" (such as \"" first_word[i] "\")", "（例如“" first_word[i] "”）")
    if (mixed != "") print said("Not summed, for they hold words as well as numbers: " mixed ".", "未求和，因为其中既有数字也有文字：" mixed "。")
}
' <"$path"
