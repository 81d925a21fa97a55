import { describe, expect, it } from 'vitest'
import { FairQueue } from '../../../src/core/lifetime/fair-queue.ts'

describe('FairQueue', () => {
  it('serves its owners in turn and keeps the order of each', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'a2', 'a3']) queue.push('a', item)
    queue.push('b', 'b1')
    queue.push('c', 'c1')
    queue.push('c', 'c2')
    const served = Array.from({ length: queue.size }, () => queue.shift())
    expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
    expect(queue.shift()).toBeUndefined()
  })
})
