import { describe, expect, it } from 'vitest'
import { ExampleRecordReader } from '../../../src/models/linear/example-record.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const read = (reader: ExampleRecordReader, text: string) => {
  const { label, ids, values, count } = reader.read(bytesOf(text))
  return { label, ids: [...ids.subarray(0, count)], values: [...values.subarray(0, count)] }
}

describe('a record of a topic of examples', () => {
  it('is one line, as a line of a file: with or without a line end, comments, ids in any order', () => {
    const reader = new ExampleRecordReader()
    for (const text of ['1 7:2 3:1 7:1', '1 3:1 7:3\r\n', '+1 3:1 7:3 # a comment\n\n']) {
      expect(read(reader, text)).toEqual({ label: 1, ids: [3, 7], values: [1, 3] })
    }
  })

  it.each([
    ['1 1:1\n-1 2:1\n', 'has 2 lines with an example'],
    ['1 1:1\nx\n', 'expected a label'],
    ['', 'has 0 lines with an example'],
    ['# a comment', 'has 0 lines with an example'],
    ['user,item,3', '"user,item,3": expected a label and feature:value pairs'],
  ])('is refused if it is %j, and the next one is read alone', (text, message) => {
    const reader = new ExampleRecordReader()
    expect(() => reader.read(bytesOf(text))).toThrow(
      expect.objectContaining({
        code: 'UNPARSABLE_RECORD',
        message: expect.stringContaining(message),
      }),
    )
    expect(read(reader, '-1 2:1')).toEqual({ label: -1, ids: [2], values: [1] })
  })

  it('is refused without a value, and where its line does not end', () => {
    const reader = new ExampleRecordReader()
    expect(() => reader.read(null)).toThrow('not an example: the record has no value')
    for (const bytes of [200_000, 17 * 1024 * 1024]) {
      expect(() => reader.read(new Uint8Array(bytes).fill(0x31))).toThrow(
        expect.objectContaining({ code: 'UNPARSABLE_RECORD' }),
      )
    }
    expect(read(reader, '-1 2:1')).toEqual({ label: -1, ids: [2], values: [1] })
  })
})
