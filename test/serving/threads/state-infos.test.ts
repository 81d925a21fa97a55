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
    operatorUid: 'count',
    queryableName: 'COUNTS',
    kind: 'value',
    slot: 0,
    firstKeyGroup: 0,
    lastKeyGroup: 127,
    maxParallelism: 128,
  })
  const facts = { liveVersionOf: () => 2, labelsOf: () => undefined, termsOf: () => undefined }
  const factors = { name: 'ALS_MODEL', kind: 'vector', dimension: 4, versions: [1, 2] }
  const counts = { name: 'COUNTS', kind: 'value', dimension: 0, versions: [], liveVersion: 0 }
  expect(stateInfosOf(catalog, facts)).toEqual([{ ...factors, liveVersion: 2 }, counts])
  // Of a linear model, with the labels of the versions that are loaded.
  const labels = [1, 2, 3].map((version) => ({ version, positive: version, negative: 0 }))
  expect(stateInfosOf(catalog, { ...facts, labelsOf: () => labels })).toEqual([
    { ...factors, liveVersion: 2, labels: labels.slice(0, 2) },
    counts,
  ])
  // Of a model of implicit feedback, with their terms.
  const terms = [2, 3].map((version) => ({
    ...{ version, alpha: 1, regularization: 3, penalty: 'n', gram: '' },
  }))
  expect(stateInfosOf(catalog, { ...facts, termsOf: () => terms })).toEqual([
    { ...factors, liveVersion: 2, terms: terms.slice(0, 1) },
    counts,
  ])
})
