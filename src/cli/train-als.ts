import { EmbeddedLog } from '../connectors/log/embedded-log.ts'
import { systemClock } from '../core/clock.ts'
import { publishAls } from '../jobs/publish-als.ts'
import { evaluateAls } from '../training/evaluate-als.ts'
import { ALS_OPTIONS, alsOptionsOf, trainWithProgress } from './als-training-flags.ts'
import { type Command, Flags } from './command.ts'
import { DATA_DIR_OPTION, dataDirectory } from './data-directory.ts'
import { refuseOtherDimension } from './model-topic-dimension.ts'
import { ratingsOfFile } from './ratings-file.ts'
import { writeTextRows } from './text-rows-file.ts'

/** `weir train als`: factors a ratings file and publishes the rows as a version. */
export const trainAlsCommand: Command = {
  name: 'train als',
  summary: 'Train an ALS model on a ratings file and publish it as a version',
  usage: '--ratings FILE',
  options: {
    ratings: {
      type: 'string',
      value: 'FILE',
      help: 'u.data, ratings.dat or ratings.csv; a path or an hdfs:// URL',
    },
    test: { type: 'string', value: 'FILE', help: 'Held-out ratings to report the error on' },
    topic: { type: 'string', value: 'NAME', default: 'als-model', help: 'Model topic' },
    version: { type: 'string', value: 'N', default: '1', help: 'Number of the version' },
    'text-rows': {
      type: 'string',
      value: 'FILE',
      help: 'Also write the rows as text, "<id>,U|I,f1;f2;...", here or to an hdfs:// URL',
    },
    'no-publish': { type: 'boolean', help: 'Only train' },
    ...ALS_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Example:
  weir train als --ratings u1.base --test u1.test --factors 50 --iterations 10`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const { log: directory } = dataDirectory(flags.string('data-dir'))
    const publish = !flags.boolean('no-publish')
    const options = alsOptionsOf(flags)
    const table = await ratingsOfFile(flags.string('ratings'))
    if (publish) await refuseOtherDimension(directory, flags.string('topic'), options)
    const model = await trainWithProgress(table, options, io)
    const result: Record<string, unknown> = {
      users: model.users.length,
      items: model.items.length,
      ratings: table.size,
      dimension: model.dimension,
      objective: model.history.at(-1)?.objective,
      seconds: model.history.at(-1)?.seconds,
    }
    const test = flags.optional('test')
    if (test !== undefined) {
      const errors = evaluateAls(model, await ratingsOfFile(test))
      result['rmse'] = errors.rmse
      result['coverage'] = errors.coverage
    }
    const text = flags.optional('text-rows')
    if (text !== undefined) await writeTextRows(text, model)
    if (publish) {
      await using log = await EmbeddedLog.open(directory)
      const version = flags.integer('version', 1)
      await publishAls(model, { log, topic: flags.string('topic'), version, clock: systemClock })
      result['topic'] = flags.string('topic')
      result['version'] = version
    }
    io.out(flags.boolean('json') ? JSON.stringify(result) : sentence(result))
    return 0
  },
}

function sentence(result: Record<string, unknown>): string {
  const error =
    result['rmse'] === undefined ? '' : `, test RMSE ${Number(result['rmse']).toFixed(4)}`
  const place =
    result['topic'] === undefined
      ? ''
      : `; published as version ${result['version']} to topic ${result['topic']}`
  return `${result['users']} users x ${result['items']} items, ${result['ratings']} ratings in ${Number(result['seconds']).toFixed(2)} s${error}${place}`
}
