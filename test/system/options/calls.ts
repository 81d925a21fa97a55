import type { WeirClient } from '../../../src/client/index.ts'
import { KafkaSink, KafkaSource } from '../../../src/connectors/kafka/index.ts'
import { withSpan } from '../../../src/core/tracing/index.ts'
import * as weir from '../../../src/index.ts'
import { JobModels, openInferenceEngine } from '../../../src/inference.ts'
import * as learning from '../../../src/learning.ts'
import * as testing from '../../../src/testing/index.ts'
import { DiscardingOperator } from './discarding-operator.ts'

/** What the calls are made on. */
export interface World {
  readonly client: WeirClient
  readonly log: weir.EmbeddedLog
  readonly topics: weir.TopicStore
  readonly folder: string
  readonly job: weir.JobExecution
  readonly savepoint: weir.SavepointReader
}

/** A call that takes options of one type: the options without which it takes none, and the call. */
export interface OptionsCall {
  readonly valid?: object
  readonly call: (options: never, world: World) => unknown
  /** Options of the type that the call takes in another place, or not at all. */
  readonly elsewhere?: readonly string[]
}

const { systemClock: clock, jsonFormat } = weir
const place = { logDirectory: 'log' }
const registry = { read() {}, execute() {} }
const fn = (): void => {}
const same = <T>(value: T): T => value
const env = (): weir.StreamExecutionEnvironment => new weir.StreamExecutionEnvironment()
const stream = (): weir.DataStream<number> => env().fromElements([1])
const kafka = { brokers: 'localhost:9092', topic: 't' }
const query = ['ALS_MODEL', '1-U'] as const
const als = { topic: 't', dimension: 2, logDirectory: 'log' }
const publish = { log: registry, topic: 't', clock }
const retraining = { place, registry, model: 'm', observations: 'o', temporary: 'x', clock }
const trained = { ...retraining, start: fn, newId: fn }
const features = { ids: new Uint32Array(), values: new Float32Array() }
const graph = (): weir.StreamGraph => {
  const job = env()
  job.fromElements([1]).discard()
  return job.graph()
}
const nothing: readonly never[] = []
const bytes = async function* (): AsyncGenerator<Uint8Array> {}
const summing: weir.AggregateFunction<number, number, number> = {
  createAccumulator: () => 0,
  add: (value, sum) => value + sum,
  getResult: (sum) => sum,
  merge: (a, b) => a + b,
}
const inKafka = (options: object): unknown =>
  new KafkaSink({ ...kafka, serialize: fn, ...options } as never)

const counted = { n: weir.count().over('1h') }
const withFeatures = (options?: weir.FeatureOptions) =>
  stream()
    .keyBy((n) => n)
    .features(counted, options)

const numbers = new weir.GeneratorSource({ generate: (index) => index })

