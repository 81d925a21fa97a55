import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { classParameters } from '../../core/features/classes.ts'
import { type FeatureHashing, hashingParameters } from '../../core/features/hashing.ts'
import { publishRows } from '../../kinds/factors/rows.ts'
import { publishableWeights, publishLinear } from '../../kinds/linear/publish.ts'
import { publishWeightFiles, readWeightFiles } from '../../kinds/linear/weight-files.ts'
import { DEFAULT_RANGE } from '../../models/linear/weight-row.ts'
import { npyRowFiles, type RowFiles, textRowFiles } from '../../models/publish/row-files.ts'
import { requireDimension } from '../../models/publish/topic-dimension.ts'
import { sparkRowFiles } from '../../models/spark/factor-rows.ts'
import { sparkWeights } from '../../models/spark/linear-weights.ts'
import { openSparkModel, type SparkModelFolder } from '../../models/spark/model-folder.ts'
import {
  type Command,
  type CommandIo,
  Flags,
  InterruptedError,
  needs,
  UsageError,
} from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { HASHING_OPTIONS, hashingOfFlags } from '../files/feature-hashing.ts'
import { modelReference } from '../flag-kinds/named.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { twoNumbers } from '../flag-kinds/pairs.ts'
import { input } from '../flag-kinds/places.ts'
import { topicName, word } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'
import { KEY_LENGTH_OPTION, maxKeyBytesOf } from '../flags/key-length.ts'
import {
  PUBLISHED_VERSION_OPTIONS,
  promotionHint,
  publishedVersionOf,
} from '../flags/published-version.ts'
import { changeModel, MODELS_OPTIONS } from '../inference/flags.ts'
import { counted } from '../text/counted.ts'

const MODEL_KINDS = ['als', 'linear'] as const

/** `weir model load`: publishes the rows or weights of files as a version. */
export const modelLoadCommand: Command = {
  name: 'model load',
  summary:
    'Publish rows or weights of files as a version; --served: load a model of "weir run models" again',
  positions: [
    {
      value: input('PLACE'),
      beside: { served: modelReference },
      isOptional: true,
      isRepeated: true,
    },
  ],
  options: {
    served: {
      type: 'boolean',
      help: 'PLACE is the name of a model of "weir run models": load it again',
    },
    ...MODELS_OPTIONS,
    'user-factors': {
      type: 'string',
      needs: [needs('kind', 'als')],
      value: input(),
      help: 'NumPy matrix (.npy) of user rows',
    },
    'user-ids': {
      type: 'string',
      needs: [needs('user-factors')],
      value: input(),
      help: 'User ids, one a line (default 1, 2 ...)',
    },
    'item-factors': {
      type: 'string',
      needs: [needs('kind', 'als')],
      value: input(),
      help: 'NumPy matrix (.npy) of item rows',
    },
    'item-ids': {
      type: 'string',
      needs: [needs('item-factors')],
      value: input(),
      help: 'Item ids, one a line (default 1, 2 ...)',
    },
    'from-spark': {
      type: 'string',
      excludes: ['served', 'kind', 'user-factors', 'item-factors', 'range', 'labels'],
      value: input(),
      help: 'Folder of an ALSModel, LinearSVCModel or LogisticRegressionModel of Spark, in place of PLACE',
    },
    'first-feature': {
      type: 'string',
      needs: [needs('from-spark')],
      value: wholeNumber({ min: 0, max: 1 }),
      help: "Spark: feature id of index 0 of the weights; 1 for a model of Spark's LIBSVM reader, whose ids begin at 1 in the text (default 0)",
    },
    kind: {
      type: 'string',
      value: word(MODEL_KINDS, 'KIND'),
      default: 'als',
      help: 'als (rows of users and items) or linear (weights of features)',
    },
    topic: {
      type: 'string',
      value: topicName,
      help: 'Model topic (default: als-model, or svm-model for --kind linear)',
    },
    range: {
      type: 'string',
      needs: [needs('kind', 'linear')],
      value: wholeNumber({ min: 1, max: 65_536 }),
      help: `Linear: features of a block of weights (default ${DEFAULT_RANGE})`,
    },
    labels: {
      type: 'string',
      needs: [needs('kind', 'linear')],
      value: twoNumbers('P,N', 'two different numbers, POSITIVE,NEGATIVE', (p, n) => p !== n),
      help: 'Linear: labels of the two classes, the positive one first (default 1,-1)',
    },
    'hash-bits': {
      ...HASHING_OPTIONS['hash-bits']!,
      needs: [needs('kind', 'linear')],
      help: 'Linear: the features of the files are hashes of names, below 2^N',
    },
    crosses: HASHING_OPTIONS['crosses']!,
    ...PUBLISHED_VERSION_OPTIONS,
    partitions: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 65_536 }),
      default: '4',
      help: 'Partitions of the topic if it is new',
    },
    'replication-factor': {
      type: 'string',
      needs: [needs('brokers')],
      value: wholeNumber({ min: 1, max: 32_767 }),
      help: 'Kafka: copies of the topic if it is new (default: the setting of the brokers)',
    },
    ...KEY_LENGTH_OPTION,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `PLACE is a file of text rows, "<id>,U|I,f1;f2;...", or a folder of such files, at a path or an hdfs:// URL.
With --kind linear the lines are "<feature>,<weight>", as "weir train svm --examples FILE --weights FILE" writes them (the
intercept is the feature "bias"), or "<block>,<feature>:<weight>;...". Rows are read and sent in pieces, so a model may be larger than memory. A serving job makes the version
live when all rows have arrived. A version whose load failed never goes live. See "weir generate
als-model" for a generated model.

--from-spark reads what model.save(...) of MLlib wrote, and takes the kind from its metadata. It needs the package hyparquet.

Examples:
  weir model load als.txt
  weir model load --from-spark hdfs://namenode:9870/models/als
  weir model load hdfs://namenode:9870/models/als --brokers localhost:9092
  weir model load --user-factors u.npy --user-ids u.txt --item-factors i.npy --item-ids i.txt
  weir model load --kind linear weights.txt
  weir model load --served digits`,
  run(input) {
    const { flags: values, args, io } = input
    const flags = new Flags(values)
    if (flags.boolean('served')) return changeModel('load', input)
    const spark = flags.optional('from-spark')
    if (spark !== undefined) return loadSpark(spark, flags, input)
    const kind = flags.choice('kind', MODEL_KINDS)
    return kind === 'als' ? loadRows(flags, args, io) : loadWeights(flags, args, io)
  },
}

