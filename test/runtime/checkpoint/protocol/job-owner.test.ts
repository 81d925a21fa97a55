import { describe, expect, it } from 'vitest'
import {
  decideClaim,
  decodeOwner,
  encodeOwner,
  isSameProcess,
  type JobOwner,
} from '../../../../src/runtime/checkpoint/protocol/job-owner.ts'

const OWNER: JobOwner = {
  jobName: 'online-als',
  pid: 4711,
  processStart: '12345',
  host: 'weir-1',
  boot: 'b0',
  pidNamespace: 'pid:[1]',
  sinceMs: 1_700_000_000_000,
}

describe('the owner in a claim', () => {
  it('has these bytes', () => {
    expect(new TextDecoder().decode(encodeOwner(OWNER))).toBe(
      '{"version":1,"jobName":"online-als","pid":4711,"processStart":"12345","host":"weir-1","boot":"b0","pidNamespace":"pid:[1]","sinceMs":1700000000000}\n',
    )
    expect(decodeOwner(encodeOwner(OWNER))).toEqual(OWNER)
  })

  it.each([
    ['an empty claim of an earlier release', ''],
    ['a damaged claim', '{"version":1,"jobName":"online-als","pid":47'],
    ['a claim of a later format', JSON.stringify({ ...OWNER, version: 2 })],
    ['a claim without a process', JSON.stringify({ ...OWNER, version: 1, pid: undefined })],
    ['text that is no object', '7'],
  ])('is nobody in %s', (_, text) => {
    expect(decodeOwner(new TextEncoder().encode(text))).toBeUndefined()
  })

  it('is another process when the system has used its id again', () => {
    expect(isSameProcess(OWNER, { ...OWNER, sinceMs: 1 })).toBe(true)
    expect(isSameProcess(OWNER, { ...OWNER, processStart: '12346' })).toBe(false)
    expect(isSameProcess(OWNER, { ...OWNER, boot: 'b1' })).toBe(false)
  })
})

describe('a start of a job', () => {
  it.each([
    [undefined, false, { kind: 'claim' }],
    ['ended', false, { kind: 'claim' }],
    ['running', false, { kind: 'refuse' }],
    ['running', true, { kind: 'take-over', why: 'asked' }],
    ['stopped', false, { kind: 'take-over', why: 'stopped' }],
    ['elsewhere', false, { kind: 'take-over', why: 'elsewhere' }],
  ] as const)('beside an owner that is %s (take over: %s): %o', (state, isTakeOver, decision) => {
    expect(decideClaim({ state, isTakeOver })).toEqual(decision)
  })
})
