import { describe, expect, it } from 'vitest'
import {
  type AlsVersionMetadata,
  decodeVersion,
  encodeVersion,
  LearnedVersion,
  mergedMoments,
  sharedBytes,
  versionNumbersOf,
} from '../../../../src/jobs/learning/als/version.ts'
import { newRow } from '../../../../src/models/als/online/rule.ts'
import { RowMoments } from '../../../../src/models/als/row-moments.ts'

const METADATA: AlsVersionMetadata = {
  version: 7,
  biased: true,
  feedback: 'explicit',
  globalMean: 3.5,
  minRating: 0.5,
  maxRating: Number.POSITIVE_INFINITY,
}

function momentsOf(...rows: readonly number[][]): Float64Array {
  const moments = new RowMoments(rows[0]!.length, true)
  for (const row of rows) moments.add(row)
  return moments.encode()
}

const MOMENTS = { user: momentsOf([1, 2, 1]), item: momentsOf([3, 1, 4]) }

describe('the constants of a learned version', () => {
  it('have bytes that never change, and read back', () => {
    const bytes = encodeVersion(
      { ...METADATA, resumeOffsets: [{ partition: 0, start: 0, next: 1 }], published: MOMENTS },
      MOMENTS,
    )
    const json =
      '{"version":7,"biased":true,"globalMean":3.5,"minRating":0.5,"maxRating":null,"user":5,"item":5}'
    expect(bytes[0]).toBe(1)
    expect(Buffer.from(bytes).readUInt32LE(1)).toBe(json.length)
    expect(Buffer.from(bytes).toString('utf8', 5, 5 + json.length)).toBe(json)
    expect(bytes).toHaveLength(5 + json.length + 8 * 10)
    expect(decodeVersion(bytes)).toEqual({ metadata: METADATA, moments: MOMENTS })
  })

  it('say that a version is of implicit feedback', () => {
    const metadata = { ...METADATA, feedback: 'implicit' } as const
    expect(decodeVersion(encodeVersion(metadata, MOMENTS)).metadata).toEqual(metadata)
  })

  it('say the rule of a kind that has one of its own, which learns the version in place of that of the job', () => {
    const metadata = { ...METADATA, own: { rule: 'popularity', damping: 9 } } as const
    const moments = { user: momentsOf([3.5, 1]), item: momentsOf([1, 0]) }
    const read = decodeVersion(encodeVersion(metadata, moments)).metadata
    expect(read).toEqual(metadata)
    const options = { dimension: 2, rule: { rule: 'popularity', damping: 4 } } as const
    const { rule } = new LearnedVersion(read, moments, options)
    const item = newRow(Float32Array.of(1, 0), 0)
    rule.fold(item, Float32Array.of(5, 0))
    expect([...item.row]).toEqual([1, 5 / (9 + 1)])
  })

  it('of another format are refused', () => {
    expect(() => decodeVersion(Uint8Array.of(2, 0, 0, 0, 0))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
    )
  })

  it('are the sums of all slots', () => {
    const parts = [
      [1, 2, 1],
      [3, 6, 1],
    ].map((row) => {
      return { user: momentsOf(row), item: momentsOf(row) }
    })
    expect(mergedMoments(parts).user).toEqual(momentsOf([1, 2, 1], [3, 6, 1]))
  })

  it('give the rows of new users and items, with a constant column of exactly 1', () => {
    const version = new LearnedVersion(METADATA, MOMENTS, {
      dimension: 3,
      rule: { rule: 'sgd' },
    })
    expect([...version.coldUser]).toEqual([1, 2, 1])
    expect([...version.coldItem]).toEqual([3, 1, 4])
    expect(version.range).toEqual({ min: 0.5, max: Number.POSITIVE_INFINITY })
  })
})

it('the sums of a rule read back from operator state; other rules have none', () => {
  const moments = (): Float64Array => {
    const all = new RowMoments(3)
    for (let n = 0; n < 9; n++) all.add([n % 3, n % 2, 1])
    return all.encode()
  }
  const made = (rule: 'stack' | 'gram'): LearnedVersion =>
    new LearnedVersion(
      METADATA,
      { user: moments(), item: moments() },
      {
        dimension: 3,
        rule: { rule },
      },
    )
  const version = made('stack')
  version.rule.shared?.set([1, 2, 3])
  const [bytes, ...others] = sharedBytes(version)
  expect(others).toEqual([])
  const { version: number, numbers } = versionNumbersOf(bytes!)
  expect(number).toBe(METADATA.version)
  expect(numbers).toEqual(version.rule.shared)
  expect(sharedBytes(made('gram'))).toEqual([])
})
