import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { AnswerCursor, beginAnswer } from '../../../src/wire/answer.ts'
import { ANSWER, KIND } from '../../../src/wire/frame.ts'
import {
  readInferAnswer,
  readInferRequest,
  writeInferAnswer,
  writeInferRequest,
} from '../../../src/wire/inference/infer.ts'
import { jsonOfRaw, rawOfJson } from '../../../src/wire/inference/json-tensor.ts'
import {
  decodeModels,
  decodeModelsRequest,
  encodeModels,
  encodeModelsRequest,
  type ModelInfo,
} from '../../../src/wire/inference/models.ts'
import { DATATYPES, type Datatype, type RawTensor } from '../../../src/wire/inference/tensor.ts'
import { beginRequest, RequestCursor } from '../../../src/wire/request.ts'
import { frameOf, hex, written } from '../example-frames.ts'

const page = readFileSync(
  new URL('../../../docs/reference/query-protocol.md', import.meta.url),
  'utf8',
)
const preamble = { state: 'm', version: 0, deadlineMs: 0, consistency: { level: 'live' } } as const
const fp32 = (name: string, shape: readonly number[], ...values: number[]): RawTensor =>
  rawOfJson({ name, datatype: 'FP32', shape, data: values })

const request = { outputs: [], inputs: [fp32('x', [1, 2], 1, 2)] }
const answer = {
  outputs: [fp32('y', [1, 1], 3)],
  isDefault: false,
  isCached: false,
  isHedged: false,
  reason: '',
  queueMicros: 10,
  runMicros: 20,
  batchItems: 1,
}
const requestBytes = written((writer) => {
  beginRequest(writer, KIND.infer, 0, 1, preamble)
  writeInferRequest(writer, request)
  writer.end(1)
})
const answerBytes = written((writer) => {
  const envelope = { modelVersion: 7, routingEpoch: 1, checkpointId: 0, ageMs: -1 }
  beginAnswer(writer, KIND.infer + ANSWER, 0, 1, envelope)
  writeInferAnswer(writer, answer)
  writer.end(1)
})

/** The bytes of a request's body, read back. */
function readBack(bytes: Uint8Array) {
  const cursor = new RequestCursor()
  cursor.open(frameOf(bytes))
  cursor.readPreamble()
  const read = readInferRequest(cursor)
  cursor.finish()
  return read
}

describe('INFER frames', () => {
  it('have the bytes that the protocol page shows', () => {
    const shown = page.replaceAll(/\s/g, '')
    expect(shown).toContain(`>${hex(requestBytes)}`)
    expect(shown).toContain(`<${hex(answerBytes)}`)
  })

  it('give back what was written', () => {
    expect(readBack(requestBytes)).toEqual(request)
    const cursor = new AnswerCursor()
    cursor.open(frameOf(answerBytes))
    expect(cursor.modelVersion).toBe(7)
    expect(readInferAnswer(cursor)).toEqual(answer)
    expect(cursor.at).toBe(cursor.end)
  })

  it('of answers are read into memory of their own: a client reads the next one into the same bytes', () => {
    const bytes = answerBytes.slice()
    const cursor = new AnswerCursor()
    cursor.open(frameOf(bytes))
    const read = readInferAnswer(cursor)
    bytes.fill(0)
    expect(read).toEqual(answer)
  })

  it.each(Object.keys(DATATYPES) as Datatype[])('carry tensors of %s', (datatype) => {
    const each = DATATYPES[datatype].bytes
    const data = each === 0 ? Uint8Array.of(2, 0, 0, 0, 104, 105) : new Uint8Array(each).fill(1)
    const inputs = [{ name: 'x', datatype, shape: [1], data }]
    const bytes = written((writer) => {
      beginRequest(writer, KIND.infer, 0, 1, preamble)
      writeInferRequest(writer, { outputs: ['a', 'b'], inputs })
      writer.end(1)
    })
    expect(readBack(bytes)).toEqual({ outputs: ['a', 'b'], inputs })
  })

  it('fail with a typed error wherever they are cut or damaged', () => {
    const random = seededRandom(20_261_122)
    const bodyAt = 12 + 24 + 1
    for (let round = 0; round < 500; round++) {
      const bytes = requestBytes.slice()
      const at = bodyAt + Math.floor(random.next() * (bytes.length - bodyAt))
      bytes[at] = Math.floor(random.next() * 256)
      try {
        readBack(bytes)
      } catch (error) {
        expect(error).toMatchObject({
          code: expect.stringMatching(/^(PROTOCOL_ERROR|INVALID_ARGUMENT)$/),
        })
      }
    }
  })

  it('refuse a tensor whose bytes are not those of its shape', () => {
    const wrong = { ...request, inputs: [{ ...request.inputs[0]!, shape: [3] }] }
    expect(() => written((writer) => writeInferRequest(writer, wrong))).toThrow(
      'tensor "x": 3 elements of FP32 take 12 bytes, not 8',
    )
    const texts = {
      name: 't',
      datatype: 'BYTES',
      shape: [1],
      data: Uint8Array.of(9, 0, 0, 0),
    } as const
    expect(() =>
      written((writer) => writeInferRequest(writer, { outputs: [], inputs: [texts] })),
    ).toThrow('tensor "t": the data is not 1 strings')
  })
})

