import { expect, it } from 'vitest'
import { type HostileParts, hostileResult } from '../../verify/hostile-campaign.ts'
import { worstOf } from '../hostile/doors/verdict.ts'

type Doors = HostileParts['doors']
type Case = Doors['cases'][number]

/** What the doors found; a report reads no more of a case than that it ran. */
const doors = (found: Partial<Doors> = {}): Doors => ({
  ...{ cases: [{} as Case, {} as Case], judged: 2, unjudged: [], lost: 0, violations: [] },
  worst: worstOf([]),
  ...found,
})

const resultOf = (found: Partial<Doors>, others: Partial<HostileParts> = {}) =>
  hostileResult({ all: 9, doors: doors(found), frames: undefined, mutated: undefined, ...others })

const FUZZED = { cases: 5, casesPerHour: 5, decoders: 1, slowestMs: 1 } as const

it('a campaign that lost no answer and broke no promise has passed', () => {
  const counts = { cases: { run: 2, judged: 2, all: 9 }, lost: 0, violations: [] }
  expect(resultOf({})).toMatchObject({ verdict: 'passed', ...counts })
})

it('the lost answers of the doors are those of the campaign', () => {
  const violations = ['http: half bodies: 3 answers were lost']
  const result = resultOf({ lost: 3, violations })
  expect(result).toMatchObject({ verdict: 'failed', lost: 3, violations })
})

it('a promise that one part breaks is a violation of the campaign', () => {
  const mutated = { ...FUZZED, violations: ['keys: a crash'] }
  expect(resultOf({}, { mutated })).toMatchObject({
    verdict: 'failed',
    violations: ['keys: a crash'],
  })
})

it('a campaign of which a busy machine says nothing of one case is undecided, not passed', () => {
  const unjudged = ['http: floods: no processor']
  expect(resultOf({ judged: 1, unjudged })).toMatchObject({ verdict: 'undecided', unjudged })
})
