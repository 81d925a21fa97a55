import { describe, expect, it } from 'vitest'
import { ServedStates } from '../../src/serving/served-states.ts'
import type { RowTableShare } from '../../src/state/row-table-share.ts'

const share = (version: number, slot = 0): RowTableShare => ({
  operatorUid: 'model',
  state: 'users',
  queryableName: 'ALS_MODEL',
  keySuffix: '-U',
  meanKey: undefined,
  version,
  slot,
  firstKeyGroup: 0,
  lastKeyGroup: 127,
  maxParallelism: 128,
  dimension: 4,
  memory: new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }),
})

describe('ServedStates', () => {
  it('reads an older attempt’s table until it is dropped, then the newer one', () => {
    const states = new ServedStates()
    const old = { share: share(1), attempt: 1 }
    const fresh = { share: share(1), attempt: 2 }
    expect(states.open(old)).toBe(true)
    expect(states.open(fresh)).toBe(false)
    expect(states.tables()).toEqual([old])
    expect(states.drop(old)).toEqual({ kind: 'replaced', by: fresh })
    expect(states.drop(fresh)).toEqual({ kind: 'gone' })
    expect(states.tables()).toEqual([])
  })

  it('does not touch what is read when a waiting or unknown table is dropped', () => {
    const states = new ServedStates()
    const old = { share: share(1), attempt: 1 }
    const fresh = { share: share(1), attempt: 2 }
    states.open(old)
    states.open(fresh)
    expect(states.drop(fresh)).toEqual({ kind: 'unread' })
    expect(states.drop({ share: share(2), attempt: 1 })).toEqual({ kind: 'unread' })
    expect(states.tables()).toEqual([old])
  })

  it('tells clients of every version once, and of typed states', () => {
    const states = new ServedStates()
    for (const [version, slot] of [
      [2, 0],
      [1, 0],
      [2, 1],
    ] as const) {
      states.open({ share: share(version, slot), attempt: 1 })
    }
    states.declare({
      queryableName: 'COUNTS',
      kind: 'value',
      slot: 0,
      firstKeyGroup: 0,
      lastKeyGroup: 127,
      maxParallelism: 128,
    })
    expect(states.infos(() => 2)).toEqual([
      { name: 'ALS_MODEL', kind: 'vector', dimension: 4, versions: [1, 2], liveVersion: 2 },
      { name: 'COUNTS', kind: 'value', dimension: 0, versions: [], liveVersion: 0 },
    ])
  })
})
