import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { HotConnection, type HotExchange } from '../../../src/gateway/hot/connection.ts'

const REQUEST = 'GET /v1/predict/1/50 HTTP/1.1\r\nHost: localhost\r\n\r\n'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A socket, and what was written to it. */
function recordingSocket(): { readonly socket: Duplex; readonly written: string[] } {
  const written: string[] = []
  const socket = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      written.push(String(chunk))
      done()
    },
  })
  return { socket, written }
}

/** Answers the requests of a socket. */
function serve(socket: Duplex, answer: (exchange: HotExchange) => void): void {
  const limits = { maxBodyBytes: 1000, maxObservationBytes: 0, onlyLoopbackNames: false }
  new HotConnection(socket as Socket, {
    limits,
    answer,
    handOver: () => {},
    requested: () => {},
    closed: () => {},
  })
}

describe('a hot connection', () => {
  it('reads no request while the client does not read the answers', async () => {
    let release: (() => void) | undefined
    let answered = 0
    const socket = new Duplex({
      read() {},
      write(_chunk, _encoding, done) {
        release = done
      },
      writableHighWaterMark: 1,
    })
    serve(socket, (exchange) => {
      answered += 1
      exchange.finish('answer')
    })
    socket.push(REQUEST)
    await turn()
    socket.push(REQUEST)
    await turn()
    expect(answered).toBe(1)
    release!()
    await turn()
    expect(answered).toBe(2)
  })

  it('reads no more than 64 requests ahead of their answers', async () => {
    const waiting: (() => void)[] = []
    const { socket, written } = recordingSocket()
    serve(socket, (exchange) => {
      const number = waiting.length
      waiting.push(() => exchange.finish(`${number},`))
    })
    socket.push(REQUEST.repeat(100))
    await turn()
    expect(waiting).toHaveLength(64)
    for (const answer of waiting.slice(0, 64).reverse()) answer()
    await turn()
    expect(waiting).toHaveLength(100)
    for (const answer of waiting.slice(64)) answer()
    expect(written.join('')).toBe(Array.from({ length: 100 }, (_, i) => `${i},`).join(''))
  })
})

describe('a hot connection with inferences', () => {
  const infer = (body: string) =>
    `POST /v2/models/ocr/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`

  it('answers each, in their order, however their bytes arrive', async () => {
    const bodies: string[] = []
    const waiting: (() => void)[] = []
    const { socket, written } = recordingSocket()
    serve(socket, (exchange) => {
      const { request } = exchange
      const body = request.kind === 'infer' ? String(request.body) : request.kind
      bodies.push(body)
      waiting.push(() => exchange.finish(`${body},`))
    })
    const chunks = [
      infer('first'),
      infer('whole'),
      infer('two chunks').slice(0, -3),
      `nks${infer('after')}`,
      infer('x'),
      infer('while it waits'),
      REQUEST,
    ]
    for (const chunk of chunks) {
      socket.push(Buffer.from(chunk))
      await turn()
    }
    for (let turns = 0; turns < 50; turns++) {
      waiting.shift()?.()
      await turn()
    }
    const wanted = ['first', 'whole', 'two chunks', 'after', 'x', 'while it waits', 'pair']
    expect(bodies).toEqual(wanted)
    expect(written.join('')).toBe(wanted.map((body) => `${body},`).join(''))
  })

  it('takes one that is answered before the next, in one turn', async () => {
    let answered = 0
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
    serve(socket, (exchange) => {
      answered += 1
      exchange.finish('answer')
    })
    for (let i = 0; i < 5; i++) socket.push(Buffer.from(infer('x')))
    await turn()
    expect(answered).toBe(5)
  })
})

describe('a hot connection with a batch', () => {
  const BODY = '{"pairs":[["1","50"]]}'
  const BATCH = `POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
  const PART = BATCH.slice(0, -8)

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  function opened() {
    const duplex = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
    const socket = Object.assign(duplex, { destroySoon: () => duplex.end() })
    const exchanges: HotExchange[] = []
    const left: string[] = []
    const connection = new HotConnection(socket as unknown as Socket, {
      limits: { maxBodyBytes: 1000, maxObservationBytes: 0, onlyLoopbackNames: false },
      answer: (exchange) => exchanges.push(exchange),
      handOver: (_, unread) => left.push(String(unread)),
      requested: () => {},
      closed: () => {},
    })
    const kinds = () => exchanges.map(({ request }) => request.kind)
    return { socket, connection, exchanges, left, kinds }
  }

  it('leaves a body whose rest does not come to node:http, with all its bytes', async () => {
    const { socket, left, kinds } = opened()
    socket.push(PART.slice(0, -1))
    await turn()
    vi.advanceTimersByTime(200)
    socket.push(PART.slice(-1))
    await turn()
    expect(left).toEqual([])
    vi.advanceTimersByTime(50)
    expect(left).toEqual([PART])
    expect(kinds()).toEqual([])
  })

  it('leaves such a body to node:http after the answers to the requests before it', async () => {
    const { socket, exchanges, left } = opened()
    socket.push(REQUEST + PART)
    await turn()
    vi.advanceTimersByTime(250)
    expect(left).toEqual([])
    exchanges[0]!.finish('answer')
    expect(left).toEqual([PART])
  })

  it('reads the rest of a body that began before the gateway closes', async () => {
    const { socket, connection, exchanges, kinds } = opened()
    socket.push(PART)
    await turn()
    connection.end()
    socket.push(BATCH.slice(PART.length))
    await turn()
    expect(kinds()).toEqual(['pairs'])
    exchanges[0]!.finish('answer')
    expect(socket.writableEnded).toBe(true)
  })

  it('says that the bytes of an answer are sent when the socket has sent them', async () => {
    const writes: { readonly text: string; readonly done: () => void }[] = []
    const socket = new Duplex({
      read() {},
      write: (chunk, _encoding, done) => void writes.push({ text: String(chunk), done }),
    })
    const exchanges: HotExchange[] = []
    new HotConnection(socket as Socket, {
      limits: { maxBodyBytes: 1000, maxObservationBytes: 0, onlyLoopbackNames: false },
      answer: (exchange) => exchanges.push(exchange),
      handOver: () => {},
      requested: () => {},
      closed: () => {},
    })
    socket.push(REQUEST + BATCH)
    await turn()
    const sent = vi.fn()
    exchanges[1]!.finish({ bytes: Buffer.from('scores'), sent })
    exchanges[0]!.finish('score')
    await turn()
    expect(sent).not.toHaveBeenCalled()
    for (let i = 0; i < 2; i++) {
      writes[i]!.done()
      await turn()
    }
    expect(writes.map(({ text }) => text)).toEqual(['score', 'scores'])
    expect(sent).toHaveBeenCalledTimes(1)
  })

  it('reads a request after a batch when the batch is answered', async () => {
    const { socket, exchanges, kinds } = opened()
    socket.push(REQUEST + BATCH + REQUEST)
    await turn()
    expect(kinds()).toEqual(['pair', 'pairs'])
    for (const exchange of exchanges.slice(0, 2)) exchange.finish('answer')
    await turn()
    expect(kinds()).toEqual(['pair', 'pairs', 'pair'])
  })
})
