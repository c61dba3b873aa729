import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../../testing/fast-check.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { applyPatch, describeChanges } from './apply-patch.ts'
import { commitPatch } from './commit-patch.ts'
import { HeldFolders } from './held-folders.ts'
import { parsePatch, PatchError } from './parse-patch.ts'
import { planPatch } from './plan-patch.ts'

let ws: string
beforeEach(() => (ws = mkdtempSync(join(tmpdir(), 'gh-patch-'))))
afterEach(() => rmSync(ws, { recursive: true, force: true }))

const at = (name: string) => join(ws, name)
const bytes = (name: string) => readFileSync(at(name)).toString('latin1')
const put = (name: string, content: string | Buffer) => writeFileSync(at(name), content)
const run = (body: string) =>
  applyPatch(`*** Begin Patch\n${body}\n*** End Patch\n`, { cwd: ws, approve: async () => {} })

describe('bytes nobody asked to change', () => {
  it('E83 keeps CRLF line ends, and a CRLF patch on an LF file gives LF', async () => {
    put('c.txt', 'alpha\r\nbeta\r\ngamma\r\n')
    await run('*** Update File: c.txt\n@@\n alpha\n-beta\n+BETA\n+new\n gamma')
    expect(bytes('c.txt')).toBe('alpha\r\nBETA\r\nnew\r\ngamma\r\n')
    put('l.txt', 'alpha\nbeta\n')
    await applyPatch('*** Begin Patch\r\n*** Update File: l.txt\r\n@@\r\n-beta\r\n+BETA\r\n*** End Patch\r\n', {
      cwd: ws,
      approve: async () => {},
    })
    expect(bytes('l.txt')).toBe('alpha\nBETA\n')
  })

  it('E85 keeps a missing final newline, also when the last line is replaced; an added file ends in one', async () => {
    put('n.txt', 'one\ntwo\nthree')
    await run('*** Update File: n.txt\n@@\n-one\n+ONE')
    expect(bytes('n.txt')).toBe('ONE\ntwo\nthree')
    await run('*** Update File: n.txt\n@@\n-three\n+THREE\n*** Add File: new.txt\n+a\n+b')
    expect(bytes('n.txt')).toBe('ONE\ntwo\nTHREE')
    expect(bytes('new.txt')).toBe('a\nb\n')
  })

  it('E87 keeps a byte order mark, once', async () => {
    put('b.js', Buffer.from('\ufefflet v = 1;\nend\n'))
    await run('*** Update File: b.js\n@@\n-let v = 1;\n+let v = 2;')
    expect(readFileSync(at('b.js'), 'utf8')).toBe('\ufefflet v = 2;\nend\n')
    await run('*** Update File: b.js\n@@\n-end\n+END')
    expect(readFileSync(at('b.js'), 'utf8')).toBe('\ufefflet v = 2;\nEND\n')
  })

  it('E88 refuses a file that is not UTF-8 or is binary, and leaves it alone', async () => {
    put('l.txt', Buffer.from('# na\xefve\nsize: 3\n', 'latin1'))
    await expect(run('*** Update File: l.txt\n@@\n-size: 3\n+size: 4')).rejects.toThrow(/not UTF-8/)
    expect(bytes('l.txt')).toBe('# na\xefve\nsize: 3\n')
    put('z.bin', 'a\0b\nsize: 3\n')
    await expect(run('*** Update File: z.bin\n@@\n-size: 3\n+size: 4')).rejects.toThrow(/binary/)
  })

  it('E96 keeps typographic characters of context lines and prefers an exact copy', async () => {
    const fancy = 'a top\u2013level\u00a0x \u201cq\u201d\nkeep\n'
    const patch = '*** Update File: dash.txt\n@@\n a top-level x "q"\n-keep\n+kept'
    put('dash.txt', fancy)
    await run(patch)
    expect(readFileSync(at('dash.txt'), 'utf8')).toBe(fancy.replace('keep', 'kept'))
    put('dash.txt', `${fancy}a top-level x "q"\nkeep\n`)
    await run(patch)
    expect(readFileSync(at('dash.txt'), 'utf8')).toBe(`${fancy}a top-level x "q"\nkept\n`)
  })

  it('E98 changes one byte of a 10 MB file and keeps trailing blanks of untouched lines', async () => {
    const big = `ANCHOR = 0\n${'x'.repeat(99)}\n${`${'y'.repeat(99)}\n`.repeat(99_999)}`
    put('big.txt', big)
    put('w.txt', 'foo   \nbar\nqux\t\n')
    await run(
      '*** Update File: big.txt\n@@\n-ANCHOR = 0\n+ANCHOR = 1\n*** Update File: w.txt\n@@\n foo\n-bar\n+baz\n qux',
    )
    expect(readFileSync(at('big.txt'), 'utf8')).toBe(big.replace('ANCHOR = 0', 'ANCHOR = 1'))
    expect(bytes('w.txt')).toBe('foo   \nbaz\nqux\t\n')
  })
})

