import { describe, expect, it } from 'vitest'
import {
  droppedWarnings,
  unclaimedOperators,
} from '../../../../src/runtime/checkpoint/protocol/dropped-state.ts'
import { manifest, operator, segment } from './fixtures.ts'

describe('state that a restore drops', () => {
  const entries = [new Uint8Array(5), new Uint8Array(7)]
  const stored = operator({
    segments: [
      segment('a', 1, { bytes: 100, entries: 2 }),
      segment('b', 2, { bytes: 30, entries: 1 }),
    ],
    operatorState: [[{ name: 'list', redistribution: 'split', entries }]],
  })

  it('is all state of an operator that the job lacks, with its bytes', () => {
    const dropped = unclaimedOperators(manifest(1, [stored]), [{ uid: 'other' }])
    expect(dropped).toEqual([{ uid: 'op', state: undefined, bytes: 142 }])
  })

  it('is the keyed state of an operator without a key, and nothing of one that keeps its key', () => {
    const checkpoint = manifest(1, [stored])
    const unkeyed = unclaimedOperators(checkpoint, [{ uid: 'op', isKeyed: false }])
    expect(unkeyed).toEqual([{ uid: 'op', state: undefined, bytes: 130 }])
    expect(unclaimedOperators(checkpoint, [{ uid: 'op', isKeyed: true }])).toEqual([])
    expect(unclaimedOperators(manifest(1, [operator({ uid: 'gone' })]), [])).toEqual([])
  })

  it('is one warning for a state, with the bytes of all slots', () => {
    const [first, second, none] = droppedWarnings([
      { uid: 'op', state: 'old', bytes: 3 },
      { uid: 'gone', state: undefined, bytes: 9 },
      { uid: 'op', state: 'old', bytes: 4 },
    ])
    expect(first).toMatchObject({
      code: 'STATE_LEFT_OVER',
      message: expect.stringMatching(/^dropped state "old" of operator op \(7 bytes\)/),
    })
    expect(second!.message).toContain('dropped the state of operator gone (9 bytes)')
    expect(none).toBeUndefined()
  })
})
