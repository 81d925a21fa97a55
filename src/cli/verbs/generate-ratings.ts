import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { generateRatings } from '../../models/ratings/generator.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { type Command, Flags } from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { anyNumber, MOST_MADE, wholeNumber } from '../flag-kinds/numbers.ts'
import { output } from '../flag-kinds/places.ts'
import { counted } from '../text/counted.ts'

const CHUNK = 4096

/** `weir generate ratings`: writes generated ratings in MovieLens' `u.data` format. */
export const generateRatingsCommand: Command = {
  name: 'generate ratings',
  summary: 'Generate ratings from a planted low-rank model and write them',
  options: {
    users: {
      type: 'string',
      value: wholeNumber({ min: 1, max: MOST_MADE }),
      default: '1000',
      help: 'Number of users',
    },
    items: {
      type: 'string',
      value: wholeNumber({ min: 1, max: MOST_MADE }),
      default: '500',
      help: 'Number of items',
    },
    ratings: {
      type: 'string',
      value: wholeNumber({ min: 1, max: MOST_MADE }),
      default: '100000',
      help: 'Number of ratings',
    },
    seed: {
      type: 'string',
      value: wholeNumber(),
      default: '1',
      help: 'Seed of the model and the ratings',
    },
    drift: {
      type: 'string',
      value: anyNumber({ min: 0, max: 1 }),
      default: '0',
      help: 'How much user preferences change over the ratings, 0 to 1',
    },
    output: { type: 'string', value: output(), help: 'Output file (default: standard output)' },
  },
  details: `Each line has user, item, rating and Unix seconds, separated by tabs, in order of time.

Example:
  weir generate ratings --users 2000 --items 800 --ratings 200000 --output ratings.data`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const ratings = flags.number('ratings')
    const path = flags.optional('output')
    const out: Writable = path === undefined ? process.stdout : createWriteStream(path)
    const bar = new ProgressBar(io, 'generating', () => systemClock.monotonicMs())
    const options = {
      users: flags.number('users'),
      items: flags.number('items'),
      ratings,
      seed: flags.number('seed'),
      drift: flags.number('drift'),
    }
    await writeLines(generateRatings(options), out, (written) => {
      if (path !== undefined) bar.update(written, ratings)
    })
    bar.finish()
    if (path !== undefined) {
      out.end()
      await once(out, 'close')
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ ...options, output: path })
          : `${counted(ratings, 'rating')} in ${path}`,
      )
    }
    return 0
  },
}

/** Writes ratings as lines; `onWritten` gets their number so far. */
async function writeLines(
  ratings: Iterable<Rating>,
  out: Writable,
  onWritten: (written: number) => void,
): Promise<void> {
  let lines: string[] = []
  let written = 0
  const flush = async (): Promise<void> => {
    written += lines.length
    const more = out.write(lines.join(''))
    lines = []
    onWritten(written)
    if (!more) await once(out, 'drain')
    // Signals are delivered between two pieces.
    else await setImmediate()
  }
  for (const { user, item, rating, timestamp } of ratings) {
    lines.push(`${user}\t${item}\t${rating}\t${Math.floor(timestamp / 1000)}\n`)
    if (lines.length === CHUNK) await flush()
  }
  await flush()
}
