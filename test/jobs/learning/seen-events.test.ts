import { describe, expect, it } from 'vitest'
import { eventsIn, SAME_EVENT, SeenEvents } from '../../../src/jobs/learning/seen-events.ts'
import type { ModelTopicRecord } from '../../../src/models/topic/record.ts'

const encoder = new TextEncoder()

function recordOf(line: string | null, id?: string): ModelTopicRecord {
  const bytes = encoder.encode(line ?? '')
  return {
    ...{ bytes, keyStart: 0, keyLength: -1, valueStart: 0 },
    valueLength: line === null ? -1 : bytes.length,
    header: (name) =>
      id === undefined || Buffer.from(name).toString() !== 'id' ? undefined : encoder.encode(id),
  }
}

/** Whether each line, one offset after the other, is a repetition. */
function repeats(seen: SeenEvents, lines: readonly string[], from = 0, partition = 0): boolean[] {
  return lines.map((line, n) => seen.isRepeated(recordOf(line), { partition, offset: from + n }))
}

describe('events that were seen', () => {
  it('are the lines that came before in their partition', () => {
    const seen = new SeenEvents('line')
    expect(repeats(seen, ['a', 'b', 'a', 'b', 'c'])).toEqual([false, false, true, true, false])
    expect(repeats(seen, ['a'], 0, 1)).toEqual([false])
  })

  it('are named by a header, whatever the line is; a record without it is an event of its own', () => {
    const seen = new SeenEvents('header:id')
    const ids = ['7', '8', '7', undefined, undefined]
    const found = ids.map((id, offset) =>
      seen.isRepeated(recordOf('a', id), { partition: 0, offset }),
    )
    expect(found).toEqual([false, false, true, false, false])
  })

  it('are no repetitions where the source goes back, also of records that came later', () => {
    const seen = new SeenEvents('line')
    const lines = ['a', 'b', 'a', 'c']
    const expected = [false, false, true, false]
    expect(repeats(seen, lines, 10)).toEqual(expected)
    expect(repeats(seen, lines, 10)).toEqual(expected)
    // It goes back further than it ever was.
    expect(repeats(seen, ['c', 'x'], 8)).toEqual([false, false])
    expect(repeats(seen, lines, 10)).toEqual([false, false, true, true])
  })

  it('are the newest ones', () => {
    const seen = new SeenEvents('line', 2)
    expect(repeats(seen, ['a', 'b', 'c', 'b', 'c', 'a'])).toEqual([
      ...[false, false, false, true, true, false],
    ])
  })

  it('of a null value are never the same', () => {
    const seen = new SeenEvents('line')
    const at = (offset: number) => seen.isRepeated(recordOf(null), { partition: 0, offset })
    expect([at(1), at(2)]).toEqual([false, false])
  })

  it('are forgotten for one user in a partition, and the others stay in their order', () => {
    const seen = new SeenEvents('line', 4)
    repeats(seen, ['5,1', '6,1', '5,2', '6,2'])
    repeats(seen, ['5,1'], 0, 1)
    const isOwn = (line: Uint8Array) => Buffer.from(line).toString().startsWith('5,')
    seen.forget(0, isOwn)
    const linesOf = (partition: number) =>
      seen
        .snapshot([partition])
        .flatMap((entry) =>
          [...eventsIn(entry)].map(({ id, offset }) => [Buffer.from(id).toString(), offset]),
        )
    expect(linesOf(0)).toEqual([
      ['6,1', 1],
      ['6,2', 3],
    ])
    expect(linesOf(1)).toEqual([['5,1', 0]])
    // The window is full again after two more, and then loses the oldest.
    expect(repeats(seen, ['a', 'b', '6,1', 'c', '6,1'], 4)).toEqual([
      ...[false, false, true, false, false],
    ])
    const named = new SeenEvents('header:id')
    named.isRepeated(recordOf('5,1', '5,1'), { partition: 0, offset: 0 })
    named.forget(0, isOwn)
    expect([...eventsIn(named.snapshot()[0]!)]).toHaveLength(1)
  })

  it('may have long names, also after a checkpoint', () => {
    const long = 'x'.repeat(1000)
    const seen = new SeenEvents('line')
    expect(repeats(seen, [`${long}1`, `${long}2`, `${long}1`])).toEqual([false, false, true])
    const restored = new SeenEvents('line', 10, seen.snapshot())
    expect(repeats(restored, [`${long}2`, `${long}3`], 3)).toEqual([true, false])
  })

  it('are known after a checkpoint, those of the partitions that are read, in their order', () => {
    const seen = new SeenEvents('line', 3)
    repeats(seen, ['a', 'b', 'c', 'd'])
    repeats(seen, ['x'], 0, 1)
    const restored = new SeenEvents('line', 3, seen.snapshot([0]))
    expect(repeats(restored, ['e', 'c', 'b'], 4)).toEqual([false, true, false])
    expect(repeats(restored, ['x'], 4, 1)).toEqual([false])
    const entries = seen.snapshot()
    expect(entries).toHaveLength(2)
    // Another subtask may have less room.
    expect(repeats(new SeenEvents('line', 1, entries), ['c', 'd'], 4)).toEqual([false, false])
    const wrong = Uint8Array.of(9, ...entries[0]!.subarray(1))
    expect(() => new SeenEvents('line', 3, [wrong])).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
    )
  })

  it('have bytes that never change', () => {
    const seen = new SeenEvents('line')
    repeats(seen, ['1,2,5'], 300, 2)
    expect(Buffer.from(seen.snapshot()[0]!).toString('hex')).toBe(
      '01020000000000000000c0724005312c322c35',
    )
  })

  it('are named by a line or a header', () => {
    const problem = (text: string) => SAME_EVENT.eventId?.problem('eventId', text)?.sentence
    expect(['line', 'header:id'].map(problem)).toEqual([undefined, undefined])
    expect(['header:', 'id', ''].map(problem)).toEqual([
      expect.stringContaining('must be line or header:NAME'),
      expect.stringContaining('must be line or header:NAME'),
      expect.stringContaining('must be line or header:NAME'),
    ])
  })
})
