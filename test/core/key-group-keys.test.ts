import { describe, expect, it } from 'vitest'
import { keyGroupOf } from '../../src/core/key-group.ts'
import { keyOfEveryGroup } from '../../src/core/key-group-keys.ts'

describe('keys of every key group', () => {
  it.each([1, 128, 512])('are of each of %i key groups, in order', (maxParallelism) => {
    const keys = keyOfEveryGroup(maxParallelism)
    const groups = keys.map((key) => keyGroupOf(key, maxParallelism))
    expect(groups).toEqual(Array.from({ length: maxParallelism }, (_, group) => group))
  })
})
