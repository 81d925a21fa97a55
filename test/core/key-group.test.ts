import { describe, expect, it } from 'vitest'
import {
  checkParallelism,
  containsKeyGroup,
  defaultMaxParallelism,
  intersectKeyGroups,
  keyGroupOf,
  keyGroupOfHash,
  keyGroupRangeOf,
  subtaskOfKeyGroup,
} from '../../src/core/key-group.ts'
import { seededRandom } from '../../src/core/random.ts'
import { campaignSize } from '../run/campaign-size.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('key groups', () => {
  it('give every key the same group on every machine', () => {
    expect(keyGroupOf(bytes('hello'), 128)).toBe(0x248bfa47 % 128)
    expect(keyGroupOf(bytes('hello, world'), 128)).toBe(0x149bbb7f % 128)
    expect(keyGroupOf(bytes(''), 128)).toBe(0)
  })

  it('are those of the remainder, for any number of groups and a hash as int32, too', () => {
    const random = seededRandom(2)
    for (let round = 0; round < 500; round++) {
      const maxParallelism = round % 2 === 0 ? 2 ** random.below(16) : 1 + random.below(32_768)
      const hash = random.below(2 ** 32)
      expect(keyGroupOfHash(hash, maxParallelism)).toBe(hash % maxParallelism)
      expect(keyGroupOfHash(hash | 0, maxParallelism)).toBe(hash % maxParallelism)
    }
  })

  it('assign every group to exactly one subtask, whatever the parallelism', () => {
    const random = seededRandom(1)
    for (let round = 0; round < campaignSize(40, 200); round++) {
      const maxParallelism = 1 + random.below(600)
      const parallelism = 1 + random.below(maxParallelism)
      let next = 0
      for (let subtask = 0; subtask < parallelism; subtask++) {
        const range = keyGroupRangeOf(subtask, parallelism, maxParallelism)
        expect(range.first).toBe(next)
        const misplaced: number[] = []
        for (let group = range.first; group <= range.last; group++) {
          const owner = subtaskOfKeyGroup(group, parallelism, maxParallelism)
          if (owner !== subtask || !containsKeyGroup(range, group)) misplaced.push(group)
        }
        expect(misplaced).toEqual([])
        next = range.last + 1
      }
      expect(next).toBe(maxParallelism)
    }
  })

  it('intersect as ranges', () => {
    expect(intersectKeyGroups({ first: 0, last: 9 }, { first: 5, last: 20 })).toEqual({
      first: 5,
      last: 9,
    })
    expect(intersectKeyGroups({ first: 0, last: 4 }, { first: 5, last: 20 })).toBeUndefined()
  })

  it('have the default number that Flink gives', () => {
    expect(defaultMaxParallelism(1)).toBe(128)
    expect(defaultMaxParallelism(100)).toBe(256)
    expect(defaultMaxParallelism(30000)).toBe(32768)
  })

  it('refuse a parallelism above the max parallelism', () => {
    expect(() => checkParallelism(3, 2)).toThrow('parallelism must be')
    expect(() => checkParallelism(1, 40000)).toThrow('max parallelism must be')
  })
})