/** A load in progress: its topic, its version, and what it shows. */
class Load {
  readonly topic: string
  private readonly flags: Flags
  private readonly io: CommandIo
  private readonly bar: ProgressBar
  private readonly startMs = systemClock.monotonicMs()
  private isInterrupted = false

  constructor(flags: Flags, io: CommandIo, topic: string) {
    this.flags = flags
    this.io = io
    this.topic = flags.optional('topic') ?? topic
    this.bar = new ProgressBar(io, 'loading', () => systemClock.monotonicMs())
    void io.interrupted.then(() => {
      this.isInterrupted = true
    })
  }

  /** Options of the publication, checked before any work. */
  async options(topics: TopicStore) {
    const { flags, topic } = this
    const replicationFactor = flags.optionalNumber('replication-factor')
    return {
      log: topics,
      topic,
      ...(await publishedVersionOf(flags, topics, topic)),
      maxKeyBytes: maxKeyBytesOf(flags),
      clock: systemClock,
      partitions: flags.number('partitions'),
      ...(replicationFactor === undefined ? {} : { replicationFactor }),
    }
  }

  /** Seconds since the start. */
  get seconds(): number {
    return (systemClock.monotonicMs() - this.startMs) / 1000
  }

  /** Shows how far the files are read. Throws InterruptedError after Ctrl-C. */
  progress(done: number, bytes: number, read: { readonly count: number; readonly what: string }) {
    if (this.isInterrupted) throw new InterruptedError('interrupted: the version is incomplete')
    const rate = Math.round(read.count / this.seconds).toLocaleString('en-US')
    // The lines of a gzip file are longer than the file.
    this.bar.update(
      Math.min(done, bytes),
      bytes,
      `${read.count.toLocaleString('en-US')} ${read.what}, ${rate}/s`,
    )
  }

  /** Reports the version that was loaded. */
  async report(
    topics: TopicStore,
    figures: { readonly version: number },
    what: string,
  ): Promise<number> {
    const { flags, io, topic, seconds } = this
    const { version } = figures
    this.bar.finish()
    io.out(
      flags.boolean('json')
        ? JSON.stringify({ topic, ...figures, seconds })
        : `loaded ${what} as version ${version} into topic ${topic} of ${topics.place} in ${seconds.toFixed(1)} s${await promotionHint(flags, topic, version)}`,
    )
    return 0
  }
}

async function loadRows(flags: Flags, args: readonly string[], io: CommandIo): Promise<number> {
  return await publishLoaded(await rowFilesOf(args, flags), flags, io)
}

async function publishLoaded(files: RowFiles, flags: Flags, io: CommandIo): Promise<number> {
  const load = new Load(flags, io, 'als-model')
  await using topics = await topicsOf(flags)
  const loaded = await publishRows(files, {
    ...(await load.options(topics)),
    onProgress: (done, count) => load.progress(done, files.bytes, { count, what: 'rows' }),
  })
  const { users, items, dimension } = loaded
  const what = `${counted(users, 'user')} and ${counted(items, 'item')} of ${counted(dimension, 'float')}`
  return await load.report(topics, loaded, what)
}

/** Publishes a model that Spark saved. */
async function loadSpark(
  place: string,
  flags: Flags,
  { args, io }: { readonly args: readonly string[]; readonly io: CommandIo },
): Promise<number> {
  if (args.length > 0) throw new UsageError('give either PLACE or --from-spark, not both')
  const model = await openSparkModel(place)
  if (model.kind !== 'als') return await loadSparkWeights(model, flags, io)
  if (flags.optional('first-feature') !== undefined) {
    throw new UsageError(`--first-feature is for linear models, and ${place} has an ALSModel`)
  }
  return await publishLoaded(await sparkRowFiles(place), flags, io)
}