/** A call for each type of options, by its name: `index.ts` and the other entries export no other one. */
export const CALLS: Readonly<Record<string, OptionsCall>> = {
  AggregateOptions: {
    call: (o) => stream().windowAll(weir.globalWindows()).aggregate(summing, o),
  },
  AdwinOptions: { call: (o) => new weir.Adwin(o) },
  AlsLearningJobOptions: {
    call: (o) => weir.learnAls({ learning: o }),
    elsewhere: ['observations'],
  },
  AlsLearningOptions: { valid: { clock }, call: (o) => learning.alsLearning(o) },
  AlsOptions: { call: (o) => weir.trainAls([], o) },
  AlsServingOptions: { valid: als, call: (o) => weir.buildJob(weir.alsServing, o) },
  AsyncIoOptions: {
    call: (o) =>
      weir.AsyncDataStream.orderedWait(stream(), () => ({ asyncInvoke: fn }) as never, o),
  },
  PopularityOptions: {
    call: (o) =>
      weir.trainPopularity(
        weir.ratingsTable([{ user: '1', item: '1', rating: 1, timestamp: 0 }]),
        o,
      ),
  },
  BmfOptions: { call: (o) => weir.trainBmf([], o) },
  BuildSettings: { call: (o) => weir.buildJob({ name: 'j', build: fn }, {}, o) },
  CacheOptions: {
    valid: { maxRows: 1, maxAgeMs: 1 },
    call: (o, { client }) => connect(client, { cache: o }),
  },
  ClientOptions: { call: (o, { client }) => connect(client, o) },
  ConnectOptions: {
    call: (o) => {
      const own = stream()
      own.connect(own, o)
    },
  },
  CsvFormatOptions: { valid: { columns: { a: 'string' } }, call: (o) => weir.csvFormat(o) },
  EmbeddedLearningOptions: { call: (o) => weir.learnAls(o) },
  EmbeddedModelOptions: { call: (o) => weir.serveAls(o) },
  EntriesOptions: { call: (o, { client }) => client.entries('S', o).next() },
  EnvironmentOptions: { call: (o) => new weir.StreamExecutionEnvironment(o) },
  EvaluateOptions: {
    valid: { state: 's', query: {} },
    call: (o, { client }) => weir.evaluateServed(client, bytes() as never, o),
  },
  EvictorOptions: { call: (o) => weir.countEvictor(1, o) },
  ExponentialBackoffRetryOptions: {
    valid: { maxAttempts: 1, initialDelayMs: 1, maxDelayMs: 1 },
    call: (o) => weir.exponentialBackoffRetry(o),
  },
  FixedDelayRetryOptions: {
    valid: { maxAttempts: 1, delayMs: 1 },
    call: (o) => weir.fixedDelayRetry(o),
  },
  Float32VectorFormatOptions: { call: (o) => weir.float32VectorFormat(o) },
  GeneratedExamplesOptions: {
    valid: { features: 1000 },
    call: (o) => new weir.LinearExamples(o),
  },
  GeneratedLinearOptions: { valid: { features: 1000 }, call: (o) => new weir.GeneratedWeights(o) },
  GeneratedRatingsOptions: {
    valid: { users: 1, items: 1, ratings: 1 },
    call: (o) => weir.generateRatings(o).next(),
  },
  GeneratorOptions: { valid: { generate: fn }, call: (o) => new weir.GeneratorSource(o) },
  GetOptions: { call: (o, { client }) => client.get(...query, o) },
  HarnessOptions: {
    valid: { operator: new DiscardingOperator() },
    call: (o) => testing.OperatorHarness.open(o),
  },
  InterleavingsOptions: { call: (o) => testing.interleavings([[1], [2]], o).next() },
  InferOptions: { call: (o, { client }) => client.infer('m', [], o) },
  InferStreamOptions: { valid: { inputs: fn, result: fn }, call: (o) => stream().infer('m', o) },
  InferenceEngineOptions: { call: (o) => openInferenceEngine(o) },
  JobDefinition: {
    valid: { name: 'j', build: fn },
    call: (o) => weir.defineJob(o as weir.JobDefinition),
  },
  JobHarnessOptions: {
    call: async (o) => {
      const job = env()
      job.fromElements([1]).discard()
      await testing.JobHarness.open(job.graph(), o)
    },
  },
  JobModelsOptions: { valid: { repository: 'r', openEngine: fn }, call: (o) => new JobModels(o) },
  JobOptionSpec: {
    valid: { type: 'string', help: 'h' },
    call: (o) => weir.defineJob({ name: 'j', options: { o }, build: fn }),
  },
  JsonFormatOptions: { call: (o) => jsonFormat(o) },
  KafkaClientOptions: {
    valid: { brokers: 'localhost:9092' },
    call: (o) => weir.openTopics({ kafka: o }),
  },
  KafkaProducerOptions: { call: inKafka, elsewhere: ['idempotent'] },
  KafkaSinkOptions: { call: inKafka },
  KafkaSourceOptions: { valid: { ...kafka, deserialize: fn }, call: (o) => new KafkaSource(o) },
  KeyValueSerializerOptions: {
    valid: { keyOf: fn, valueOf: fn },
    call: (o) => weir.serializeKeyValue(jsonFormat(), jsonFormat(), o),
  },
  LearnersOptions: {
    valid: { uid: 'u', merge: fn },
    call: (o) => new learning.LearningCoordinator({ gates: [], clock, learners: o }),
  },
  LearningCoordinatorOptions: {
    valid: { gates: [], clock },
    call: (o) => new learning.LearningCoordinator(o),
  },
  LibsvmParserOptions: { call: (o) => new learning.LibsvmParser(fn, o) },
  LineFileOptions: { valid: { paths: ['a'], parse: fn }, call: (o) => new weir.LineFileSource(o) },
  LineFileSinkOptions: {
    valid: { directory: 'd', format: fn },
    call: (o) => new weir.LineFileSink(o),
  },
  LinearLearningOptions: { valid: { clock }, call: (o) => learning.linearLearning(o) },
  LinearOptions: { call: (o) => weir.trainLinear({} as never, o) },
  LinearPredictOptions: { call: (o, { client }) => client.predictLinear('s', features, o) },
  LiveErrorOptions: {
    valid: { reader: { predict: fn }, place, observations: 'o', state: 's', clock },
    call: (o) => new weir.LiveErrorWatch(o),
  },
  LogOptions: { call: (o, { folder }) => weir.EmbeddedLog.open(`${folder}/other`, o) },
  LogSinkOptions: {
    valid: { directory: 'd', topic: 't', serialize: fn },
    call: (o) => new weir.LogSink(o),
  },
  LogSourceOptions: {
    valid: { directory: 'd', topic: 't', deserialize: fn },
    call: (o) => new weir.LogSource(o),
  },
  MapStateOptions: { call: (o) => weir.mapState('s', o) },
  MemorySourceOptions: { call: (o) => new weir.MemorySource([[]], o) },
  FtrlOptions: { call: (o) => new learning.OnlineLinearRule({ loss: 'hinge', ftrl: o }) },
  ModelTopicsOptions: {
    call: (o, { topics }) => weir.createModelTopics(topics, 'm', o),
  },
  MiniClusterJobOptions: { call: (o) => new testing.MiniCluster().startLocal(graph(), o) },
  MiniClusterOptions: { call: (o) => new testing.MiniCluster(o) },
  ModelRegistryOptions: { valid: { place, clock }, call: (o) => new weir.ModelRegistry(o) },
  MsgpackFormatOptions: { call: (o) => weir.msgpackFormat(o) },
  NewTopic: { call: (o, { topics }) => topics.create('new', o) },
  OnlineAlsOptions: {
    valid: { ...als, observations: 'o', rule: { rule: 'gram' } },
    call: (o) => weir.buildJob(learning.onlineAls, o),
  },
  OnlineLinearOptions: { valid: { loss: 'hinge' }, call: (o) => new learning.OnlineLinearRule(o) },
  OnlineLinearSettings: { call: (o) => weir.learnSvm({ learning: { rule: o } }) },
  LearnerRuleOptions: {
    valid: { rule: 'popularity' },
    call: (o) =>
      learning.learnerRule({ dimension: 2, biased: true }, o, {
        globalMean: 0,
        moments: fn as never,
      }),
  },
  OnlineRuleOptions: {
    valid: { rule: 'sgd' },
    call: (o) => learning.onlineRule({ dimension: 2, biased: false }, o, fn as never),
  },
  OnlineSvmOptions: {
    valid: { topic: 't', observations: 'o', range: 2, rule: { loss: 'hinge' }, ...place },
    call: (o) => weir.buildJob(learning.onlineSvm, o),
  },
  PageHinkleyOptions: { call: (o) => new weir.PageHinkley(o) },
  PatternOptions: {
    call: (o) => weir.CEP.pattern(stream().keyBy(same), weir.Pattern.of<number>().begin('a'), o),
  },
  PredictExamplesOptions: {
    valid: { state: 's', query: {} },
    call: (o) => weir.predictExamples(fn as never, bytes(), o).next(),
  },
  PredictOptions: { call: (o, { client }) => client.predict(...query, '7-I', o) },
  PrequentialOptions: { call: (o) => new learning.PrequentialError(o) },
  ProducerOptions: { call: (o, { log }) => log.producer('orders', o) },
  ProgramSpanOptions: { call: (o) => withSpan('s', async () => {}, o) },
  PublishAlsOptions: { valid: publish, call: (o) => weir.publishAls({} as never, o) },
  PublishLinearOptions: { valid: publish, call: (o) => weir.publishLinear({} as never, o) },
  PublishOptions: {
    valid: { ...publish, facts: {} },
    call: (o) => weir.publishModel({} as never, o),
  },
  QueryOptions: { call: (o, { client }) => client.rows('s', nothing, o) },
  RankingOptions: { call: (o) => weir.evaluateRanking({} as never, {} as never, {} as never, o) },
  RatingsParserOptions: { call: (o) => new weir.RatingsParser(fn, o) },
  RatingsSpillOptions: {
    call: (o, { folder }) => new weir.RatingsSpill({ folder, ...(o as object) }),
  },
  RawKafkaSourceOptions: { valid: kafka, call: (o) => KafkaSource.raw(o) },
  RawLogSourceOptions: {
    valid: { directory: 'd', topic: 't' },
    call: (o) => weir.LogSource.raw(o),
  },
  RestoreTestOptions: { call: (o) => testing.testRestores(fn as never, [], o) },
  RetrainLoopOptions: { valid: { ...trained, policy: {} }, call: (o) => new weir.RetrainLoop(o) },
  ReduceOptions: {
    call: (o) =>
      stream()
        .windowAll(weir.globalWindows())
        .reduce((a) => a, o),
  },
  RetrainOptions: { valid: trained, call: (o) => weir.retrain(o) },
  RetryOptions: { call: (o, { client }) => connect(client, { retry: o }) },
  SameEventOptions: {
    call: (o) => Reflect.construct(learning.ObservationsGate, [1, o]) as unknown,
  },
  SaslOptions: {
    valid: { mechanism: 'PLAIN', username: 'u', password: 'p' },
    call: (sasl) => inKafka({ sasl }),
  },
  SavepointPlaceOptions: { call: (o) => weir.SavepointReader.read('missing', o) },
  SendOptions: { call: (o, { log }) => log.producer('orders').send(null, null, 0, o) },
  ServedJobOptions: {
    valid: { module: new URL('file:///none.ts'), jobOptions: {}, configuration: {}, seed: 1 },
    call: (o) => weir.ServedJob.start(o),
  },
  SlotWeightsOptions: {
    valid: { rowTables: { version: fn }, uid: 'u', state: 's', range: 1 },
    call: (o) => new learning.SlotWeights(o),
  },
  SourceOptions: {
    call: (o) => env().fromSource(new weir.MemorySource([[1]]), weir.noWatermarks(), 'S', o),
  },
  StartJobOptions: {
    valid: { jobOptions: {} },
    call: (o) => weir.startJob(new URL('file:///none.ts'), o),
  },
  StateOptions: { call: (o) => weir.valueState('s', o) },
  StopOptions: { call: (o, { job }) => job.stopWithSavepoint(o) },
  StreamHarnessOptions: { call: (o) => testing.StreamHarness.open((a) => a, o) },
  SvmLearningJobOptions: {
    valid: { rule: { loss: 'hinge' } },
    call: (o) => weir.learnSvm({ learning: o }),
    elsewhere: ['observations'],
  },
  TopKOptions: { valid: { k: 1 }, call: (o, { client }) => client.topK(...query, o) },
  TopicConfig: { call: (o, { log }) => log.createTopic('new', o) },
  TopicRecordsOptions: {
    valid: { topic: 't', name: 'n', uid: 'u' },
    call: (o, { topics }) => learning.topicRecords(env(), topics, o),
  },
  TopicSinkOptions: {
    valid: { topic: 't', serialize: fn, guarantee: 'none', lingerMs: 1 },
    call: (o) => learning.topicSink(place, o),
  },
  TopicSourceOptions: {
    valid: { topic: 't', deserialize: fn },
    call: (o, { topics }) => topics.source(o),
  },
  TopicsPlace: { call: (o) => new weir.ModelRegistry({ place: o, clock }) },
  TableAggregateOptions: {
    call: (o) => {
      const groups = env()
        .table(numbers, { keyOf: same })
        .groupBy((n) => [n, n])
      const sums = { createAccumulator: () => 0, add: fn, retract: fn, getResult: fn }
      return groups.aggregate(sums as never, o)
    },
  },
  TableFoldOptions: {
    call: (o) =>
      env()
        .table(numbers, { keyOf: same })
        .groupBy((n) => [n, n])
        .count(o),
  },
  TableGroupOptions: {
    call: (o) =>
      env()
        .table(numbers, { keyOf: same })
        .groupBy(fn as never, o),
  },
  FeatureOptions: { call: (o) => withFeatures(o) },
  QueryableFeaturesOptions: { call: (o) => withFeatures().asQueryableState('s', o) },
  ExportFeaturesOptions: {
    valid: { keyOf: same, timeOf: same },
    call: (o) => weir.exportFeatures(counted, [], [], o),
  },
  TableJoinOptions: {
    call: (o) => {
      const job = env()
      const table = job.table(numbers, { keyOf: same })
      job.fromElements([1]).joinTable(table, same, same, o)
    },
  },
  TableOptions: { valid: { keyOf: same }, call: (o) => stream().toTable(o) },
  TableSourceOptions: { valid: { keyOf: same }, call: (o) => env().table(numbers, o) },
  TableRowsOptions: { call: (o) => env().table(numbers, { keyOf: same }).mapRows(same, o) },
  UntilTimeOptions: { call: (o) => weir.untilTime(1, o) },
  TransformOptions: { call: (o) => stream().transform('T', () => new DiscardingOperator(), o) },
  TtlOptions: { valid: { ttlMs: 1 }, call: (ttl) => weir.valueState('s', { ttl }) },
  ValueDeserializerOptions: { call: (o) => weir.deserializeValue(jsonFormat(), o) },
  ValueSerializerOptions: { call: (o) => weir.serializeValue(jsonFormat(), o) },
  VectorStateOptions: { valid: { dimension: 1 }, call: (o) => weir.vectorState('s', o) },
  VersionCoordinatorOptions: {
    valid: { model: 0, partitions: 1, clock },
    call: (o) => new weir.VersionCoordinator(o),
  },
  VersionOffsetsOptions: {
    valid: { registry, place, model: 'm', observations: 'o' },
    call: (o) => learning.resumeOffsetsOf(1, o),
  },
  WatermarkOptions: { call: (o) => weir.monotonousTimestamps(o) },
  WindowStoreOptions: {
    valid: { retainMs: 1 },
    call: (o) => {
      const windows = stream().windowAll(weir.tumblingEventTimeWindows(1))
      return windows.reduce((n) => n).asQueryableState('S', o)
    },
  },
}

/** Connects a client of the same class as the given one, to a port that nobody has. */
function connect(client: WeirClient, options: object): Promise<unknown> {
  const { connect: open } = client.constructor as unknown as typeof WeirClient
  return open.call(client.constructor as never, { port: 1, ...options } as never)
}
