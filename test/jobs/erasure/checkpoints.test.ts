import { expect, it } from 'vitest'
import { statesNaming } from '../../../src/jobs/erasure/checkpoints.ts'
import { Person } from '../../../src/jobs/erasure/person.ts'
import { SEEN_EVENTS } from '../../../src/jobs/learning/observations-gate.ts'
import { SeenEvents } from '../../../src/jobs/learning/seen-events.ts'
import { OVERTAKEN_RECORDS } from '../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The events of some lines, as a checkpoint has them. */
function eventsOf(lines: readonly string[]): readonly Uint8Array[] {
  const seen = new SeenEvents('line')
  for (const [offset, line] of lines.entries()) {
    const bytes = encode(line)
    const record = { bytes, keyStart: 0, keyLength: -1, valueStart: 0, valueLength: bytes.length }
    seen.isRepeated(record, { partition: 0, offset })
  }
  return seen.snapshot()
}

it.each([
  ['7,405,4', []],
  ['405,7,4', [SEEN_EVENTS]],
  // A line of 50 bytes: its length is the byte of the digit 2.
  [`405,${'i'.repeat(42)},4.5`, [SEEN_EVENTS]],
  ['4050,7,4', []],
])('an event that was seen is of a person by the first field of its line: %s', (line, found) => {
  const states = [
    { name: SEEN_EVENTS, redistribution: 'union', entries: eventsOf(['6,1,1', line]) } as const,
  ]
  expect(statesNaming(states, new Person('405'))).toEqual(found)
})

it('records that were under way are of a person by the key of a row, or the line of a rating', () => {
  const states = (text: string) =>
    [{ name: OVERTAKEN_RECORDS, redistribution: 'channels', entries: [encode(text)] }] as const
  const person = new Person('405')
  for (const text of ['\x01405-U@1\x00floats', '\x00\x07405,7,4', '\x00"405",7,4']) {
    expect(statesNaming(states(text), person), text).toEqual([OVERTAKEN_RECORDS])
  }
  for (const text of ['\x01405-I@1\x00floats', '\x00\x077,405,4', '1405,7,4']) {
    expect(statesNaming(states(text), person), text).toEqual([])
  }
})
