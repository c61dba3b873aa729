import { parseArgs } from 'node:util'
import { AUTHORIZATION_FLAGS, AuthorizationFlagError, authorizationOf } from '../../rpc/authorization-flags.ts'
import { anybody, type Authorize } from '../../rpc/authorization.ts'
import { isEnvironmentId } from '../remote/environment-id.ts'
import { parseListenUrl, type ListenAddress } from './listen-url.ts'

/** Where the server is registered instead of listening. */
export interface RemoteAddress {
  kind: 'remote'
  baseUrl: string
  environmentId: string
  /** What it shows to the registry; undefined: the first line of stdin. */
  token: string | undefined
  endsWithStdin: boolean
  /** The exec server that gets the streams; undefined: this one. */
  forwardTo: string | undefined
}

export interface CommandLine {
  address: ListenAddress | RemoteAddress
  authorize: Authorize
  isAuthorized: boolean
}

/** The command line cannot be used: `exitCode` as the reference has it. */
export class CommandLineError extends Error {
  override readonly name = 'CommandLineError'
  constructor(
    message: string,
    readonly exitCode: 1 | 2,
  ) {
    super(message)
  }
}

export const USAGE = `usage: gatehouse exec-server [--listen ws://IP:PORT | stdio]

  --listen URL                     ws://IP:PORT (port 0 picks one) or stdio; default ws://127.0.0.1:0
  --ws-auth capability-token       with --ws-token-file FILE or --ws-token-sha256 HEX
  --ws-auth signed-bearer-token    with --ws-shared-secret-file FILE
                                   [--ws-issuer I] [--ws-audience A] [--ws-max-clock-skew-seconds S]
  --remote URL                     registers at this registry and serves whom it lets in, with
     --environment-id ID           the environment it is registered for
     [--registration-bearer-stdin] the token is the first line of stdin; otherwise CODEX_API_KEY
     [--exit-on-stdin-close]       ends when stdin does
     [--name N]                    accepted; nothing shows it

       gatehouse exec-server forward --connect ws://IP:PORT --remote URL --environment-id ID …
                                   hands whom the registry lets in to an exec server that runs already

  --concurrent-requests N          accepted for the sake of other clients' scripts; requests never wait
                                   for each other here
`

const OPTIONS = {
  listen: { type: 'string' },
  ...AUTHORIZATION_FLAGS,
  'concurrent-requests': { type: 'string' },
  remote: { type: 'string' },
  connect: { type: 'string' },
  'environment-id': { type: 'string' },
  name: { type: 'string' },
  'registration-bearer-stdin': { type: 'boolean' },
  'exit-on-stdin-close': { type: 'boolean' },
} as const
type Values = { [K in keyof typeof OPTIONS]?: (typeof OPTIONS)[K]['type'] extends 'boolean' ? boolean : string }

/**
 * Reads the arguments of `gatehouse exec-server`.
 * @throws CommandLineError, ListenUrlError
 */
export function parseCommandLine(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): CommandLine {
  const isForwarding = argv[0] === 'forward'
  const values = parseFlags(isForwarding ? argv.slice(1) : argv)
  const requests = values['concurrent-requests']
  if (requests !== undefined && !(isWholeNumber(requests) && Number(requests) >= 1))
    throw new CommandLineError(`--concurrent-requests: "${requests}" is not a number of at least 1`, 2)
  const remote = remoteAddress(values, environment, isForwarding)
  if (remote) return { address: remote, authorize: anybody, isAuthorized: true }
  const address = parseListenUrl(values.listen ?? 'ws://127.0.0.1:0')
  const authorize = authorization(values)
  if (address.kind === 'websocket' && !authorize && !isLoopback(address.host))
    throw new CommandLineError(
      `refusing to listen on ${address.host} without --ws-auth: whoever reaches the port could run commands here. ` +
        'Add --ws-auth, or listen on 127.0.0.1 and use a tunnel',
      1,
    )
  return { address, authorize: authorize ?? anybody, isAuthorized: authorize !== undefined }
}

function parseFlags(argv: readonly string[]): Values {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: false }).values
  } catch (error) {
    throw new CommandLineError(`${(error as Error).message}\n\n${USAGE}`, 2)
  }
}

const WITH_REMOTE = ['connect', 'environment-id', 'name', 'registration-bearer-stdin', 'exit-on-stdin-close'] as const
const NOT_WITH_REMOTE = [
  'listen',
  ...(Object.keys(AUTHORIZATION_FLAGS) as (keyof typeof AUTHORIZATION_FLAGS)[]),
] as const

function remoteAddress(
  values: Values,
  environment: Readonly<Record<string, string | undefined>>,
  isForwarding: boolean,
): RemoteAddress | undefined {
  const { remote, connect, 'environment-id': environmentId } = values
  const given = (names: readonly (keyof Values)[]) => names.find((name) => values[name] !== undefined)
  if (remote === undefined) {
    const lonely = given(WITH_REMOTE)
    if (isForwarding || lonely !== undefined)
      throw new CommandLineError(`${isForwarding ? 'forward' : `--${lonely}`} needs --remote`, 2)
    return undefined
  }
  const stray = given(NOT_WITH_REMOTE)
  if (stray !== undefined) throw new CommandLineError(`--${stray} does not go with --remote`, 2)
  if (isForwarding !== (connect !== undefined))
    throw new CommandLineError('forward and --connect go together, as in: forward --connect ws://127.0.0.1:4512', 2)
  if (connect !== undefined && !/^wss?:\/\/[^/]/.test(connect))
    throw new CommandLineError(`--connect: expected ws://HOST:PORT, got "${connect}"`, 1)
  if (!/^https?:\/\/[^/]/.test(remote))
    throw new CommandLineError(`--remote: expected https://HOST…, got "${remote}"`, 1)
  if (environmentId === undefined) throw new CommandLineError('--remote needs --environment-id', 2)
  if (!isEnvironmentId(environmentId))
    throw new CommandLineError(`--environment-id: "${environmentId}" may have letters, digits, - and _ only`, 1)
  const takesStdin = values['registration-bearer-stdin'] === true
  const token = takesStdin ? undefined : environment.CODEX_API_KEY?.trim()
  if (!takesStdin && !token)
    throw new CommandLineError(
      '--remote needs CODEX_API_KEY, or --registration-bearer-stdin with the token on stdin',
      1,
    )
  return {
    kind: 'remote',
    baseUrl: remote,
    environmentId,
    token,
    endsWithStdin: values['exit-on-stdin-close'] === true,
    forwardTo: connect,
  }
}

function authorization(values: Values): Authorize | undefined {
  try {
    return authorizationOf(values)
  } catch (error) {
    if (error instanceof AuthorizationFlagError) throw new CommandLineError(error.message, error.exitCode)
    throw error
  }
}

const isWholeNumber = (text: string): boolean => /^\d{1,15}$/.test(text)

function isLoopback(host: string): boolean {
  return host.startsWith('127.') || new URL(`ws://${host.includes(':') ? `[${host}]` : host}/`).hostname === '[::1]'
}
