import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { BytePath } from '../../protocol/path-uri.ts'
import { MountPoints, sweepMountPoints } from './mount-points.ts'

let folder: string
let record: string
let point: BytePath

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-points-'))
  record = join(folder, 'record')
  point = join(folder, 'odd %25 name') as BytePath
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('a folder is there while somebody mounts on it', () => {
  const points = new MountPoints(record)
  expect([points.take(point), points.take(point)]).toEqual([true, true])
  points.giveBack(point)
  expect([existsSync(point), points.holds(point)]).toEqual([true, true])
  points.giveBack(point)
  points.giveBack(point)
  expect([existsSync(point), points.holds(point)]).toEqual([false, false])
})

it('what somebody has put there stays', () => {
  const points = new MountPoints(record)
  points.take(point)
  writeFileSync(join(point, 'file'), '')
  points.giveBack(point)
  expect(existsSync(join(point, 'file'))).toBe(true)
})

it('a folder of somebody else is mounted on and left alone', () => {
  mkdirSync(point)
  const points = new MountPoints(record)
  expect([points.take(point), points.holds(point)]).toEqual([true, false])
  points.giveBack(point)
  expect(existsSync(point)).toBe(true)
})

it('a place that cannot be made is none', () => {
  expect(new MountPoints(record).take(join(folder, 'none/below') as BytePath)).toBe(false)
})

it('what a killed server leaves is swept, as long as it is empty', () => {
  const points = new MountPoints(record)
  const used = join(folder, 'used') as BytePath
  points.take(point)
  points.take(used)
  writeFileSync(join(used, 'file'), '')
  sweepMountPoints(record)
  expect([existsSync(point), existsSync(used)]).toEqual([false, true])
  sweepMountPoints(join(folder, 'no record'))
})
