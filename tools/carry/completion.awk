# SPDX-License-Identifier: MIT
# Reads a help text for the completions of all shells, which contain this file. Prints a line for
# each command, part and option, with fields separated by bars:
#   names    "check", "--json -J"
#   value    of an option: "=" if required, "?" if optional
#   summary  the first clause of its description
#   values   those in the text, separated by commas if an option takes several, otherwise by spaces
# `of` is the command with this text: "carry bench sum". The shells quote this file: it must contain
# neither single quotes nor backslashes.

function summary(text) {
    sub(/([;:.] | [(]|,? such as ).*/, "", text)
    sub(/[;:.]$/, "", text)
    return text
}

# Finds the values in "use colours: auto (default), always or never".
function choices(text) {
    gsub(/ [(][^)]*[)]/, "", text)
    if (!match(text, /: [a-z]+(, [a-z]+)* or [a-z]+([;,.]|$)/))
        return ""
    text = substr(text, RSTART + 2, RLENGTH - 2)
    sub(/[;,.]$/, "", text)
    gsub(/, | or /, " ", text)
    return text
}

# Returns the text after two spaces or more.
function described(line) {
    return match(line, /[^ ]  +[^ ]/) ? substr(line, RSTART + RLENGTH - 1) : ""
}

function add(name, text) {
    names[++count] = name
    texts[count] = text
    row[name] = count
}

# Parses "  -o, --output=FILE  where", "  --size BYTES  only", "  --jit[=COUNT]  and".
function add_option(line,    name, rest) {
    match(line, /--[a-z0-9-]+/)
    name = substr(line, RSTART, RLENGTH)
    rest = substr(line, RSTART + RLENGTH)
    match(rest, /^([[]?=[^ ]+| [[]?[A-Z]+]?)? */)
    add(name, substr(rest, RLENGTH + 1))
    if (rest ~ /^ ?[[=A-Z]/)
        takes[count] = rest ~ /^ ?[[]/ ? "?" : "="
    if (line ~ /^ +-[^-]/)
        names[count] = name " " substr(line, index(line, "-"), 2)
}

function add_value(of_row, value) {
    values[of_row] = values[of_row] (values[of_row] ? " " : "") value
}

# "Usage: carry COMMAND": the text lists commands. "carry audit report": a further part.
/^Usage: / { in_usage = 1 }
/^$/ { in_usage = option = listed = 0 }
in_usage {
    next_word = index($0, of " ") ? substr($0, index($0, of " ") + length(of) + 1) : ""
    has_words = has_words || next_word ~ /^[A-Z]/
    if (next_word ~ /^[a-z]/) {
        sub(/ .*/, "", next_word)
        add(next_word, "") # a paragraph begins with the word
    }
    next
}
/^[a-z]/ && $1 in row && !texts[row[$1]] { texts[row[$1]] = substr($0, length($1) + 2) }
has_words && /^  [a-z][a-z0-9]*  / { add($1, described($0)) }
has_words && /^  carry (help|--[a-z]+) / { add($2, described($0)) }

/^Exit status/ { is_over = 1 } # options after it are only mentioned
/^ ? ? ? ? ? ?(-[A-Za-z0-9], )?--[a-z]/ && !is_over {
    add_option($0)
    option = count
    next
}
option && /^          +[a-z0-9-]+  +[^ ]/ { add_value(option, $1); next }
option { sub(/^ +/, ""); texts[option] = texts[option] (texts[option] ? " " : "") $0 }

# "Protocols for --proto:", and below it their names.
/^[A-Z][a-z]+ for --[a-z-]+:$/ { listed = row[substr($3, 1, length($3) - 1)]; next }
listed { gsub(/,/, ""); for (i = 1; i <= NF; i++) add_value(listed, $i) }

END {
    for (i = 1; i <= count; i++) {
        if (takes[i] && !values[i])
            values[i] = choices(texts[i])
        if (texts[i] ~ /separated by commas/)
            gsub(/ /, ",", values[i])
        print names[i] "|" takes[i] "|" summary(texts[i]) "|" values[i]
    }
}
