import { spawn, type ChildProcess } from 'node:child_process'
import { withoutMasters } from '../streams/terminal-masters.ts'

/**
 * Kept in a shell because a shell is there on every Unix, starts in a millisecond and weighs one
 * megabyte. Lines on its standard input: `+KIND PID START` and `-KIND PID START`; KIND is `g` for a
 * process group and `p` for a single process. The end of the input means that the server is gone,
 * however it went: then everything on the list is killed, twice, because a fork may have been under
 * way. A pid that has another start by now belongs to somebody else and is left alone.
 *
 * $1: prefix of the marker variable's entry, $2: folder to remove, both may be empty.
 */
const SCRIPT = `
trap '' HUP INT TERM
newline='
'
list=''
while IFS= read -r line; do
  case $line in
    +*) list="$list\${line#+}$newline" ;;
    -*) entry="\${line#-}$newline"
        case $list in *"$entry"*) list="\${list%%"$entry"*}\${list#*"$entry"}" ;; esac ;;
  esac
done
start_of() {
  started=''
  { IFS= read -r stat < "/proc/$1/stat"; } 2>/dev/null || return
  set -- \${stat##*) }
  started=\${20}
}
kill_all() {
  printf %s "$list" | while read -r kind pid start; do
    start_of "$pid"
    if [ -n "$started" ] && [ "$start" != '?' ] && [ "$started" != "$start" ]; then continue; fi
    if [ "$kind" = g ]; then kill -s KILL -- "-$pid" 2>/dev/null
    elif [ -n "$started" ]; then kill -s KILL "$pid" 2>/dev/null; fi
  done
  [ -n "$1" ] && grep -l -a -F -- "$1" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do
    kill -s KILL "$pid" 2>/dev/null
  done
}
kill_all "$1"
sleep 0.2
kill_all "$1"
tab='\t'
[ -f "$2/mount-points" ] && while IFS= read -r line; do
  entry=\${line%%"$tab"*}; point=\${line#*"$tab"}; place=\${entry%/*}
  # Other servers may use the place; then it is theirs to take away.
  if [ -n "$entry" ]; then rm -f -- "$entry"; rmdir -- "$place"; [ -d "$place" ] && continue; fi
  rmdir -- "$point"
done < "$2/mount-points" 2>/dev/null
[ -n "$2" ] && rm -rf -- "$2"
exit 0
`

/** Removals that are not yet worth a write. */
const MAX_UNSAID_BYTES = 1_024

export type WatchedKind = 'g' | 'p'

export interface WatchdogOptions {
  /** Every process whose environment holds this text is killed too; empty for none. */
  markerEntryPrefix: string
  /** Removed at the end; empty for none. */
  folder: string
}

/**
 * Ends what we started when we are killed. Runs from the first entry on; when it is killed itself it
 * is started again with everything that is on the list.
 */
export class Watchdog {
  private readonly entries = new Set<string>()
  private shell: ChildProcess | undefined
  private isReleased = false
  private unsaid = ''

  constructor(private readonly options: WatchdogOptions) {}

  add(kind: WatchedKind, pid: number, startTicks: string | undefined): void {
    const entry = entryOf(kind, pid, startTicks)
    if (this.entries.has(entry)) return
    this.entries.add(entry)
    if (this.shell) this.tell(`+${entry}\n`)
    else this.start()
  }

  remove(kind: WatchedKind, pid: number, startTicks: string | undefined): void {
    const entry = entryOf(kind, pid, startTicks)
    // Said with the next one: an entry too many does no harm, its start is checked.
    if (this.entries.delete(entry) && this.shell) this.unsaid += `-${entry}\n`
    if (this.unsaid.length > MAX_UNSAID_BYTES) this.tell('')
  }

  /** Lets it go: it kills what is still on the list, and ends. */
  release(): void {
    this.tell('')
    this.isReleased = true
    this.shell?.stdin?.end()
    this.shell = undefined
  }

  private start(): void {
    if (this.isReleased) return
    const { markerEntryPrefix, folder } = this.options
    // A session of its own: the signals of our terminal and our group do not reach it.
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'gatehouse-watchdog', markerEntryPrefix, folder], {
      detached: true,
      cwd: '/',
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
      stdio: withoutMasters(['pipe', 'ignore', 'ignore']),
    })
    this.shell = shell
    shell.unref()
    shell.on('error', () => {})
    shell.stdin.on('error', () => {})
    ;(shell.stdin as typeof shell.stdin & { unref?(): void }).unref?.()
    shell.once('exit', () => {
      if (this.shell !== shell) return
      this.shell = undefined
      if (this.entries.size > 0) this.start()
    })
    this.unsaid = ''
    this.tell([...this.entries].map((entry) => `+${entry}\n`).join(''))
  }

  private tell(text: string): void {
    this.shell?.stdin?.write(this.unsaid + text)
    this.unsaid = ''
  }
}

function entryOf(kind: WatchedKind, pid: number, startTicks: string | undefined): string {
  return `${kind} ${pid} ${startTicks ?? '?'}`
}
