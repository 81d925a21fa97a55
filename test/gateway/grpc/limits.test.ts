import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { ByteBudget } from '../../../src/http/access/byte-budget.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { MAX_FRAME_BYTES } from '../../../src/wire/frame.ts'
import { grpcFields } from '../../hostile/doors/grpc-messages.ts'
import { dataFrame, GREETING, headFrame } from '../../hostile/doors/kinds/http2-bytes.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { until } from '../../run/until.ts'
import { oneModel } from '../one-model.ts'
import { field, framed, INFER, methodOf, requestFrame } from './frames.ts'
import { openPort, RawClient } from './open-port.ts'

const [INVALID, LATE, EXHAUSTED, UNIMPLEMENTED, UNAUTHENTICATED] = [3, 4, 8, 12, 16]
/** Error code of HTTP/2 of a stream that its client gives up. */
const CANCEL = 8
const GOOD = requestFrame('ModelInfer', INFER)
const MIB = 1024 * 1024

/** The bytes that the model answers. */
const outputsOf = (answer: Buffer): unknown =>
  methodOf('ModelInfer').responseDeserialize(answer)['raw_output_contents']

/** A connection with a call whose message is not whole. */
const HALF_CALL = Buffer.concat([
  GREETING,
  headFrame(1, grpcFields({ port: 1, isTls: false, token: undefined })),
  dataFrame(1, half(100, 10), false),
])

/** The head of a message of so many bytes, and the first of them. */
function half(length: number, bytes: number): Buffer {
  const head = framed(Buffer.alloc(0))
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, Buffer.alloc(bytes)])
}

