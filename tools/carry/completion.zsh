#compdef carry
# SPDX-License-Identifier: MIT
# Completes carry's subcommands, options and their values for zsh, as --help lists them, and files.

# Prints what may follow the words that are given, in the format of completion.awk.
_carry_rows() {
    "$@" --help 2>/dev/null | awk -v of="carry${2:+ ${*:2}}" '@READ@'
}

_carry_operand() {
    (( CURRENT == 2 && $#offered )) && _describe -t commands command offered
    _files
}

_carry() {
    local -a command=("$words[1]") rows offered specs names fields
    local row name value
    rows=("${(@f)$(_carry_rows $command)}")
    while (( CURRENT > 2 )) && [[ $words[2] != -* && -n ${(M)rows:#${(b)words[2]}\|*} ]]; do
        if [[ $words[2] != help ]]; then
            command+=("$words[2]")
            rows=("${(@f)$(_carry_rows $command)}")
        fi
        shift words
        (( CURRENT-- ))
    done

    for row in $rows; do
        fields=("${(@s:|:)row}")
        names=(${=fields[1]})
        if [[ $names[1] != -* ]]; then
            offered+=("$names[1]:$fields[3]")
            continue
        fi
        case $fields[4] in
            *,*) value=":value: _values -s , value ${fields[4]//,/ }" ;;
            ?*) value=":value:($fields[4])" ;;
            *) value=':value:_files' ;;
        esac
        for name in $names; do
            case $fields[2]$name in
                '='--*) specs+=("*${name}=[$fields[3]]$value") ;;
                '='*) specs+=("*${name}+[$fields[3]]$value") ;;
                '?'*) specs+=("*${name}=-[$fields[3]]:$value") ;;
                *) specs+=("($names)${name}[$fields[3]]") ;;
            esac
        done
    done
    _arguments -s -S : $specs '*: :_carry_operand'
}

_carry "$@"
