import { expect, it } from 'vitest'
import { stateInfosOf } from '../../../src/serving/threads/state-infos.ts'
import { JobCatalog } from '../../../src/state/catalog/job-catalog.ts'
import { tableShare } from '../../state/catalog/table-share.ts'

it('the routing table lists every version of a state once, and typed states', () => {
  const catalog = new JobCatalog()
  for (const [version, slot] of [
    [2, 0],
    [1, 0],
    [2, 1],
  ] as const) {
    catalog.add({ share: tableShare(version, slot), attempt: 1 })
  }
  catalog.add({
    share: { ...tableShare(1), state: 'hidden', queryableName: undefined },
    attempt: 1,
  })
  catalog.addTyped({
    queryableName: 'COUNTS',
    kind: 'value',
    slot: 0,
    firstKeyGroup: 0,
    lastKeyGroup: 127,
    maxParallelism: 128,
  })
  expect(stateInfosOf(catalog, () => 2)).toEqual([
    { name: 'ALS_MODEL', kind: 'vector', dimension: 4, versions: [1, 2], liveVersion: 2 },
    { name: 'COUNTS', kind: 'value', dimension: 0, versions: [], liveVersion: 0 },
  ])
})
