import type { ModelMoments } from '../../models/als/online/prior.ts'
import type { LearnableModel } from '../../models/als/online/sequential-learner.ts'
import { RowMoments } from '../../models/als/row-moments.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import type { AlsModel } from './solver/model.ts'

/** Moments of the rows of a trained model. */
export function momentsOf(model: AlsModel): ModelMoments {
  const user = new RowMoments(model.dimension)
  const item = new RowMoments(model.dimension)
  for (let n = 0; n < model.users.length; n++) user.add(model.row('U', n))
  for (let n = 0; n < model.items.length; n++) item.add(model.row('I', n))
  return { user, item }
}

/** A trained model with its training ratings, for online learning. */
export function learnableModel(model: AlsModel, trained: RatingsTable): LearnableModel {
  const count = (numbers: Uint32Array, ids: readonly string[]): Map<string, number> => {
    const counts = new Map<string, number>()
    for (const number of numbers) {
      const id = ids[number]!
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    return counts
  }
  const users = count(trained.user, trained.users)
  const items = count(trained.item, trained.items)
  return {
    row: (side, id) => model.rowOf(side === 'user' ? 'U' : 'I', id),
    evidence: (side, id) => (side === 'user' ? users : items).get(id) ?? 0,
    coldUser: model.meanUser,
    coldItem: model.meanItem,
    range: model.range,
  }
}
