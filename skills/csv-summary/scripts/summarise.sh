#!/bin/sh
# Summarise a CSV file, whole or grouped by columns. Plain POSIX sh and awk.
#
#   summarise.sh [--by COLUMN] [--column COLUMN] [--top N] [--delimiter CHAR] [--lang en|zh] FILE
#
# Quoted fields may hold delimiters, doubled quotes and line breaks; CRLF and a byte order mark are
# taken off. A column counts as numeric when every value in it that is not missing is a number; $300,
# 1,234.50 and 1,5 are numbers too, and the output says which columns were read so. A common column may be named
# in Chinese where its header is English, and the other way round; the output says so (tidy:allow-cjk).
set -eu
LC_ALL=C
export LC_ALL

usage() {
    printf '%s\n' "usage: summarise.sh [--by COLUMN] [--column COLUMN] [--top N] [--delimiter CHAR] [--lang en|zh] FILE" >&2
}

fail() {
    printf 'summarise.sh: %s\n' "$1" >&2
    exit "${2:-1}"
}

by=
only=
top=
delimiter=
lang=en
file=
while [ $# -gt 0 ]; do
    case $1 in
        --by | --column | --top | --delimiter | --lang)
            [ $# -ge 2 ] || { usage; fail "$1 needs a value" 2; }
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
        -?*) usage; fail "unknown option: $1" 2 ;;
        *)
            [ -z "$file" ] || { usage; fail "one file at a time, and \"$1\" is a second one" 2; }
            file=$1
            shift
            ;;
    esac
done
if [ -z "$file" ] && [ $# -eq 1 ]; then
    file=$1
    shift
fi
[ -n "$file" ] && [ $# -eq 0 ] || { usage; fail "name the file to summarise" 2; }

# A script of a skill starts in a directory of its own; the project is elsewhere.
if [ ! -e "$file" ] && [ -n "${WORKSPACE_DIR:-}" ] && [ -e "$WORKSPACE_DIR/$file" ]; then
    path=$WORKSPACE_DIR/$file
else
    path=$file
fi
# The file is called as the project calls it.
[ -z "${WORKSPACE_DIR:-}" ] || file=${file#"$WORKSPACE_DIR"/}
case $file in */stage/given/*) file=${file##*/} ;; esac
[ -e "$path" ] || fail "there is no file $file"
[ -f "$path" ] || fail "$file is not a file"
[ -r "$path" ] || fail "$file cannot be read"
[ -s "$path" ] || fail "$file is empty"
case $top in
    *[!0-9]* | 0) fail "--top takes a number" 2 ;;
esac
case $lang in
    en | zh) ;;
    *) fail "--lang takes en or zh" 2 ;;
esac
case $delimiter in
    '' | ? | tab) ;;
    *) fail "the delimiter is one character, or the word tab" 2 ;;
esac

# The words go through the environment: awk -v would read backslashes in them.
SPOKEN=$lang BY=$by ONLY=$only TOP=$top DELIMITER=$delimiter NAME=$file awk '
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

# Money, per cent, thousands (1,234.50) and a decimal comma (1,5) as a plain number; "" for anything else.
function plain_number(text,    sign) {
    if (is_number(text)) return text
    sign = ""
    if (text ~ /^[+-]/) { sign = substr(text, 1, 1); text = substr(text, 2) }
    sub(/^(\$|\342\202\254|\302\243|\302\245|\357\277\245)[ ]*/, "", text)
    sub(/[ ]*(\$|%|\342\202\254|\302\243|\302\245)$/, "", text)
    if (text ~ /^[0-9][0-9]?[0-9]?(,[0-9][0-9][0-9])+(\.[0-9]+)?$/) gsub(/,/, "", text)
    else if (text ~ /^[0-9]+,[0-9]+$/) sub(/,/, ".", text)
    return is_number(text) && text !~ /^[+-]/ ? sign text : ""
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

function read_row(n,    i, value, number, group) {
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
        number = plain_number(value)
        if (number == "") { words[i]++; if (first_word[i] == "") first_word[i] = value; continue }
        if (number != value && first_read[i] == "") { first_read[i] = value; first_meant[i] = number }
        number += 0
        numbers[i]++
        have[group, i]++
        sum[group, i] += number
        if (have[group, i] == 1 || number < low[group, i]) low[group, i] = number
        if (have[group, i] == 1 || number > high[group, i]) high[group, i] = number
    }
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
    return column ? sum[group, column] + 0 : count[group]
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

function fill(line, group, column) {
    cell[line, 2] = have[group, column] + 0
    if (have[group, column]) {
        cell[line, 3] = shown(sum[group, column])
        cell[line, 4] = shown(sum[group, column] / have[group, column])
        cell[line, 5] = shown(low[group, column])
        cell[line, 6] = shown(high[group, column])
    } else {
        cell[line, 3] = cell[line, 4] = cell[line, 5] = cell[line, 6] = "-"
    }
}

BEGIN { mark = ENVIRON["DELIMITER"] == "tab" ? "\t" : ENVIRON["DELIMITER"] }

{
    sub(/\r$/, "")
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
    if (open_record) fail("a quote that opens on line " opened_at " of " ENVIRON["NAME"] " is never closed")
    if (!columns) fail(ENVIRON["NAME"] " has no header line")
    print ENVIRON["NAME"] said(": " counted(rows + 0, "row") ", " counted(columns, "column") " (" names() ")", "：" rows + 0 " 行，" columns " 列（" names() "）")
    if (translated != "") print said("Read: " translated ".", "按以下对应读取：" translated "。")
    if (uneven == 1) print said("Note: row " first_uneven " has more or fewer fields than the header.", "注意：第 " first_uneven " 行的字段数与表头不一致。")
    else if (uneven) print said("Note: " uneven " rows have more or fewer fields than the header; the first is row " first_uneven ".", "注意：有 " uneven " 行的字段数与表头不一致，第一处是第 " first_uneven " 行。")
    if (!rows) { print said("There is a header and no row.", "只有表头，没有数据行。"); exit 0 }
    in_order()
    for (i = 1; i <= columns; i++) if (numbers[i] && !words[i]) { numeric[i] = 1; numeric_count++ }
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
    for (i = 1; i <= columns; i++) if (numeric[i] && first_read[i] != "" && (!only || i == only)) as_numbers = as_numbers (as_numbers == "" ? "" : ", ") header[i] said(" (\"" first_read[i] "\" as " first_meant[i] ")", "（“" first_read[i] "”读作 " first_meant[i] "）")
    if (as_numbers != "") print said("Read as numbers: " as_numbers ".", "按数字读取：" as_numbers "。")
    mixed = ""
    for (i = 1; i <= columns; i++) if (numbers[i] && words[i]) mixed = mixed (mixed == "" ? "" : ", ") header[i] said(" (such as \"" first_word[i] "\")", "（例如“" first_word[i] "”）")
    if (mixed != "") print said("Not summed, for they hold words as well as numbers: " mixed ".", "未求和，因为其中既有数字也有文字：" mixed "。")
}
' <"$path"
