import { describe, expect, it } from 'vitest'
import {
  type JsonObservation,
  observationsOfCsv,
  observationsOfNdjson,
} from '../../../src/gateway/observations/body.ts'
import { turnsOf } from './turns.ts'

const isValid = (value: unknown): value is JsonObservation =>
  typeof value === 'object' && value !== null && 'user' in value

describe.each([
  ['CSV', (i: number) => `ü${i},i${i % 7},${i % 5}`, observationsOfCsv],
  [
    'NDJSON',
    (i: number) => JSON.stringify({ user: `ü${i}`, item: `i${i % 7}`, rating: i % 5 }),
    (body: Buffer) => observationsOfNdjson(body, isValid),
  ],
])('observations of %s', (_, lineOf, read) => {
  const bodyOf = (count: number, end: string): Buffer =>
    Buffer.from(Array.from({ length: count }, (_, i) => `${lineOf(i)}${end}`).join(''))

  it('are those of each line, wherever slices of the body end', async () => {
    const found = await read(bodyOf(20_000, '\n'))
    expect(found.map(({ user, item, rating }) => [user, item, rating])).toEqual(
      Array.from({ length: 20_000 }, (_, i) => [`ü${i}`, `i${i % 7}`, i % 5]),
    )
  })

  it('leave other clients a turn for each 64 KiB, also where all lines are empty', async () => {
    const body = bodyOf(50_000, '\r\n')
    expect(await turnsOf(() => read(body))).toBeGreaterThanOrEqual(Math.floor(body.length / 65_536))
    const empty = Buffer.alloc(1024 * 1024, '\n')
    expect(await turnsOf(() => read(empty))).toBeGreaterThanOrEqual(15)
  })

  it('are refused with the number of the line that is wrong, far behind too', async () => {
    const wrong = Buffer.concat([bodyOf(9999, '\n'), Buffer.from('x\n'), bodyOf(10, '\n')])
    await expect(read(wrong)).rejects.toMatchObject({
      code: 'UNPARSABLE_RECORD',
      details: { line: 10_000 },
    })
    const long = Buffer.concat([bodyOf(9999, '\n'), Buffer.alloc(200_000, 'x')])
    await expect(read(long)).rejects.toMatchObject({
      code: 'UNPARSABLE_RECORD',
      details: { line: 10_000 },
    })
    const notUtf8 = Buffer.concat([bodyOf(9999, '\n'), Buffer.from([0xff, 10])])
    await expect(read(notUtf8)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
