# Reads what abidiff says of changed types, and prints all of it but the changes that an old program
# does not notice: members that have taken their place in the room of their struct, `reserved`, where
# the struct's size and all its other members are as they were. They fill the words that they take:
# what a program has in padding is not zero by what it sets to zero, and an earlier library would
# refuse it. Exits with 1 when it prints anything; so it does with words that it does not know.

function finish() {
    taken = first == room && filled == rest # as much as the room has lost, from its beginning on
    if (block != "" && !(same_size && !strange && taken && (room != "" || nested))) {
        printf "%s", block
        bad = 1
    }
    block = ""
}

# The number behind `word`.
function number(word) {
    return substr($0, index($0, word) + length(word)) + 0
}

# The bits of the member in quotes; 0: not known.
function width(member,    bits) {
    bits = 0
    if (member ~ /\*/ || member ~ /^(u?int64_t|size_t|double) /)
        bits = 64
    else if (member ~ /^(u?int32_t|int|unsigned int|dlock_[a-z_]+) /)
        bits = 32
    else if (member ~ /^(bool|char|u?int8_t) /)
        bits = 8
    if (match(member, /\[[0-9]+\]$/))
        bits *= substr(member, RSTART + 1, RLENGTH - 2)
    return bits
}

/^(Leaf changes|Changed leaf types|Removed\/Changed\/Added [a-z]+) summary:/ { next }
/^$/ { next }

# The first line of what is said of one artifact.
/^[^ ]/ {
    finish()
    block = $0 "\n"
    same_size = strange = nested = of_room = part = 0
    room = first = filled = rest = ""
    if ($0 !~ /^'struct dlock_[a-z_]+' changed:$/)
        strange = 1
    next
}

{ block = block $0 "\n" }
/^  type size hasn't changed$/ { same_size = 1; next }
/^  [0-9]+ data member insertions?:$/ { part = "inserted"; next }
/^  [0-9]+ data member deletions?:$/ { part = "deleted"; next }
/^  (there are|[0-9]+) data member changes?.*:$/ { part = "changed"; next }

# In the order of their places: each begins where the one before has ended.
part == "inserted" && /^    '.*', at offset [0-9]+ \(in bits\)/ {
    split($0, quoted, "'")
    if (first == "")
        first = filled = number("at offset ")
    if (number("at offset ") != filled)
        strange = 1
    filled += width(quoted[2])
    next
}

# All of the room is taken.
part == "deleted" && /^    'uint64_t reserved\[[0-9]+\]', at offset [0-9]+ \(in bits\)/ {
    room = number("at offset ")
    rest = room + 64 * number("reserved[")
    next
}

# Some of it, and the rest begins later.
part == "changed" && /^    type 'uint64_t\[[0-9]+\]' of '[a-z_]+::reserved' changed:$/ {
    of_room = 1
    next
}
part == "changed" && /^      type name changed from 'uint64_t\[[0-9]+\]' to 'uint64_t\[[0-9]+\]'$/ { next }
part == "changed" && /^      array type (size|subrange 1) changed / { next }
part == "changed" && of_room && /^    and offset changed from [0-9]+ to / {
    room = number("changed from ")
    rest = number(" to ")
    next
}

# A struct in this one, of which more is said where it is the first line.
part == "changed" && /^    type 'typedef dlock_[a-z_]+' of '[a-z_:]+' changed:$/ {
    of_room = 0
    next
}
part == "changed" && /^      underlying type 'struct dlock_[a-z_]+' changed, as reported earlier$/ {
    nested = 1
    next
}

{ strange = 1 }
END {
    finish()
    exit bad
}
