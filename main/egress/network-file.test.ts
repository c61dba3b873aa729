import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { NetworkFile } from './network-file.ts'

async function opened(text?: string | Buffer) {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-network-file-'))
  const path = join(folder, 'network.toml')
  if (text !== undefined) await writeFile(path, text)
  const changed = vi.fn()
  const file = new NetworkFile(path, changed)
  await file.start()
  onTestFinished(async () => {
    file.stop()
    await rm(folder, { recursive: true })
  })
  return { folder, path, file, changed }
}

it('no file is nothing; one that comes, changes and goes is followed', async () => {
  const { folder, path, file, changed } = await opened()
  expect(file.current).toBeUndefined()
  // As editors do it.
  await writeFile(join(folder, 'side'), 'enable_socks5_udp = true\n')
  await rename(join(folder, 'side'), path)
  await vi.waitFor(() => expect(file.current).toEqual({ path, text: 'enable_socks5_udp = true\n' }), 10_000)
  expect(changed).toHaveBeenCalled()
  await rm(path)
  await vi.waitFor(() => expect(file.current).toBeUndefined(), 10_000)
})

it.each([
  ['is no text', Buffer.from([0xff, 0xfe, 0x00]), /^cannot be read: /],
  ['is far too large', 'x'.repeat(1024 * 1024 + 1), /^cannot be read: it is larger than 1048576 bytes$/],
])('one that %s is a problem with a name', async (_what, content, problem) => {
  const { path, file } = await opened(content)
  expect(file.current).toEqual({ path, problem: expect.stringMatching(problem) as string })
})
