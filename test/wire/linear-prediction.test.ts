import { describe, expect, it } from 'vitest'
import { linearPrediction } from '../../src/wire/linear-prediction.ts'
import type { RoutingTable, VersionLabels } from '../../src/wire/routing-table.ts'

const ANSWER = { state: 'SVM_MODEL', sum: -0.5, unknown: 2, modelVersion: 7 }

/** A client whose table has these labels, and has others once it is fetched. */
function routing(labels: readonly VersionLabels[], fetched?: readonly VersionLabels[]) {
  const tableOf = (known: readonly VersionLabels[]): RoutingTable => {
    const shape = { kind: 'vector', dimension: 8, versions: [7], liveVersion: 7 }
    const states = [{ name: 'SVM_MODEL', ...shape, labels: known }]
    return { epoch: 1, job: 'svm', endpoints: [], states, sources: [] }
  }
  return {
    routing: tableOf(labels),
    isStale: fetched !== undefined,
    async refresh() {
      this.routing = tableOf(fetched ?? labels)
    },
  }
}

const of = (version: number, positive: number, negative: number): VersionLabels => {
  return { version, positive, negative }
}

describe('the prediction of a linear model', () => {
  it('has the labels of the version that answered, at once', () => {
    const known = routing([of(6, 9, 8), of(7, 1, 0)])
    expect(linearPrediction(known, ANSWER, {})).toEqual({
      ...{ decision: -0.5, label: 0, unknown: 2, modelVersion: 7 },
    })
    expect(linearPrediction(known, { ...ANSWER, sum: 0.1 }, {})).toMatchObject({ label: 1 })
    expect(linearPrediction(known, ANSWER, { threshold: -1 })).toMatchObject({ label: 1 })
    expect(linearPrediction(known, ANSWER, { negativeLabel: 5 })).toMatchObject({ label: 5 })
  })

  it('has those of a version that went live after the table was fetched', async () => {
    const late = routing([of(6, 9, 8)], [of(7, 2, 1)])
    expect(await linearPrediction(late, ANSWER, {})).toMatchObject({ label: 1 })
  })

  it('has 1 and -1 where the job does not say them, also an earlier build', async () => {
    expect(linearPrediction(routing([]), ANSWER, {})).toMatchObject({ label: -1 })
    expect(await linearPrediction(routing([], []), { ...ANSWER, sum: 3 }, {})).toMatchObject({
      label: 1,
    })
    const none = { routing: undefined, isStale: false, refresh: async () => {} }
    expect(linearPrediction(none, ANSWER, {})).toMatchObject({ label: -1 })
  })

  it('is none of a decision value or a threshold that is no number', () => {
    const nan = { ...ANSWER, sum: Number.NaN }
    expect(() => linearPrediction(routing([]), nan, {})).toThrow('the decision value is NaN')
    const threshold = Number.POSITIVE_INFINITY
    expect(() => linearPrediction(routing([]), ANSWER, { threshold })).toThrow('the threshold')
  })
})
