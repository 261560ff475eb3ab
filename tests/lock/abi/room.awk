# Reads what abidiff says of changed types, and prints all of it but the changes that an old program
# does not notice: members that have taken their place in the room of their struct, `reserved`, where
# the struct's size and all its other members are as they were. Exits with 1 when it prints anything;
# so it does with words that it does not know.

function finish() {
    if (block != "" && !(same_size && room != "" && lowest >= room + 0 && !strange)) {
        printf "%s", block
        bad = 1
    }
    block = ""
}

# The number behind `word`.
function number(word) {
    return substr($0, index($0, word) + length(word)) + 0
}

/^(Leaf changes|Changed leaf types|Removed\/Changed\/Added [a-z]+) summary:/ { next }
/^$/ { next }

# The first line of what is said of one artifact.
/^[^ ]/ {
    finish()
    block = $0 "\n"
    same_size = strange = part = 0
    room = ""
    lowest = 1e9
    if ($0 !~ /^'struct dlock_[a-z_]+' changed:$/)
        strange = 1
    next
}

{ block = block $0 "\n" }
/^  type size hasn't changed$/ { same_size = 1; next }
/^  [0-9]+ data member insertions?:$/ { part = "inserted"; next }
/^  [0-9]+ data member deletions?:$/ { part = "deleted"; next }
/^  (there are|[0-9]+) data member changes?.*:$/ { part = "changed"; next }

part == "inserted" && /^    '.*', at offset [0-9]+ \(in bits\)/ {
    if (number("at offset ") < lowest)
        lowest = number("at offset ")
    next
}

# All of the room is taken.
part == "deleted" && /^    'uint64_t reserved\[[0-9]+\]', at offset [0-9]+ \(in bits\)/ {
    room = number("at offset ")
    next
}

# Some of it, and the rest begins later.
part == "changed" && /^    type 'uint64_t\[[0-9]+\]' of '[a-z_]+::reserved' changed:$/ { next }
part == "changed" && /^      type name changed from 'uint64_t\[[0-9]+\]' to 'uint64_t\[[0-9]+\]'$/ { next }
part == "changed" && /^      array type (size|subrange 1) changed / { next }
part == "changed" && /^    and offset changed from [0-9]+ to / {
    room = number("changed from ")
    next
}

{ strange = 1 }
END {
    finish()
    exit bad
}
