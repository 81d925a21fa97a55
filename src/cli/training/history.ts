import type { RetrainedModel } from '../../kinds/registered.ts'
import type { HistoryFiles, HistoryReading } from '../../models/observations/history.ts'
import { type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import { readingOptionsOf } from '../files/ratings-reading.ts'
import { input } from '../flag-kinds/places.ts'

/** The flags of files that a retraining reads before its topic. */
export const HISTORY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ratings: {
    type: 'string',
    multiple: true,
    value: input(),
    help: 'Older ratings, which are trained on before those of the topic: a file, a folder or an hdfs:// URL (repeatable)',
  },
  examples: {
    type: 'string',
    multiple: true,
    value: input(),
    help: 'Linear: older LIBSVM examples, as --ratings (repeatable)',
  },
}

/** The history of a retraining; no field without its flags. Throws UsageError. */
export function historyOf(
  flags: Flags,
  model: RetrainedModel,
): { readonly history?: HistoryFiles } {
  const places = [...flags.list('ratings'), ...flags.list('examples')]
  if (places.length === 0) return {}
  return { history: { places, reading: historyReadingOf(flags, model) } }
}

/** How files are read that are no golden set. Throws UsageError. */
export function historyReadingOf(flags: Flags, model: RetrainedModel): HistoryReading {
  const badLines = flags.optional('bad-lines') ?? 'fail'
  if (badLines !== 'fail' && badLines !== 'count') {
    throw new UsageError(
      '--bad-lines takes fail or count beside --ratings, --examples and --evaluate',
    )
  }
  const isImplicit = 'als' in model && model.als.feedback === 'implicit'
  return { ...readingOptionsOf(flags), badLines, mayLackRating: isImplicit }
}
