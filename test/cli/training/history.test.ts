import { describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { historyOf } from '../../../src/cli/training/history.ts'
import type { RetrainedModel } from '../../../src/kinds/registered.ts'

const MODEL: RetrainedModel = { als: {}, rule: { rule: 'gram' } }
const COUNTS: RetrainedModel = { als: { feedback: 'implicit' }, rule: { rule: 'fold-in' } }

const historyWith = (
  given: Readonly<Record<string, string | readonly string[]>>,
  model: RetrainedModel = MODEL,
) => historyOf(new Flags(given), model).history

describe('the history of a retraining', () => {
  it('is none without files', () => {
    expect(historyWith({ columns: 'user=2,item=1,rating=3' })).toBeUndefined()
  })

  it('has the places in their order, and how their files are read', () => {
    const ratings = ['hdfs://namenode:9870/old', 'new.csv']
    const separated = { separator: 'pipe', columns: 'user=2,item=1,rating=3', 'bad-lines': 'count' }
    expect(historyWith({ ratings, ...separated })).toEqual({
      places: ratings,
      reading: {
        ...{ badLines: 'count', mayLackRating: false, format: 'pipe' },
        columns: { user: '2', item: '1', rating: '3' },
      },
    })
    expect(historyWith({ examples: ['old.svm'] })?.places).toEqual(['old.svm'])
  })

  it('may have lists without ratings where the model is of implicit feedback', () => {
    expect(historyWith({ ratings: ['old.csv'] }, COUNTS)?.reading?.mayLackRating).toBe(true)
  })

  it('refuses to write bad lines into a file', () => {
    expect(() => historyWith({ ratings: ['old.csv'], 'bad-lines': 'bad.txt' })).toThrow(
      '--bad-lines takes fail or count',
    )
  })
})
