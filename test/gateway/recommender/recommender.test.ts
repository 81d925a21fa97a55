import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import type { ServedState } from '../../../src/gateway/port/services.ts'
import { ModelRows } from '../../../src/gateway/recommender/model-rows.ts'
import { Recommender } from '../../../src/gateway/recommender/recommender.ts'
import { anonymousRow, implicitRow } from '../../../src/models/als/anonymous-row.ts'
import { encodeTerms, type ImplicitTerms } from '../../../src/models/als/implicit-terms.ts'

const ROWS: Readonly<Record<string, Float32Array>> = {
  'MEAN-U': Float32Array.of(0.2, 0.1),
  'MEAN-I': Float32Array.of(0.3, 0.2),
  'ada-U': Float32Array.of(0.6, -0.1),
  'a-I': Float32Array.of(0.9, 0.1),
  'b-I': Float32Array.of(-0.2, 0.8),
}

const TERMS: ImplicitTerms = {
  ...{ alpha: 2, regularization: 0.5, penalty: 'sqrt-n' },
  gram: Float32Array.of(4, 0.5, 3),
}

/** A job whose live version 2 has these terms, and whose routing table is fetched `refreshed` times. */
class Job {
  readonly queries: (string | Float32Array)[] = []
  /** Lists that are refused first: another version has gone live since their query was made. */
  refusals = 0
  refreshed = 0
  private table: ServedState['routing']
  private readonly newest: ServedState['routing']

  constructor(terms: ImplicitTerms | undefined, liveInTable = 2) {
    const tableOf = (liveVersion: number): ServedState['routing'] => {
      const own =
        terms && liveVersion === 2 ? { terms: [{ version: 2, ...encodeTerms(terms) }] } : {}
      const state = {
        name: 'ALS_MODEL',
        kind: 'vector',
        dimension: 2,
        versions: [1, 2],
        liveVersion,
      }
      return { epoch: 1, job: 'als', endpoints: [], sources: [], states: [{ ...state, ...own }] }
    }
    this.table = tableOf(liveInTable)
    this.newest = tableOf(2)
  }

  recommender(): Recommender {
    const job = this
    const state = {
      get routing() {
        return job.table
      },
      refreshRouting: async () => {
        this.refreshed++
        this.table = this.newest
        return this.table
      },
      rows: async (_: string, keys: readonly string[]) =>
        keys.map((key) =>
          ROWS[key] === undefined
            ? { ok: false, error: new WeirError('UNKNOWN_KEY', key) }
            : { ok: true, value: ROWS[key], envelope: { modelVersion: 2 } },
        ),
      topK: async (_: string, query: string | Float32Array) => {
        this.queries.push(query)
        if (this.refusals-- > 0) {
          return {
            ok: false,
            error: new WeirError('DIMENSION_MISMATCH', 'rows of 2 and of 3 floats'),
          }
        }
        return { ok: true, value: [], envelope: { modelVersion: 2 } }
      },
    } as unknown as ServedState
    return new Recommender(new ModelRows(state, 'ALS_MODEL'), () => undefined)
  }
}

const PAGE = { howMany: 10, offset: 0 }
const events = (...strengths: (number | undefined)[]) =>
  strengths.map((rating, i) => ({ row: ROWS[i === 0 ? 'a-I' : 'b-I']!, rating }))

describe('the row of someone who used a few items', () => {
  it('is the one that the training of a version of implicit feedback would give', async () => {
    const job = new Job(TERMS)
    const items = [
      { item: 'a', strength: 3 },
      { item: 'b', strength: undefined },
      { item: 'unknown', strength: 1 },
    ]
    await job.recommender().recommendToAnonymous(items, PAGE, {})
    expect(job.queries).toEqual([implicitRow(undefined, events(3, 1), TERMS)])
    expect(job.refreshed).toBe(0)
  })

  it('takes the events of one item together', async () => {
    const job = new Job(TERMS)
    const twice = [1, 2].map((strength) => ({ item: 'a', strength }))
    await job.recommender().recommendToAnonymous(twice, PAGE, {})
    expect(job.queries).toEqual([implicitRow(undefined, events(3), TERMS)])
  })

  it('begins at the row of a user who has one', async () => {
    const job = new Job(TERMS)
    const context = { user: 'ada', items: [{ item: 'b', strength: 2 }] }
    await job.recommender().recommendWithContext(context, PAGE, {})
    const added = [{ row: ROWS['b-I']!, rating: 2 }]
    expect(job.queries).toEqual([implicitRow(ROWS['ada-U'], added, TERMS)])
  })

  it('is a step from the mean row in a version of explicit feedback', async () => {
    const job = new Job(undefined)
    await job.recommender().recommendToAnonymous([{ item: 'a', strength: 4 }], PAGE, {})
    expect(job.queries).toEqual([anonymousRow(ROWS['MEAN-U']!, events(4), -1)])
    expect(job.refreshed).toBe(0)
  })

  it('looks the version up again where the routing table is older than it', async () => {
    const job = new Job(TERMS, 1)
    const recommender = job.recommender()
    for (let call = 0; call < 2; call++) {
      await recommender.recommendToAnonymous([{ item: 'a', strength: 3 }], PAGE, {})
    }
    const row = implicitRow(undefined, events(3), TERMS)
    expect(job.queries).toEqual([row, row])
    expect(job.refreshed).toBe(1)
  })
})

describe('a version with rows of another length that goes live while a list is made', () => {
  const page = { howMany: 1, offset: 0 }
  const asked: Readonly<Record<string, (recommender: Recommender) => Promise<unknown>>> = {
    'of a group': (recommender) => recommender.recommendToMany(['ada'], page, {}),
    'of someone who rated a few items': (recommender) =>
      recommender.recommendToAnonymous([{ item: 'a', strength: 1 }], page, {}),
    'of similar items': (recommender) => recommender.similarity(['a'], page, {}),
  }

  it.each(Object.entries(asked))('has a list %s made again, once', async (_, ask) => {
    const job = new Job(undefined)
    job.refusals = 1
    expect(await ask(job.recommender())).toEqual([])
    expect(job.queries).toHaveLength(2)
    job.refusals = 2
    await expect(ask(job.recommender())).rejects.toMatchObject({ code: 'DIMENSION_MISMATCH' })
    expect(job.queries).toHaveLength(4)
  })
})
