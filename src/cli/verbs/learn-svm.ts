import { MAX_FEATURE, MOST_FEATURES } from '../../core/feature.ts'
import { ONLINE_SVM_MODULE } from '../../jobs/serve/job-modules.ts'
import type { OnlineLinearSettings } from '../../models/linear/online-rule.ts'
import { DETACH_OPTIONS } from '../cluster/options.ts'
import { submitDetached } from '../cluster/submit.ts'
import { type Command, Flags, needs, type OptionSpec } from '../command/command.ts'
import { HASHING_OPTIONS, hashingOfFlags } from '../files/feature-hashing.ts'
import { anyNumber, wholeNumber } from '../flag-kinds/numbers.ts'
import { topicName, word } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS } from '../flags/kafka.ts'
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

const LOSSES = ['hinge', 'logistic'] as const
const RULES = ['adagrad', 'ftrl'] as const

/** Flags of the rule by which weights are learned. */
const RULE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  rule: {
    type: 'string',
    value: word(RULES, 'NAME'),
    default: 'adagrad',
    help: 'How weights are learned: adagrad (normalised, for features of any scale) or ftrl (FTRL-proximal, by which many weights stay 0)',
  },
  'learning-rate': {
    type: 'string',
    needs: [needs('rule', 'adagrad')],
    value: anyNumber({ above: 0 }),
    help: 'adagrad: size of a step (default 0.5)',
  },
  alpha: {
    type: 'string',
    needs: [needs('rule', 'ftrl')],
    value: anyNumber({ above: 0 }),
    help: 'ftrl: size of a step (default 0.1)',
  },
  beta: {
    type: 'string',
    needs: [needs('rule', 'ftrl')],
    value: anyNumber({ min: 0 }),
    help: 'ftrl: a larger one makes the first steps of a weight shorter (default 1)',
  },
  l1: {
    type: 'string',
    needs: [needs('rule', 'ftrl')],
    value: anyNumber({ min: 0 }, 'LAMBDA'),
    help: 'ftrl: a weight is 0 until its gradients add up to more than this (default 0)',
  },
  l2: {
    type: 'string',
    needs: [needs('rule', 'ftrl')],
    value: anyNumber({ min: 0 }, 'LAMBDA'),
    help: 'ftrl: penalty of the squares of weights (default 0)',
  },
}

/** `weir learn svm`: serves a linear model and learns it online from labelled examples. */
export const learnSvmCommand: Command = {
  name: 'learn svm',
  summary: 'Serve a linear model and learn it online from a topic of labelled examples',
  stopsItself: true,
  options: {
    topic: { type: 'string', value: topicName, default: 'svm-model', help: 'Model topic' },
    observations: {
      type: 'string',
      value: topicName,
      default: 'examples',
      help: 'Topic of examples, one LIBSVM line a record',
    },
    quarantine: { type: 'string', value: topicName, help: 'Topic for refused examples' },
    loss: {
      type: 'string',
      value: word(LOSSES, 'KIND'),
      help: 'Loss function: hinge or logistic (default: that of the version, else hinge)',
    },
    positive: {
      type: 'string',
      value: anyNumber({}, 'LABEL'),
      help: 'Label of the positive examples, if the version does not say its labels (default: every label above 0)',
    },
    ...HASHING_OPTIONS,
    'max-features': {
      type: 'string',
      value: wholeNumber({ min: 1, max: MAX_FEATURE + 1 }),
      default: String(MOST_FEATURES),
      help: 'Refuse examples with the id of a feature from N on: each block of new ids takes memory and disk',
    },
    ...RULE_OPTIONS,
    'under-way': {
      type: 'string',
      value: wholeNumber({ min: 1 }),
      default: '64',
      help: 'Limit of examples in flight; a higher limit is faster, but steps use older weights',
    },
    ...NEVER_STOP_OPTION,
    ...SAME_EVENT_OPTIONS,
    ...LEARN_FROM_OPTION,
    ...WRITE_BACK_OPTION,
    ...SERVING_OPTIONS,
    ...DETACH_OPTIONS,
    ...RESTORE_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `The command starts from a published model. Examples can be added while it runs, also to an embedded log. A
record is one line of LIBSVM text, its ids in any order; the values of an id that comes again are added up. With
--hash-bits it may be a line of Vowpal Wabbit, also with an importance: how many examples it counts for.
What is no example is refused: counted, reported, and written to the topic of --quarantine. A version of
"weir retrain" is learned from the end of its training on. The queryable state LEARNING_ERROR has loss,
accuracy and AUC of predictions that were made before each example was learned.

Example:
  weir train svm --examples a9a --publish --brokers localhost:9092
  weir topic produce examples --brokers localhost:9092 < a9a.t
  weir learn svm --brokers localhost:9092
  weir learn svm --brokers localhost:9092 --rule ftrl --alpha 0.1 --l1 1
  weir query LEARNING_ERROR 1 --values`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    if (flags.boolean('detached')) {
      return await submitDetached('online-svm', learnSvmCommand.options, { flags: values, io })
    }
    const hashing = hashingOfFlags(flags)
    const job = {
      observations: flags.string('observations'),
      ...sameEventFlags(flags),
      ...(flags.boolean('never-stop') ? { neverStop: true } : {}),
      rule: {
        ...(flags.optional('loss') === undefined ? {} : { loss: flags.choice('loss', LOSSES) }),
        ...stepsOf(flags),
      },
      mostUnderWay: flags.number('under-way'),
      maxFeatures: flags.number('max-features'),
      ...(flags.optional('quarantine') === undefined
        ? {}
        : { quarantine: flags.string('quarantine') }),
      ...(flags.optional('positive') === undefined
        ? {}
        : { positiveLabel: flags.number('positive') }),
    } as const
    return await runLearning({
      name: 'learn svm',
      module: ONLINE_SVM_MODULE,
      flags,
      io,
      sizeOf: ({ items, dimension }) =>
        `${counted(items, 'block')} of ${counted(dimension, 'weight')}`,
      start: async (options) => {
        const { learnSvmJob } = await import('../../jobs/serve/learning-svm.ts')
        return await learnSvmJob({ ...options, job, hashing })
      },
    })
  },
}

/** How steps are taken, as far as the flags say it. */
function stepsOf(flags: Flags): Pick<OnlineLinearSettings, 'learningRate' | 'ftrl'> {
  const given = (...names: readonly string[]): object =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = flags.optionalNumber(name)
        return value === undefined ? [] : [[name, value]]
      }),
    )
  if (flags.choice('rule', RULES) === 'ftrl') return { ftrl: given('alpha', 'beta', 'l1', 'l2') }
  const learningRate = flags.optionalNumber('learning-rate')
  return learningRate === undefined ? {} : { learningRate }
}
