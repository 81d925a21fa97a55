import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { QueryLimits } from '../../../src/serving/server/options.ts'
import { QueryServer } from '../../../src/serving/server/query-server.ts'
import { readErrorFrame } from '../../../src/wire/answer.ts'
import { FrameReader, KIND } from '../../../src/wire/frame.ts'
import { FrameWriter } from '../../../src/wire/frame-writer.ts'
import { writeHello } from '../../../src/wire/hello.ts'
import { beginRequest } from '../../../src/wire/request.ts'
import { collectGarbage } from '../../run/collect-garbage.ts'
import { FakeQueryBackend } from '../../serving/port/fake-query-backend.ts'

const MIB = 1024 * 1024
const preamble = {
  state: 'M',
  version: 0,
  deadlineMs: 1000,
  consistency: { level: 'live' },
} as const

let backend: FakeQueryBackend
let server: QueryServer
let port: number
let good: GoodClient
const sockets: Socket[] = []

/** Asks all the time and notes every wrong answer: what an attack must not disturb. */
class GoodClient {
  answers = 0
  wrong: unknown[] = []
  private isStopped = false
  private readonly work: Promise<void>[]
  private readonly client: WeirClient

  constructor(client: WeirClient) {
    this.client = client
    this.work = [1, 2, 3, 4].map((user) => this.run(user))
  }

  private async run(user: number): Promise<void> {
    while (!this.isStopped) {
      try {
        const { score } = await this.client.predict('M', `${user}-U`, '7-I')
        if (score !== user * 3) this.wrong.push(score)
        this.answers++
      } catch (error) {
        this.wrong.push(error)
      }
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await Promise.all(this.work)
    await this.client.close()
  }
}

async function start(limits: Partial<QueryLimits> = {}): Promise<void> {
  backend = new FakeQueryBackend('M')
  for (let user = 1; user <= 4; user++) backend.rows.set(`${user}-U`, Float32Array.of(user, 0))
  backend.rows.set('7-I', Float32Array.of(3, 4))
  backend.rows.set('big', new Float32Array(4096))
  server = new QueryServer(backend, { limits })
  port = await server.listen()
  backend.endpoints = [{ server: 'query-0', host: '', port }]
  good = new GoodClient(await WeirClient.connect({ port, deadlineMs: 60_000 }))
}

async function open(): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  sockets.push(socket)
  await once(socket, 'connect')
  return socket
}

function bytes(write: (writer: FrameWriter) => void): Uint8Array {
  const writer = new FrameWriter()
  write(writer)
  return writer.toBytes()
}

const helloBytes = bytes((writer) =>
  writeHello(writer, {
    minVersion: 1,
    maxVersion: 1,
    maxFrameBytes: 8 * MIB,
    token: '',
    job: '',
    client: 'attacker',
  }),
)

/** Everything the server sent until it closed. */
async function readToEnd(socket: Socket): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'close')
  return Buffer.concat(chunks)
}

/** The code of the last frame, which must be an error of the connection. */
function lastError(received: Uint8Array): string {
  const reader = new FrameReader(() => 16 * MIB)
  reader.append(received)
  let code = 'nothing'
  while (reader.next()) {
    code = reader.kind === KIND.error ? readErrorFrame(reader).code : `kind ${reader.kind}`
  }
  return code
}

/** Memory outside V8's heap and in it, after what can be freed is. */
/** Bytes that are in use: garbage comes and goes. */
function memory(): number {
  collectGarbage()
  const { arrayBuffers, heapUsed, external } = process.memoryUsage()
  return arrayBuffers + heapUsed + external
}

const LIMITS = {
  stuckTimeoutMs: 1_000,
  helloTimeoutMs: 1_000,
  maxConnections: 100,
  maxConnectionsPerAddress: 100,
}

beforeEach(() => start(LIMITS))

afterEach(async () => {
  const before = good.answers
  await expect.poll(() => good.answers).toBeGreaterThan(before + 100)
  for (const socket of sockets.splice(0)) socket.destroy()
  await good.stop()
  expect(good.wrong).toEqual([])
  await server.close()
})

