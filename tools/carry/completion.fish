# SPDX-License-Identifier: MIT
# Completes carry's subcommands, options and their values for fish, as --help lists them, and files.

# Prints what may follow the words that are given, in the format of completion.awk.
function __carry_rows
    command $argv --help 2>/dev/null | awk -v of="$(string join ' ' carry $argv[2..])" '@READ@'
end

# Prints the values of an option that the given rows list. If a space precedes the value, only an
# option that requires a value counts.
function __carry_values --argument-names option separator
    for row in $argv[3..]
        set -l fields (string split '|' -- $row)
        if contains -- $option (string split ' ' -- $fields[1])
            and contains -- = $fields[2] $separator
            echo $fields[4]
        end
    end
end

# Prints a line for each name in the rows that matches the pattern, with its summary.
function __carry_names --argument-names pattern
    for row in $argv[2..]
        set -l fields (string split '|' -- $row)
        for name in (string match -r -- $pattern (string split ' ' -- $fields[1]))
            printf '%s\t%s\n' $name $fields[3]
        end
    end
end

# Completes the word at the cursor: with "words" (commands and parts), or with "options" and their
# values.
function __carry_offer --argument-names kind
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l command $words[1]
    set -l rest $words[2..]
    set -l rows (__carry_rows $command)
    while set -q rest[1]
        string match -q -- "$rest[1]|*" $rows
        and not string match -q -- '-*' $rest[1]
        or break
        if test $rest[1] != help
            set -a command $rest[1]
            set rows (__carry_rows $command)
        end
        set -e rest[1]
    end

    # "--color=au", or "--color au" in two words.
    set -l name (string match -r -- '^--[^=]+=' $token)
    set -l value (string replace -- "$name" '' $token)
    set -l option (string trim -r -c = -- $name $words[-1])
    set -l values (__carry_values $option[1] "$(string sub -s -1 -- $name)" $rows)
    if test -n "$values"
        set -l others ''
        string match -q '*,*' -- $values
        and set others (string replace -r -- '[^,]*$' '' $value)
        test $kind = options
        and printf '%s\n' "$name$others"(string split ' ' -- (string replace -a , ' ' -- $values))
    else if string match -q -- '-*' $token
        test $kind = options -a -z "$name"
        and __carry_names '^-.*' $rows
    else if test $kind = words; and not set -q rest[1]
        __carry_names '^[^-].*' $rows
    end
end

complete -c carry -a '(__carry_offer words)'
complete -c carry -f -n 'count (__carry_offer options) >/dev/null' -a '(__carry_offer options)'
