import { existsSync } from 'node:fs'
import type { WeirClient } from '../../client/weir-client.ts'
import { systemClock } from '../../core/clock.ts'
import { hashingOf } from '../../core/features/hashing.ts'
import { LiveErrorWatch } from '../../jobs/retrain/error-watch.ts'
import type { RetrainOptions } from '../../jobs/retrain/options.ts'
import { type TestErrorOptions, TestErrorWatch } from '../../jobs/retrain/test-error.ts'
import type { RegisteredKind } from '../../kinds/registered.ts'
import { feedbackOf } from '../../models/feedback.ts'
import type { RatingRange } from '../../models/ratings/rating.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import { topicsPlaceOf } from '../flags/kafka.ts'
import { stateOf } from '../flags/promotion-checks.ts'
import { rangeOf } from '../flags/retrain-triggers.ts'
import { historyReadingOf } from './history.ts'
import type { TriggerSources } from './trigger-sources.ts'

/** What the error of a retraining's live version is measured with. */
export interface WatchInputs {
  readonly client: WeirClient
  readonly kind: RegisteredKind
  readonly observations: string
  readonly live: RegisteredVersion | undefined
  readonly sources: TriggerSources
  readonly options: RetrainOptions
  readonly io: CommandIo
}

/** What measures the error of the live version: of live predictions, or with `--evaluate` on a test set. */
export function errorWatchOf(flags: Flags, inputs: WatchInputs): Pick<LiveErrorWatch, 'look'> {
  const { client, kind, observations, live, sources } = inputs
  const { lineage } = live ?? {}
  const range = rangeOf(flags)
  const { positiveLabel } = lineage?.hyperparameters ?? {}
  const hashing = hashingOf(lineage?.hyperparameters ?? {})
  const served = {
    reader: client,
    place: topicsPlaceOf(flags),
    feedback: feedbackOf(lineage?.hyperparameters ?? {}),
    state: stateOf(flags, kind),
    clock: systemClock,
    ...(range === undefined ? {} : { range }),
    ...(kind.observations === 'ratings'
      ? {}
      : { positiveLabel: Number(positiveLabel ?? 1), hashing }),
  }
  if (flags.has('evaluate')) return testWatchOf(flags, inputs, served)
  return new LiveErrorWatch({
    ...served,
    observations,
    onSource: (source) => sources.errorFrom(source),
    onUnreadable: (records) => sources.leftOut(records),
  })
}

function testWatchOf(
  flags: Flags,
  { options, io, kind, live }: WatchInputs,
  served: Omit<TestErrorOptions, 'test' | 'everyMs'>,
): TestErrorWatch {
  const set = flags.string('evaluate')
  const isFile = set.startsWith('hdfs://') || existsSync(set)
  const reading = historyReadingOf(flags, options)
  // As "weir evaluate" clips.
  const range = served.range ?? ratingRangeOf(live)
  const error = kind.observations === 'ratings' ? 'MSE' : 'share of wrong labels'
  return new TestErrorWatch({
    ...served,
    ...(range === undefined ? {} : { range }),
    test: isFile ? { files: { places: [set], reading } } : { topic: set },
    everyMs: (flags.optionalNumber('every') ?? 60) * 1000,
    onMeasured: (version, { fadedMse, count }) => {
      if (flags.boolean('json')) return
      io.err(
        `retrain: ${error} ${fadedMse.toFixed(4)} of version ${version} on the ${count} observations of ${isFile ? '' : 'topic '}${set}`,
      )
    },
  })
}

/** The range of the ratings that a version was trained on; undefined where it is not known. */
function ratingRangeOf(version: RegisteredVersion | undefined): RatingRange | undefined {
  const { smallestRating: min = Number.NaN, largestRating: max = Number.NaN } =
    version?.lineage.metrics ?? {}
  return Number.isFinite(min) && Number.isFinite(max) ? { min, max } : undefined
}
