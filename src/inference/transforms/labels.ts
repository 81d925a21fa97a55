import { WeirError } from '../../core/errors.ts'
import { itemAxisOf, type TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { LabelsTransform } from '../port/transforms.ts'
import { stringsToBytes } from '../runners/byte-strings.ts'

const USUAL_TOP = 5

/** The best classes of one output. */
export class TopLabels {
  /** What takes the place of the output: labels and scores, `[items, top]`, the best first. */
  readonly specs: readonly [labels: TensorSpec, scores: TensorSpec]
  private readonly spec: TensorSpec
  private readonly labels: readonly string[]
  private readonly top: number
  private readonly softmax: boolean

  /** `text`: the file of the labels. Throws INVALID_ARGUMENT where the output has no scores of so many classes. */
  constructor(spec: TensorSpec, transform: LabelsTransform, text: string) {
    this.spec = spec
    this.labels = text.trimEnd().split(/\r?\n/)
    const { name, datatype, shape } = spec
    const { length } = this.labels
    const classes = shape[1]
    const isRight = shape.length === 2 && (datatype === 'FP32' || datatype === 'FP64')
    if (!isRight || itemAxisOf(spec) !== 0) {
      throw invalid(
        name,
        `labels need scores of FP32 or FP64 with the shape [items, classes], not ${datatype} [${shape.join(', ')}]`,
      )
    }
    if (classes !== -1 && classes !== length) {
      throw invalid(name, `it has ${classes} classes, ${transform.file} ${length} labels`)
    }
    this.top = Math.min(transform.top ?? USUAL_TOP, length)
    this.softmax = transform.softmax === true
    const form = { shape: [shape[0]!, this.top], itemAxis: 0 }
    this.specs = [
      { name: `${name}_label`, datatype: 'BYTES', ...form },
      { name: `${name}_score`, datatype: 'FP32', ...form },
    ]
  }

  /** The best classes of each row. Throws MODEL_FAILED for another number of classes. */
  apply({ data, datatype, shape }: Tensor): [labels: Tensor, scores: Tensor] {
    const [rows = 0, classes = 0] = shape
    if (classes !== this.labels.length) {
      const message = `the output "${this.spec.name}" has ${classes} classes, and there are ${this.labels.length} labels`
      throw new WeirError('MODEL_FAILED', message)
    }
    const copy = data.slice().buffer
    const all = datatype === 'FP64' ? new Float64Array(copy) : new Float32Array(copy)
    const names: string[] = []
    const scores = new Float32Array(rows * this.top)
    for (let row = 0; row < rows; row++) {
      const own = Array.from(all.subarray(row * classes, (row + 1) * classes))
      const values = this.softmax ? probabilities(own) : own
      this.best(values).forEach((index, rank) => {
        names.push(this.labels[index]!)
        scores[row * this.top + rank] = values[index]!
      })
    }
    const form = { shape: [rows, this.top] }
    const [label, score] = this.specs
    return [
      { name: label.name, datatype: 'BYTES', ...form, data: stringsToBytes(names) },
      { name: score.name, datatype: 'FP32', ...form, data: new Uint8Array(scores.buffer) },
    ]
  }

  /** Indexes of the largest values, the first of equals first; a NaN is below every number. */
  private best(values: readonly number[]): number[] {
    const order = (index: number): number => {
      const value = values[index]!
      return Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value
    }
    const indexes = Array.from(values, (_, index) => index)
    indexes.sort((a, b) => (order(a) === order(b) ? a - b : order(b) > order(a) ? 1 : -1))
    return indexes.slice(0, this.top)
  }
}

/** Scores as probabilities; the largest is taken out first, so that none is infinite. */
function probabilities(scores: readonly number[]): number[] {
  const most = scores.reduce((largest, score) => Math.max(largest, score))
  const powers = scores.map((score) => Math.exp(score - most))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}

const invalid = (output: string, why: string): WeirError =>
  new WeirError('INVALID_ARGUMENT', `transforms: output "${output}": ${why}`)
