import { describe, expect, it } from 'vitest'
import { JobCatalog, type OpenTable } from '../../../src/state/catalog/job-catalog.ts'
import { tableShare } from './table-share.ts'

const only =
  (table: OpenTable) =>
  (other: OpenTable): boolean =>
    other === table

describe('JobCatalog', () => {
  it('reads an older attempt’s table until it is dropped, then the newer one', () => {
    const catalog = new JobCatalog()
    const old = { share: tableShare(1), attempt: 1 }
    const fresh = { share: tableShare(1), attempt: 2 }
    expect(catalog.add(old)).toEqual([{ kind: 'opened', share: old.share }])
    expect(catalog.add(fresh)).toEqual([])
    expect(catalog.tables()).toEqual([old.share])
    expect(catalog.drop(only(old))).toEqual([{ kind: 'opened', share: fresh.share }])
    expect(catalog.drop(only(fresh))).toEqual([{ kind: 'dropped', share: fresh.share }])
    expect(catalog.tables()).toEqual([])
  })

  it('does not touch what is read when a waiting or unknown table is dropped', () => {
    const catalog = new JobCatalog()
    const old = { share: tableShare(1), attempt: 1 }
    const fresh = { share: tableShare(1), attempt: 2 }
    catalog.add(old)
    catalog.add(fresh)
    expect(catalog.drop(only(fresh))).toEqual([])
    expect(catalog.drop(({ share }) => share.version === 2)).toEqual([])
    expect(catalog.tables()).toEqual([old.share])
  })

  it('reports one change for each state, version and slot when many tables are dropped', () => {
    const catalog = new JobCatalog()
    for (const slot of [0, 1]) {
      catalog.add({ share: tableShare(1, slot), attempt: 1 })
      catalog.add({ share: tableShare(2, slot), attempt: 1 })
    }
    const waiting = tableShare(2, 1)
    catalog.add({ share: waiting, attempt: 2 })
    const changes = catalog.drop(({ share, attempt }) => share.slot === 1 && attempt < 2)
    expect(changes).toMatchObject([
      { kind: 'dropped', share: { version: 1, slot: 1 } },
      { kind: 'opened', share: { version: 2, slot: 1 } },
    ])
    expect(changes[1]).toHaveProperty('share', waiting)
  })

  it('says what a slot has opened from the time when it runs', () => {
    const catalog = new JobCatalog()
    const tables = (incarnation: number, opened: number) => ({
      kind: 'complete',
      tables: { slot: 0, incarnation, opened },
    })
    const old = tableShare(1)
    catalog.add({ share: old, attempt: 1 })
    expect(catalog.completeSlots()).toEqual([])
    expect(catalog.slotRuns(0, 1)).toEqual([tables(1, 1)])
    const later = tableShare(2)
    expect(catalog.add({ share: later, attempt: 1 })).toEqual([
      { kind: 'opened', share: later },
      tables(1, 2),
    ])
    const fresh = tableShare(1)
    expect(catalog.add({ share: fresh, attempt: 2 })).toEqual([])
    expect(catalog.completeSlots()).toEqual([])
    expect(catalog.slotRuns(0, 2)).toEqual([
      { kind: 'opened', share: fresh },
      { kind: 'dropped', share: later },
      tables(2, 1),
    ])
    expect(catalog.slotRuns(0, 3)).toEqual([{ kind: 'dropped', share: fresh }, tables(3, 0)])
    expect(catalog.completeSlots()).toEqual([{ slot: 0, incarnation: 3, opened: 0 }])
  })

  it('holds each slot’s part of a typed state once', () => {
    const catalog = new JobCatalog()
    const part = {
      operatorUid: 'count',
      queryableName: 'COUNTS',
      kind: 'value',
      slot: 0,
      firstKeyGroup: 0,
      lastKeyGroup: 127,
      maxParallelism: 128,
    }
    catalog.addTyped(part)
    catalog.addTyped({ ...part })
    catalog.addTyped({ ...part, slot: 1 })
    expect(catalog.typedStates().map(({ slot }) => slot)).toEqual([0, 1])
  })
})
