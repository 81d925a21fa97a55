import { describe, expect, it } from 'vitest'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { Program, wrong } from './wrong-programs.ts'

const refused = (code: string, sentence: string): unknown =>
  expect.objectContaining({ code, message: expect.stringContaining(sentence) })

describe('a stream that is an argument', () => {
  it('is refused when it is none', () => {
    const { orders, keyed } = new Program()
    const none = 'got undefined, but takes a stream'
    for (const call of [
      () => orders.union(wrong(undefined)),
      () => orders.connect(wrong(undefined)),
      () => orders.join(wrong(undefined)),
      () => orders.coGroup(wrong(undefined)),
      () => keyed.connect(wrong(undefined)),
      () => keyed.intervalJoin(wrong(undefined)),
    ]) {
      expect(call).toThrow(refused('INVALID_ARGUMENT', none))
    }
    expect(() => orders.union(wrong([orders]))).toThrow(/union\(\.\.\.\) got an array of 1/)
  })

  it('is refused when another environment made it', () => {
    const [mine, other] = [new Program(), new Program()]
    const sentence = 'the stream of operator "Elements", which belongs to another environment'
    for (const call of [
      () => mine.orders.union(other.orders),
      () => mine.orders.connect(other.orders),
      () => mine.orders.join(other.orders),
      () => mine.keyed.connect(other.keyed),
    ]) {
      expect(call).toThrow(refused('INVALID_GRAPH', sentence))
    }
  })

  it('is refused when only one of two has a key', () => {
    const { orders, keyed } = new Program()
    const sentence = 'one stream with a key and one without: call keyBy on both'
    for (const call of [
      () => orders.connect(wrong(keyed)),
      () => keyed.connect(wrong(orders)),
      () => keyed.intervalJoin(wrong(orders)),
    ]) {
      expect(call).toThrow(refused('INVALID_GRAPH', sentence))
    }
  })
})

describe('an output tag that is an argument', () => {
  it('is refused when it is only an id', () => {
    const { orders, windows } = new Program()
    const sentence = 'got the string "late", but takes an output tag: new OutputTag(\'late\')'
    expect(() => orders.getSideOutput(wrong('late'))).toThrow(refused('INVALID_ARGUMENT', sentence))
    expect(() => windows.sideOutputLateData(wrong('late'))).toThrow(sentence)
    expect(() => windows.sideOutputLateData(new OutputTag('late'))).not.toThrow()
  })
})