describe('a port of gRPC', () => {
  it('answers a call whose bytes come one by one, in one piece, or compressed', async () => {
    await using port = await openPort()
    using client = new RawClient(port.port)
    const whole = await client.call('ModelInfer', GOOD)
    expect(whole).toMatchObject({ status: 0, answers: [expect.anything()] })
    const { stream, ended } = client.open('ModelInfer')
    for (const byte of GOOD) stream.write(Buffer.of(byte))
    stream.end()
    expect((await ended).answers).toEqual(whole.answers)
    const message = GOOD.subarray(5)
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(message)],
      ['deflate', deflateSync(message)],
    ] as const) {
      const headers = { 'grpc-encoding': encoding }
      const { answers } = await client.call('ModelInfer', framed(bytes, true), headers)
      expect(outputsOf(answers[0]!)).toEqual(outputsOf(whole.answers[0]!))
    }
  })

  it.each([
    ['an unknown coding', framed(Buffer.of(1), true), { 'grpc-encoding': 'br' }, UNIMPLEMENTED],
    [
      'bytes that are not gzip',
      framed(Buffer.alloc(9), true),
      { 'grpc-encoding': 'gzip' },
      INVALID,
    ],
    [
      'a bomb',
      framed(gzipSync(Buffer.alloc(40 * MIB)), true),
      { 'grpc-encoding': 'gzip' },
      EXHAUSTED,
    ],
    ['a message that is too long', half(MAX_FRAME_BYTES + 1, 10), {}, EXHAUSTED],
    ['no message', Buffer.alloc(0), {}, INVALID],
    ['half a message', half(100, 10), {}, INVALID],
    ['two messages', Buffer.concat([GOOD, GOOD]), {}, INVALID],
    ['bytes of no message', framed(Buffer.of(0x2a, 99)), {}, INVALID],
    ['67 million numbers', framed(numbers(60 * MIB)), {}, EXHAUSTED],
  ])('refuses %s, and goes on', async (_, bytes, headers, status) => {
    await using port = await openPort()
    using client = new RawClient(port.port)
    expect(await client.call('ModelInfer', bytes, headers)).toMatchObject({ status })
    expect(await client.call('ModelInfer', GOOD)).toMatchObject({ status: 0 })
  })

  it('takes a long message only where a model runs on it', async () => {
    await using port = await openPort()
    using client = new RawClient(port.port)
    const { status, message } = await client.call('ModelMetadata', half(65_537, 0))
    expect({ status, message }).toEqual({
      status: EXHAUSTED,
      message: expect.stringContaining('only requests that run a model'),
    })
  })

  it('has no method of another name, and answers nothing that is no call', async () => {
    await using port = await openPort()
    using client = new RawClient(port.port)
    expect(await client.call('Nothing', GOOD)).toMatchObject({ status: UNIMPLEMENTED })
    for (const headers of [{ ':method': 'GET' }, { 'content-type': 'application/json' }]) {
      expect((await client.call('ModelInfer', Buffer.alloc(0), headers)).status).toBeNaN()
    }
  })

  it('gives a message ten seconds, from its first byte or that of its call, and a call its deadline', async () => {
    const clock = new ManualClock()
    await using port = await openPort({ clock })
    using client = new RawClient(port.port)
    const cut = client.open('ModelInfer')
    cut.stream.write(half(100, 10))
    const silent = client.open('ModelInfer')
    const stream = client.open('ModelStreamInfer')
    stream.stream.write(half(100, 10))
    const idle = client.open('ModelStreamInfer')
    const short = client.open('ModelInfer', { 'grpc-timeout': '50m' })
    await client.call('ModelInfer', GOOD)
    clock.advance(50)
    expect(await short.ended).toMatchObject({ status: LATE, code: 'DEADLINE_EXCEEDED' })
    clock.advance(9_940)
    expect(await client.call('ModelInfer', GOOD)).toMatchObject({ status: 0 })
    clock.advance(10)
    for (const { ended } of [cut, silent, stream]) {
      expect(await ended).toMatchObject({ status: LATE, message: expect.stringContaining('10 s') })
    }
    idle.stream.end(GOOD)
    expect(await idle.ended).toMatchObject({ status: 0, answers: [expect.anything()] })
  })

  it('reads no more than the share of a client, and answers others', async () => {
    const budget = new ByteBudget({ most: 4 * MIB, mostPerClient: 2 * MIB })
    const [one, other] = [tokenOf(1), tokenOf(2)]
    const access = new AccessControl(shareAccess([one.record, other.record]), systemClock)
    await using port = await openPort({ access, budget })
    using hostile = new RawClient(port.port)
    const calls = Array.from({ length: 20 }, () => {
      const call = hostile.open('ModelInfer', { authorization: `Bearer ${one.text}` })
      call.stream.write(half(MIB, MIB - 1))
      return call
    })
    await until('the share is taken', () => budget.taken > 1.8 * MIB)
    using good = new RawClient(port.port)
    const headers = { authorization: `Bearer ${other.text}` }
    expect(await good.call('ModelInfer', GOOD, headers)).toMatchObject({ status: 0 })
    expect(budget.taken).toBeLessThanOrEqual(2 * MIB)
    for (const { stream } of calls) stream.destroy()
    await until('all is given back', () => budget.taken === 0)
  })

  it('answers a small message also where there is no room', async () => {
    await using port = await openPort({ budget: new ByteBudget({ most: 1, mostPerClient: 1 }) })
    using good = new RawClient(port.port)
    expect(await good.call('ModelInfer', GOOD)).toMatchObject({ status: 0 })
    expect(await good.call('ModelInfer', GOOD)).toMatchObject({ status: 0 })
  })

  it('counts each request of a stream in the rate of its token, and ends it when the token is revoked', async () => {
    const limited = tokenOf(1, { limit: { perSecond: 0.001, burst: 3 } })
    const access = new AccessControl(shareAccess([limited.record]), systemClock)
    await using port = await openPort({ access })
    using client = new RawClient(port.port)
    const { stream, ended } = client.open('ModelStreamInfer', {
      authorization: `Bearer ${limited.text}`,
    })
    const replies: Buffer[] = []
    stream.on('data', (chunk: Buffer) => replies.push(chunk))
    stream.write(Buffer.concat([GOOD, GOOD, GOOD]))
    await until('the third is refused', () =>
      /rate of requests/.test(Buffer.concat(replies).toString()),
    )
    access.replace(shareAccess([]))
    stream.write(GOOD)
    const { status, answers } = await ended
    expect(status).toBe(UNAUTHENTICATED)
    const errors = answers.map((bytes) => methodOf('ModelStreamInfer').responseDeserialize(bytes))
    expect(errors.map((reply) => Boolean(reply['error_message']))).toEqual([false, false, true])
  })

  it('makes no further answers of a stream for a client that reads none', async () => {
    let asked = 0
    const data = new Uint8Array(MIB)
    const state = oneModel(() => {
      asked += 1
      return { name: 'y', datatype: 'FP32', shape: [MIB / 4], data }
    })
    const request = requestFrame('ModelInfer', {
      model_name: 'one',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1] }],
      raw_input_contents: [Buffer.alloc(4)],
    })
    await using port = await openPort({ services: { state } })
    using client = new RawClient(port.port)
    const { stream } = client.open('ModelStreamInfer')
    stream.pause()
    stream.write(Buffer.concat(Array.from({ length: 200 }, () => request)))
    await until('some are asked', () => asked >= 60)
    await client.call('ServerLive', requestFrame('ServerLive', {}))
    expect(asked).toBeLessThan(80)
    stream.resume()
    await until('the others are asked when it reads', () => asked === 200)
  })

  it('has a share of its calls for each client', async () => {
    const [one, other] = [tokenOf(1), tokenOf(2)]
    const access = new AccessControl(shareAccess([one.record, other.record]), systemClock)
    await using port = await openPort({ access })
    const clients = Array.from({ length: 17 }, () => new RawClient(port.port))
    let ended = 0
    let last = ''
    for (const client of clients) {
      for (let i = 0; i < 128; i++) {
        const call = client.open('ModelStreamInfer', { authorization: `Bearer ${one.text}` })
        void call.ended.then(({ message }) => {
          ended += 1
          last = message
        })
      }
    }
    await until('those beyond half of 4,096 are refused', () => ended === 17 * 128 - 2_048)
    expect(last).toContain('2048 of the calls under way are yours')
    using good = new RawClient(port.port)
    const headers = { authorization: `Bearer ${other.text}` }
    expect(await good.call('ModelInfer', GOOD, headers)).toMatchObject({ status: 0 })
    for (const client of clients) client[Symbol.dispose]()
  })

  it('ends a connection that cancels more calls than a client has, and no other one', async () => {
    await using port = await openPort()
    using some = new RawClient(port.port)
    const cancel = async (client: RawClient, count: number): Promise<void> => {
      for (let n = 0; n < count && !client.session.destroyed; n++) {
        const { stream, ended } = client.open('ModelInfer')
        stream.close(CANCEL)
        await ended
      }
    }
    await cancel(some, 120)
    expect(await some.call('ModelInfer', GOOD)).toMatchObject({ status: 0 })
    using many = new RawClient(port.port)
    await cancel(many, 1000)
    await until('the connection has ended', () => many.session.destroyed)
    expect(await some.call('ModelInfer', GOOD)).toMatchObject({ status: 0 })
  })

  it('closes the oldest connection with half a message when its address has its share, and none with a stream that waits for the next one', async () => {
    await using port = await openPort()
    using waiting = new RawClient(port.port)
    const open = waiting.open('ModelStreamInfer')
    open.stream.write(GOOD)
    await once(open.stream, 'data')
    const left = new Set<Socket>()
    const held = Array.from({ length: 511 }, () => {
      const socket = connect(port.port, '127.0.0.1').on('error', () => {})
      left.add(socket)
      socket.once('close', () => left.delete(socket)).resume()
      socket.write(HALF_CALL)
      return socket
    })
    await Promise.all(held.map((socket) => once(socket, 'data')))
    for (let i = 0; i < 20; i++) {
      using good = new RawClient(port.port)
      expect(await good.call('ServerLive', requestFrame('ServerLive', {}))).toMatchObject({
        status: 0,
      })
    }
    await until('some have given way', () => left.size < 511)
    expect(left.size).toBeGreaterThan(480)
    open.stream.end(GOOD)
    expect(await open.ended).toMatchObject({ status: 0 })
    for (const socket of held) socket.destroy()
  })

  it('closes a connection that sends nothing, or another protocol', async () => {
    const clock = new ManualClock()
    await using port = await openPort({ clock })
    const other = connect(port.port, '127.0.0.1').on('error', () => {})
    other.resume().write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(other, 'close')
    const silent = connect(port.port, '127.0.0.1')
      .on('error', () => {})
      .resume()
    await once(silent, 'connect')
    using client = new RawClient(port.port)
    await client.call('ModelInfer', GOOD)
    const isClosed = once(silent, 'close')
    clock.advance(6_000)
    await isClosed
    expect(await client.call('ModelInfer', GOOD)).toMatchObject({ status: 0 })
  })
})

/** A request whose input has so many numbers of one byte. */
const numbers = (count: number): Buffer => field(5, field(5, field(3, Buffer.alloc(count, 1))))
