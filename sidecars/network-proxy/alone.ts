/** The proxy as a command: `gatehouse proxy --http 127.0.0.1:0 --allow HOST --deny HOST`. */
import { parseArgs } from 'node:util'
import type { NetworkRule } from '../protocol/host-channel.ts'
import type { RuleId } from '../protocol/ids.ts'
import { UnusableAuthority } from './certificates/own-authority.ts'
import { ConfigError, parseNetworkConfig, rulesOfDomains, type NetworkConfig } from './config/network-config.ts'
import { readConfigFile } from './config/config-file.ts'
import { ConfigWatcher } from './config/config-watcher.ts'
import { checkConfig } from './managed/check-config.ts'
import { loadRequirements, type Requirements } from './managed/requirements.ts'
import { InvalidRule } from './policy/rule-table.ts'
import { parseInspection } from './inspection/inspection-config.ts'
import { NetworkProxy } from './proxy.ts'
import { auditWriter } from './records/audit-writer.ts'
import { responsesProxy } from './responses-proxy.ts'
import type { ProxySettings } from './settings.ts'
import { stdioToUds } from './stdio-to-uds.ts'

const USAGE = `usage: gatehouse proxy [--http ADDRESS] [--socks ADDRESS] [--allow HOST]... [--deny HOST]...
                       [--config FILE] [--requirements FILE] [--audit FILE] [--json]

Runs the network proxy by itself. A host that no rule allows is refused; nobody is asked.
  --http ADDRESS    where to listen for HTTP (default 127.0.0.1:3128; port 0 picks a free one)
  --socks ADDRESS   where to listen for SOCKS5 (off unless given here or in the file)
  --allow, --deny   host, *.host, **.host, each with an optional :port; repeatable; deny wins
  --config FILE     network settings in TOML or JSON; changes are taken over while it runs
  --requirements FILE
                    what the administrator demands (default: the file of this machine, if there is one)
  --audit FILE      one JSON line per decision
  --json            print the addresses (and the trust bundle) as one JSON line instead of one URL a line
`

interface Options {
  http?: string
  socks?: string
  allow: string[]
  deny: string[]
  config?: string
  requirements?: string
  audit?: string
  json: boolean
  help: boolean
}

/**
 * The proxy, or one of its companions when the first argument names one. Runs until SIGINT or SIGTERM;
 * resolves with the exit code (2: the arguments or the file cannot be used).
 */
export async function alone(argv: string[]): Promise<number> {
  if (argv[0] === 'responses-proxy') return responsesProxy(argv.slice(1))
  if (argv[0] === 'stdio-to-uds') return stdioToUds(argv.slice(1))
  let options: Options
  try {
    options = readOptions(argv)
  } catch (error) {
    return fail(2, `${(error as Error).message}\n${USAGE}`)
  }
  if (options.help) {
    process.stdout.write(USAGE)
    return 0
  }
  try {
    return await serve(options)
  } catch (error) {
    if (error instanceof ConfigError || error instanceof InvalidRule || error instanceof UnusableAuthority)
      return fail(2, error.message)
    const { code, message } = error as NodeJS.ErrnoException
    return fail(1, code === 'EADDRINUSE' ? `${message}; choose another port, or 0 for any free one` : message)
  }
}

function readOptions(argv: string[]): Options {
  const { values } = parseArgs({
    args: argv,
    options: {
      http: { type: 'string' },
      socks: { type: 'string' },
      allow: { type: 'string', multiple: true, default: [] },
      deny: { type: 'string', multiple: true, default: [] },
      config: { type: 'string' },
      requirements: { type: 'string' },
      audit: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false, short: 'h' },
    },
  })
  return values as Options
}

async function serve(options: Options): Promise<number> {
  const stopped = stopSignal()
  const requirements = await loadRequirements(options.requirements)
  const config = merge(options, await readAllowed(options.config, requirements))
  if (!config.enabled) return fail(0, 'the network proxy is disabled (enabled = false); nothing was started')
  const report = options.audit === undefined ? undefined : auditWriter(options.audit, say)
  const proxy = await NetworkProxy.start(
    settingsOf(config, options),
    { revision: 1, rules: rulesOf(config, options) },
    { report, requirements },
  )
  for (const warning of [...config.warnings, ...idle(config), ...proxy.warnings]) say(`warning: ${warning}`)
  printAddresses(proxy, options.json)
  const watcher = options.config === undefined ? undefined : follow(options.config, options, proxy, requirements)
  await stopped
  watcher?.close()
  await proxy.close()
  return 0
}

