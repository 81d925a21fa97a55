import { systemClock } from '../core/clock.ts'
import { evaluateServed } from '../jobs/evaluate-served.ts'
import type { RatingRange } from '../models/rating.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { ProgressBar } from './progress-bar.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from './query-flags.ts'
import { ratingsOfFile } from './ratings-file.ts'

/** `weir evaluate`: the served model's error on a ratings file. */
export const evaluateCommand: Command = {
  name: 'evaluate',
  summary: 'Measure the error of the served model on a ratings file',
  usage: '--ratings FILE',
  options: {
    ratings: { type: 'string', value: 'FILE', help: 'u1.test, ratings.dat or ratings.csv' },
    clip: { type: 'string', value: 'MIN,MAX', help: 'Clip predictions into the rating scale' },
    ...QUERY_OPTIONS,
  },
  details: `Every pair counts: users and items that the model does not know are predicted from mean rows and
counted as cold.

Example:
  weir evaluate --ratings u1.test --clip 1,5`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = flags.optional('ratings') ?? args[0]
    if (file === undefined) throw new UsageError('--ratings FILE is required')
    const range = rangeOf(flags.optional('clip'))
    const table = await ratingsOfFile(file)
    await using client = await connectWith(flags)
    const bar = new ProgressBar(io, 'evaluating', () => systemClock.monotonicMs())
    const errors = await evaluateServed(client, table, {
      state: flags.string('state'),
      query: queryOptionsOf(flags),
      ...(range === undefined ? {} : { range }),
      onProgress: (done) => bar.update(done, table.size),
    })
    bar.finish()
    if (flags.boolean('json')) io.out(JSON.stringify(errors))
    else {
      const { known, coldUser, coldItem, coldBoth } = errors.coverage
      io.out(`ratings   ${errors.count}`)
      io.out(
        `RMSE      ${errors.rmse.toFixed(4)}  (95 %: ${errors.rmseLow.toFixed(4)} to ${errors.rmseHigh.toFixed(4)})`,
      )
      io.out(`MSE       ${errors.mse.toFixed(4)}`)
      io.out(`MAE       ${errors.mae.toFixed(4)}`)
      io.out(
        `coverage  ${known} known, ${coldUser} cold users, ${coldItem} cold items, ${coldBoth} both cold`,
      )
    }
    return 0
  },
}

function rangeOf(text: string | undefined): RatingRange | undefined {
  if (text === undefined) return undefined
  const [min, max] = text.split(',').map(Number)
  if (min === undefined || max === undefined || !(min < max)) {
    throw new UsageError(`--clip must be MIN,MAX such as 1,5, not "${text}"`)
  }
  return { min, max }
}