describe('a query server under attack answers a good client', () => {
  it('while peers send random bytes', async () => {
    const random = seededRandom(11)
    const noise = () => Uint8Array.from({ length: 1 + random.below(2000) }, () => random.below(256))
    for (let round = 0; round < 30; round++) {
      const attackers = await Promise.all([open(), open(), open(), open()])
      const closed = attackers.map((socket) => readToEnd(socket))
      attackers.forEach((socket, i) => {
        if (i % 2 === 0) socket.write(helloBytes)
        socket.write(noise())
        socket.end()
      })
      await Promise.all(closed)
    }
    await expect.poll(() => server.connectionCount).toBe(1)
  })

  it('while peers announce lengths that they never send', async () => {
    for (const [first, code] of [
      [Uint8Array.of(0xff, 0xff, 0xff, 0xff), 'FRAME_TOO_LARGE'],
      [Uint8Array.of(0, 0, 0, 0), 'PROTOCOL_ERROR'],
      [Uint8Array.of(0, 0, 0x20, 0), 'FRAME_TOO_LARGE'],
    ] as const) {
      const socket = await open()
      const received = readToEnd(socket)
      socket.write(first)
      expect(lastError(await received)).toBe(code)
      const greeted = await open()
      const answered = readToEnd(greeted)
      greeted.write(helloBytes)
      greeted.write(first)
      expect(lastError(await answered)).toBe(code)
    }
  })

  it('while a frame claims more keys than it has', async () => {
    for (const kind of [KIND.predict, KIND.rows, KIND.values, KIND.topK, KIND.sparseDot, 0x33]) {
      const socket = await open()
      const received = readToEnd(socket)
      socket.write(helloBytes)
      socket.write(
        bytes((writer) => {
          beginRequest(writer, kind, 0, 1, preamble)
          writer.key('1-U')
          writer.end(65_535)
        }),
      )
      // The request fails alone; a length of 0 then ends the connection.
      socket.write(new Uint8Array(4))
      expect(lastError(await received)).toBe('PROTOCOL_ERROR')
    }
  })

  it('while 90 peers stop in the middle of a large frame', async () => {
    const before = memory()
    const half = bytes((writer) => {
      beginRequest(writer, KIND.rows, 0, 1, preamble)
      writer.raw(new Uint8Array(1000))
      writer.end(1)
    })
    new DataView(half.buffer).setUint32(0, MIB, true)
    for (let i = 0; i < 90; i++) {
      const socket = await open()
      socket.write(helloBytes)
      socket.write(half)
    }
    await expect.poll(() => server.connectionCount).toBe(91)
    // 90 announced frames of 1 MiB would be 90 MiB.
    expect(memory() - before).toBeLessThan(40 * MIB)
  })

  it('while peers disconnect in the middle of a frame', async () => {
    for (let cut = 1; cut < helloBytes.length + 30; cut += 3) {
      const socket = await open()
      const all = Buffer.concat([helloBytes, helloBytes])
      socket.write(all.subarray(0, cut), () => socket.resetAndDestroy())
    }
    await expect.poll(() => server.connectionCount).toBe(1)
  })

  it('while a peer asks for much and reads nothing; its connection is then cut', async () => {
    const before = memory()
    const socket = await open()
    socket.pause()
    socket.write(helloBytes)
    const request = bytes((writer) => {
      beginRequest(writer, KIND.rows, 1, 1, preamble)
      for (let i = 0; i < 2000; i++) writer.key('big')
      writer.end(2000)
    })
    // 200 requests of 32 MB of rows each.
    for (let i = 0; i < 200; i++) socket.write(request)
    await expect.poll(() => server.connectionCount).toBe(2)
    await expect.poll(() => server.connectionCount).toBe(1)
    expect(memory() - before).toBeLessThan(60 * MIB)
  })

  it('while a slow peer reads all its answers, complete and in order', async () => {
    // A peer that this machine makes slow is neither stuck nor late.
    await good.stop()
    await server.close()
    await start({ ...LIMITS, stuckTimeoutMs: 60_000 })
    const socket = await open()
    socket.write(helloBytes)
    socket.write(
      bytes((writer) => {
        beginRequest(writer, KIND.rows, 0, 9, { ...preamble, deadlineMs: 60_000 })
        for (let i = 0; i < 1000; i++) writer.key('big')
        writer.end(1000)
      }),
    )
    const reader = new FrameReader(() => 8 * MIB)
    let answered = 0
    while (answered < 1000) {
      const chunk: Buffer | null = socket.read()
      if (chunk === null) {
        await once(socket, 'readable')
        continue
      }
      reader.append(chunk)
      while (reader.next()) if (reader.requestId === 9) answered += reader.count
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(answered).toBe(1000)
  })

  it('while 500 peers connect, of which 100 are accepted', async () => {
    const attackers = await Promise.all(Array.from({ length: 500 }, () => open()))
    await expect.poll(() => server.connectionCount).toBeLessThan(101)
    expect(attackers.length).toBe(500)
  })

  it('while peers that never send a hello are cut', async () => {
    const socket = await open()
    await once(socket, 'close')
    expect(server.connectionCount).toBe(1)
  })

  it('while a peer sends many requests that wait for slots', async () => {
    const gate = Promise.withResolvers<void>()
    backend.gate = gate.promise
    const socket = await open()
    socket.write(helloBytes)
    const reader = new FrameReader(() => MIB)
    const codes: string[] = []
    socket.on('data', (chunk) => {
      reader.append(chunk)
      while (reader.next()) if (reader.kind === KIND.error) codes.push(readErrorFrame(reader).code)
    })
    for (let id = 1; id <= 10; id++) {
      socket.write(
        bytes((writer) => {
          beginRequest(writer, KIND.values, 0, id, preamble)
          for (let i = 0; i < 1000; i++) writer.key('x')
          writer.end(1000)
        }),
      )
    }
    await expect.poll(() => codes).toEqual(new Array(6).fill('OVERLOADED'))
    gate.resolve()
  })
})
