import { join } from 'node:path'
import { parseSize } from '../../runtime/configuration/values.ts'
import type { RatingsSource } from '../../training/als/solver/sides.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import { withoutUsers } from '../../training/data/split-ratings.ts'
import { RatingsSpill } from '../../training/spill/ratings-spill.ts'
import type { SpilledRatings } from '../../training/spill/spilled-ratings.ts'
import { type CommandIo, type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import { addRatingsOfFile, ratingsOfFile } from '../files/ratings-file.ts'
import { ratingsReadingOf } from '../files/ratings-reading.ts'
import { ReadingBar } from '../files/reading-bar.ts'
import { size } from '../flag-kinds/numbers.ts'
import { counted } from '../text/counted.ts'
import type { DatasetFacts } from './dataset-facts.ts'
import { machineMemory, requireMemoryFor } from './ratings-memory.ts'

/** The flag of training sets that are larger than memory. */
export const MEMORY_OPTION: Readonly<Record<string, OptionSpec>> = {
  memory: {
    type: 'string',
    value: size(2 ** 20, '1mb'),
    help: 'Keep the ratings in files of the data folder (40 bytes each on disk) and sort them in this much memory, for example 512mb',
  },
}

/** Flags that need the ratings in memory. */
const IN_MEMORY_ONLY = ['validation', 'folds', 'half-life', 'leave-out-users'] as const

/** The ratings of `--ratings` in memory. Shows how much is read. */
export async function readTrainingRatings(
  flags: Flags,
  io: CommandIo,
  facts?: DatasetFacts,
): Promise<RatingsTable> {
  const bar = new ReadingBar(io)
  const table = await ratingsOfFile(flags.string('ratings'), ratingsReadingOf(flags, io), {
    progress: bar,
    ...(facts === undefined ? {} : { facts }),
  })
  bar.finish()
  return withoutLeftOut(table, flags, io)
}

/** The ratings without those of the users of `--leave-out-users`. */
function withoutLeftOut(table: RatingsTable, flags: Flags, io: CommandIo): RatingsTable {
  const share = flags.optionalNumber('leave-out-users')
  if (share === undefined) return table
  const left = withoutUsers(table, share, flags.optionalNumber('seed'))
  io.err(`left out ${left.count} of ${counted(table.users.length, 'user')}, with their ratings`)
  return left.table
}

/** The ratings of `--ratings`: in memory, or with `--memory` in files. Throws UsageError. */
export async function trainingRatings(
  flags: Flags,
  io: CommandIo,
  facts: DatasetFacts,
): Promise<RatingsSource> {
  const memory = flags.optional('memory')
  if (memory === undefined) {
    await requireMemoryFor(flags.string('ratings'), machineMemory())
    return await readTrainingRatings(flags, io, facts)
  }
  checkSpilled(flags)
  return await spilledRatings(flags, parseSize(memory), io, facts)
}

/** Throws UsageError for flags that need the ratings in memory. */
function checkSpilled(flags: Flags): void {
  for (const name of IN_MEMORY_ONLY) {
    if (flags.optional(name) !== undefined) {
      throw new UsageError(`--${name} needs the ratings in memory; leave out --memory`)
    }
  }
  if (flags.boolean('implicit') && flags.optional('test') !== undefined) {
    throw new UsageError('--test with --implicit needs the ratings in memory; leave out --memory')
  }
}

async function spilledRatings(
  flags: Flags,
  memoryBytes: number,
  io: CommandIo,
  facts: DatasetFacts,
): Promise<SpilledRatings> {
  const reading = new ReadingBar(io)
  const sorting = new ReadingBar(io, 'sorting')
  using spill = new RatingsSpill({
    folder: join(flags.string('data-dir'), 'training'),
    memoryBytes,
    onSorted: (share) => sorting.onRead(share, 1),
  })
  const how = ratingsReadingOf(flags, io)
  const watching = { progress: reading, facts }
  const { hasEvents } = await addRatingsOfFile(flags.string('ratings'), spill, how, watching)
  reading.finish()
  const ratings = await spill.build(hasEvents || how.isImplicit)
  sorting.finish()
  return ratings
}
