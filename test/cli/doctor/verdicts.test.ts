import { describe, expect, it } from 'vitest'
import {
  clockFinding,
  coresFinding,
  freeSpaceFinding,
  fsyncFinding,
  memoryFinding,
  nativeModuleFinding,
  nodeFinding,
  portFinding,
} from '../../../src/cli/doctor/verdicts.ts'

const GIB = 1024 ** 3

describe('the verdicts of weir doctor', () => {
  it.each([
    ['22.17.9', 'problem'],
    ['20.20.2', 'problem'],
    ['22.18.0', 'ok'],
    ['23.1.0', 'warning'],
    ['24.0.0', 'ok'],
    ['26.2.1', 'ok'],
  ])('judge Node %s as %s', (version, verdict) => {
    expect(nodeFinding(version).verdict).toBe(verdict)
  })

  it('judge an fsync by its time: too slow, and too fast to be true', () => {
    expect([0.005, 0.3, 20, 21].map((ms) => fsyncFinding(ms).verdict)).toEqual([
      'warning',
      'ok',
      'ok',
      'warning',
    ])
    expect(fsyncFinding(0.005).advice).toContain('power cut')
  })

  it('judge space, memory and cores', () => {
    expect(freeSpaceFinding('/data', 0.9 * GIB)).toMatchObject({ verdict: 'problem' })
    expect(freeSpaceFinding('/data', GIB)).toMatchObject({ verdict: 'ok' })
    expect(memoryFinding(GIB / 2)).toMatchObject({ verdict: 'warning', found: '512.0 MiB' })
    expect(memoryFinding(GIB)).toMatchObject({ verdict: 'ok' })
    expect([1, 2].map((cores) => coresFinding(cores).verdict)).toEqual(['warning', 'ok'])
  })

  it('blame a clock only for what the time of the question does not explain', () => {
    expect(clockFinding('X', { skewMs: 1500, uncertainMs: 600 }).verdict).toBe('ok')
    expect(clockFinding('X', { skewMs: -1500, uncertainMs: 400 })).toMatchObject({
      verdict: 'warning',
      found: '-1500 ms against X (±400 ms)',
    })
  })

  it('say what takes the place of a native module, with the first line of the reason', () => {
    expect(nativeModuleFinding('rocksdb', 'no binary\nstack', 'LevelDB takes its place')).toEqual({
      check: 'rocksdb',
      verdict: 'warning',
      found: 'does not load (no binary)',
      advice: 'LevelDB takes its place; see the supported platforms in the README',
    })
    expect(nativeModuleFinding('rocksdb', undefined, '').verdict).toBe('ok')
  })

  it('tell a port in use from a port that cannot be opened', () => {
    expect(portFinding(8080, 'gateway', { kind: 'free' }).verdict).toBe('ok')
    expect(portFinding(8080, 'gateway', { kind: 'used' }).verdict).toBe('warning')
    expect(portFinding(80, 'gateway', { kind: 'forbidden', reason: 'EACCES' })).toMatchObject({
      verdict: 'problem',
      found: 'cannot be opened: EACCES (gateway)',
    })
  })
})
