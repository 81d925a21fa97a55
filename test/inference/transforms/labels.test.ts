import { describe, expect, it } from 'vitest'
import type { TensorSpec } from '../../../src/inference/port/signature.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { stringsOfBytes } from '../../../src/inference/runners/byte-strings.ts'
import { TopLabels } from '../../../src/inference/transforms/labels.ts'

const SCORES: TensorSpec = { name: 's', datatype: 'FP32', shape: [-1, 3] }
const TEXT = 'cat\ndog\nfish\n'

const scores = (...values: number[]): Tensor => ({
  name: 's',
  datatype: 'FP32',
  shape: [values.length / 3, 3],
  data: new Uint8Array(Float32Array.from(values).buffer),
})

const floatsOf = ({ data }: Tensor): number[] => [...new Float32Array(data.slice().buffer)]

describe('the best classes of an output', () => {
  it('are the labels and scores of each row, the best first, the first of equals first', () => {
    const top = new TopLabels(SCORES, { file: 'l', top: 2 }, TEXT)
    const [labels, values] = top.apply(scores(0.5, 2, 1, 3, 3, Number.NaN))
    expect(stringsOfBytes(labels.data, 's_label')).toEqual(['dog', 'fish', 'cat', 'dog'])
    expect(floatsOf(values)).toEqual([2, 1, 3, 3])
    expect([labels.shape, values.shape]).toEqual([
      [2, 2],
      [2, 2],
    ])
    expect(top.specs.map(({ name, shape }) => [name, shape])).toEqual([
      ['s_label', [-1, 2]],
      ['s_score', [-1, 2]],
    ])
  })

  it('are probabilities with softmax, also of scores whose powers are infinite', () => {
    const top = new TopLabels(SCORES, { file: 'l', softmax: true }, TEXT)
    const [, values] = top.apply(scores(1000, 1001, 999))
    const powers = [1, Math.exp(-1), Math.exp(-2)]
    const sum = powers.reduce((total, power) => total + power, 0)
    floatsOf(values).forEach((value, i) => {
      expect(value).toBeCloseTo(powers[i]! / sum)
    })
  })

  it('are those of a language model, too, which has more classes than a call has arguments', () => {
    const classes = 200_000
    const spec: TensorSpec = { ...SCORES, shape: [-1, classes] }
    const text = Array.from({ length: classes }, (_, i) => `word ${i}`).join('\n')
    const top = new TopLabels(spec, { file: 'l', softmax: true, top: 1 }, text)
    const data = new Uint8Array(Float32Array.from({ length: classes }, (_, i) => i % 777).buffer)
    const [labels] = top.apply({ name: 's', datatype: 'FP32', shape: [1, classes], data })
    expect(stringsOfBytes(labels.data, 's_label')).toEqual(['word 776'])
  })

  it('are refused where there are not as many labels as classes', () => {
    expect(() => new TopLabels(SCORES, { file: 'l.txt' }, 'cat\ndog')).toThrow(
      'output "s": it has 3 classes, l.txt 2 labels',
    )
    const image: TensorSpec = { ...SCORES, shape: [-1, 3, 8] }
    expect(() => new TopLabels(image, { file: 'l.txt' }, TEXT)).toThrow('[items, classes]')
    const free = new TopLabels({ ...SCORES, shape: [-1, -1] }, { file: 'l.txt' }, 'cat\ndog')
    expect(() => free.apply(scores(1, 2, 3))).toThrow('has 3 classes, and there are 2 labels')
  })
})
