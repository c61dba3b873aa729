/**
 * Attempts to get past rules that allow reading programs only (`git status`, `ls`, `cat`, `echo`, `find`,
 * `sed -n`, `sort`, `rg`, `npm ls`, …): each makes the file P in its folder, or would with the right
 * programs there. None may be allowed by such rules.
 *
 * The folder holds: `f` (lines of text), `e.sh` (`touch P`), `p` (the same, executable), `bin/ls` and
 * `bin/git` (the same), `list` (the line `P`), `cmds` (the line `touch P`), and is a repository of git.
 */
const attempts = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => line.replaceAll('⏎', '\n').replaceAll('⇥', '\t'))

export const BYPASS_ATTEMPTS: Record<string, readonly string[]> = {
  'what the grammar reads in another way than a shell': attempts(String.raw`
    x=${'`'}ls \`touch P\`${'`'}; ls
    x="${'`'}ls \`touch P\`${'`'}"; ls
    for a in ${'`'}ls \`touch P\`${'`'}; do ls; done
    case ${'`'}ls \`touch P\`${'`'} in a) ls;; esac
    x=${'`'}echo 'a${'`'}; touch P; ${'`'}b'${'`'}; ls
    x=${'`'}ls # a${'`'}; touch P⏎${'`'}; ls
    x=${'`'}ls \$(touch P)${'`'}; ls
    x=${'`'}cat \$(touch P; echo f)${'`'}; ls
    x=$⏎touch P
    ls; x=$⏎touch P
    ls; x=$ touch P
    ls; x=$⇥touch P
    ls; x=a y=$⏎touch P
    for x in $⏎do touch P; done
    ls; x=$⏎ls; touch P
    cat <<EOF⏎x⏎EOF#$(touch P)
    cat <<'EOF'# ;touch P⏎EOF⏎ls
    ls \ #; touch P
    x=$(>P); ls
    x="$(>P)"; ls
    for x in $(>P); do ls; done
    ls x\ #y; touch P
    x="$⏎$(touch P)"; ls
    x="a $ $(touch P)"; ls
    sh -c "echo \$'a\\'; touch P #'"
    sh -c "x=\$'a\\'; touch P #'; ls"
    sh -c 'ls &>/dev/null touch P; wait'
    sh -c '((touch P))'
    touch >/dev/null P
    cat <<EOF⏎x⏎EOF#]${'`'}touch P${'`'}⏎ls
    ((touch P⏎)⏎)
    ((touch P); ls)
    ls; ((ls); touch P)
    x=$((touch P); ls); ls
    cat <((touch P); ls)
    case a in (a) ((touch P);ls);; esac
    ls; ${'`'}(touch P)${'`'}
    time { touch P; }
    ! ! { touch P; }
    coproc { touch P; }; wait
    coproc name { touch P; }; wait
    f() { touch P; } 2>/dev/null; f
    select a in b; do touch P; done <f
    for ((i = 0; i < 1; i++)); do touch P; done
    export x="$(touch P)"; ls
  `),
  'one after the other': attempts(String.raw`
    ls;touch P
    ls ;touch P;ls
    ls&&touch P
    ls nope||touch P
    ls|touch P
    ls |& touch P
    ls&touch P&wait
    ls⏎touch P
    ls⏎⏎⇥touch P
    ls #comment⏎touch P
    ls # a \⏎touch P
    ls \⏎; touch P
    ls '⏎'; touch P
    ls "a⏎b"; touch P
    ls 'it'\''s'; touch P
    echo "x\\"; touch P
    echo 'x\'; touch P
    echo x\; ; touch P
    echo "'"; touch P; echo "'"
    (ls;touch P)
    { ls;touch P;}
    ! ls;touch P
    ! { touch P;⏎}
    true;touch P
    :;touch P
    ls;;touch P
    ls;#x⏎touch P
    ls ;time touch P
    ls <<<x;touch P
    ls 2>&1;touch P
    ls 2>&1&touch P;wait
    ls >/dev/null;touch P
    ls >/dev/null&touch P;wait
    ls >&2;touch P
    git status -s && (cd . && touch P)
  `),
  'inside other words': attempts(String.raw`
    ls $(touch P)
    ls "$(touch P)"
    ls ${'`'}touch P${'`'}
    ls "${'`'}touch P${'`'}"
    ls x$(touch P)y
    echo $(echo $(touch P))
    echo "a $(echo "b $(touch P)")"
    echo $((${'`'}touch P;echo 1${'`'}))
    echo $(( $(touch P;echo 1) + 1 ))
    echo $[ $(touch P;echo 1) ]
    echo ${'${X:-$(touch P)}'}
    echo ${'${X:=$(touch P)}'}
    echo "${'${X:+a}${X-$(touch P)}'}"
    X=a; echo ${'${X/a/$(touch P)}'}
    echo ${'${X:-`touch P`}'}
    a[$(touch P)]=1 ls
    : ${'${a[$(touch P)]}'}
    ls <(touch P)
    cat <(touch P) f
    echo x > >(touch P)
    cat < <(touch P)
    ls >$(touch P;echo /dev/null)
    ls 2>"$(touch P;echo /dev/null)"
    cat <<< $(touch P)
    cat <<EOF⏎$(touch P)⏎EOF
    cat <<EOF⏎${'`'}touch P${'`'}⏎EOF
    cat <<"E"F⏎x⏎EF⏎touch P
    cat <<-EOF⏎⇥x⏎⇥EOF⏎touch P
    cat <<'EOF' ; touch P⏎x⏎EOF
    cat <<'EOF' && touch P⏎x⏎EOF
    cat <<A <<B⏎A⏎$(touch P)⏎B
    case x in x) touch P;; esac
    case $(touch P) in *) ls;; esac
    [[ -n $(touch P) ]]
    [ "$(touch P)" ]
    (( x = $(touch P;echo 1) ))
    let "x=$(touch P;echo 1)"
    for x in $(touch P); do ls; done
    for x in 1; do touch P; done
    while touch P; do break; done
    until ! touch P; do break; done
    if touch P; then ls; fi
    if ls; then touch P; fi
    if false; then ls; else touch P; fi
    select x in $(touch P); do break; done </dev/null
    echo {a,$(touch P)}
    echo ${'$'}{!$(touch P)*}
  `),
  'another name for it': attempts(String.raw`
    t=touch; $t P
    t=touch;"$t" P
    t=tou; ${'${t}'}ch P
    'touch' P
    t''ouch P
    t\ouch P
    to"uc"h P
    $'touch' P
    $'\164ouch' P
    $'\x74ouch' P
    "to"$'uc'h P
    $(echo touch) P
    ${'`'}echo touch${'`'} P
    "$(printf tou)ch" P
    /usr/bin/t*ch P
    /usr/bin/touc? P
    /usr/bin/[t]ouch P
    {touch,P}
    x={touch,P}; eval $x; touch P
    $(printf '\164ouch') P
    set touch P; "$@"
    set -- touch P; $*
    a=(touch P); "${'${a[@]}'}"
    read -r x <<< 'touch P'; $x
    printf -v x 'touch P'; $x
    declare x='touch P'; $x
    export x='touch P'; $x
    local_=1 touch P
    IFS=,; x=touch,P; $x
    /bin/../usr/bin/touch P
    //usr/bin/touch P
    ./p
    p/../p || ./p
    ~+/p
    $PWD/p
    "$PWD"/p
  `),
  'through another program': attempts(String.raw`
    env touch P
    env -i /usr/bin/touch P
    env - /usr/bin/touch P
    env X=1 touch P
    env -u X touch P
    env -S 'touch P'
    env -S'touch P'
    env --split-string='touch P'
    env -C . touch P
    env --chdir=. touch P
    command touch P
    command -p touch P
    command -- touch P
    builtin command touch P
    exec touch P
    exec -a ls touch P
    eval touch P
    eval 'touch' 'P'
    eval "$(echo touch P)"
    eval -- touch P
    builtin eval touch P
    nohup touch P
    nice touch P
    nice -5 touch P
    timeout 5 touch P
    timeout --foreground 5 touch P
    timeout -s KILL 5 touch P
    stdbuf -o0 touch P
    setsid touch P
    setsid -w touch P
    ionice touch P
    chrt -o 0 touch P
    taskset 1 touch P
    setarch -R touch P
    flock f touch P
    flock f -c 'touch P'
    xargs touch <list
    xargs -a list touch
    xargs -I{} touch {} <list
    echo P | xargs touch
    echo touch P | xargs -I{} sh -c '{}'
    sh -c 'touch P'
    sh -c "touch P" ls
    sh -ec 'touch P'
    bash -c 'touch P'
    bash -lc 'touch P'
    bash -xc 'touch P'
    bash +x -c 'touch P'
    bash --norc -c 'touch P'
    bash -o errexit -c 'touch P'
    bash -c 'bash -c "touch P"'
    bash -c '"$@"' _ touch P
    bash -c '$0 $1' touch P
    bash e.sh
    bash ./e.sh
    bash < e.sh
    bash <<< 'touch P'
    bash <<'EOF'⏎touch P⏎EOF
    bash <(echo touch P)
    cat e.sh | bash
    cat e.sh|sh -s
    echo 'touch P' | sh
    echo 'touch P' | tee /dev/null | sh
    source e.sh
    . ./e.sh
    . e.sh ls
    source /dev/stdin <<< 'touch P'
    source <(echo touch P)
    perl -e 'system("touch P")'
    perl -e '${'`'}touch P${'`'}'
    perl -ne 'system "touch P"' f
    awk 'BEGIN{system("touch P")}'
    awk 'BEGIN{"touch P"|getline}'
    awk 'BEGIN{print "x" > "P"}'
    python3 -c 'open("P","w")'
    python3 <<'EOF'⏎open("P","w")⏎EOF
    echo 'open("P","w")' | python3
    node -e 'require("fs").writeFileSync("P","")'
    script -qc 'touch P' /dev/null
    coproc touch P; wait
    trap 'touch P' EXIT
    trap 'touch P' DEBUG; ls
    trap 'touch P' ERR; ls nope
    mapfile -C 'touch P #' -c 1 x < f
    complete -C 'touch P' ls; compgen -C 'touch P' ls
    (exec touch P)
    time touch P
    time -p touch P
    dd if=/dev/null of=P
    cp f P
    install f P
    ln -s f P
    mkdir P
    mkfifo P
    split -a 1 f P && mv Pa P
    truncate -s 1 P
    tee P <f
    sed 'w P' f
    sed -n -e 'w P' f
    sed -n '1e touch P' f
    sed -ne '1e touch P' f
    sed -n 's/o/touch P/e' f
    sed -n --expression='w P' f
    sed -n -f <(echo 'w P') f
    sed -n '1{w P⏎}' f
    sed -n '/o/w P' f
    sed -n 'p;w P' f
  `),
  'what came before': attempts(String.raw`
    ls(){ touch P; }; ls
    function ls { touch P; }; ls
    function ls() (touch P); ls
    ls() if true; then touch P; fi; ls
    alias ls='touch P'
    shopt -s expand_aliases⏎alias ls='touch P'⏎ls
    PATH=$PWD/bin:$PATH; ls
    PATH=$PWD/bin:$PATH ls
    export PATH=$PWD/bin:$PATH; ls
    PATH=bin; ls
    PATH=$PWD/bin:$PATH git status
    hash -p $PWD/p ls; ls
    enable -n echo; PATH=$PWD/bin:$PATH; ls
    BASH_ENV=$PWD/e.sh bash -c ls
    export BASH_ENV=$PWD/e.sh; bash -c ls
    ENV=$PWD/e.sh sh -ic ls
    PS4='$(touch P)'; set -x; ls
    PS4='$(touch P)' bash -xc ls
    PROMPT_COMMAND='touch P' bash -i -c ls || touch P
    GIT_EXTERNAL_DIFF=./p git diff HEAD
    GIT_PAGER=./p git -p log
    PAGER=./p git --paginate log
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=./p git status
    GIT_CONFIG_PARAMETERS="'core.fsmonitor=./p'" git status
    LESSOPEN='|touch P' less f
    NODE_OPTIONS="--require=$PWD/e.js" npm ls
    RIPGREP_CONFIG_PATH=$PWD/rgrc rg o f
    _(){ touch P; }; _
    set -o posix; . ./e.sh
    shopt -s extdebug; trap 'touch P' DEBUG; ls
    command_not_found_handle() { touch P; }; nosuchprogram
    exec 3>P
    exec >P; ls
    { ls; } >P
    ls >P
    ls > P
    ls >>P
    ls >|P
    ls &>P
    ls 1>P
    ls 2>P
    ls 3>P
    ls <>P
    echo x >& P
    echo x >./P
    echo x >"P"
    >P
    >P ls
    cat f >P
    git status >P
    echo x 1>/dev/null >P
    echo x >/dev/null 2>P
    (ls) >P
    { ls;}>P
    cd . && ls >P
    cd bin && ./ls; mv P ..
  `),
  'through variables, loops and functions': attempts(String.raw`
    for c in ls touch; do $c P; done
    for c in touch; do "$c" P; done
    for c in 'touch P'; do $c; done
    for c in 'touch P'; do eval "$c"; done
    for c in to; do ${'${c}'}uch P; done
    for c in ls; do c=touch; $c P; done
    for c in ls ls; do $c P; c=touch; done; $c P
    for c in ls; do for c in touch; do :; done; $c P; done
    for PATH in $PWD/bin; do ls; done
    for IFS in ,; do x=touch,P; $x; done
    for BASH_ENV in $PWD/e.sh; do export BASH_ENV; bash -c ls; done
    for path in bin; do ls; done; touch P
    for f in $(touch P); do ls; done
    for f in "$(touch P)"; do ls $f; done
    for f in ${'${x:=touch}'}; do $x P; done
    for f in f; do ls; done >P
    for f in P; do ls >$f; done
    for f in P; do >$f; done
    for ((x=0;x<1;x++)); do touch P; done
    for ((x=$(touch P;echo 0);x<0;)); do ls; done
    c=ls; c=touch; $c P
    c=ls; if ls; then c=touch; fi; $c P
    c=ls; if ls; then c=touch; else c=ls; fi; $c P
    c=ls; ls && c=touch; $c P
    c=ls; false || c=touch; $c P
    c=ls; ls && c=touch || c=ls; $c P
    c=ls; while ls; do c=touch; break; done; $c P
    c=ls; while ls; do c=touch; break; c=ls; done; $c P
    c=ls; while ls; do c=touch; ls && break; c=ls; done; $c P
    c=ls; while ls; do c=touch; eval break; c=ls; done; $c P
    c=ls; while ls; do while ls; do c=touch; break 2; done; c=ls; done; $c P
    c=ls; for i in 1 2; do $c P; c=touch; done
    c=ls; d=ls; for i in 1 2 3; do $c P; c=$d; d=touch; done
    c=ls; for i in 1 2; do if [ "$i" = 2 ]; then $c P; fi; c=touch; continue; c=ls; done
    c=ls; case f in f) c=touch;; esac; $c P
    c=ls; case f in g) ls;; *) c=touch;; esac; $c P
    c=touch; case f in f) $c P;; *) ls;; esac
    c=touch; (c=ls); $c P
    c=touch; c=ls | $c P
    c=touch; echo $(c=ls); $c P
    c=ls; { c=touch; }; $c P
    c=ls d=$c; c=touch d=$c; $d P
    c=touch; d=$c; $d P
    c=touch d=$c; $d P
    c=ls; c+=x; c=touch; $c P
    c=ls; read c <<< touch; $c P
    c=ls; read -r c < <(echo touch); $c P
    c=ls; printf -v c touch; $c P
    c=ls; printf -vc touch; $c P
    c=ls; eval c=touch; $c P
    c=ls; eval "c=tou""ch"; $c P
    c=ls; command eval c=touch; $c P
    c=ls; builtin eval c=touch; $c P
    c=ls; . /dev/stdin <<< c=touch; $c P
    c=ls; source <(echo c=touch); $c P
    c=ls; declare c=touch; $c P
    c=ls; declare -g c=touch; $c P
    c=ls; typeset c=touch; $c P
    c=ls; export c=touch; $c P
    c=ls; declare -n n=c; n=touch; $c P
    c=ls; n=c; declare "$n=touch"; $c P
    c=ls; let 'x=1'; mapfile -t c <<< touch; $c P
    c=ls; readarray -t c <<< touch; $c P
    c=ls; : ${'${d:=touch}'}; $d P
    c=ls; : $((c=1)); touch P
    c=ls; x=$((d=1)); : ${'${e:=touch}'}; $e P
    c=ls; getopts t c -t; ${'${c}'}ouch P
    c=ls; trap 'c=touch' DEBUG; $c P
    c=ls; f() { c=touch; }; f; $c P
    c=ls; f() { c=touch; return; c=ls; }; f; $c P
    c=ls; f() { ls && return; c=ls; }; c=touch; f; $c P
    c=ls; f() { c=touch; }; ls | f; f; $c P
    f() { $1 P; }; f touch
    f() { $1 P; }; f ls; f touch
    f() { "$@"; }; f touch P
    f() { $*; }; f touch P
    f() { shift; $1 P; }; f ls touch
    f() { set touch; $1 P; }; f ls
    f() { g; }; g() { touch P; }; f
    f() { ls; }; g() { f() { touch P; }; }; g; f
    f() { ls; }; if ls; then f() { touch P; }; fi; f
    f() { touch P; }; x=f; $x
    f() { touch P; }; 'f'
    f() { touch P; }; ls | f
    f() { touch P; }; (f)
    f() { touch P; }; echo $(f)
    f() { touch P; }; time f
    f() { touch P; }; ! f
    f() { touch P; }; eval f
    ls() { $1 P; }; ls echo; time ls touch
    ls() { $1 P; }; ls echo; eval 'ls touch'
    ls() { $1 P; }; ls echo; ! { ls touch; }
    eval() { :; }; c=ls; eval c=touch; $c P
    set() { :; }; set -- touch; $1 P
    f() { touch P; } >/dev/null; f
    f() ( touch P ); f
    f() for i in 1; do touch P; done; f
    function ls { touch P; }; ls
    echo() { touch P; }; echo x
    [() { touch P; }; [ -f f ]
    TRAPEXIT() { touch P; }; trap TRAPEXIT EXIT; ls
    x=touch; [ -f f ] && $x P
    [ f > P ]
    [[ f > P ]] || touch P
    [[ -v a[$(touch P)] ]]
    [ -v 'a[$(touch P)]' ]
    x='a[$(touch P)]'; [[ $x -eq 1 ]]
    x='a[$(touch P)]'; [[ 1 -eq x ]]
    x='a[$(touch P)]'; (( x ))
    [ "$(touch P)" = x ]
    [[ f = f && -n $(touch P) ]]
    while [ -n "$(touch P)" ]; do ls; done
    case "$(touch P)" in x) ls;; esac
    case x in $(touch P)) ls;; esac
    case x in a$(touch P)b) ls;; esac
    case x in *$(touch P)*) ls;; esac
    case x in "$(touch P)"*) ls;; esac
    case x in @($(touch P)|x)) ls;; esac
    case x in [$(touch P)]) ls;; esac
    case x in ?${'`'}touch P${'`'}) ls;; esac
    case x in ${'${x/$(touch P)/}'}) ls;; esac
    [[ x == @($(touch P)) ]]
    [[ x == *$(touch P)* ]]
    [[ x == "$(touch P)" ]]
    c=touch; { c=ls; } > bin; $c P
    c=touch; c=ls > bin; $c P
    c=touch; f() { c=ls; }; f > bin; $c P
    c=touch; { c=ls; } < nope; $c P
    c=touch; { c=ls; } >nope/x; $c P
    c=touch; for c in ls; do :; done > bin; $c P
    c=touch; if ls; then c=ls; fi > bin; $c P
    c=touch; while ls; do c=ls; break; done > bin; $c P
    case x in ${'${y:=touch}'}) ls;; esac; $y P
    x=${'${y:=touch}'}; $y P
    x=${'`'}touch P${'`'}; ls
    x="$(touch P)"; ls
    x=(touch P); "${'${x[@]}'}"
    x[$(touch P)]=1; ls
    npm_config_script_shell=./p; npm test; touch P
    until touch P; do ls; done
    if ! touch P; then ls; fi
    if ls; then if ls; then touch P; fi; fi
    while ls; do touch P; break; done
    { for i in 1; do touch P; done; }
    x=1; while ls; do case $x in 1) touch P; break;; esac; done
    alias c=touch; x=c; $x P; touch P
    x=P; cat f >$x
    x=./p; $x
    x=p; ./$x
    x=find; $x . -maxdepth 0 -exec touch P \;
    x=-exec; find . -maxdepth 0 $x touch P \;
    for o in -o; do sort $o P f; done
    for o in --output=P; do git diff "$o" HEAD; done
    a=w; sed -n "$a P" f
    f() { sed -n "$1" f; }; f 'w P'
    set -a; x=touch; $x P
    x=$'\x74ouch'; $x P
    y=touch; x=y; ${'${!x}'} P
    x=touch y; $x P; touch P
    x=ls; unset x; x=touch; $x P
    x=ls; test -n "$x" && x=touch; $x P
  `),
  'with arguments of allowed programs': attempts(String.raw`
    git -c core.pager='touch P;cat' -p log
    git -c core.fsmonitor='touch P;:' status
    git -c alias.status='!touch P' status
    git -c alias.x='!touch P' x
    git -ccore.fsmonitor='touch P;:' status
    git --config-env=core.fsmonitor=X status
    git --exec-path=$PWD/bin status
    git -c diff.external='touch P;:' diff HEAD
    git -c core.sshCommand='touch P;:' ls-remote ssh://h/r
    git -c core.editor='touch P;:' commit --amend
    git -c core.hooksPath=bin commit --allow-empty -m x
    git config core.pager ./p
    git config alias.x '!touch P'; git x
    git diff --output=P HEAD
    git diff --outpu=P HEAD
    git log --output=P
    git log -1 --output P
    git show --output=P
    git diff --no-index --output=P f e.sh
    git grep -O./p o
    git grep --open-files-in-pager=./p o
    git grep -nO./p o
    git branch P2 && touch P
    git branch --edit-description
    git branch -D main
    git bisect run touch P
    git rebase -x 'touch P' HEAD
    git submodule foreach 'touch P'
    git stash && touch P
    git archive -o P HEAD
    git bundle create P HEAD
    git format-patch -o P HEAD
    git difftool -y -x 'touch P;:' HEAD
    git mergetool
    git clone . P
    git worktree add P
    git checkout-index --prefix=P f
    git --git-dir=.git --work-tree=. status && touch P
    find . -maxdepth 0 -exec touch P \;
    find . -maxdepth 0 -exec touch P ';'
    find . -maxdepth 0 -execdir touch P \;
    find . -maxdepth 0 -exec touch P {} +
    find . -maxdepth 0 -exec sh -c 'touch P' \;
    find . -fprint P
    find . -maxdepth 0 -fprintf P x
    find . -fls P
    find . -fprint0 P
    find . -name f -delete; touch P
    find . -files0-from /dev/null; touch P
    sort -o P f
    sort f -oP
    sort -oP f
    sort --output=P f
    sort --outp P f
    sort -rnoP f
    sort --compress-program=./p -S1 f
    sort -T . --compress-program ./p f
    rg --pre ./p o f
    rg --pre=./p o f
    rg --hostname-bin=./p --hyperlink-format='{host}' o f
    rg -z o f
    sed -n -i p f; touch P
    sed -n --in-place=P p f
    sed -ni.P p f
    npm ls --node-options='--require ./e.js'
    npm --prefix bin test
    npm test --script-shell=./p
    npm ls --prefix bin; npm --script-shell ./p test
    cat f | sort -o P
    cat f | xargs touch P
    echo P | xargs -n1 touch
    ls | sed -n 'w P'
    ls | awk '{print > "P"}'
    ls | perl -e 'open(F,">P")'
    ls | tee P
  `),
  'what cannot be seen': attempts(String.raw`
    ls ‮;touch P
    l​s; touch P
    ls ;touch P
    ls﻿;touch P
    ls ; touch P
    "ls"; touch P # ‮
    lѕ || touch P
    echo ‮ok‬; touch P
  `),
}
