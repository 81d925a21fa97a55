import { expect, test } from 'vitest'
import { RequestOwner } from '../../../src/serving/port/request-owner.ts'
import type { AsyncRequest, AsyncTerms } from '../../../src/serving/server/async-request.ts'
import { decodeAsync } from '../../../src/serving/server/async-requests.ts'
import { FrameReader, KIND, MAX_COUNT } from '../../../src/wire/frame.ts'
import { FrameWriter } from '../../../src/wire/frame-writer.ts'
import { beginRequest, RequestCursor } from '../../../src/wire/request.ts'
import { FakeQueryBackend } from '../port/fake-query-backend.ts'

const PREAMBLE = {
  state: 'ALS_MODEL',
  version: 0,
  deadlineMs: 1_000,
  consistency: { level: 'at-least', partition: 0, offset: 2 ** 52 },
} as const

/** A PREDICT frame that names `count` pairs and has these keys. */
function predict(count: number, keys: readonly string[]): AsyncRequest {
  const writer = new FrameWriter()
  beginRequest(writer, KIND.predict, 0, 1, PREAMBLE)
  for (const key of keys) writer.key(key)
  writer.end(count)
  const frames = new FrameReader(() => 2 ** 26)
  frames.append(writer.toBytes())
  frames.next()
  const cursor = new RequestCursor()
  cursor.open(frames)
  cursor.readPreamble()
  return decodeAsync(cursor)
}

function terms(): AsyncTerms {
  const backend = new FakeQueryBackend()
  backend.rows.set('u', Float32Array.of(1, 2))
  return { backend, deadlineMs: 1_000, owner: new RequestOwner(), maxBytes: 65_536 }
}

test('the keys of a large frame are looked for part by part, not all before the first answer', async () => {
  const request = predict(MAX_COUNT, ['u', 'u', 'u', 'u'])
  expect((await request.run(terms(), 0, 2)).count).toBe(2)
  await expect(request.run(terms(), 2, 128)).rejects.toMatchObject({
    code: 'PROTOCOL_ERROR',
    message: 'a request is malformed: it has fewer keys than its count',
  })
})

test('bytes behind the last key are refused with the last part', async () => {
  const request = predict(2, ['u', 'u', 'u', 'u', 'u'])
  expect((await request.run(terms(), 0, 1)).count).toBe(1)
  await expect(request.run(terms(), 1, 1)).rejects.toMatchObject({ code: 'PROTOCOL_ERROR' })
})
