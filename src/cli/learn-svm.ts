import { openTopics } from '../connectors/topics/open-topics.ts'
import { systemClock } from '../core/clock.ts'
import type { OnlineSvmOptions } from '../jobs/online-svm.ts'
import { SvmLearningCoordinator } from '../jobs/online-svm-coordinator.ts'
import { SVM_MODEL } from '../jobs/svm-serving-function.ts'
import { deltasTopic } from '../models/model-delta.ts'
import { SlotThreads } from '../runtime/slot-threads.ts'
import { type Command, Flags } from './command.ts'
import { DATA_DIR_OPTION, dataDirectory } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsPlaceOf } from './kafka-flags.ts'
import { ONLINE_SVM_MODULE } from './online-svm-module.ts'
import { configurationOf, SERVING_OPTIONS } from './run.ts'
import { serveModel } from './serve-model.ts'
import { tellRestarts } from './tell-restarts.ts'

/** `weir learn svm`: serves a linear model and learns it from labelled examples as they come. */
export const learnSvmCommand: Command = {
  name: 'learn svm',
  summary: 'Serve a linear model and learn it from labelled examples as they come',
  options: {
    topic: { type: 'string', value: 'NAME', default: 'svm-model', help: 'Model topic' },
    observations: {
      type: 'string',
      value: 'NAME',
      default: 'examples',
      help: 'Topic of examples, one LIBSVM line a record',
    },
    loss: { type: 'string', value: 'KIND', default: 'hinge', help: 'hinge or logistic' },
    'learning-rate': { type: 'string', value: 'X', default: '0.5', help: 'How far weights move' },
    'under-way': {
      type: 'string',
      value: 'N',
      default: '64',
      help: 'Examples between prediction and fold: more are faster, on older weights',
    },
    ...SERVING_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `It starts from a published model. An embedded log has one writing process, so fill the topic of examples
before, or use a Kafka.

Example:
  weir train svm --examples a9a --publish --brokers localhost:9092
  weir topic produce examples --brokers localhost:9092 < a9a.t
  weir learn svm --brokers localhost:9092`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const data = dataDirectory(flags.string('data-dir'))
    const place = topicsPlaceOf(flags)
    const observations = flags.string('observations')
    await createTopics(place, observations, flags.string('topic'))
    const token = flags.optional('token')
    const say = (sentence: string): void => io.err(`learn svm: ${sentence}`)
    const rule = {
      loss: flags.choice('loss', ['hinge', 'logistic']),
      learningRate: flags.number('learning-rate'),
    }
    const mostUnderWay = flags.integer('under-way', 1)
    let learning: SvmLearningCoordinator | undefined
    await using job = await serveModel<OnlineSvmOptions>(
      {
        name: 'online-svm',
        module: ONLINE_SVM_MODULE,
        state: SVM_MODEL,
        options: (where, topic, range) => {
          return { ...where, topic, range, observations, rule, mostUnderWay }
        },
      },
      {
        threads: new SlotThreads(ONLINE_SVM_MODULE, flags.integer('slots', 1)),
        data,
        place,
        topic: flags.string('topic'),
        slots: flags.integer('slots', 1),
        queryThreads: flags.integer('query-threads', 1, 64),
        host: flags.string('host'),
        port: flags.integer('port', 0, 65_535),
        configuration: configurationOf(flags),
        around: (versions, partitions) => {
          const onLearning = (version: number): void => say(`learning on version ${version}`)
          learning = new SvmLearningCoordinator({
            partitions,
            clock: systemClock,
            versions,
            onLearning,
          })
          return learning.coordinators
        },
        onLive: (version, { items, dimension }) => {
          say(`version ${version} is live (${items} blocks of ${dimension} weights)`)
          learning?.live(version)
        },
        onDropped: (partition, offset, reason) =>
          say(`dropped the record at ${partition}:${offset}: ${reason}`),
        ...(token === undefined ? {} : { token }),
      },
    )
    tellRestarts(job, 'learn svm', io)
    say(`queries on ${flags.string('host')}:${job.port}, Ctrl-C ends it`)
    await Promise.race([job.execution.result, io.interrupted])
    learning?.close()
    return 0
  },
}

async function createTopics(
  place: ReturnType<typeof topicsPlaceOf>,
  observations: string,
  topic: string,
): Promise<void> {
  await using topics = await openTopics(place)
  for (const name of [observations, deltasTopic(topic)]) {
    if (await topics.has(name)) continue
    const kept = { cleanupPolicy: 'delete', retentionMs: -1, retentionBytes: -1 } as const
    await topics.create(name, { partitions: 4, ...kept })
  }
}
