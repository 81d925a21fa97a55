import { requireArgument, WeirError } from '../../core/errors.ts'
import { MAX_FEATURE } from '../../core/feature.ts'
import type { ClassScore, LinearPrediction } from '../../wire/linear-prediction.ts'
import type { QueryOptions, SparseVector } from '../../wire/model-reader.ts'
import type { QueryableStateInfo } from '../../wire/routing-table.ts'
import type { ServedState } from '../port/services.ts'
import { type InferenceModel, type InferenceResult, inputOf, resultOf } from './model.ts'
import { oneVersion } from './one-version.ts'
import type { Tensor, TensorMetadata } from './tensor.ts'

const LAST_FEATURE = BigInt(MAX_FEATURE)

const INPUTS: readonly TensorMetadata[] = [
  { name: 'index', datatype: 'INT64', shape: [-1] },
  { name: 'value', datatype: 'FP32', shape: [-1] },
  { name: 'start', datatype: 'INT64', shape: [-1], isOptional: true },
]

/** Of a model that hashes the names of its features. */
const NAMED_INPUTS: readonly TensorMetadata[] = [
  { name: 'features', datatype: 'BYTES', shape: [-1] },
]

const OUTPUTS: readonly TensorMetadata[] = [
  { name: 'decision', datatype: 'FP64', shape: [-1] },
  { name: 'label', datatype: 'INT64', shape: [-1] },
  { name: 'unknown', datatype: 'INT64', shape: [-1] },
]

/** Of a model of several classes, in ascending order of their labels. */
const CLASS_OUTPUTS: readonly TensorMetadata[] = [
  ...OUTPUTS,
  { name: 'scores', datatype: 'FP64', shape: [-1, -1] },
  { name: 'classes', datatype: 'FP64', shape: [-1] },
]

/** What the examples of a linear model are, and what it predicts. */
interface LinearForm {
  /** Features have names (`FeatureHashing`). */
  readonly hasNames: boolean
  readonly hasClasses: boolean
}

/** The form of the versions of a state. */
export function linearFormOf({ labels = [], liveVersion }: QueryableStateInfo): LinearForm {
  const live = labels.find(({ version }) => version === liveVersion)
  return {
    hasNames: labels.some(({ hashBits }) => hashBits !== undefined),
    hasClasses: live?.classes !== undefined,
  }
}

/**
 * Linear models over sparse examples: feature ids and values of all examples one after the other. `start`
 * holds the place where each example starts; without it there is one example. Where features have names, each example is
 * a text: `|user age:0.3 DE |ad sports`.
 */
export class LinearModel implements InferenceModel {
  readonly platform = 'weir_linear'
  readonly inputs: readonly TensorMetadata[]
  readonly outputs: readonly TensorMetadata[]
  private readonly reader: ServedState

  constructor(reader: ServedState, { hasNames, hasClasses }: LinearForm) {
    this.reader = reader
    this.inputs = hasNames ? NAMED_INPUTS : INPUTS
    this.outputs = hasClasses ? CLASS_OUTPUTS : OUTPUTS
  }

  async infer(
    state: string,
    inputs: readonly Tensor[],
    options: QueryOptions,
  ): Promise<InferenceResult> {
    const examples =
      this.inputs === NAMED_INPUTS
        ? (inputOf(inputs, 'features').data as readonly string[])
        : examplesOf(inputs)
    const answers = await oneVersion(options, (pinned) =>
      examples.map((example) => this.reader.predictLinear(state, example, pinned)),
    )
    const data = [
      Float64Array.from(answers, ({ decision }) => decision),
      BigInt64Array.from(answers, wholeLabel),
      BigInt64Array.from(answers, ({ unknown }) => BigInt(unknown)),
    ]
    const result = resultOf(answers, OUTPUTS, { shape: [examples.length], data })
    const first = answers[0]?.scores
    if (this.outputs === OUTPUTS || first === undefined) return result
    return { ...result, outputs: [...result.outputs, ...classTensors(first, answers)] }
  }
}

/** The scores of all examples, and the labels of their columns. */
function classTensors(
  first: readonly ClassScore[],
  answers: readonly LinearPrediction[],
): readonly Tensor[] {
  const all = answers.flatMap(({ scores = [] }) => scores.map(({ score }) => score))
  const labels = first.map(({ label }) => label)
  const shape = [answers.length, labels.length]
  return [
    { name: 'scores', datatype: 'FP64', shape, data: Float64Array.from(all) },
    { name: 'classes', datatype: 'FP64', shape: [labels.length], data: Float64Array.from(labels) },
  ]
}

/** The label of a prediction; of labels that are no whole numbers, 1 for the positive one and -1 for the other. */
function wholeLabel({ label, decision }: LinearPrediction): bigint {
  return BigInt(Number.isSafeInteger(label) ? label : decision > 0 ? 1 : -1)
}

function examplesOf(inputs: readonly Tensor[]): readonly SparseVector[] {
  const ids = featureIds(inputOf(inputs, 'index').data as BigInt64Array)
  const values = inputOf(inputs, 'value').data as Float32Array
  requireArgument(
    ids.length === values.length,
    `"index" has ${ids.length} features and "value" ${values.length}`,
  )
  const starts = inputs.find(({ name }) => name === 'start')?.data as BigInt64Array | undefined
  const places = starts === undefined ? [0] : Array.from(starts, Number)
  return places.map((from, i) => {
    const to = places[i + 1] ?? ids.length
    requireArgument(
      from >= 0 && from <= to && to <= ids.length && places[0] === 0,
      `"start" must begin with 0 and rise to at most ${ids.length}; example ${i} has ${from} to ${to}`,
    )
    return { ids: ids.subarray(from, to), values: values.subarray(from, to) }
  })
}

function featureIds(index: BigInt64Array): Uint32Array {
  return Uint32Array.from(index, (id, i) => {
    if (id >= 0n && id <= LAST_FEATURE) return Number(id)
    throw new WeirError(
      'INVALID_ARGUMENT',
      `"index" ${i} is ${id}; a feature id is from 0 to ${MAX_FEATURE}`,
    )
  })
}
