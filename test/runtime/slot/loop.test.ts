import { describe, expect, it } from 'vitest'
import { afterTurn } from '../../../src/runtime/slot/loop.ts'

const QUIET = { more: false, copied: false, nowMs: 1000, nextTickMs: undefined }

describe('after a turn of a slot', () => {
  it('follows another one at once if something was processed', () => {
    expect(afterTurn({ ...QUIET, more: true }).more).toBe(true)
    expect(afterTurn({ ...QUIET, more: true, copied: true }).more).toBe(true)
  })

  it('follows a sleep until the next tick if nothing was done', () => {
    expect(afterTurn(QUIET)).toEqual({ more: false, wakeAtMs: undefined })
    expect(afterTurn({ ...QUIET, nextTickMs: 1050 })).toEqual({ more: false, wakeAtMs: 1050 })
  })

  it('follows a short pause if state was only copied', () => {
    const copied = { ...QUIET, copied: true }
    expect(afterTurn(copied)).toEqual({ more: false, wakeAtMs: 1001 })
    expect(afterTurn({ ...copied, nextTickMs: 1050 })).toEqual({ more: false, wakeAtMs: 1001 })
    expect(afterTurn({ ...copied, nextTickMs: 1000 })).toEqual({ more: false, wakeAtMs: 1000 })
  })
})
