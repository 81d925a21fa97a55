import { describe, expect, it } from 'vitest'
import { ModelRequests } from '../../../src/gateway/inference/message.ts'
import {
  bytesOfData,
  type Datatype,
  jsonOfData,
  tensorOfBytes,
} from '../../../src/gateway/inference/tensor.ts'

const INPUTS = [{ name: 'x', datatype: 'FP32', shape: [-1] }] as const
const bodyOf = (data: readonly unknown[], more: object = {}) =>
  Buffer.from(
    JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2], data }], ...more }),
  )
/** What a reader that has seen no request before makes of a body. */
const freshly = (body: Buffer) => new ModelRequests(INPUTS).read(body, undefined)

describe('a large tensor', () => {
  it('has as many elements as its body has bytes for: an image in full HD as floats', () => {
    const shape = [1, 3, 1080, 1920]
    const data = Buffer.alloc(4 * 3 * 1080 * 1920)
    const parameters = { binary_data_size: data.length }
    const head = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape, parameters }] })
    const body = Buffer.concat([Buffer.from(head), data])
    const { inputs } = new ModelRequests([{ ...INPUTS[0], shape: [-1, 3, -1, -1] }]).read(
      body,
      String(head.length),
    )
    expect(inputs[0]!.shape).toEqual(shape)
    expect(bytesOfData(inputs[0]!).length).toBe(data.length)
  })
})

describe('a parameter that the server does not know', () => {
  it.each([
    ['of the request', { parameters: { sequence: 7 } }, 'the request has the parameter "sequence"'],
    [
      'of an output',
      { outputs: [{ name: 'y', parameters: { top: 2 } }] },
      'output "y" has the parameter "top"',
    ],
  ])('%s is refused', (_, more, sentence) => {
    expect(() => freshly(bodyOf([1, 2], more))).toThrow(sentence)
  })
})

describe('the requests for a model in JSON', () => {
  it('are the same whether the JSON around the numbers is known or not', () => {
    const requests = new ModelRequests(INPUTS)
    const { inputs } = requests.read(bodyOf([1, 2]), undefined)
    for (const data of [
      [3, 4],
      [0.1, -1e-7],
    ]) {
      const body = bodyOf(data)
      expect(requests.read(body, undefined)).toMatchObject({ inputs: freshly(body).inputs })
    }
    expect(inputs).toEqual([{ ...INPUTS[0], shape: [2], data: Float32Array.of(1, 2) }])
  })

  it('are parsed again when something else than the numbers is different', () => {
    const requests = new ModelRequests(INPUTS)
    requests.read(bodyOf([1, 2], { id: 'a' }), undefined)
    for (let i = 0; i < 40; i++) {
      const read = requests.read(bodyOf([i, i + 1], { id: `b${i}` }), undefined)
      expect(read.id).toBe(`b${i}`)
      expect(read.inputs[0]!.data).toEqual(Float32Array.of(i, i + 1))
    }
    const timeout = { parameters: { timeout: 5000 } }
    expect(requests.read(bodyOf([1, 2], timeout), undefined).timeoutMs).toBe(5)
  })

  it('are refused with the same words', () => {
    const requests = new ModelRequests(INPUTS)
    requests.read(bodyOf([1, 2]), undefined)
    for (const data of [[1], [1, 2, 3], [1, null], [1, '2'], [[5], [6]], [1e39, 2]]) {
      const body = bodyOf(data)
      const wordsOf = (read: () => unknown) => {
        try {
          return read()
        } catch (error) {
          return String(error)
        }
      }
      const words = wordsOf(() => freshly(body))
      expect(words).toContain('tensor "x"')
      expect(wordsOf(() => requests.read(body, undefined))).toBe(words)
    }
  })

  it('are refused when the data is nested in another way than the shape says, also where the form is known', () => {
    const requests = new ModelRequests(INPUTS)
    const read = (data: readonly unknown[]) => {
      const x = { name: 'x', datatype: 'FP32', shape: [2, 4], data }
      return requests.read(Buffer.from(JSON.stringify({ inputs: [x] })), undefined).inputs[0]!.data
    }
    const rows = [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ]
    expect(read(rows)).toEqual(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8))
    expect(() =>
      read([
        [1, 2, 3],
        [4, 5, 6, 7, 8],
      ]),
    ).toThrow('nested in another way than the shape [2, 4]')
    expect(read(rows.flat())).toEqual(read(rows))
    expect(() => read([[[1, 2, 3, 4]], [[5, 6, 7, 8]]])).toThrow('nested in another way')
  })
})

describe('numbers that JSON has no form for, or doubles no room', () => {
  const read = (datatype: Datatype, data: string) => {
    const inputs = new ModelRequests([{ name: 'x', datatype, shape: [-1] }])
    const count = data.split(',').length
    const body = `{"inputs":[{"name":"x","datatype":"${datatype}","shape":[${count}],"data":[${data}]}]}`
    return inputs.read(Buffer.from(body), undefined).inputs[0]!
  }

  it('of 64 bits keep all their digits, both ways', () => {
    const digits = '9007199254740993,-9223372036854775808,9223372036854775807,5'
    const tensor = read('INT64', digits)
    expect(tensor.data).toEqual(
      BigInt64Array.of(9007199254740993n, -9223372036854775808n, 9223372036854775807n, 5n),
    )
    expect(JSON.stringify(jsonOfData(tensor))).toBe(`[${digits}]`)
    const most = read('UINT64', '18446744073709551615')
    expect(JSON.stringify(jsonOfData(most))).toBe('[18446744073709551615]')
    expect(() => read('INT64', '9223372036854775808')).toThrow('is not a whole number of 64 bits')
    expect(() => read('UINT64', '-1')).toThrow('is not a whole number of 64 bits')
    expect(() => read('INT64', '1.5')).toThrow('is not a whole number of 64 bits')
  })

  it.each(['FP16', 'BF16', 'FP32', 'FP64'] as const)(
    'of %s that are not finite are texts, both ways',
    (datatype) => {
      const texts = '"NaN","Infinity","-Infinity",1.5'
      expect(JSON.stringify(jsonOfData(read(datatype, texts)))).toBe(`[${texts}]`)
      expect(() => read(datatype, '"nan"')).toThrow(
        '"nan" is not a number, "NaN", "Infinity" or "-Infinity"',
      )
    },
  )

  it('of floats that are too large for their type are refused', () => {
    expect(() => read('FP32', '1e39')).toThrow('too large for 32 bits')
    expect(() => read('FP16', '65520')).toThrow('too large for 16 bits')
    expect(() => read('FP64', '1e400')).toThrow('too large for 64 bits')
    expect(jsonOfData(read('FP16', '65504,0.1'))).toEqual([65504, 0.0999755859375])
  })

  it('of strings that are no UTF-8 are refused in JSON, and pass as bytes', () => {
    const data = Uint8Array.of(2, 0, 0, 0, 0xff, 0xfe)
    const tensor = tensorOfBytes({ name: 'x', datatype: 'BYTES', shape: [1] }, data)
    expect(bytesOfData(tensor)).toEqual(data)
    expect(() => jsonOfData(tensor)).toThrow('bytes that are no UTF-8')
  })
})
