import { readArguments, type Command } from './command.ts'

export const serve: Command = {
  name: 'serve',
  summary: 'Run the host without a window, in the foreground.',
  help: `Usage: gatehouse serve [--until-idle]

  --until-idle   end when no client, session or process needs it any more

Ctrl-C or SIGTERM stops it and everything it started.`,
  run: async (argv) => {
    const { values } = readArguments(argv, { 'until-idle': { type: 'boolean' } })
    // Loaded here only: no other command needs the host.
    const { serveHeadless } = await import('../headless.ts')
    return serveHeadless({ untilIdle: values['until-idle'] ?? false })
  },
}
