import { requireArgument } from '../../core/errors.ts'
import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import type { Prediction, PredictOptions, QueryOptions } from '../../wire/model-reader.ts'
import type { ServedState } from '../port/services.ts'
import { type InferenceModel, type InferenceResult, inputOf, resultOf } from './model.ts'
import { oneVersion, type VersionedAnswer } from './one-version.ts'
import type { Tensor, TensorMetadata } from './tensor.ts'

const INPUTS: readonly TensorMetadata[] = [
  { name: 'user', datatype: 'BYTES', shape: [-1] },
  { name: 'item', datatype: 'BYTES', shape: [-1] },
]

const OUTPUTS: readonly TensorMetadata[] = [
  { name: 'score', datatype: 'FP32', shape: [-1] },
  { name: 'user_cold', datatype: 'BOOL', shape: [-1] },
  { name: 'item_cold', datatype: 'BOOL', shape: [-1] },
]

/** Matrix factorisation: scores of pairs of user and item. One user or one item goes with all others. */
export class AlsModel implements InferenceModel {
  readonly platform = 'weir_als'
  readonly inputs = INPUTS
  readonly outputs = OUTPUTS
  private readonly reader: ServedState

  constructor(reader: ServedState) {
    this.reader = reader
  }

  async infer(
    state: string,
    inputs: readonly Tensor[],
    options: QueryOptions,
  ): Promise<InferenceResult> {
    const users = inputOf(inputs, 'user')
    const items = inputOf(inputs, 'item')
    const shape = pairedShape(users, items)
    const userIds = users.data as readonly string[]
    const itemIds = items.data as readonly string[]
    const count = Math.max(userIds.length, itemIds.length)
    const answers = await oneVersion(options, (pinned) =>
      Array.from({ length: count }, (_, i) =>
        this.predict(
          state,
          userIds[userIds.length === 1 ? 0 : i]!,
          itemIds[itemIds.length === 1 ? 0 : i]!,
          { ...pinned, ...MEAN_IF_UNKNOWN },
        ),
      ),
    )
    const data = [
      Float32Array.from(answers, ({ score }) => score),
      answers.map(({ leftCold }) => leftCold),
      answers.map(({ rightCold }) => rightCold),
    ]
    return resultOf(answers, OUTPUTS, { shape, data })
  }

  private async predict(
    state: string,
    user: string,
    item: string,
    options: PredictOptions,
  ): Promise<VersionedPrediction> {
    const answer = await this.reader.predictWithEnvelope(
      state,
      alsKey(user, 'U'),
      alsKey(item, 'I'),
      options,
    )
    if (!answer.ok) throw answer.error
    return { ...answer.value, modelVersion: answer.envelope.modelVersion }
  }
}

type VersionedPrediction = Prediction & VersionedAnswer

/** The shape of the answers. Throws INVALID_ARGUMENT unless both have as many ids, or one has a single id. */
function pairedShape(users: Tensor, items: Tensor): readonly number[] {
  const { length: userCount } = users.data
  const { length: itemCount } = items.data
  requireArgument(
    userCount === itemCount || userCount === 1 || itemCount === 1,
    `"user" has ${userCount} ids and "item" ${itemCount}; give as many of both, or one of one of them`,
  )
  return userCount === 1 ? items.shape : users.shape
}