describe('where a chunk goes', () => {
  const d =
    'def a():\n\tif p:\n\t\tnote()\n\t\treturn 7\n\ndef b():\n\tfor q in p:\n\t\tif q:\n\t\t\tnote()\n\t\t\treturn 7\n'

  it('E89 refuses an ambiguous chunk with its line numbers, and a header or context line settles it', async () => {
    put('d.py', d)
    put('e.py', 'x = 1\nsave()\ny = 2\nsave()\n')
    await expect(
      run('*** Update File: d.py\n@@\n-        note()\n-        return 7\n+        return 8'),
    ).rejects.toThrow(/Ambiguous.*lines 3, 9/)
    await expect(run('*** Update File: e.py\n@@\n-save()\n+store()')).rejects.toThrow(/Ambiguous.*lines 2, 4/)
    expect(bytes('d.py')).toBe(d)
    await run(
      '*** Update File: d.py\n@@ def b():\n-        note()\n-        return 7\n+        return 8\n*** Update File: e.py\n@@\n y = 2\n-save()\n+store()',
    )
    expect(bytes('d.py')).toBe(d.replace('\t\t\tnote()\n\t\t\treturn 7\n', '\t\t\treturn 8\n'))
    expect(bytes('e.py')).toBe('x = 1\nsave()\ny = 2\nstore()\n')
  })

  it('takes the nearest match behind a header', async () => {
    put('d.py', d)
    await run('*** Update File: d.py\n@@ def a():\n-\t\treturn 7\n+\t\treturn 1')
    expect(bytes('d.py')).toBe(d.replace('\t\treturn 7', '\t\treturn 1'))
  })

  it('anchors at the end of the file when told so', async () => {
    put('s.txt', 'a\nb\na\n')
    await run('*** Update File: s.txt\n@@\n-a\n+z\n*** End of File')
    expect(bytes('s.txt')).toBe('a\nb\nz\n')
  })

  it('appends a chunk without old lines, or puts it behind its header', async () => {
    put('s.txt', 'a\nb\n')
    await run('*** Update File: s.txt\n@@\n+c')
    await run('*** Update File: s.txt\n@@ a\n+a2')
    expect(bytes('s.txt')).toBe('a\na2\nb\nc\n')
  })

  it('says what is missing', async () => {
    put('s.txt', 'a\n')
    await expect(run('*** Update File: s.txt\n@@ nope\n-a\n+b')).rejects.toThrow(
      "Failed to find context 'nope' in s.txt",
    )
    await expect(run('*** Update File: s.txt\n@@\n-q\n+b')).rejects.toThrow(
      'Failed to find expected lines in s.txt:\nq',
    )
  })
})

