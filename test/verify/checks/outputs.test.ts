import { describe, expect, it } from 'vitest'
import { checkOutputs, type ResultRecord } from '../../../verify/checks/outputs.ts'

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
  it('finds nothing when each result comes once, in any order', () => {
    expect(checkOutputs(ALL.toReversed(), CHECKS)).toEqual({
      lost: 0,
      duplicated: 0,
      wrong: 0,
      examples: [],
    })
  })

  it('finds lost results', () => {
    const { lost, examples } = checkOutputs(ALL.slice(0, 3), CHECKS)
    expect({ lost, examples }).toEqual({ lost: 1, examples: ['lost: a 3'] })
  })

  it('counts repeated results', () => {
    const { duplicated } = checkOutputs([...ALL, ALL[0]!, ALL[0]!, ALL[3]!], CHECKS)
    expect(duplicated).toBe(3)
  })

  it('finds results that do not follow from the input', () => {
    const strange = [{ ...ALL[0]!, hash: 5 }, result('c', 1), result('b', 0), result('b', 2)]
    expect(checkOutputs([...ALL, ...strange], CHECKS).wrong).toBe(4)
  })
})
