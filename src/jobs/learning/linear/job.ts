import type { KafkaClientOptions } from '../../../connectors/kafka/client/options.ts'
import { openTopics } from '../../../connectors/topics/open.ts'
import { placeIn, TOPICS_PLACE } from '../../../connectors/topics/place.ts'
import { MAX_FEATURE } from '../../../core/feature.ts'
import { rawKeySerializer } from '../../../core/formats/plain-key-serializer.ts'
import {
  count,
  flag,
  listOf,
  milliseconds,
  name,
  numberIn,
  required,
  wholeNumber,
} from '../../../core/options/kinds.ts'
import {
  checkOptions,
  type NamedOptions,
  nested,
  type OptionShape,
} from '../../../core/options/shape.ts'
import { defineJob, type JobDefinition } from '../../../dataflow/job/definition.ts'
import { encodeLinearDelta, type LinearDelta } from '../../../models/linear/delta.ts'
import {
  ONLINE_LINEAR_SETTINGS,
  OnlineLinearRule,
  type OnlineLinearSettings,
} from '../../../models/linear/online-rule.ts'
import { type WeightUpdate, WeightUpdateSerializer } from '../../../models/linear/weight-update.ts'
import { PREQUENTIAL, type PrequentialOptions } from '../../../models/quality/prequential-error.ts'
import { BAD_ROWS, type BadRowPolicy, MODEL_ROWS_UID } from '../../../models/topic/operator.ts'
import { topicRecords } from '../../../models/topic/records.ts'
import { deltasTopic } from '../../../models/topic/topics.ts'
import { WeightRowsOperator } from '../../../models/topic/weight-rows-operator.ts'
import { EXAMPLE_ERROR, joinedExampleError } from '../error/example-error.ts'
import { LearningErrorFunction } from '../error/learning-error.ts'
import { quarantine } from '../quarantine.ts'
import { REFUSED } from '../refused.ts'
import { SAME_EVENT, type SameEventOptions, sameEventOf } from '../seen-events.ts'
import { topicSink } from '../topic-sink.ts'
import { LinearDeltasOperator } from './deltas-operator.ts'
import { LearnedWeightsOperator } from './model-operator.ts'
import { LinearObservationsOperator } from './observations-operator.ts'

/** Options of the `online-svm` job. */
export interface OnlineSvmOptions extends SameEventOptions, Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the topics. */
  readonly logDirectory?: string
  /** Or the Kafka that holds the topics. */
  readonly kafka?: KafkaClientOptions
  /** Model topic: weights and version markers. Its deltas are in `<topic>-deltas`. */
  readonly topic: string
  /** Topic of labelled examples, one line of LIBSVM's text a record. */
  readonly observations: string
  /** Topic of refused observations. @default they are counted and dropped */
  readonly quarantine?: string
  /** Features of one block. */
  readonly range: number
  /** @default the loss of the version, hinge where it does not say one */
  readonly rule?: OnlineLinearSettings
  /**
   * Label of the positive examples of a version that does not say its labels: every other one is negative.
   * @default every label above 0
   */
  readonly positiveLabel?: number
  /** An example with the id of a feature from here on is refused: each makes a block of weights. @default 2^27 */
  readonly maxFeatures?: number
  readonly prequential?: PrequentialOptions
  /**
   * Learning goes on also while it has certainly made the predictions worse than those of the version as it was published;
   * the job then keeps no copies of blocks. @default false: it stops, and the version is served as it was published
   */
  readonly neverStop?: boolean
  /**
   * Observations in flight from their prediction to the fold of their deltas in all their blocks, over all slots: a
   * higher limit gives more observations a second, with steps on older weights. The folds are counted for 16,384
   * at a time; of further ones only until their deltas are read. @default 64
   */
  readonly mostUnderWay?: number
  /**
   * By partition of the deltas topic, where a job without a checkpoint begins: before are deltas of other observations.
   * @default its start
   */
  readonly deltasFrom?: readonly number[]
  /** A delta waits for others at most this long, ms. @default 2 */
  readonly lingerMs?: number
  /** Whether records that are no weights of this model are dropped or fail the job; they are counted. @default 'drop' */
  readonly badRows?: BadRowPolicy
}