describe('reading a patch', () => {
  it('E94 takes markers inside content for content', async () => {
    put('k.md', 'head\n*** End Patch\nfoot v1\n')
    await run(
      '*** Update File: k.md\n@@\n head\n *** End Patch\n-foot v1\n+foot v2\n*** Add File: doc.md\n+*** Begin Patch\n+*** End Patch\n+*** Delete File: k.md\n*** Add File: z.txt\n+z',
    )
    expect(bytes('k.md')).toBe('head\n*** End Patch\nfoot v2\n')
    expect(bytes('doc.md')).toBe('*** Begin Patch\n*** End Patch\n*** Delete File: k.md\n')
    expect(bytes('z.txt')).toBe('z\n')
  })

  it.each([
    ['hello\n*** End Patch', "The first line of the patch must be '*** Begin Patch'"],
    ['*** Begin Patch\n*** Add File: a\n+x', "The last line of the patch must be '*** End Patch'"],
    ['*** Begin Patch\n*** End Patch', 'No files were modified.'],
    ['*** Begin Patch\n*** Fix File: a\n*** End Patch', 'Invalid patch hunk on line 2'],
    ['*** Begin Patch\n*** Update File: a\n*** End Patch', "Update file hunk for path 'a' is empty"],
    ['*** Begin Patch\n*** Update File: a\n@@\nxyz\n*** End Patch', 'Invalid patch hunk on line 4'],
  ])('refuses %j', (text, message) => {
    expect(() => parsePatch(text)).toThrow(message)
  })

  it('accepts a heredoc wrapper and a chunk without @@', () => {
    expect(parsePatch("<<'EOF'\n*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch\nEOF\n").hunks).toEqual([
      {
        kind: 'update',
        path: 'a',
        movedTo: null,
        chunks: [
          {
            headers: [],
            endOfFile: false,
            lines: [
              { sign: '-', text: 'x' },
              { sign: '+', text: 'y' },
            ],
          },
        ],
      },
    ])
  })

  it('never throws anything but PatchError on noise', () => {
    const piece = fc.constantFrom(
      '*** Begin Patch',
      '*** End Patch',
      '*** Add File: a',
      '*** Update File: b',
      '*** Delete File: c',
      '*** Move to: d',
      '@@',
      '@@ h',
      '+x',
      '-y',
      ' z',
      '',
      '*** End of File',
      '\r',
      '\u2028',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (lines) => {
        try {
          parsePatch(lines.join('\n'))
        } catch (error) {
          expect(error).toBeInstanceOf(PatchError)
        }
      }),
    )
  })
})

describe('all or nothing', () => {
  it('E90 a hunk that does not fit leaves every file alone, and the corrected patch works', async () => {
    put('keep.txt', 'keep me\n')
    await expect(
      run('*** Delete File: keep.txt\n*** Add File: fresh.txt\n+x\n*** Update File: missing.txt\n@@\n-a\n+b'),
    ).rejects.toThrow(/missing.txt/)
    expect(readdirSync(ws)).toEqual(['keep.txt'])
    expect(describeChanges(await run('*** Delete File: keep.txt\n*** Add File: fresh.txt\n+x'), ws)).toBe(
      'Success. Updated the following files:\nA fresh.txt\nD keep.txt\n',
    )
    expect(readdirSync(ws)).toEqual(['fresh.txt'])
  })

  it('E90 a step that fails at the end undoes the ones before', async () => {
    put('keep.txt', 'keep me\n')
    put('block', 'a file where a folder is needed\n')
    const changes = await planPatch(
      parsePatch(
        '*** Begin Patch\n*** Delete File: keep.txt\n*** Add File: deep/er/fresh.txt\n+x\n*** Add File: last.txt\n+y\n*** End Patch',
      ),
      ws,
    )
    changes[2]!.realPath = changes[2]!.path = at('block/last.txt')
    await expect(commitPatch(changes)).rejects.toThrow(PatchError)
    expect(readdirSync(ws).sort()).toEqual(['block', 'keep.txt'])
    expect(bytes('keep.txt')).toBe('keep me\n')
  })

  it('refuses when a file changed between plan and write', async () => {
    put('a.txt', 'one\n')
    const plan = await planPatch(parsePatch('*** Begin Patch\n*** Update File: a.txt\n-one\n+two\n*** End Patch'), ws)
    put('a.txt', 'other\n')
    await expect(commitPatch(plan)).rejects.toThrow(/changed since/)
    expect(bytes('a.txt')).toBe('other\n')
  })

  it('applies hunks of one file one after another', async () => {
    put('a.txt', 'one\n')
    await run(
      '*** Update File: a.txt\n-one\n+two\n*** Update File: a.txt\n-two\n+three\n*** Add File: b.txt\n+b\n*** Delete File: b.txt',
    )
    expect(readdirSync(ws)).toEqual(['a.txt'])
    expect(bytes('a.txt')).toBe('three\n')
  })
})

