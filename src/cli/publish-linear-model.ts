import { systemClock } from '../core/clock.ts'
import { type PublishableLinearModel, publishLinear } from '../jobs/publish-linear.ts'
import { DEFAULT_RANGE } from '../models/weight-row.ts'
import type { Flags, OptionSpec } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'

/** Flags of every command that publishes a linear model. */
export const PUBLISH_LINEAR_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  topic: { type: 'string', value: 'NAME', default: 'svm-model', help: 'Model topic' },
  version: { type: 'string', value: 'N', default: '1', help: 'Number of the version' },
  partitions: { type: 'string', value: 'N', default: '4', help: 'Partitions of a new topic' },
  range: {
    type: 'string',
    value: 'N',
    default: String(DEFAULT_RANGE),
    help: 'Features of one block of weights',
  },
  ...KAFKA_OPTIONS,
  ...DATA_DIR_OPTION,
}

/** Publishes a linear model where the flags say; what to report of it. */
export async function publishLinearModel(
  model: PublishableLinearModel,
  flags: Flags,
  options: {
    readonly hyperparameters?: Readonly<Record<string, number | string | boolean>>
    readonly onProgress?: (blocks: number) => void
  } = {},
): Promise<{ readonly topic: string; readonly version: number; readonly range: number }> {
  await using topics = await topicsOf(flags)
  const topic = flags.string('topic')
  const version = flags.integer('version', 1)
  const range = flags.integer('range', 1, 65_536)
  await publishLinear(model, {
    log: topics,
    topic,
    version,
    range,
    clock: systemClock,
    partitions: flags.integer('partitions', 1, 65_536),
    ...options,
  })
  return { topic, version, range }
}