/** The options of the `online-svm` job. */
export const ONLINE_SVM: OptionShape<NamedOptions<OnlineSvmOptions>> = {
  ...TOPICS_PLACE,
  ...SAME_EVENT,
  topic: required(name),
  observations: required(name),
  quarantine: name,
  range: required(count),
  rule: nested(ONLINE_LINEAR_SETTINGS),
  positiveLabel: numberIn(),
  maxFeatures: wholeNumber({ min: 1, max: MAX_FEATURE + 1 }),
  prequential: nested(PREQUENTIAL),
  neverStop: flag,
  mostUnderWay: wholeNumber({ min: 1, orInfinity: true }),
  deltasFrom: listOf(wholeNumber({ min: 0 })),
  lingerMs: milliseconds,
  badRows: BAD_ROWS,
}

/** Uid of the operator that owns the weights: that of `svm-serving`, so that the checkpoints of both jobs fit. */
export const SVM_MODEL_UID = 'svm-model'
/** Uid of the operator that reads observations. */
export const SVM_OBSERVATIONS_UID = 'svm-observations'
/** Uid of the operator that reads deltas. */
export const SVM_DELTAS_UID = 'svm-deltas'

/**
 * Serves a linear model as `svm-serving` does and learns it from observations. The graph has no cycle:
 * deltas come back through their topic.
 *
 *   observations --> prediction from all slots' weights, derivative of the loss --> deltas topic
 *   deltas -------> split by block ---.
 *   rows --------------------------- -+-> owner of the block: folds its part
 */
const onlineSvm: JobDefinition<OnlineSvmOptions> = defineJob<OnlineSvmOptions>({
  name: 'online-svm',
  async build(env, options) {
    checkOptions('online-svm', ONLINE_SVM, options)
    // What does not fit together is refused here, not in a slot.
    new OnlineLinearRule({ loss: 'hinge', ...options.rule })
    await using topics = await openTopics(placeIn(options))
    const {
      range,
      rule = {},
      positiveLabel,
      lingerMs = 2,
      neverStop,
      mostUnderWay: mostInFlight = 64,
    } = options
    const rows = topicRecords(env, topics, {
      topic: options.topic,
      name: options.topic,
      uid: 'model-topic',
    })
      .transform<WeightUpdate>(
        'Weights',
        () => new WeightRowsOperator(range, options.badRows ?? 'drop'),
        { serializer: new WeightUpdateSerializer() },
      )
      .uid(MODEL_ROWS_UID)
    const deltas = topicRecords(env, topics, {
      topic: deltasTopic(options.topic),
      name: deltasTopic(options.topic),
      uid: 'deltas-topic',
      from: options.deltasFrom,
    })
      .transform<WeightUpdate>('Deltas', () => new LinearDeltasOperator(range), {
        serializer: new WeightUpdateSerializer(),
      })
      .uid(SVM_DELTAS_UID)
    rows
      .union(deltas)
      .keyBy((update) => update.key, rawKeySerializer)
      .transform<never>(
        'Linear model',
        () => new LearnedWeightsOperator({ range, ftrl: rule.ftrl, neverStop }),
        { needsKey: true },
      )
      .uid(SVM_MODEL_UID)
      .discard()
    const sink = await topicSink<LinearDelta>(placeIn(options), {
      topic: deltasTopic(options.topic),
      serialize: (delta, record) => {
        // One partition for all deltas of an observations partition keeps their order.
        record.key = new TextEncoder().encode(String(delta.partition))
        record.value = encodeLinearDelta(delta)
      },
      guarantee: 'at-least-once',
      lingerMs,
    })
    const observed = topicRecords(env, topics, {
      topic: options.observations,
      name: options.observations,
      uid: 'observations',
    })
      .transform<LinearDelta>(
        'Observations',
        () =>
          new LinearObservationsOperator({
            range,
            rule,
            modelUid: SVM_MODEL_UID,
            mostInFlight,
            positiveLabel,
            maxFeatures: options.maxFeatures,
            prequential: options.prequential,
            sameEvent: sameEventOf(options),
            neverStop,
          }),
        { sideOutputs: [REFUSED.id, EXAMPLE_ERROR.id] },
      )
      .uid(SVM_OBSERVATIONS_UID)
    observed.sinkTo(sink).uid('deltas-sink').name('Deltas sink')
    await quarantine(observed.getSideOutput(REFUSED), placeIn(options), options.quarantine)
    observed
      .getSideOutput(EXAMPLE_ERROR)
      .keyBy((part) => String(part.version))
      .process(() => new LearningErrorFunction(joinedExampleError))
      .uid('learning-error')
      .name('Learning error')
      .discard()
  },
})

export default onlineSvm
