/** Programs and builtins that can start others, or change what later words mean, in ways not followed here. */
import { programName } from './shell-wrapper.ts'
import { anyCommandIn, started, type Started, type Words } from './started.ts'

const LAUNCHERS = new Set(
  [
    // Shell builtins whose effect reaches later commands.
    'source . alias unalias trap enable hash shopt set export declare typeset local readonly unset complete bind fc',
    // Tracers, containers, schedulers, other users, other terminals.
    'script watch parallel strace ltrace gdb lldb perf valgrind rr unshare chroot flock su runuser setpriv nsenter',
    'taskset chrt entr pkexec gosu su-exec systemd-run start-stop-daemon daemonize at batch crontab tmux screen',
    'bwrap firejail proot fakeroot rlwrap unbuffer xvfb-run dbus-run-session faketime prlimit cpulimit setarch',
    'hyperfine socat ncat nc nix-shell npx bunx pnpx uvx pipx wsl wine',
  ].flatMap((line) => line.split(' ')),
)

/** Start what follows one of these first words. */
const BY_SUBCOMMAND: Record<string, RegExp> = {
  docker: /^(run|exec|compose)$/,
  podman: /^(run|exec)$/,
  kubectl: /^(run|exec|debug)$/,
  npm: /^(exec|x)$/,
  pnpm: /^(exec|dlx)$/,
  yarn: /^(exec|dlx)$/,
  poetry: /^run$/,
  uv: /^(run|tool)$/,
  pipenv: /^run$/,
  conda: /^run$/,
  bundle: /^exec$/,
  direnv: /^exec$/,
  nix: /^(run|develop|shell)$/,
  vagrant: /^ssh$/,
}

/** What such a program may start; undefined for every other program. */
export function readLauncher(words: Words): Started | undefined {
  const [program, ...args] = words
  if (program === undefined) return undefined
  const name = programName(program)
  const why = `${name} can start or change what cannot be seen here`
  if (LAUNCHERS.has(name)) return started({ hints: anyCommandIn(args), notes: [why] })
  const subcommands = Object.hasOwn(BY_SUBCOMMAND, name) ? BY_SUBCOMMAND[name] : undefined
  const at = subcommands ? args.findIndex((arg) => arg !== undefined && !arg.startsWith('-')) : -1
  if (at < 0 || !subcommands!.test(args[at]!)) return undefined
  // Of their own rules one may be meant for exactly this: `docker compose up`.
  return started({ hints: anyCommandIn(args.slice(at + 1)), isTransparent: false })
}

/** Whether its first word alone says that such a program starts others. */
export const isLauncher = (program: string): boolean => LAUNCHERS.has(programName(program))
