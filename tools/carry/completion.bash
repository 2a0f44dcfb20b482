# SPDX-License-Identifier: MIT
# Completion of carry's subcommands and options for bash: what --help lists, and files.

# The subcommands, or parts, that a help text lists: indented words before two spaces.
_carry_words() {
    "$@" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z0-9]*\)  .*/\1/p'
}

_carry_options() {
    "$@" --help 2>/dev/null | grep -E '^ +-' |
        grep -oE -- '(^|[ ,])--?[a-zA-Z0-9][a-z0-9-]*' | tr -d ' ,' | sort -u
}

_carry() {
    local word=${COMP_WORDS[COMP_CWORD]} command=("${COMP_WORDS[0]}")
    if ((COMP_CWORD > 1)); then
        command+=("${COMP_WORDS[1]}")
        case ${COMP_WORDS[1]} in
            bench | xstate) ((COMP_CWORD > 2)) && command+=("${COMP_WORDS[2]}") ;;
        esac
    fi
    COMPREPLY=()
    case $word in
        -*) mapfile -t COMPREPLY < <(compgen -W "$(_carry_options "${command[@]}")" -- "$word") ;;
        *)
            if ((${#command[@]} == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -W "$(_carry_words "${command[@]}")" -- "$word")
            fi
            ;;
    esac
}

complete -o default -F _carry carry
