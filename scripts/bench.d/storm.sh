#!/bin/bash
# Connections that are of no use, until it is ended: storm.sh PORT IDLE SLOW
#
# IDLE have had an answer and say no more; SLOW send a byte of a request a second, and come again
# when they are sent away. Says "ready" when all are there.
set -u
trap '' PIPE
port=$1 idle=$2 slow=$3
slow_fds=()

connect() { # BYTES; sets fd
    exec {fd}<>"/dev/tcp/127.0.0.1/$port" && printf '%b' "$1" >&"$fd"
}

connect_slow() { # NUMBER: every other in the body, not in the head
    local head='GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: '
    [ $(($1 % 2)) = 0 ] || head='POST /buy HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n'
    connect "$head" && slow_fds[$1]=$fd
}

for ((i = 0; i < idle; i++)); do
    connect 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n' && read -r _ <&"$fd"
done
for ((i = 0; i < slow; i++)); do connect_slow "$i"; done
echo ready
while sleep 1; do
    for ((i = 0; i < slow; i++)); do
        fd=${slow_fds[$i]}
        { printf 0 >&"$fd"; } 2>/dev/null || { exec {fd}>&- && connect_slow "$i"; }
    done
done