describe('MODELS frames', () => {
  it('give back requests and models', () => {
    const asked = encodeModelsRequest({ action: 'load', model: 'ocr' })
    expect(decodeModelsRequest(asked, 0, asked.length)).toEqual({ action: 'load', model: 'ocr' })
    const models: ModelInfo[] = [
      {
        name: 'ocr',
        kind: 'onnx',
        liveVersion: 2,
        versions: [{ version: 2, state: 'READY', reason: '' }],
        aliases: { stable: 2 },
        inputs: [
          { name: 'x', datatype: 'FP32', shape: [-1, 3, 48, -1], itemAxis: 0, takes: 'image' },
        ],
        outputs: [],
        revision: 1,
        maxBatchItems: 64,
        batching: 'requests share runs',
        devices: ['1 worker runs on cuda:0'],
        parts: true,
        sloMs: 50,
        problems: ['aliases.json:1: no'],
        isExpected: true,
        statistics: { answered: 4 },
      },
    ]
    const { devices, parts, ...without } = models[0]!
    for (const given of [models, [without]]) {
      const bytes = encodeModels(given)
      expect(decodeModels(bytes, 0, bytes.length)).toEqual(given)
    }
  })

  it('refuse an unknown action and a change without a name', () => {
    const wrong = encodeModelsRequest({ action: 'drop' as 'list', model: 'a' })
    expect(() => decodeModelsRequest(wrong, 0, wrong.length)).toThrow(
      'the actions are list, load, unload',
    )
    const bare = encodeModelsRequest({ action: 'unload', model: '' })
    expect(() => decodeModelsRequest(bare, 0, bare.length)).toThrow('needs the name of a model')
  })
})

describe('a tensor in JSON', () => {
  it.each([
    ['BOOL', [true, false]],
    ['UINT8', [0, 255]],
    ['INT16', [-32768, 7]],
    ['INT64', [-1, 2 ** 53 - 1]],
    ['UINT64', [0, 2n ** 64n - 1n]],
    ['INT64', [2n ** 53n + 1n, -(2n ** 63n)]],
    ['FP16', [65504, 'NaN']],
    ['BF16', [1, '-Infinity']],
    ['FP32', ['Infinity', 0.25]],
    ['FP32', [0.5, -2]],
    ['FP64', [1e300, -0.1]],
    ['BYTES', ['', 'höhe']],
  ] as const)('keeps elements of %s', (datatype, data) => {
    const tensor = rawOfJson({ name: 'x', datatype, shape: [2], data })
    expect(jsonOfRaw(tensor)).toEqual(data)
  })

  it('refuses elements of another type, and says which', () => {
    const of = (datatype: Datatype, ...data: unknown[]) =>
      rawOfJson({ name: 'x', datatype, shape: [data.length], data })
    expect(() => of('UINT8', 256)).toThrow('tensor "x": 256 is not a whole number from 0 to 255')
    expect(() => of('FP32', '1')).toThrow('tensor "x": "1" is not a number')
    expect(() => of('FP16', 65520)).toThrow('tensor "x": 65520 is not a number')
    expect(() => of('FP32', 1e39)).toThrow('is not a number')
    expect(() => rawOfJson({ name: 'x', datatype: 'FP32', shape: [2, 2], data: [[1, 2]] })).toThrow(
      'nested in another way than the shape [2, 2] says',
    )
    expect(() => rawOfJson({ name: 'x', datatype: 'FP32', shape: [2, 2], data: [1, 2] })).toThrow(
      'the shape [2, 2] has 4 elements, the data 2',
    )
  })
})
