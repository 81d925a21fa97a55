import type { OnlineRuleOptions } from '../models/online-rules.ts'
import { SlotThreads } from '../runtime/slot-threads.ts'
import { type Command, Flags, type OptionSpec, UsageError } from './command.ts'
import { DATA_DIR_OPTION, dataDirectory } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsPlaceOf } from './kafka-flags.ts'
import { ONLINE_ALS_MODULE } from './online-als-module.ts'
import { configurationOf, SERVING_OPTIONS } from './run.ts'
import { tellRestarts } from './tell-restarts.ts'

const RULES = ['gram', 'sgd', 'fold-in'] as const

/** Flags of the rules; each goes to the option of its name. */
const RULE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  rule: {
    type: 'string',
    value: 'NAME',
    help: 'gram, sgd or fold-in (default: gram up to 32 factors, else sgd)',
  },
  noise: { type: 'string', value: 'X', help: 'gram: variance of a rating (default 0.5)' },
  'user-forgetting': {
    type: 'string',
    value: 'X',
    help: "gram: weight of a user's past after each rating (default 0.99)",
  },
  'item-forgetting': {
    type: 'string',
    value: 'X',
    help: "gram: the same of an item's (default 1)",
  },
  evidence: {
    type: 'string',
    value: 'N',
    help: 'gram: ratings that a row of the batch model counts as (default those that it was trained on; 20 where unknown)',
  },
  'learning-rate': { type: 'string', value: 'X', help: 'sgd: (default 0.05)' },
  schedule: {
    type: 'string',
    value: 'NAME',
    help: 'sgd: constant, decayed or adagrad (default constant)',
  },
  decay: { type: 'string', value: 'X', help: 'sgd: of the schedule (default 0.01, adagrad 1)' },
  'user-regularization': { type: 'string', value: 'X', help: 'sgd: (default 0.02)' },
  'item-regularization': { type: 'string', value: 'X', help: 'sgd: (default 0.02)' },
  order: {
    type: 'string',
    value: 'NAME',
    help: 'simultaneous, or user-first as SGDV0 (default simultaneous)',
  },
  feedback: { type: 'string', value: 'NAME', help: 'fold-in: explicit or implicit' },
}

/** `weir learn als`: serves a model and learns it from ratings as they come. */
export const learnAlsCommand: Command = {
  name: 'learn als',
  summary: 'Serve an ALS model and learn it from ratings as they come',
  usage: '',
  options: {
    topic: { type: 'string', value: 'NAME', default: 'als-model', help: 'Model topic' },
    observations: {
      type: 'string',
      value: 'NAME',
      default: 'observations',
      help: 'Topic of ratings: user,item,rating[,seconds]',
    },
    quarantine: { type: 'string', value: 'NAME', help: 'Topic for ratings that are refused' },
    'ratings-per-second': {
      type: 'string',
      value: 'N',
      help: 'Refuse more ratings of one user in a second (default: no limit)',
    },
    'window-count': {
      type: 'string',
      value: 'N',
      help: 'Sum the deltas of so many ratings before they are sent (sgd)',
    },
    'window-ms': { type: 'string', value: 'MS', help: 'Send sums after this time (default 1000)' },
    ...RULE_OPTIONS,
    ...SERVING_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `It serves what "weir run als-serving" serves, and every rating changes the rows of its user and its
item; deltas of items go through the topic <topic>-deltas. How far off its predictions are is the
queryable state LEARNING_ERROR, key: the version.

Examples:
  weir learn als
  weir learn als --rule sgd --learning-rate 0.05 --quarantine refused
  weir learn als --rule gram --noise 0.2 --user-forgetting 0.95
  weir query LEARNING_ERROR 1 --values`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const threads = new SlotThreads(ONLINE_ALS_MODULE, flags.integer('slots', 1))
    const report = (event: Record<string, unknown>, sentence: string): void => {
      if (flags.boolean('json')) io.out(JSON.stringify(event))
      else io.err(`learn als: ${sentence}`)
    }
    const token = flags.optional('token')
    const { serveLearningAls } = await import('./serve-learning-als.ts')
    await using job = await serveLearningAls({
      threads,
      data: dataDirectory(flags.string('data-dir')),
      place: topicsPlaceOf(flags),
      topic: flags.string('topic'),
      slots: flags.integer('slots', 1),
      queryThreads: flags.integer('query-threads', 1, 64),
      host: flags.string('host'),
      port: flags.integer('port', 0, 65_535),
      configuration: configurationOf(flags),
      job: jobOptionsOf(flags),
      onLive: (version, { users, items }) =>
        report(
          { event: 'live', version, users, items },
          `version ${version} is live (${users} users, ${items} items)`,
        ),
      onLearning: (version) => report({ event: 'learning', version }, `learning on ${version}`),
      onDropped: (partition, offset, reason) =>
        io.err(`learn als: dropped the record at ${partition}:${offset}: ${reason}`),
      ...(token === undefined ? {} : { token }),
    })
    tellRestarts(job, 'learn als', io)
    report(
      { event: 'started', port: job.port },
      `queries on ${flags.string('host')}:${job.port}, Ctrl-C ends it`,
    )
    await Promise.race([job.execution.result, io.interrupted])
    return 0
  },
}

function jobOptionsOf(flags: Flags) {
  const rule = ruleOf(flags)
  const quarantine = flags.optional('quarantine')
  const ratingsPerSecond = flags.optionalInteger('ratings-per-second', 1, 2 ** 31)
  const count = flags.optionalInteger('window-count', 1, 2 ** 31)
  const evidence = flags.optionalInteger('evidence', 0, 2 ** 31)
  const intervalMs = flags.optionalInteger('window-ms', 1, 2 ** 31) ?? 1000
  return {
    observations: flags.string('observations'),
    ...(rule === undefined ? {} : { rule }),
    ...(quarantine === undefined ? {} : { quarantine }),
    ...(ratingsPerSecond === undefined ? {} : { ratingsPerSecond }),
    ...(evidence === undefined ? {} : { evidence }),
    ...(count === undefined ? {} : { window: { count, intervalMs } }),
  }
}

/** The rule of `--rule` with the flags that concern it; undefined when none is named. */
function ruleOf(flags: Flags): OnlineRuleOptions | undefined {
  const name = flags.optional('rule')
  if (name === undefined) return undefined
  if (!RULES.some((rule) => rule === name)) {
    throw new UsageError(`--rule is ${RULES.join(', ')}, not "${name}"`)
  }
  const options: Record<string, string | number> = { rule: name }
  for (const flag of Object.keys(RULE_OPTIONS)) {
    const text = flag === 'rule' || flag === 'evidence' ? undefined : flags.optional(flag)
    if (text === undefined) continue
    const number = Number(text)
    const key = flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
    options[key] = text.trim() !== '' && Number.isFinite(number) ? number : text
  }
  // Sums are of steps.
  if (name === 'sgd' && flags.optional('window-count') !== undefined) options['deltas'] = 'step'
  return options as unknown as OnlineRuleOptions
}
