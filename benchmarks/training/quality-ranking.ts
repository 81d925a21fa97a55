import { evaluateRanking } from '../../src/training/als/evaluate-ranking.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { ratingsOf, ratingsTable } from '../../src/training/data/ratings-table.ts'
import { readRatings } from '../../src/training/data/read-ratings.ts'
import { splitFolds } from '../../src/training/data/split-ratings.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { sharedData } from '../harness/shared-data.ts'
import { mean } from '../load/statistics.ts'
import { type RankingFold, type RankingRivals, rankWithRivals } from '../rivals/ranking.ts'

const FOLDS = 5

/**
 * `quality-ranking`: NDCG at 10 of ALS on implicit feedback with its defaults, mean of five folds, beside ALS of
 * the `implicit` library and EASE. The rivals choose their settings on a part of each fold's training ratings.
 */
export const qualityRankingBenchmark: Benchmark = {
  name: 'quality-ranking',
  summary:
    'NDCG at 10 on MovieLens 100K as implicit feedback, five folds, against implicit and EASE',
  async run({ say, scratch }) {
    const base = sharedData('ml-100k/u1.base', say)
    const test = sharedData('ml-100k/u1.test', say)
    if (base === undefined || test === undefined) return []
    const tables = [(await readRatings(base)).table, (await readRatings(test)).table]
    const whole = ratingsTable(tables.flatMap((table) => [...ratingsOf(table)]))
    const own: number[] = []
    const rivals: RankingRivals[] = []
    for (const fold of splitFolds(whole, FOLDS)) {
      const value = await ranked(fold)
      const beside = await rankWithRivals(fold, scratch, say)
      own.push(value)
      if (beside !== undefined) rivals.push(beside)
      say(
        `fold ${own.length}: ${[value, beside?.implicit.ndcg, beside?.ease.ndcg].map(digits).join(' ')}`,
      )
    }
    return figures(own, rivals)
  },
}

async function ranked({ train, test }: RankingFold): Promise<number> {
  const model = await trainAls(train, { feedback: 'implicit', threads: 2 })
  return evaluateRanking(model, train, test).ndcg.mean
}

function digits(value: number | undefined): string {
  return value === undefined ? '-' : value.toFixed(4)
}

function figures(own: readonly number[], rivals: readonly RankingRivals[]): Figure[] {
  const value = mean(own)
  const folds = own.map(digits).join(' ')
  const [first] = rivals
  const measured = { name: 'quality-ranking', value, unit: 'NDCG at 10', details: { folds } }
  if (first === undefined) return [measured]
  const beside = (rival: 'implicit' | 'ease', rivalName: string): Figure => ({
    ...measured,
    name: `quality-ranking-over-${rival}`,
    rival: mean(rivals.map((each) => each[rival].ndcg)),
    rivalName,
    targetRatio: 1,
    details: { folds, settings: rivals.map((each) => each[rival].settings).join(', ') },
  })
  return [beside('implicit', `implicit ${first.version}`), beside('ease', 'EASE')]
}
