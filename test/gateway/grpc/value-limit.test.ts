import { describe, expect, it } from 'vitest'
import {
  MOST_PLAIN_BYTES,
  MOST_VALUES,
  requireFewValues,
} from '../../../src/gateway/grpc/value-limit.ts'
import { field, INFER, methodOf, varint } from './frames.ts'

const REQUEST = 'ModelInferRequest'
const bytesOf = (message: object): Buffer => methodOf('ModelInfer').requestSerialize(message)

const check = (bytes: Uint8Array) => (): void => requireFewValues(REQUEST, bytes)

const contents = (number: number, bytes: Uint8Array): Buffer =>
  field(5, field(5, field(number, bytes)))

describe('a message of gRPC', () => {
  it('is taken with every kind of field, and with tensors of many bytes', () => {
    const every = {
      ...INFER,
      model_version: '1',
      parameters: {
        ...{ a: { bool_param: true }, b: { int64_param: '-5' }, c: { string_param: 'x' } },
        ...{ d: { double_param: 0.5 }, e: { uint64_param: '7' } },
      },
      outputs: [{ name: 'y', parameters: { classification: { int64_param: '3' } } }],
      raw_input_contents: [Buffer.alloc(2 * MOST_PLAIN_BYTES)],
    }
    expect(check(bytesOf(every))).not.toThrow()
    const numbers = Object.entries({
      ...{ bool_contents: [true], int_contents: [-1, 5], int64_contents: ['-9', '9'] },
      ...{ uint_contents: [7], uint64_contents: ['8'], fp32_contents: [1.5], fp64_contents: [2] },
    })
    for (const [name, values] of numbers) {
      const input = { ...INFER.inputs[0], contents: { [name]: values } }
      expect(check(bytesOf({ ...INFER, inputs: [input] })), name).not.toThrow()
    }
  })

  it('has at most so many numbers, in one field or in many', () => {
    const packed = (count: number) => contents(2, Buffer.alloc(count, 1))
    // Two messages around them.
    expect(check(packed(MOST_VALUES - 20))).not.toThrow()
    expect(check(packed(MOST_VALUES))).toThrow('raw_input_contents')
    const single = Buffer.alloc(2 * MOST_VALUES, Buffer.of(2 * 8, 1))
    expect(check(field(5, field(5, single)))).toThrow('values')
    expect(check(contents(6, Buffer.alloc(4 * MOST_VALUES)))).toThrow('values')
    expect(check(contents(7, Buffer.alloc(8 * MOST_VALUES)))).toThrow('values')
    expect(check(contents(6, Buffer.alloc(4 * (MOST_VALUES - 20))))).not.toThrow()
  })

  it('has fewer numbers of 64 bits, whose digits take longer', () => {
    for (const number of [3, 5]) {
      expect(check(contents(number, Buffer.alloc(MOST_VALUES / 6, 1)))).toThrow('values')
      expect(check(contents(number, Buffer.alloc(MOST_VALUES / 6 - 10, 1)))).not.toThrow()
    }
    expect(check(field(5, field(3, Buffer.alloc(MOST_VALUES / 6, 1))))).toThrow('values')
  })

  it('has at most so many texts, parameters, inputs and unknown fields', () => {
    const many = (one: Buffer, times: number) => Buffer.alloc(one.length * times, one)
    const text = field(8, Buffer.of(65))
    expect(check(field(5, field(5, many(text, MOST_VALUES / 4))))).toThrow('values')
    expect(check(field(5, field(5, many(text, MOST_VALUES / 4 - 10))))).not.toThrow()
    const parameter = field(4, field(1, Buffer.of(65)), field(2, Buffer.of(8, 1)))
    expect(check(many(parameter, MOST_VALUES / 4 + 1))).toThrow('values')
    expect(check(many(field(5), MOST_VALUES / 8 + 1))).toThrow('values')
    expect(check(many(field(5), MOST_VALUES / 8))).not.toThrow()
    expect(check(many(field(13), MOST_VALUES + 1))).toThrow('values')
  })

  it('has at most so many bytes that are no tensor', () => {
    expect(check(field(3, Buffer.alloc(MOST_PLAIN_BYTES)))).toThrow('bytes beside raw ones')
    expect(check(field(5, field(7, Buffer.alloc(MOST_PLAIN_BYTES))))).toThrow('bytes beside')
  })

  it.each([
    ['is cut in a number', Buffer.of(0x28, 0x80)],
    ['is cut in a text', Buffer.of(0x0a, 5, 65)],
    ['leaves its message', Buffer.of(0x2a, 2, 0x0a, 5, 65, 65, 65, 65, 65)],
    ['has a group', Buffer.of(0x2b, 0x2c)],
    ['has a number without an end', Buffer.alloc(20, 0x80)],
  ])('is refused where it %s', (_, bytes) => {
    expect(check(bytes)).toThrow('no message of the protocol')
  })

  it('hides no numbers from the count: a decoder reads 32 bits of a tag, and no wire type', () => {
    const hidden = Buffer.alloc(MOST_VALUES, 1)
    const inner = field(5, field(2, hidden))
    // The tag of `inputs` with bits above the 32 that a decoder takes.
    const wide = Buffer.concat([
      Buffer.of(0xaa, 0x80, 0x80, 0x80, 0x80, 0x20),
      varint(inner.length),
      inner,
    ])
    expect(check(wide)).toThrow('no message of the protocol')
    // The tag of `inputs` as a plain number: the length is read as that number, and the rest as fields.
    const plain = Buffer.concat([Buffer.of(5 * 8), varint(inner.length), inner])
    expect(check(plain)).toThrow()
    for (const tag of [1 * 8, 5 * 8 + 1, 6 * 8 + 5, 4 * 8, 7 * 8]) {
      expect(check(Buffer.of(tag, 0, 0, 0, 0, 0, 0, 0, 0)), `tag ${tag}`).toThrow('no message')
    }
  })
})