/** What a proxy alone can do nothing for. */
function idle({ transparentTcp }: NetworkConfig): string[] {
  return transparentTcp
    ? ['network.transparent_tcp is for commands that Gatehouse starts behind walls; a proxy alone redirects nobody']
    : []
}

/** The file's settings, within what the administrator demands. */
async function readAllowed(
  path: string | undefined,
  required: Requirements | undefined,
): Promise<NetworkConfig | undefined> {
  if (path === undefined) return undefined
  const config = await readConfigFile(path)
  if (required) checkConfig(config, required)
  return config
}

/** The command line over the file; without a file the proxy is simply on. */
function merge(options: Options, file: NetworkConfig | undefined): NetworkConfig {
  const flags = parseNetworkConfig({
    enabled: true,
    enable_socks5: options.socks !== undefined,
    ...(options.http === undefined ? {} : { proxy_url: options.http }),
    ...(options.socks === undefined ? {} : { socks_url: options.socks }),
    allow_upstream_proxy: false,
  })
  if (!file) return flags
  return {
    ...file,
    http: options.http === undefined ? file.http : flags.http,
    socks: options.socks === undefined ? file.socks : flags.socks,
  }
}

function settingsOf(config: NetworkConfig, options: Options): ProxySettings {
  return {
    enabled: config.enabled,
    http: config.http,
    socks: config.socks,
    socksUdp: config.socksUdp,
    // A port that somebody typed is meant; one from a file is where to start looking.
    portFallback: options.http === undefined && options.socks === undefined,
    allowNonLoopback: config.allowNonLoopback,
    allowUpstreamProxy: config.allowUpstreamProxy,
    mode: config.mode,
    allowLocalBinding: config.allowLocalBinding,
    unknownHost: 'block',
    limitedAllowsWebsocket: config.limitedAllowsWebsocket,
    unixSockets: { allowAll: config.allowAllUnixSockets, paths: config.unixSockets },
    // Nobody here starts commands; a variable that says so would be a lie.
    transparentTcp: false,
    askTimeoutMs: 120_000,
    inspection: parseInspection(config.mitm, config.mitmCa, process.env),
  }
}

function rulesOf(config: NetworkConfig, options: Options): NetworkRule[] {
  const typed = (verdict: 'allow' | 'deny'): NetworkRule[] =>
    options[verdict].map((pattern) => ({
      id: `rul_${verdict}_${pattern}` as RuleId,
      pattern,
      verdict,
      scope: 'always',
    }))
  return [...typed('allow'), ...typed('deny'), ...rulesOfDomains(config.domains)]
}

function printAddresses({ httpUrl, socksUrl, trustBundlePath }: NetworkProxy, json: boolean): void {
  const lines = [httpUrl, socksUrl].filter((url) => url !== undefined)
  const all = { http: httpUrl, socks: socksUrl, trustBundle: trustBundlePath }
  process.stdout.write(json ? `${JSON.stringify(all)}\n` : `${lines.join('\n')}\n`)
  if (trustBundlePath !== undefined) say(`HTTPS is inspected; clients have to trust ${trustBundlePath}`)
}

function follow(
  path: string,
  options: Options,
  proxy: NetworkProxy,
  required: Requirements | undefined,
): ConfigWatcher {
  return new ConfigWatcher(path, {
    async changed(file) {
      if (required) checkConfig(file, required)
      const config = merge(options, file)
      await proxy.configure(settingsOf(config, options))
      proxy.setRules(proxy.revision + 1, rulesOf(config, options))
      say(`configuration reloaded, revision ${proxy.revision}`)
    },
    failed: (error) => say(`configuration not reloaded, the old one stays in force: ${error.message}`),
  })
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
}

function say(line: string): void {
  process.stderr.write(`gatehouse proxy: ${line}\n`)
}

function fail(exitCode: number, message: string): number {
  say(message)
  return exitCode
}
