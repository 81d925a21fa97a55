import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ANSWERS_AT, readErrorFrame } from '../../../src/wire/answer.ts'
import { DEFERRED, KIND, REQUEST_FLAG } from '../../../src/wire/frame.ts'
import type { Consistency } from '../../../src/wire/model-reader.ts'
import { beginRequest } from '../../../src/wire/request.ts'
import { PREAMBLE, type RawClient, TestedServer } from './tested-server.ts'

let served: TestedServer

beforeEach(() => {
  served = new TestedServer()
})

afterEach(() => served.close())

describe('a frame of many predictions', () => {
  /** Calls `before` before each prediction, with how many came before it; a prediction takes a microsecond. */
  function watch(before: (predicted: number) => void): { count: number } {
    const seen = { count: 0 }
    const predict = served.backend.predict.bind(served.backend)
    served.backend.predict = (...pair) => {
      before(seen.count++)
      served.clock.advance(0.001)
      return predict(...pair)
    }
    return seen
  }

  function ask(client: RawClient, pairs: number, level: Consistency['level'] = 'live'): void {
    client.send((writer) => {
      const consistency = { level } as Consistency
      beginRequest(writer, KIND.predict, REQUEST_FLAG.coldLeft, 1, { ...PREAMBLE, consistency })
      writer.key('1-U')
      for (let i = 0; i < pairs; i++) {
        writer.key(['1-U', 'cold', '1-U'][i % 3]!)
        writer.key(['1-U', '1-U', 'slow'][i % 3]!)
      }
      writer.end(pairs)
    })
  }

  it('is answered in slices: another connection is answered in between', async () => {
    const [client, other] = [await served.start(), served.open()]
    await client.hello()
    await other.hello()
    const pairs = 60_000
    const seen = watch((predicted) => {
      if (predicted > 0) return
      other.send((writer) => {
        writer.begin(KIND.ping, 0, 2)
        writer.end(0)
      })
    })
    ask(client, pairs)
    expect((await other.next())?.requestId).toBe(2)
    expect(seen.count).toBeLessThan(pairs)
    expect((await client.next())?.count).toBe(pairs)
    expect(seen.count).toBe(pairs)
  })

  it('has the answer of a small one, and deferred predictions after it', async () => {
    served.backend.slowKeys.add('slow')
    const client = await served.start()
    await client.hello()
    const pairs = 1500
    ask(client, pairs)
    const frame = (await client.next())!
    expect([frame.kind, frame.count]).toEqual([KIND.predict + 0x80, pairs])
    const items = new DataView(frame.bytes.buffer, frame.bytes.byteOffset + frame.start)
    const at = ANSWERS_AT
    for (let i = 0; i < pairs; i++) {
      const [status, flags] = [items.getUint8(at + 6 * i), items.getUint8(at + 6 * i + 1)]
      expect([i, status, flags]).toEqual([
        i,
        ...[
          [0, 0],
          [0, 1],
          [DEFERRED, 0],
        ][i % 3]!,
      ])
      if (status === 0) expect(items.getFloat32(at + 6 * i + 2, true)).toBe(5)
    }
    expect((await client.next())?.count).toBe(500)
  })

  it.each([
    ['the version', 'live', (): number => (served.backend.modelVersion = 2)],
    ['the checkpoint', 'checkpoint', (): number => (served.backend.checkpointId = 8)],
    ['a slot went back, so that the age', 'live', (): number => (served.backend.ageMs = 60_000)],
  ] as const)('starts again when %s changes between two slices', async (_, level, change) => {
    const client = await served.start()
    await client.hello()
    const seen = watch((predicted) => {
      if (predicted === 600) change()
    })
    ask(client, 1500, level)
    const { count, bytes, start: at } = (await client.next())!
    const view = new DataView(bytes.buffer, bytes.byteOffset + at)
    expect([count, seen.count]).toEqual([1500, 1500 + 1024])
    expect(view.getUint32(12, true)).toBe(served.backend.modelVersion)
  })

  it('ends, although its version changes in each slice', async () => {
    const client = await served.start()
    await client.hello()
    watch((predicted) => {
      if (predicted % 512 === 0) served.backend.modelVersion += 1
    })
    ask(client, 5000)
    expect((await client.next())?.count).toBe(5000)
  })

  it('is refused as a whole if its last key does not fit', async () => {
    const client = await served.start()
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.predict, 0, 1, PREAMBLE)
      for (let i = 0; i < 1500; i++) writer.key('1-U')
      writer.end(1500)
    })
    expect(readErrorFrame((await client.next())!).code).toBe('PROTOCOL_ERROR')
  })
})
