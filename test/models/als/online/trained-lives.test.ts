import { beforeAll, describe, expect, it } from 'vitest'
import { ONLINE_RULES, onlineRule } from '../../../../src/models/als/online/rules.ts'
import {
  type LearnableModel,
  SequentialLearner,
} from '../../../../src/models/als/online/sequential-learner.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../../src/models/ratings/rating.ts'
import { learnableModel, momentsOf } from '../../../../src/training/als/learnable-model.ts'
import type { AlsModel } from '../../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../../src/training/als/train.ts'
import { ratingsTable } from '../../../../src/training/data/ratings-table.ts'
import { interval, mean, ndcgLoss } from '../../../combinations/plain-measures.ts'
import { CHOSEN_SETS, FRESH, GOLDEN, squaresOf } from './rating-sets.ts'

type RuleName = (typeof ONLINE_RULES)[number]

const TRAINING = { factors: 16, threads: 0 }
/** After so many fresh ratings something happens to the model. */
const MIDDLE = 200

function learnerOf(model: AlsModel, learnable: LearnableModel, rule: RuleName): SequentialLearner {
  const { dimension, biased } = model
  const online = onlineRule({ dimension, biased }, { rule }, () => momentsOf(model))
  return new SequentialLearner(learnable, online)
}

/** A model whose rows are those that were learned, each trained on as many ratings as it knows: what a write-back leaves. */
function writtenBack(learnable: LearnableModel, learner: SequentialLearner): LearnableModel {
  const rowsOf = (side: 'user' | 'item') => (side === 'user' ? learner.users : learner.items)
  const isNew = (side: 'user' | 'item', id: string) => learnable.row(side, id) === undefined
  return {
    ...learnable,
    row: (side, id) => rowsOf(side).get(id)?.row.slice() ?? learnable.row(side, id),
    evidence: (side, id) => {
      const known = rowsOf(side).get(id)
      if (known === undefined) return learnable.evidence(side, id)
      return known.evidence + known.updates - (isNew(side, id) ? 0 : 1)
    },
  }
}

const newcomer = (rating: Rating): Rating => ({ ...rating, user: `new-${rating.user}` })

/** What a life is measured by. */
interface Case {
  readonly model: AlsModel
  readonly learnable: LearnableModel
  readonly rule: RuleName
  readonly fresh: readonly Rating[]
  readonly golden: readonly Rating[]
  /** A model that was trained again, with the first fresh ratings. */
  readonly again: () => Promise<{ model: AlsModel; learnable: LearnableModel }>
}

/** A life: what it learns on, what it learns, and what happens in the middle. */
interface Life {
  readonly learnable?: (of: LearnableModel, rule: RuleName) => LearnableModel
  readonly fresh?: (rating: Rating) => Rating
  /** Golden ratings beside those of known users. */
  readonly golden?: (rating: Rating) => Rating
  readonly middle?: (of: Case, learner: SequentialLearner) => Promise<SequentialLearner>
}

const LIVES: Readonly<Record<string, Life>> = {
  'loaded from text, without counts': {
    learnable: (of, rule) => ({ ...of, evidence: () => (rule === 'stack' ? 60 : 20) }),
  },
  'that goes on from its written-back rows': {
    middle: async ({ model, learnable, rule }, learner) =>
      learnerOf(model, writtenBack(learnable, learner), rule),
  },
  'that is trained again and promoted in the middle': {
    middle: async ({ again, rule }) => {
      const { model, learnable } = await again()
      return learnerOf(model, learnable, rule)
    },
  },
  'that learns newcomers': { fresh: newcomer, golden: newcomer },
}

/** Says after how many ratings the error of golden ratings was higher than its interval at the start allows. */
async function risesOf(life: Life, of: Case): Promise<readonly string[]> {
  const learnable = life.learnable?.(of.learnable, of.rule) ?? of.learnable
  let learner = learnerOf(of.model, learnable, of.rule)
  const golden = [of.golden, ...(life.golden === undefined ? [] : [of.golden.map(life.golden)])]
  const errors = (): readonly (readonly number[])[] =>
    golden.map((set) => squaresOf(set, ({ user, item }) => learner.predict(user, item)))
  const most = errors().map((squares) => mean(squares) + interval(squares))
  const found: string[] = []
  let learned = 0
  for (const count of FRESH) {
    for (const rating of of.fresh.slice(learned, count)) {
      learner.learn(life.fresh?.(rating) ?? rating)
    }
    learned = count
    if (count === MIDDLE) learner = (await life.middle?.({ ...of, learnable }, learner)) ?? learner
    for (const [n, squares] of errors().entries()) {
      if (mean(squares) <= most[n]!) continue
      found.push(`${mean(squares)} above ${most[n]} after ${count} ratings, golden set ${n}`)
    }
  }
  return found
}

describe.each(CHOSEN_SETS)(
  'a model of $trained ratings of $users users and $items items',
  ({ trained: count, ...shape }) => {
    const all = [...generateRatings({ ...shape, ratings: count + GOLDEN + 5000 })]
    const trainedOn = (ratings: readonly Rating[]) => async () => {
      const table = ratingsTable(ratings)
      const model = await trainAls(table, { ...TRAINING, biases: true })
      return { model, learnable: learnableModel(model, table) }
    }
    const fresh = all.slice(count + GOLDEN)
    let first: { model: AlsModel; learnable: LearnableModel }

    beforeAll(async () => {
      first = await trainedOn(all.slice(0, count))()
    })

    it.each(ONLINE_RULES.flatMap((rule) => Object.keys(LIVES).map((life) => ({ rule, life }))))(
      '$life answers no worse after it has learned fresh ratings with $rule',
      async ({ rule, life }) => {
        const again = trainedOn([...all.slice(0, count), ...fresh.slice(0, MIDDLE)])
        const golden = all.slice(count, count + GOLDEN)
        const rises = await risesOf(LIVES[life]!, { ...first, rule, fresh, golden, again })
        expect(rises).toEqual([])
      },
    )

    it('of implicit feedback ranks no worse after it has learned fresh uses', async () => {
      const uses = all.filter(({ rating }) => rating >= 4).map((one) => ({ ...one, rating: 1 }))
      const base = uses.slice(0, Math.floor(uses.length / 2))
      const table = ratingsTable(base)
      const model = await trainAls(table, { ...TRAINING, feedback: 'implicit' })
      const { dimension, biased } = model
      const rule = onlineRule(
        { dimension, biased },
        { rule: 'fold-in', feedback: 'implicit' },
        () => momentsOf(model),
      )
      const learner = new SequentialLearner(learnableModel(model, table), rule)
      const golden = uses.slice(-Math.floor(uses.length / 4))
      const wanted = Map.groupBy(golden, ({ user }) => user)
      const seen = Map.groupBy(base, ({ user }) => user)
      const losses = (): number[] =>
        [...wanted].map(([user, relevant]) => {
          const known = new Set(seen.get(user)?.map(({ item }) => item))
          const list = model.items
            .filter((item) => !known.has(item))
            .map((item) => ({ item, score: learner.predict(user, item) }))
            .sort((a, b) => b.score - a.score)
            .map(({ item }) => item)
          return ndcgLoss(list, new Set(relevant.map(({ item }) => item)))
        })
      const before = losses()
      const most = mean(before) + interval(before)
      const later = uses.slice(base.length, uses.length - golden.length)
      let learned = 0
      for (const count of FRESH) {
        for (const rating of later.slice(learned, count)) learner.learn(rating)
        learned = count
        expect(mean(losses()), `after ${count} uses`).toBeLessThan(most)
      }
    })
  },
)