describe('a folder that is exchanged for a link', () => {
  let out: string
  beforeEach(() => {
    out = mkdtempSync(join(tmpdir(), 'gh-out-'))
    mkdirSync(at('d'))
    put('d/a.txt', 'one\n')
    writeFileSync(join(out, 'a.txt'), 'one\n')
  })
  afterEach(() => rmSync(out, { recursive: true, force: true }))
  const exchange = () => {
    renameSync(at('d'), at('moved'))
    symlinkSync(out, at('d'))
  }

  it('is still the folder that was looked at for whoever holds it', async () => {
    const folders = new HeldFolders()
    const place = await folders.placeOf(at('d/new.txt'))
    exchange()
    writeFileSync(place, 'x')
    expect([readdirSync(at('moved')), readdirSync(out)]).toEqual([['a.txt', 'new.txt'], ['a.txt']])
    await expect(new HeldFolders().placeOf(at('d/below/new.txt'))).rejects.toThrow(/leads somewhere else/)
    await folders.release()
  })

  it('is never written through, however often it is exchanged while patches are applied', async () => {
    // A patch may make the folder while it is away: whatever stands in the way then goes, and the exchange goes on.
    const script = `
import os, shutil, sys
os.chdir(sys.argv[1]); print("up", flush=True)
while True:
  try:
    os.rename("d", "real"); os.symlink(sys.argv[2], "d")
    os.remove("d"); os.rename("real", "d")
  except OSError:
    if os.path.islink("d"): os.remove("d")
    elif os.path.isdir("real"): shutil.rmtree("d", ignore_errors=True)
    if os.path.isdir("real") and not os.path.lexists("d"): os.rename("real", "d")
`
    const exchanger = spawn('python3', ['-c', script, ws, out], { stdio: ['ignore', 'pipe', 'ignore'] })
    const ended = once(exchanger, 'exit')
    await once(exchanger.stdout, 'data')
    const body = '*** Add File: d/new/b.txt\n+b\n*** Update File: d/a.txt\n@@\n-one\n+two\n*** Delete File: d/new/b.txt'
    let refused = 0
    for (let i = 0; i < 150; i++)
      await applyPatch(`*** Begin Patch\n${body}\n*** End Patch\n`, {
        cwd: ws,
        // Outside is asked about, and the answer is no.
        approve: async (plan) => {
          if (plan.some(({ realPath }) => realPath.startsWith(out))) throw new Error('outside')
        },
      }).catch(() => refused++)
    exchanger.kill('SIGKILL')
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect(readdirSync(out)).toEqual(['a.txt'])
    expect(readFileSync(join(out, 'a.txt'), 'utf8')).toBe('one\n')
    expect(refused).toBeGreaterThan(0)
  })
})

