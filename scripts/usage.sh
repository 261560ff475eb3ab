# shellcheck shell=sh
# What a script says to --help, and to a word that it does not know. Sourced from the top of the tree.

# Prints the opening comment of the script, which is $usage_of where it is not of this folder.
show_usage() {
    sed -n '1d; /^#/!q; /^# shellcheck/d; s/^# \{0,1\}//p' "${usage_of:-scripts/${0##*/}}"
    exit 0
}

refuse() {
    echo "${0##*/}: what is '$1'? See ${usage_of:-scripts/${0##*/}} --help" >&2
    exit 64
}

# no_words "$@": for a script that takes none.
no_words() {
    [ $# = 0 ] || [ "$1" != --help ] || show_usage
    [ $# = 0 ] || refuse "$1"
}
