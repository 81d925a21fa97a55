import { describe, expect, it } from 'vitest'
import { checkOutputs, type ResultRecord } from '../../verify/check-outputs.ts'

const CHECKS = new Map([
  ['a', [undefined, 71, 72, 73]],
  ['b', [undefined, 81]],
])

const result = (key: string, count: number): ResultRecord => ({
  key,
  count,
  hash: CHECKS.get(key)?.[count] ?? 0,
})
const ALL = [result('a', 1), result('b', 1), result('a', 2), result('a', 3)]

describe('checkOutputs', () => {
  it('finds nothing when each result is there once, in any order', () => {
    expect(checkOutputs(ALL.toReversed(), CHECKS)).toEqual({
      lost: 0,
      duplicated: 0,
      wrong: 0,
      examples: [],
    })
  })

  it('finds what is lost', () => {
    const { lost, examples } = checkOutputs(ALL.slice(0, 3), CHECKS)
    expect({ lost, examples }).toEqual({ lost: 1, examples: ['lost: a 3'] })
  })

  it('counts what is there again', () => {
    const { duplicated } = checkOutputs([...ALL, ALL[0]!, ALL[0]!, ALL[3]!], CHECKS)
    expect(duplicated).toBe(3)
  })

  it('finds results that no input explains', () => {
    const strange = [{ ...ALL[0]!, hash: 5 }, result('c', 1), result('b', 0), result('b', 2)]
    expect(checkOutputs([...ALL, ...strange], CHECKS).wrong).toBe(4)
  })
})
