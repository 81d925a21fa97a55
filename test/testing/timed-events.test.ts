import { describe, expect, it } from 'vitest'
import { parseTimedEvents } from '../../src/testing/timed-events.ts'

describe('a file of timed events', () => {
  it('has one event a line, and empty lines mean nothing', () => {
    const text = '{"value":{"n":1},"timestamp":5,"source":"s"}\n\n{"watermark":9}\r\n{"clock":3}\n'
    expect(parseTimedEvents(text)).toEqual([
      { value: { n: 1 }, timestamp: 5, source: 's' },
      { watermark: 9 },
      { clock: 3 },
    ])
  })

  it.each([
    ['{', 'line 2 is no JSON'],
    ['[1]', 'line 2 is an array'],
    ['{"valeu":1}', 'line 2 has neither value nor watermark nor clock'],
    ['{"value":1,"timestmp":1}', 'did you mean "timestamp"?'],
    ['{"value":1,"timestamp":1.5}', 'line 2 has a wrong timestamp: the number 1.5'],
    ['{"watermark":"1"}', 'line 2 has a wrong watermark: the string "1"'],
    ['{"clock":1,"source":"s"}', 'line 2 has a field "source" beside "clock"'],
    ['{"value":1,"source":2}', 'line 2 has a wrong source: the number 2'],
  ])('is refused with its line: %s', (line, message) => {
    expect(() => parseTimedEvents(`{"clock":1}\n${line}`)).toThrow(message)
  })
})
