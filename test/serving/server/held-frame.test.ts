import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ByteBudget } from '../../../src/http/access/byte-budget.ts'
import { HeldFrame } from '../../../src/serving/server/held-frame.ts'
import { readErrorFrame } from '../../../src/wire/answer.ts'
import { KIND, MAX_FRAME_BYTES } from '../../../src/wire/frame.ts'
import { type RawClient, TestedServer } from './tested-server.ts'

const MIB = 1024 * 1024
/** The first bytes of a frame. */
const PART = Uint8Array.of(0xff, 1, 0, 0, KIND.ping)

describe('a frame that is not whole', () => {
  it('counts from 128 KiB on, in the share of its client', () => {
    const budget = new ByteBudget({ most: 4 * MIB, mostPerClient: 2 * MIB })
    const [first, second] = [new HeldFrame(budget), new HeldFrame(budget)]
    first.note('a', 1000)
    expect(budget.taken).toBe(0)
    first.note('a', MIB)
    first.note('a', 1.5 * MIB)
    expect(budget.taken).toBe(1.5 * MIB)
    expect(() => second.note('a', MIB)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }))
    second.note('b', MIB)
    first.note('a', 0)
    second.release()
    expect(budget.taken).toBe(0)
  })

  it('must be whole in 10 s, however its bytes come', () => {
    const held = new HeldFrame(new ByteBudget({ most: MIB, mostPerClient: MIB }))
    held.check(true, 0, 1_000)
    held.check(true, 0, 11_000)
    expect(() => held.check(true, 0, 11_001)).toThrow(
      expect.objectContaining({ code: 'DEADLINE_EXCEEDED' }),
    )
  })

  it('has its time again after a frame that was whole, and without a part', () => {
    const held = new HeldFrame(new ByteBudget({ most: MIB, mostPerClient: MIB }))
    held.check(true, 0, 1_000)
    held.check(true, 5_000, 6_000)
    held.check(true, 5_000, 16_000)
    held.check(false, 5_000, 16_500)
    held.check(true, 5_000, 17_000)
    expect(() => held.check(true, 5_000, 27_000)).not.toThrow()
  })
})

describe('the large frames of a query server', () => {
  let served: TestedServer
  beforeEach(() => {
    served = new TestedServer()
  })
  afterEach(() => served.close())

  /** Sends a ping and bytes in one packet, and has its answer: then the bytes have come. */
  const sendPing = async (
    client: RawClient,
    bytes: Uint8Array = new Uint8Array(),
  ): Promise<void> => {
    client.send((writer) => {
      writer.begin(KIND.ping, 0, 1)
      writer.end(0)
      writer.raw(bytes)
    })
    expect((await client.next())!.kind).toBe(KIND.ping + 0x80)
  }

  /** Sends the first bytes of a frame that says it is longer. */
  const sendPart = (client: RawClient, bytes: number, of: number): void => {
    const part = Buffer.alloc(bytes)
    part.writeUInt32LE(of)
    client.socket.write(part)
  }

  it('of any length are ended when they do not become whole in time', async () => {
    const client = await served.start()
    await client.hello()
    await sendPing(client, PART)
    for (let second = 0; second < 12; second++) served.clock.advance(1_000)
    expect(readErrorFrame((await client.next())!).code).toBe('DEADLINE_EXCEEDED')
  })

  it('that are not whole give way to new connections of their address when that has its share, the oldest first', async () => {
    const idle = await served.start({ limits: { maxConnectionsPerAddress: 3 } })
    await idle.hello()
    const halves = [served.open(), served.open()]
    for (const half of halves) {
      await half.hello()
      await sendPing(half, PART)
    }
    for (const half of halves) {
      const good = served.open()
      expect((await good.hello())!.kind).toBe(KIND.hello + 0x80)
      expect(await half.next()).toBeUndefined()
    }
    expect(readErrorFrame((await served.open().hello())!).code).toBe('OVERLOADED')
    await sendPing(idle)
  })

  it('that are never whole take no more than the share of their client', async () => {
    const first = await served.start({ limits: { maxFrameBytes: MAX_FRAME_BYTES } })
    await first.hello()
    const clients = [first, served.open(), served.open()]
    for (const client of clients.slice(1)) await client.hello()
    // The share is 96 MiB: one and a half of the largest frame.
    for (const client of clients) sendPart(client, 40 * MIB, 60 * MIB)
    const answers = clients.map(async (client) => {
      const frame = await client.next()
      return frame === undefined ? 'closed' : readErrorFrame(frame).code
    })
    expect(await Promise.race(answers)).toBe('OVERLOADED')
    const last = served.open()
    await last.hello()
    last.send((writer) => {
      writer.begin(KIND.ping, 0, 1)
      writer.end(0)
    })
    expect((await last.next())!.kind).toBe(KIND.ping + 0x80)
  })
})
