import { ONLINE_ALS_MODULE } from '../../jobs/serve/job-modules.ts'
import type { AlsLearningJobOptions } from '../../jobs/serve/learning-als.ts'
import { ONLINE_RULES, type OnlineRuleOptions } from '../../models/als/online/rules.ts'
import { DETACH_OPTIONS } from '../cluster/options.ts'
import { submitDetached } from '../cluster/submit.ts'
import { type Command, Flags, needs, type OptionSpec, UsageError } from '../command/command.ts'
import { anyNumber, milliseconds, wholeNumber } from '../flag-kinds/numbers.ts'
import { topicName, word } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS } from '../flags/kafka.ts'
import { KEY_LENGTH_OPTION, maxKeyBytesOf } from '../flags/key-length.ts'
import { RESTORE_OPTIONS, SERVING_OPTIONS } from '../flags/serving.ts'
import {
  LEARN_FROM_OPTION,
  NEVER_STOP_OPTION,
  runLearning,
  SAME_EVENT_OPTIONS,
  sameEventFlags,
} from '../serve/learn-command.ts'
import { WRITE_BACK_OPTION } from '../serve/write-back.ts'
import { counted } from '../text/counted.ts'

/** Flags of the rules. Each sets the option of its name. */
const RULE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  rule: {
    type: 'string',
    value: word(ONLINE_RULES, 'NAME'),
    help: 'gram, sgd, fold-in, or stack, which weighs three rules (default: gram up to 32 factors, else sgd)',
  },
  noise: {
    type: 'string',
    needs: [needs('rule', 'gram')],
    value: anyNumber({ above: 0 }),
    help: 'gram: variance of a rating (default: squared error of the training; 0.5 if unknown)',
  },
  'new-user-noise': {
    type: 'string',
    needs: [needs('rule', 'gram')],
    value: anyNumber({ min: 1 }),
    help: "gram: noise of a user's first rating, in parts of --noise; it falls to 1 (default 11)",
  },
  'user-forgetting': {
    type: 'string',
    needs: [needs('rule', 'gram')],
    value: anyNumber({ above: 0, max: 1 }),
    help: "gram: weight of a user's past after each rating (default 0.99)",
  },
  'item-forgetting': {
    type: 'string',
    needs: [needs('rule', 'gram')],
    value: anyNumber({ above: 0, max: 1 }),
    help: "gram: weight of an item's past after each rating (default 1)",
  },
  newcomers: {
    type: 'string',
    needs: [needs('rule', 'gram', 'sgd', 'fold-in')],
    value: anyNumber({ min: 0 }, 'N'),
    help: 'gram, sgd, fold-in: ratings that all users with few ratings together count for in an item (default 100; sgd 20)',
  },
  evidence: {
    type: 'string',
    value: wholeNumber({ min: 0, max: 2 ** 31 }),
    help: 'gram: number of ratings that a row of the trained model counts for (default: its training ratings; 20 if unknown)',
  },
  'learning-rate': {
    type: 'string',
    needs: [needs('rule', 'sgd')],
    value: anyNumber({ above: 0 }),
    help: "sgd: size of a step (default: 0.05, or less, so that a rating's score moves by a fifth of its error at most)",
  },
  schedule: {
    type: 'string',
    needs: [needs('rule', 'sgd')],
    value: word(['constant', 'decayed', 'adagrad'], 'NAME'),
    help: 'sgd: schedule of the learning rate: constant, decayed or adagrad (default constant)',
  },
  decay: {
    type: 'string',
    needs: [needs('rule', 'sgd')],
    value: anyNumber({ min: 0 }),
    help: 'sgd: decay of the schedule (default 0.01, adagrad 1)',
  },
  'user-regularization': {
    type: 'string',
    needs: [needs('rule', 'sgd')],
    value: anyNumber({ min: 0 }),
    help: 'sgd: regularization of user rows (default 0.02)',
  },
  'item-regularization': {
    type: 'string',
    needs: [needs('rule', 'sgd')],
    value: anyNumber({ min: 0 }),
    help: 'sgd: regularization of item rows (default 0.02)',
  },
  order: {
    type: 'string',
    needs: [needs('rule', 'sgd', 'gram')],
    value: word(['simultaneous', 'user-first'], 'NAME'),
    help: 'sgd: order of the two rows of a step: simultaneous or user-first (default simultaneous)',
  },
  'stack-forgetting': {
    type: 'string',
    needs: [needs('rule', 'stack')],
    value: anyNumber({ above: 0, max: 1 }),
    help: 'stack: weight of past ratings of a slot after each of its ratings, for the weights of the rules (default 0.9995)',
  },
  feedback: {
    type: 'string',
    needs: [needs('rule', 'fold-in')],
    value: word(['explicit', 'implicit'], 'NAME'),
    help: 'fold-in: explicit or implicit feedback',
  },
}

