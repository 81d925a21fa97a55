import { describe, expect, it } from 'vitest'
import { ModelRequests } from '../../../src/gateway/inference/message.ts'
import { answerHead, ModelAnswers } from '../../../src/gateway/inference/model-answers.ts'
import type { Tensor } from '../../../src/gateway/inference/tensor.ts'

const requests = new ModelRequests([{ name: 'x', datatype: 'FP32', shape: [-1] }])
const BYTES = { parameters: { binary_data_output: true } }

/** A request for a model of one float, with its float as bytes. */
function requestOf(more: object = BYTES) {
  const x = { name: 'x', datatype: 'FP32', shape: [1], parameters: { binary_data_size: 4 } }
  const json = Buffer.from(JSON.stringify({ inputs: [x], ...more }))
  return requests.read(Buffer.concat([json, Buffer.alloc(4)]), String(json.length))
}

const floats = (name: string, shape: number[], ...data: number[]): Tensor => ({
  name,
  datatype: 'FP32',
  shape,
  data: Float32Array.from(data),
})

const head = (model_version = '1') => ({ model_name: 'm', model_version })

/** What the answers say, and the bytes behind it. */
function read(answers: ModelAnswers, tensors: readonly Tensor[], more?: object, version = '1') {
  const { json, tensors: bytes } = answers.write(head(version), tensors, requestOf(more))
  return [
    JSON.parse(json),
    ...bytes.map((each) => [...new Float32Array(Uint8Array.from(each).buffer)]),
  ]
}

const said = (shape: number[], size: number, version = '1', more = {}) => ({
  model_name: 'm',
  model_version: version,
  ...more,
  outputs: [{ name: 'y', datatype: 'FP32', shape, parameters: { binary_data_size: size } }],
})

/** More elements than become JSON in one turn, and no multiple of them. */
const MANY = Array.from({ length: 70_000 })

describe('the answers of one model', () => {
  it('have their own bytes behind the JSON, which is written once', () => {
    const answers = new ModelAnswers()
    const first = answers.write(head(), [floats('y', [1], 2)], requestOf())
    const second = answers.write(head(), [floats('y', [1], 3)], requestOf())
    expect(second.json).toBe(first.json)
    expect(read(answers, [floats('y', [1], 4)])).toEqual([said([1], 4), [4]])
  })

  it.each([
    ['floats', { datatype: 'FP32', data: Float32Array.from(MANY, (_, n) => n * 0.37) }],
    ['odd floats', { datatype: 'FP64', data: Float64Array.from(MANY, (_, n) => 1 / (n % 3)) }],
    [
      'wide numbers',
      { datatype: 'INT64', data: BigInt64Array.from(MANY, (_, n) => BigInt(n) ** 4n) },
    ],
    ['texts', { datatype: 'BYTES', data: MANY.map((_, n) => `"${n}\n`) }],
  ] as const)('are the same when many %s become JSON over several turns', async (_, tensor) => {
    const outputs = [
      { name: 'y', shape: [MANY.length / 10, 10], ...tensor } as Tensor,
      floats('z', [2], 1, 2),
    ]
    const wanted = [{ name: 'y' }, { name: 'z', parameters: { binary_data: true } }]
    const parameters = { non_finite_as_null: true }
    for (const more of [{}, { id: '"7"', outputs: wanted, parameters }]) {
      const answers = new ModelAnswers()
      const inTurns = answers.writeInTurns(head(), outputs, requestOf(more))
      expect(inTurns).toBeInstanceOf(Promise)
      expect(await inTurns).toEqual(answers.write(head(), outputs, requestOf(more)))
    }
  })

  it('say which step of a sequence each is', () => {
    const answers = new ModelAnswers()
    const steps = ['1-aaaaaaaaaaaa', '2-aaaaaaaaaaaa', undefined].map((sequenceStep) => {
      const answered = answerHead('m', { modelVersion: 1, sequenceStep })
      return JSON.parse(answers.write(answered, [floats('y', [1], 2)], requestOf()).json).parameters
    })
    expect(steps).toEqual([
      { sequence_step: '1-aaaaaaaaaaaa' },
      { sequence_step: '2-aaaaaaaaaaaa' },
      undefined,
    ])
  })

  it('say what has changed: items, version, id, wanted outputs', () => {
    const answers = new ModelAnswers()
    const one = [floats('y', [1], 2)]
    expect(read(answers, one)).toEqual([said([1], 4), [2]])
    expect(read(answers, [floats('y', [2], 2, 3)])).toEqual([said([2], 8), [2, 3]])
    expect(read(answers, [floats('y', [1, 2], 2, 3)])).toEqual([said([1, 2], 8), [2, 3]])
    expect(read(answers, one, BYTES, '2')).toEqual([said([1], 4, '2'), [2]])
    expect(read(answers, one, { id: 'a', ...BYTES })).toEqual([said([1], 4, '1', { id: 'a' }), [2]])
    const both = [floats('y', [1], 2), floats('z', [1], 3)]
    const onlyZ = { ...BYTES, outputs: [{ name: 'z' }] }
    expect(read(answers, both, onlyZ)[0].outputs[0]).toMatchObject({ name: 'z' })
    expect(read(answers, both, { ...BYTES, outputs: [{ name: 'y' }] })).toEqual([said([1], 4), [2]])
  })

  it('name the best classes each time', () => {
    const answers = new ModelAnswers()
    const wanted = [{ name: 'y', parameters: { classification: 1, binary_data: true } }]
    const best = (...scores: number[]) => {
      const request = requestOf({ outputs: wanted })
      const { tensors } = answers.write(head(), [floats('y', [1, 2], ...scores)], request)
      return Buffer.from(tensors[0]!).toString('latin1', 4)
    }
    expect([best(1, 0), best(10, 0), best(0, 1)]).toEqual([
      '1.000000:0',
      '10.000000:0',
      '1.000000:1',
    ])
  })

  it('have what is no finite number as a text, or as null where the request says so (triton#3711: broken JSON)', () => {
    const tensors = [floats('y', [4], NaN, Infinity, -Infinity, 1.5)]
    const answers = new ModelAnswers()
    const dataOf = (parameters: object) =>
      read(answers, tensors, { parameters })[0].outputs[0].data as unknown
    expect(dataOf({})).toEqual(['NaN', 'Infinity', '-Infinity', 1.5])
    expect(dataOf({ non_finite_as_null: true })).toEqual([null, null, null, 1.5])
    expect(dataOf({ non_finite_as_null: false })).toEqual(['NaN', 'Infinity', '-Infinity', 1.5])
    expect(() => dataOf({ non_finite_as_null: 'yes' })).toThrow('is true or false')
    const texts: Tensor = { name: 'y', datatype: 'BYTES', shape: [1], data: ['NaN'] }
    const parameters = { non_finite_as_null: true }
    expect(read(answers, [texts], { parameters })[0].outputs[0].data).toEqual(['NaN'])
  })
})
