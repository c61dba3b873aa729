import { expect, test } from 'vitest'
import { sidecarEnvironment } from './sidecar-environment.ts'

test('a sidecar gets a short list of variables and no secret of the shell', () => {
  const shell = {
    PATH: '/bin',
    HOME: '/home/me',
    OPENAI_API_KEY: 'sk-1',
    NODE_OPTIONS: '--inspect',
    HTTPS_PROXY: 'x',
    OTEL_TRACES_EXPORTER: 'otlp',
  }
  expect(sidecarEnvironment(shell)).toEqual({ PATH: '/bin', HOME: '/home/me', OTEL_TRACES_EXPORTER: 'otlp' })
})
