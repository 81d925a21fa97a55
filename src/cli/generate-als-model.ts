import { systemClock } from '../core/clock.ts'
import { publishGeneratedModel } from '../jobs/publish-generated-model.ts'
import { type Command, Flags } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'
import { ProgressBar } from './progress-bar.ts'

/** `weir generate als-model`: a seeded model of any size, published to a topic. */
export const generateAlsModelCommand: Command = {
  name: 'generate als-model',
  summary: 'Publish a seeded ALS model of any size to a model topic',
  options: {
    users: { type: 'string', value: 'N', default: '2000', help: 'User rows' },
    items: { type: 'string', value: 'N', default: '500', help: 'Item rows' },
    factors: { type: 'string', value: 'N', default: '100', help: 'Floats of a row' },
    seed: { type: 'string', value: 'N', default: '1', help: 'Seed' },
    topic: { type: 'string', value: 'NAME', default: 'als-model', help: 'Model topic' },
    partitions: { type: 'string', value: 'N', default: '4', help: 'Partitions of a new topic' },
    version: { type: 'string', value: 'N', default: '1', help: 'Number of the version' },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const shape = {
      users: flags.integer('users', 1),
      items: flags.integer('items', 1),
      factors: flags.integer('factors', 1, 65_536),
      seed: flags.integer('seed'),
    }
    const bar = new ProgressBar(io, 'publishing', () => systemClock.monotonicMs())
    await using topics = await topicsOf(flags)
    await publishGeneratedModel(shape, {
      log: topics,
      topic: flags.string('topic'),
      version: flags.integer('version', 1),
      partitions: flags.integer('partitions', 1, 65_536),
      clock: systemClock,
      onProgress: (rows) => bar.update(rows, shape.users + shape.items),
    })
    bar.finish()
    io.out(
      flags.boolean('json')
        ? JSON.stringify({ ...shape, topic: flags.string('topic') })
        : `${shape.users} users and ${shape.items} items of ${shape.factors} floats in topic ${flags.string('topic')}`,
    )
    return 0
  },
}