async function loadSparkWeights(
  model: SparkModelFolder,
  flags: Flags,
  io: CommandIo,
): Promise<number> {
  const load = new Load(flags, io, 'svm-model')
  await using topics = await topicsOf(flags)
  const options = await load.options(topics)
  const range = DEFAULT_RANGE
  await requireDimension(topics, load.topic, { made: range, remedy: () => 'use another --topic' })
  const first = flags.optionalNumber('first-feature') ?? 0
  const { weights, intercept, classes, labels } = await sparkWeights(model, first)
  const loss = model.kind === 'svc' ? 'hinge' : 'logistic'
  const version = await publishLinear(publishableWeights(weights, intercept), {
    ...options,
    range,
    hyperparameters: { loss, ...labels, ...classParameters(classes), from: model.className },
  })
  const features = classes?.features ?? weights.length
  for (const note of sparkNotes(model, features - first, first)) io.err(note)
  const of =
    classes === undefined ? '' : ` and ${counted(classes.labels.length, 'class', 'classes')}`
  const what = `the ${model.className} of ${counted(features, 'feature')}${of}`
  return await load.report(topics, { version, ...{ range, features } }, what)
}

/** What a user of a linear model of Spark has to know: how its features are numbered, and a threshold that is not kept. */
function* sparkNotes(
  { parameters }: SparkModelFolder,
  size: number,
  first: number,
): Generator<string> {
  const other =
    first === 0 ? 'for a model that was trained on LIBSVM text, give --first-feature 1' : ''
  yield `features ${first} to ${first + size - 1} are Spark's 0 to ${size - 1}${other === '' ? '' : `; ${other}`}`
  const { threshold } = parameters
  if (typeof threshold !== 'number' || threshold === 0 || threshold === 0.5) return
  yield `the threshold ${threshold} of the model is no part of a version: a query compares decision values with its own --threshold`
}

async function loadWeights(flags: Flags, args: readonly string[], io: CommandIo): Promise<number> {
  if (args.length === 0) throw new UsageError('no weights: give files or folders of text weights')
  const hashing = hashingOfFlags(flags)
  const hyperparameters = { ...labelsOf(flags), ...hashingParameters(hashing) }
  const range = flags.optionalNumber('range') ?? DEFAULT_RANGE
  const load = new Load(flags, io, 'svm-model')
  await using topics = await topicsOf(flags)
  const options = await load.options(topics)
  await requireDimension(topics, load.topic, {
    made: range,
    remedy: (held) => `use --range ${held}, or another --topic`,
  })
  const files = await readWeightFiles(args, {
    range,
    onProgress: (done, bytes, count) => load.progress(done, bytes, { count, what: 'weights' }),
  })
  requireHashes(files.features, hashing)
  const version = await publishWeightFiles(files, { ...options, hyperparameters })
  const { weights, features, blocks } = files
  const figures = { version, range, weights, features, blocks: blocks.size }
  const what = `${counted(weights, 'weight')} of ${counted(features, 'feature')} in ${counted(blocks.size, 'block')}`
  return await load.report(topics, figures, what)
}

/** Throws UsageError where ids of features are no hashes of so few bits. */
function requireHashes(features: number, hashing: FeatureHashing | undefined): void {
  if (hashing === undefined || features <= 2 ** hashing.bits) return
  throw new UsageError(
    `the files have a feature ${features - 1}, which is no hash of --hash-bits ${hashing.bits}`,
  )
}

/** The labels as the version keeps them; clients read the labels of their predictions from it. */
function labelsOf(flags: Flags): Readonly<Record<string, number>> {
  const text = flags.optional('labels')
  if (text === undefined) return {}
  const [positive = 1, negative = -1] = text.split(',').map(Number)
  return { positiveLabel: positive, negativeLabel: negative }
}

function rowFilesOf(places: readonly string[], flags: Flags): Promise<RowFiles> {
  const users = sideOf('U', 'user', flags)
  const items = sideOf('I', 'item', flags)
  const sides = [users, items].filter((side) => side !== undefined)
  if (places.length > 0 && sides.length > 0) {
    throw new UsageError('give either text rows or NumPy matrices, not both')
  }
  if (places.length > 0) return textRowFiles(places)
  if (sides.length > 0) return npyRowFiles(sides)
  throw new UsageError(
    'no rows: give files or folders of text rows, or --user-factors and --item-factors',
  )
}

function sideOf(
  kind: 'U' | 'I',
  name: 'user' | 'item',
  flags: Flags,
): { kind: 'U' | 'I'; factors: string; ids?: string } | undefined {
  const factors = flags.optional(`${name}-factors`)
  const ids = flags.optional(`${name}-ids`)
  if (factors !== undefined) return { kind, factors, ...(ids === undefined ? {} : { ids }) }
  return undefined
}
