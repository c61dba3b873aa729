import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BytePath } from '../../protocol/path-uri.ts'
import { readProcStat } from '../life/proc-stat.ts'
import { MountPoints, sweepMountPoints } from './mount-points.ts'
import { MountRegister } from './mount-register.ts'

let folder: string
let record: string
let point: BytePath

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-points-'))
  mkdirSync(join(folder, 'register'))
  record = join(folder, 'record')
  point = join(folder, 'odd %25 name') as BytePath
})
/** A server; every one of them is this process, so another one's pid is given. */
const pointsOf = (pid = process.pid) =>
  new MountPoints(`${record}-${pid}`, new MountRegister(join(folder, 'register'), pid))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('a folder is there while somebody mounts on it', () => {
  const points = pointsOf()
  expect([points.take(point), points.take(point)]).toEqual([true, true])
  points.giveBack(point)
  expect([existsSync(point), points.lookAround()(point)]).toEqual([true, true])
  points.giveBack(point)
  points.giveBack(point)
  expect([existsSync(point), points.lookAround()(point)]).toEqual([false, false])
})

it('what somebody has put there stays', () => {
  const points = pointsOf()
  points.take(point)
  writeFileSync(join(point, 'file'), '')
  points.giveBack(point)
  expect(existsSync(join(point, 'file'))).toBe(true)
})

it('a folder of somebody else is mounted on and left alone', () => {
  mkdirSync(point)
  const points = pointsOf()
  expect([points.take(point), points.lookAround()(point)]).toEqual([true, false])
  points.giveBack(point)
  expect(existsSync(point)).toBe(true)
})

it('a place that cannot be made is none', () => {
  expect(pointsOf().take(join(folder, 'none/below') as BytePath)).toBe(false)
})

it('what a killed server leaves is swept, as long as it is empty', () => {
  const points = pointsOf()
  const used = join(folder, 'used') as BytePath
  points.take(point)
  points.take(used)
  writeFileSync(join(used, 'file'), '')
  sweepMountPoints(`${record}-${process.pid}`)
  expect([existsSync(point), existsSync(used)]).toEqual([false, true])
  sweepMountPoints(join(folder, 'no record'))
})

describe('several servers', () => {
  const [mine, other] = [process.pid, process.ppid]

  it('share a place, and the last one takes it away', () => {
    const [first, second] = [pointsOf(mine), pointsOf(other)]
    first.take(point)
    expect(second.lookAround()(point)).toBe(true)
    second.take(point)
    first.giveBack(point)
    expect([existsSync(point), first.lookAround()(point), second.lookAround()(point)]).toEqual([true, true, true])
    second.giveBack(point)
    expect([existsSync(point), second.lookAround()(point)]).toEqual([false, false])
  })

  it('do not sweep what another one still uses', () => {
    const [killed, living] = [pointsOf(mine), pointsOf(other)]
    killed.take(point)
    living.take(point)
    sweepMountPoints(`${record}-${mine}`)
    expect(existsSync(point)).toBe(true)
    living.giveBack(point)
    expect(existsSync(point)).toBe(false)
  })

  it('leave a folder alone that somebody has filled meanwhile', () => {
    const [first, second] = [pointsOf(mine), pointsOf(other)]
    first.take(point)
    writeFileSync(join(point, 'HEAD'), '')
    expect(second.lookAround()(point)).toBe(false)
    second.take(point)
    second.giveBack(point)
    first.giveBack(point)
    expect(existsSync(join(point, 'HEAD'))).toBe(true)
  })

  it('are not kept waiting by entries and locks of dead ones', () => {
    const child = spawnSync('true')
    const [dead, living] = [pointsOf(child.pid), pointsOf(mine)]
    dead.take(point)
    living.take(point)
    const [place] = readdirSync(join(folder, 'register'))
    symlinkSync(`${child.pid}-0`, join(folder, 'register', `${place}.lock`))
    living.giveBack(point)
    expect(existsSync(point)).toBe(false)
    expect(readdirSync(join(folder, 'register'))).toEqual([])
  })

  it('wait for each other, however long the other one takes', () => {
    const [first, second] = [pointsOf(mine), pointsOf(other)]
    first.take(point)
    second.take(point)
    const [place] = readdirSync(join(folder, 'register'))
    const lock = join(folder, 'register', `${place}.lock`)
    const holder = spawn('sh', ['-c', 'sleep 0.4; touch "$1"; rm "$0"', lock, join(folder, 'released')])
    symlinkSync(`${holder.pid}-${readProcStat(holder.pid!)?.startTicks}`, lock)
    first.giveBack(point)
    expect([existsSync(join(folder, 'released')), existsSync(point)]).toEqual([true, true])
    second.giveBack(point)
    expect(existsSync(point)).toBe(false)
  })
})
