import { systemClock } from '../../core/clock.ts'
import type { FeatureHashing } from '../../core/features/hashing.ts'
import { type PublishableLinearModel, publishLinear } from '../../kinds/linear/publish.ts'
import { DEFAULT_RANGE } from '../../models/linear/weight-row.ts'
import { requireHashingOf } from '../../models/publish/topic-dimension.ts'
import type { TrainedOn } from '../../models/registry/ranges/trained-on.ts'
import { publishedVersions } from '../../models/versions/model-versions.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka.ts'
import { PUBLISHED_VERSION_OPTIONS, publishedVersionOf } from './published-version.ts'

/** Flags of every command that publishes a linear model. */
export const PUBLISH_LINEAR_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  topic: { type: 'string', value: topicName, default: 'svm-model', help: 'Model topic' },
  ...PUBLISHED_VERSION_OPTIONS,
  partitions: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 65_536 }),
    default: '4',
    help: 'Partitions of the topic if it is new',
  },
  range: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 65_536 }),
    default: String(DEFAULT_RANGE),
    help: 'Features of a block of weights',
  },
  ...KAFKA_OPTIONS,
  ...DATA_DIR_OPTION,
}

/**
 * Checks the flags of the publication before any work. Throws as `publishedVersionOf` and `requireHashingOf`; UsageError.
 */
export async function checkPublishing(
  flags: Flags,
  hashing: FeatureHashing | undefined,
): Promise<void> {
  await using topics = await topicsOf(flags)
  rangeAndPartitionsOf(flags)
  const topic = flags.string('topic')
  await publishedVersionOf(flags, topics, topic)
  if (await topics.has(topic)) {
    requireHashingOf(topic, hashing, await publishedVersions(topics, topic))
  }
}

function rangeAndPartitionsOf(flags: Flags): {
  readonly range: number
  readonly partitions: number
} {
  return {
    range: flags.number('range'),
    partitions: flags.number('partitions'),
  }
}

/** Publishes a linear model to `--topic`; returns the figures to report. */
export async function publishLinearModel(
  model: PublishableLinearModel,
  flags: Flags,
  options: {
    readonly hyperparameters?: Readonly<Record<string, number | string | boolean>>
    readonly metrics?: Readonly<Record<string, number>>
    readonly trainedOn?: TrainedOn
    readonly onProgress?: (blocks: number) => void
    readonly onWarning?: (warning: string) => void
  } = {},
): Promise<{ readonly topic: string; readonly version: number; readonly range: number }> {
  await using topics = await topicsOf(flags)
  const topic = flags.string('topic')
  const choice = await publishedVersionOf(flags, topics, topic)
  const shape = rangeAndPartitionsOf(flags)
  const version = await publishLinear(model, {
    log: topics,
    topic,
    ...choice,
    ...shape,
    clock: systemClock,
    ...options,
  })
  return { topic, version, range: shape.range }
}
