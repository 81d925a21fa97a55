import { predictRating } from '../../models/als/row.ts'
import type { RowFiles } from '../../models/publish/row-files.ts'
import { clipRating, type RatingRange } from '../../models/ratings/rating.ts'
import { coverageOf } from '../../training/als/solver/model.ts'
import { ErrorAccumulator } from '../../training/metrics/errors.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import { ratingsOfFile } from '../files/ratings-file.ts'
import { ratingsReadingOf } from '../files/ratings-reading.ts'

/** Rows of a side: those of the ids that are asked for, and the mean of all. */
interface Side {
  readonly rows: Map<string, Float32Array>
  sums: Float64Array
  count: number
}

/**
 * Errors on the ratings of `--test`; nothing without it. The rows are read once, and those of the ids in the file kept.
 */
export async function sparkTestErrors(
  flags: Flags,
  io: CommandIo,
  { files, range }: { readonly files: RowFiles; readonly range: RatingRange },
): Promise<Readonly<Record<string, unknown>>> {
  const test = flags.optional('test')
  if (test === undefined) return {}
  const held = await ratingsOfFile(test, ratingsReadingOf(flags, io))
  const sides = {
    U: sideOf(held.users),
    I: sideOf(held.items),
  }
  for await (const { id, kind, vector } of files.rows(() => {})) {
    if (kind === 'W') continue
    const side = sides[kind]
    if (side.count === 0) side.sums = new Float64Array(vector.length)
    for (let i = 0; i < vector.length; i++) side.sums[i]! += vector[i]!
    side.count += 1
    if (side.wanted.has(id)) side.rows.set(id, Float32Array.from(vector))
  }
  const [meanUser, meanItem] = [meanOf(sides.U), meanOf(sides.I)]
  const errors = new ErrorAccumulator()
  for (let i = 0; i < held.size; i++) {
    const user = held.users[held.user[i]!]!
    const item = held.items[held.item[i]!]!
    const [userRow, itemRow] = [sides.U.rows.get(user), sides.I.rows.get(item)]
    const score = clipRating(predictRating(userRow ?? meanUser, itemRow ?? meanItem), range)
    const rating = held.rating[i]!
    errors.add({ user, item, rating }, score, coverageOf(userRow, itemRow))
  }
  const { rmse, coverage } = errors.summary()
  return { rmse, coverage }
}

function sideOf(ids: readonly string[]): Side & { readonly wanted: ReadonlySet<string> } {
  return { rows: new Map(), sums: new Float64Array(), count: 0, wanted: new Set(ids) }
}

function meanOf({ sums, count }: Side): Float32Array {
  return Float32Array.from(sums, (sum) => sum / Math.max(1, count))
}
