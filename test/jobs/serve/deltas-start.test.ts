import { describe, expect, it } from 'vitest'
import { decideDeltasStart } from '../../../src/jobs/serve/deltas-start.ts'

const BOUNDS = [
  { partition: 0, start: 0, end: 70 },
  { partition: 1, start: 20, end: 90 },
]
const S1 = { learnsFrom: 's1', learnsFromId: 'a' }
const S2 = { learnsFrom: 's2', learnsFromId: 'b' }
const [READS_S1, READS_S2] = [
  { topic: 's1', id: 'a' },
  { topic: 's2', id: 'b' },
]

describe('a learner without a checkpoint', () => {
  it('reads all deltas of a model that was learned from no other topic', () => {
    const start = { offsets: undefined, before: undefined, learning: S1 }
    expect(decideDeltasStart({}, READS_S1, BOUNDS)).toEqual(start)
    expect(decideDeltasStart(S1, READS_S1, BOUNDS)).toEqual(start)
    expect(decideDeltasStart({ learnsFrom: 's1' }, READS_S1, BOUNDS)).toEqual(start)
  })

  it('leaves out the deltas of another topic, also of one of the same name', () => {
    const offsets = [70, 90]
    expect(decideDeltasStart(S1, READS_S2, BOUNDS)).toEqual({
      offsets,
      before: 's1',
      learning: { ...S2, deltasFrom: offsets },
    })
    expect(decideDeltasStart(S1, { topic: 's1', id: 'c' }, BOUNDS)).toMatchObject({ offsets })
  })

  it('leaves them out at each later start, too, as far as the topic still has them', () => {
    const known = { ...S2, deltasFrom: [50, 10] }
    expect(decideDeltasStart(known, READS_S2, BOUNDS)).toEqual({
      offsets: [50, 20],
      before: undefined,
      learning: known,
    })
    const createdAgain = { ...S2, deltasFrom: [500, 500] }
    expect(decideDeltasStart(createdAgain, READS_S2, BOUNDS).offsets).toEqual([0, 20])
  })
})