/** `weir learn als`: serves an ALS model and learns it online from ratings. */
export const learnAlsCommand: Command = {
  name: 'learn als',
  summary: 'Serve an ALS model and learn it online from a topic of ratings',
  stopsItself: true,
  options: {
    topic: { type: 'string', value: topicName, default: 'als-model', help: 'Model topic' },
    observations: {
      type: 'string',
      value: topicName,
      default: 'observations',
      help: 'Topic of ratings: user,item,rating[,seconds]',
    },
    quarantine: { type: 'string', value: topicName, help: 'Topic for refused ratings' },
    'ratings-per-second': {
      type: 'string',
      value: wholeNumber({ min: 1, max: 2 ** 31 }),
      help: 'Limit of ratings of one user in a second; more are refused (default: no limit)',
    },
    'item-ratings-per-second': {
      type: 'string',
      value: wholeNumber({ min: 1, max: 2 ** 31 }),
      help: 'Limit of ratings of one item in a second, by the users of one slot; more are refused (default: no limit)',
    },
    ...NEVER_STOP_OPTION,
    'window-count': {
      type: 'string',
      needs: [needs('rule', 'sgd')],
      value: wholeNumber({ min: 1, max: 2 ** 31 }),
      help: 'sgd: send the sum of the deltas of N ratings of a slot (default: every delta)',
    },
    'window-ms': {
      type: 'string',
      needs: [needs('window-count')],
      value: milliseconds(),
      help: 'sgd: send a sum after this time at the latest (default 1000)',
    },
    ...SAME_EVENT_OPTIONS,
    ...LEARN_FROM_OPTION,
    ...WRITE_BACK_OPTION,
    ...RULE_OPTIONS,
    ...KEY_LENGTH_OPTION,
    ...SERVING_OPTIONS,
    ...DETACH_OPTIONS,
    ...RESTORE_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `The command serves what "weir run als-serving" serves, and every rating changes the rows of its user and
its item. Deltas of items go through the topic <topic>-deltas. The queryable state LEARNING_ERROR has
the error of the predictions; its key is the version. Its window (1,000 ratings) and its fading factor
(0.999) count the ratings of each slot: with more slots they look back further.

Examples:
  weir learn als
  weir learn als --rule sgd --learning-rate 0.05 --quarantine refused
  weir learn als --rule gram --noise 0.2 --user-forgetting 0.95
  weir query LEARNING_ERROR 1 --values`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    if (flags.boolean('detached')) {
      return await submitDetached('online-als', learnAlsCommand.options, { flags: values, io })
    }
    const job = jobOptionsOf(flags)
    return await runLearning({
      name: 'learn als',
      module: ONLINE_ALS_MODULE,
      flags,
      io,
      sizeOf: ({ users, items }) => `${counted(users, 'user')}, ${counted(items, 'item')}`,
      start: async (options) => {
        const { learnAlsJob } = await import('../../jobs/serve/learning-als.ts')
        return await learnAlsJob({ ...options, maxKeyBytes: maxKeyBytesOf(flags), job })
      },
    })
  },
}

function jobOptionsOf(flags: Flags): AlsLearningJobOptions {
  const rule = ruleOf(flags)
  const quarantine = flags.optional('quarantine')
  const ratingsPerSecond = flags.optionalNumber('ratings-per-second')
  const itemRatingsPerSecond = flags.optionalNumber('item-ratings-per-second')
  const count = flags.optionalNumber('window-count')
  const evidence = flags.optionalNumber('evidence')
  const intervalMs = flags.optionalNumber('window-ms') ?? 1000
  return {
    observations: flags.string('observations'),
    ...sameEventFlags(flags),
    ...(rule === undefined ? {} : { rule }),
    ...(quarantine === undefined ? {} : { quarantine }),
    ...(ratingsPerSecond === undefined ? {} : { ratingsPerSecond }),
    ...(itemRatingsPerSecond === undefined ? {} : { itemRatingsPerSecond }),
    ...(evidence === undefined ? {} : { evidence }),
    ...(flags.boolean('never-stop') ? { neverStop: true } : {}),
    ...(count === undefined ? {} : { window: { count, intervalMs } }),
  }
}

/** The rule of `--rule` with its flags; undefined where none is given. */
function ruleOf(flags: Flags): OnlineRuleOptions | undefined {
  const name = flags.optional('rule')
  if (name === undefined) return undefined
  if (!ONLINE_RULES.some((rule) => rule === name)) {
    throw new UsageError(`--rule must be one of ${ONLINE_RULES.join(', ')}, not "${name}"`)
  }
  const options: Record<string, string | number> = { rule: name }
  for (const flag of Object.keys(RULE_OPTIONS)) {
    const text = flag === 'rule' || flag === 'evidence' ? undefined : flags.optional(flag)
    if (text === undefined) continue
    const number = Number(text)
    const key = flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
    options[key] = text.trim() !== '' && Number.isFinite(number) ? number : text
  }
  // Only steps can be summed.
  if (name === 'sgd' && flags.optional('window-count') !== undefined) options['deltas'] = 'step'
  return options as unknown as OnlineRuleOptions
}
