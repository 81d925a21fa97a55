import { systemClock } from '../../core/clock.ts'
import { publishGeneratedModel } from '../../kinds/factors/generated-model.ts'
import { type Command, Flags } from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { MOST_MADE, wholeNumber } from '../flag-kinds/numbers.ts'
import { topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'
import {
  PUBLISHED_VERSION_OPTIONS,
  promotionHint,
  publishedVersionOf,
} from '../flags/published-version.ts'
import { counted } from '../text/counted.ts'

/** `weir generate als-model`: publishes a generated model of any size. */
export const generateAlsModelCommand: Command = {
  name: 'generate als-model',
  summary: 'Generate an ALS model of any size and publish it',
  options: {
    users: {
      type: 'string',
      value: wholeNumber({ min: 1, max: MOST_MADE }),
      default: '2000',
      help: 'Number of user rows',
    },
    items: {
      type: 'string',
      value: wholeNumber({ min: 1, max: MOST_MADE }),
      default: '500',
      help: 'Number of item rows',
    },
    factors: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 65_536 }),
      default: '100',
      help: 'Floats of a row',
    },
    seed: { type: 'string', value: wholeNumber(), default: '1', help: 'Seed of the rows' },
    topic: { type: 'string', value: topicName, default: 'als-model', help: 'Model topic' },
    partitions: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 65_536 }),
      default: '4',
      help: 'Partitions of the topic if it is new',
    },
    ...PUBLISHED_VERSION_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Example, with the size of a large recommender:
  weir generate als-model --users 2000000 --items 500000`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const shape = {
      users: flags.number('users'),
      items: flags.number('items'),
      factors: flags.number('factors'),
      seed: flags.number('seed'),
    }
    const bar = new ProgressBar(io, 'publishing', () => systemClock.monotonicMs())
    await using topics = await topicsOf(flags)
    const topic = flags.string('topic')
    const version = await publishGeneratedModel(shape, {
      log: topics,
      topic,
      ...(await publishedVersionOf(flags, topics, topic)),
      partitions: flags.number('partitions'),
      clock: systemClock,
      onProgress: (rows) => bar.update(rows, shape.users + shape.items),
    })
    bar.finish()
    io.out(
      flags.boolean('json')
        ? JSON.stringify({ ...shape, topic, version })
        : `${counted(shape.users, 'user')} and ${counted(shape.items, 'item')} of ${counted(shape.factors, 'float')} as version ${version} in topic ${topic}${await promotionHint(flags, topic, version)}`,
    )
    return 0
  },
}
