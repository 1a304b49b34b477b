# Shared by the peer scripts: run directory, certificate, option parsing.
# Sets: DIR PORT HTTP ARCHIVE CPU DAEMON BINARY (options after NAME's defaults).

die() { echo "${0##*/}: $*" >&2; exit 1; }

parse_options() {
    while [ $# -gt 0 ]; do
        case $1 in
            --dir) DIR=$2; shift 2 ;;
            --port) PORT=$2; shift 2 ;;
            --http) HTTP=$2; shift 2 ;;
            --archive) ARCHIVE=$2; shift 2 ;;
            --cpu) CPU=$2; shift 2 ;;
            --daemon) DAEMON=1; shift ;;
            --fresh) FRESH=1; shift ;;
            --binary) BINARY=$2; shift 2 ;;
            *) die "unknown option $1 (see the head of this script)" ;;
        esac
    done
    [ "${FRESH:-0}" = 0 ] || rm -rf "$DIR"
    mkdir -p "$DIR"
    DIR=$(cd "$DIR" && pwd)
}

make_certificate() {
    [ -s "$DIR/cert.pem" ] && return
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
        -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,DNS:conference.localhost,DNS:upload.localhost' \
        -keyout "$DIR/key.pem" -out "$DIR/cert.pem" 2>/dev/null
    cat "$DIR/key.pem" "$DIR/cert.pem" > "$DIR/both.pem"
}

# launch CMD...: in the foreground, or with --daemon detached; prints the pid.
# exec keeps the pid of the shell for the server itself.
launch() {
    local pin=() fd
    # A server must not hold on to descriptors of its caller (a lock, say).
    for fd in /proc/$BASHPID/fd/*; do
        fd=${fd##*/}
        [ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
    done
    [ -z "${CPU:-}" ] || pin=(taskset -c "$CPU")
    ulimit -n "$(ulimit -Hn)"
    if [ "${DAEMON:-0}" = 1 ]; then
        setsid "${pin[@]}" "$@" > "$DIR/output.log" 2>&1 < /dev/null &
        local pid=$!
        local poll=0.1
        for _ in $(seq 300); do
            if (exec 3<> "/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then
                echo "$pid" > "$DIR/pid"
                echo "$pid"
                return
            fi
            kill -0 "$pid" 2>/dev/null || break
            sleep "$poll"
        done
        tail -n 20 "$DIR/output.log" >&2
        die "server did not come up on port $PORT"
    fi
    echo $$ > "$DIR/pid"
    echo $$ >&2
    exec "${pin[@]}" "$@"
}
