import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { systemClock } from '../core/clock.ts'
import { generateRatings } from '../models/ratings-generator.ts'
import { type Command, Flags } from './command.ts'
import { ProgressBar } from './progress-bar.ts'

const CHUNK = 4096

/** `weir generate ratings`: seeded ratings in MovieLens' `u.data` format. */
export const generateRatingsCommand: Command = {
  name: 'generate ratings',
  summary: 'Write seeded ratings from a planted low-rank model',
  options: {
    users: { type: 'string', value: 'N', default: '1000', help: 'Users' },
    items: { type: 'string', value: 'N', default: '500', help: 'Items' },
    ratings: { type: 'string', value: 'N', default: '100000', help: 'Ratings' },
    seed: { type: 'string', value: 'N', default: '1', help: 'Seed' },
    drift: {
      type: 'string',
      value: 'X',
      default: '0',
      help: 'How far tastes turn over the stream, 0 to 1',
    },
    output: { type: 'string', value: 'FILE', help: 'File to write (default: standard output)' },
  },
  details: `Lines are user, item, rating, unix seconds, separated by tabs, in ascending time.

Example:
  weir generate ratings --users 2000 --items 800 --ratings 200000 --output ratings.data`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const ratings = flags.integer('ratings', 1)
    const path = flags.optional('output')
    const out: Writable = path === undefined ? process.stdout : createWriteStream(path)
    const bar = new ProgressBar(io, 'generating', () => systemClock.monotonicMs())
    let lines: string[] = []
    let written = 0
    const flush = async (): Promise<void> => {
      written += lines.length
      const more = out.write(lines.join(''))
      lines = []
      if (path !== undefined) bar.update(written, ratings)
      if (!more) await once(out, 'drain')
    }
    const options = {
      users: flags.integer('users', 1),
      items: flags.integer('items', 1),
      ratings,
      seed: flags.integer('seed'),
      drift: flags.number('drift'),
    }
    for (const { user, item, rating, timestamp } of generateRatings(options)) {
      lines.push(`${user}\t${item}\t${rating}\t${Math.floor(timestamp / 1000)}\n`)
      if (lines.length === CHUNK) await flush()
    }
    await flush()
    bar.finish()
    if (path !== undefined) {
      out.end()
      await once(out, 'close')
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ ...options, output: path })
          : `${ratings} ratings in ${path}`,
      )
    }
    return 0
  },
}
