# bash completion for dlock, flashsale, flashsale-orders and loadtest; installed once under each of
# these names.
#
# Nothing is listed here: subcommands, options and their values are read from what the program says
# to --help (and to --list-strategies), so they are those of the program that is installed.
# shellcheck shell=bash

# The help of the program, or of its subcommand.
_flashsale_help() {
    if [[ ${1##*/} == dlock && -n $2 ]]; then
        "$1" "$2" --help 2>/dev/null
    else
        "$1" --help 2>/dev/null
    fi
}

# The subcommands: the second words of the usage.
_flashsale_commands() {
    _flashsale_help "$1" '' |
        sed -n "/^usage:/,/^\$/s/^\\(usage:\\)\\? *${1##*/} \\([a-z][a-z]*\\).*/\\2/p" | uniq
}

# The options: what stands before the description, or behind the program's name in the usage.
_flashsale_options() {
    sed -n "s/^  \(-\|${1##*/} -\)/\1/p" <<<"$2" | sed 's/  .*//' |
        grep -oE -- '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u
}

# The strategies that a flashsale beside the program, or else in the PATH, has.
_flashsale_strategies() {
    local program=${1%"${1##*/}"}flashsale
    [[ -x $program ]] || program=flashsale
    "$program" --list-strategies 2>/dev/null | sed -n 's/^\([a-z]*\) .*/\1/p'
}

# The words that a subcommand takes first, "latch set" for one: the third words of its usage.
_flashsale_verbs() {
    sed -n "/usage:/,/^\$/s/.*${1##*/} $2 \\([a-z][a-z]*\\) .*/\\1/p" <<<"$3"
}

# What may follow an option, in one word a line; "FILE" for names of files.
_flashsale_values() {
    local program=$1 help=$2 option=$3
    case $option in
    --strategy | --strategies | --expect-unsafe) _flashsale_strategies "$program" ;;
    --kinds) sed -n '/^  --kinds /,/^  --[^k]/s/^ \{27\}\([a-z0-9]*\)   *.*/\1/p' <<<"$help" ;;
    *) sed -n "s/^  \\(-., \\)\\?$option \\([^ ]*\\).*/\\2/p" <<<"$help" | tr '|' '\n' |
        grep -xE '[a-z]+|FILE' ;;
    esac
}

_flashsale_complete() {
    local program=$1 current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command='' at=0 i help commands values list=''
    commands=$(_flashsale_commands "$program")
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then # from here on it is another program's
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            else
                mapfile -t COMPREPLY < <(compgen -c -- "$current")
            fi
            return
        fi
        [[ -n $command ]] || ! grep -qxF -- "${COMP_WORDS[i]}" <<<"$commands" ||
            command=${COMP_WORDS[i]} at=$i
    done
    help=$(_flashsale_help "$program" "$command")

    # "--option=value" is three words.
    if [[ $current == '=' ]]; then
        current=''
    elif [[ $previous == '=' && $COMP_CWORD -gt 2 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    if [[ $previous == --* ]]; then
        values=$(_flashsale_values "$program" "$help" "$previous")
        case $values in
        FILE) mapfile -t COMPREPLY < <(compgen -f -- "$current") && compopt -o filenames 2>/dev/null ;;
        ?*)
            # In a list the last one is completed.
            [[ $previous != --*s && $previous != --expect-unsafe ]] ||
                list=${current%"${current##*,}"}
            mapfile -t COMPREPLY < <(compgen -P "$list" -W "$values" -- "${current#"$list"}")
            ;;
        esac
        [[ -z $values ]] || return
    fi
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_flashsale_options "$program" "$help")" -- "$current")
    elif [[ -z $command && -n $commands ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
    elif [[ -n $command && $COMP_CWORD -eq $((at + 1)) ]] &&
        values=$(_flashsale_verbs "$program" "$command" "$help") && [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [[ ${program##*/} == loadtest && $command != run ]]; then # result files
        mapfile -t COMPREPLY < <(compgen -f -- "$current") && compopt -o filenames 2>/dev/null
    fi
}

complete -F _flashsale_complete dlock flashsale flashsale-orders loadtest
