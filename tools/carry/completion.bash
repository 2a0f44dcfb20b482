# SPDX-License-Identifier: MIT
# Completes carry's subcommands, options and their values for bash, as --help lists them, and files.

# Prints what may follow the words that are given, in the format of completion.awk.
_carry_rows() {
    local of=carry
    (($# == 1)) || of="carry ${*:2}"
    "$@" --help 2>/dev/null | awk -v of="$of" '@READ@'
}

# Prints the values of an option that the given rows list. If a space precedes the value, only an
# option that requires a value counts.
_carry_values() {
    local names takes values
    while IFS='|' read -r names takes _ values; do
        if [[ " $names " == *" $2 "* && ($takes == '=' || $3 == '=') ]]; then
            printf '%s' "$values"
        fi
    done <<<"$1"
}

_carry() {
    local at=1 command=("${COMP_WORDS[0]}") word=${COMP_WORDS[COMP_CWORD]} rows offered before
    rows=$(_carry_rows "${command[@]}")
    while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} != -* ]] &&
        [[ $'\n'$rows == *$'\n'"${COMP_WORDS[at]}|"* ]]; do
        if [[ ${COMP_WORDS[at]} != help ]]; then
            command+=("${COMP_WORDS[at]}")
            rows=$(_carry_rows "${command[@]}")
        fi
        ((at++))
    done

    # "--color=au" is three words.
    before=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $word == '=' ]]; then
        word=
        offered=$(_carry_values "$rows" "$before" =)
    elif [[ $before == '=' ]]; then
        offered=$(_carry_values "$rows" "${COMP_WORDS[COMP_CWORD - 2]}" =)
    else
        offered=$(_carry_values "$rows" "$before" '')
    fi
    before=
    if [[ $offered == *,* ]]; then
        before=${word%"${word##*,}"}
    elif [[ ! $offered && $word == -* ]]; then
        offered=$(cut -d '|' -f 1 <<<"$rows" | grep '^-')
    elif [[ ! $offered ]] && ((at == COMP_CWORD)); then
        offered=$(cut -d '|' -f 1 <<<"$rows" | grep -v '^-')
    fi
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "${offered//,/ }" -- "${word#"$before"}")
}

complete -o default -F _carry carry