describe('what is touched', () => {
  it('E92 the plan names the file really touched', async () => {
    const out = mkdtempSync(join(tmpdir(), 'gh-out-'))
    try {
      put('n.txt', 'old\n')
      symlinkSync(out, at('box'))
      writeFileSync(join(out, 'v.txt'), 'v\n')
      symlinkSync(join(out, 'v.txt'), at('lnk'))
      const plan = await planPatch(
        parsePatch(
          '*** Begin Patch\n*** Update File: n.txt\n*** Move to: ../moved-out.txt\n@@\n-old\n+new\n*** Add File: box/new.txt\n+x\n*** Update File: lnk\n@@\n-v\n+w\n*** Add File: a/../../up.txt\n+x\n*** Add File: ./a/../in.txt\n+x\n*** End Patch',
        ),
        ws,
      )
      expect(plan.map((c) => c.realMovedTo ?? c.realPath)).toEqual([
        join(ws, '..', 'moved-out.txt'),
        join(out, 'new.txt'),
        join(out, 'v.txt'),
        join(ws, '..', 'up.txt'),
        at('in.txt'),
      ])
      await expect(
        applyPatch('*** Begin Patch\n*** Add File: box/new.txt\n+x\n*** End Patch', {
          cwd: ws,
          approve: async () => {
            throw new Error('outside the roots')
          },
        }),
      ).rejects.toThrow('outside the roots')
      expect(readdirSync(out)).toEqual(['v.txt'])
    } finally {
      rmSync(out, { recursive: true, force: true })
    }
  })

  it('E93 keeps modes, links and inodes', async () => {
    put('run.sh', '#!/bin/sh\necho 1\n')
    put('mv.sh', '#!/bin/sh\necho 1\n')
    put('key', 's\n')
    chmodSync(at('run.sh'), 0o755)
    chmodSync(at('mv.sh'), 0o755)
    chmodSync(at('key'), 0o600)
    put('h1', 'h\n')
    linkSync(at('h1'), at('h2'))
    symlinkSync('key', at('keylink'))
    const inode = statSync(at('h1')).ino
    await run(
      '*** Update File: run.sh\n@@\n-echo 1\n+echo 2\n*** Update File: mv.sh\n*** Move to: bin/mv.sh\n@@\n-echo 1\n+echo 3\n*** Update File: keylink\n@@\n-s\n+t\n*** Update File: h1\n@@\n-h\n+hh',
    )
    expect([
      statSync(at('run.sh')).mode & 0o777,
      statSync(at('bin/mv.sh')).mode & 0o777,
      statSync(at('key')).mode & 0o777,
    ]).toEqual([0o755, 0o755, 0o600])
    expect(existsSync(at('mv.sh'))).toBe(false)
    expect(lstatSync(at('keylink')).isSymbolicLink()).toBe(true)
    expect(bytes('key')).toBe('t\n')
    expect([statSync(at('h1')).ino, bytes('h2')]).toEqual([inode, 'hh\n'])
  })

  it('E118 refuses what is not a regular file, at once', async () => {
    execFileSync('mkfifo', [at('notes.md')])
    symlinkSync('/dev/zero', at('zero.txt'))
    symlinkSync('loop', at('loop'))
    mkdirSync(at('dir.txt'))
    for (const name of ['notes.md', 'zero.txt', 'dir.txt'])
      await expect(run(`*** Update File: ${name}\n@@\n-a\n+b`)).rejects.toThrow('not a regular file')
    await expect(run('*** Update File: loop\n@@\n-a\n+b')).rejects.toThrow(/symbolic links/)
  })
})

it('gives hunks as diff -u would', async () => {
  const before = Array.from({ length: 30 }, (_, i) => `line ${i}`).join('\n')
  put('u.txt', before)
  const [change] = await run('*** Update File: u.txt\n@@\n-line 4\n+LINE 4\n@@\n line 28\n-line 29\n+LINE 29\n+more')
  expect(change!.diff).toBe(
    '@@ -2,7 +2,7 @@\n line 1\n line 2\n line 3\n-line 4\n+LINE 4\n line 5\n line 6\n line 7\n' +
      '@@ -27,4 +27,5 @@\n line 26\n line 27\n line 28\n-line 29\n\\ No newline at end of file\n+LINE 29\n+more\n\\ No newline at end of file\n',
  )
  writeFileSync(at('old.txt'), before)
  execFileSync('patch', ['-s', at('old.txt')], { input: `--- a\n+++ b\n${change!.diff}` })
  expect(bytes('old.txt')).toBe(bytes('u.txt'))
})
