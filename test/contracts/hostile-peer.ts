import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** Text of a peer that no error may have. */
const SECRET = 'AKIA-SECRET-OF-THE-PEER'
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const CHUNK = Buffer.alloc(65_536, 'a')

/** Of what is sent, the most that lies in buffers of the system and is read by no one: they grow on a fast machine. */
const SYSTEM_BYTES = 64 * 1024 * 1024

/** Time in which an answer or an error must have come, ms: a peer that is waited for goes on forever. */
const WITHIN_MS = 40_000

/** What a peer does with a connection on which something has come. */
type Behaviour = (socket: Socket) => void

/** Writes until the client leaves. */
function flood(socket: Socket, head: string): void {
  socket.write(head)
  const more = (): void => {
    while (!socket.destroyed && socket.write(CHUNK)) if (socket.writableLength > 1e6) return
  }
  socket.on('drain', more)
  more()
}

/** A byte every 20 ms. */
function trickle(socket: Socket, head: string, text: string): void {
  socket.write(head)
  let at = 0
  const timer = setInterval(() => {
    if (socket.writable) socket.write(text[at++ % text.length]!)
  }, 20)
  socket.on('close', () => clearInterval(timer))
}

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'closes at once': (socket) => socket.destroy(),
  'closes in the middle': (socket) => socket.end(`${HEAD}content-length: 100\r\n\r\n{"a`),
  'never answers': () => {},
  'never ends its answer': (socket) => socket.write(`${HEAD}content-length: 100\r\n\r\n{"a`),
  'trickles its head': (socket) => trickle(socket, '', HEAD.repeat(100)),
  'trickles its body': (socket) => trickle(socket, `${HEAD}content-length: 1000000\r\n\r\n`, ' '),
  floods: (socket) => flood(socket, `${HEAD}transfer-encoding: identity\r\n\r\n`),
  'floods with a head': (socket) => flood(socket, 'HTTP/1.1 200 OK\r\nx: '),
  'says two lengths': (socket) =>
    socket.end(`${HEAD}content-length: 5\r\ncontent-length: 9\r\n\r\n{"${SECRET}":1}`),
  'answers what no one asked': (socket) =>
    socket.end(`${HEAD}content-length: 31\r\n\r\n{"${SECRET}":1}xx`),
  'answers with no JSON': (socket) =>
    socket.end(`${HEAD}content-length: ${SECRET.length}\r\n\r\n${SECRET}`),
  'speaks SSH': (socket) => socket.end(`SSH-2.0-OpenSSH_9.6 ${SECRET}\r\n`),
  'speaks bytes': (socket) => socket.end(Buffer.alloc(4096, 0x7f)),
  redirects: (socket) =>
    socket.end(
      `HTTP/1.1 307 Temporary Redirect\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n`,
    ),
}

/** A client of another server. */
export interface PeerClient {
  /** Asks the server at a port once; rejects with the error, or resolves with what a user would read of it. */
  readonly ask: (port: number) => Promise<unknown>
  /** Most bytes that it reads of an answer. */
  readonly mostBytes: number
  /** Codes of its errors. */
  readonly codes: readonly string[]
  /** Behaviours that are an answer to it: it may resolve. @default none */
  readonly fine?: readonly string[]
  /** Whether the texts of errors may have text of the peer, whose operator is the user's own. @default false */
  readonly mayQuote?: boolean
}

/** What a client owes its users when the server at its other end is broken or hostile. */
export function hostilePeerContract(name: string, client: PeerClient): void {
  describe(`${name}, when its peer`, () => {
    let server: Server
    let sockets: Set<Socket>
    let behave: Behaviour
    beforeEach(async () => {
      sockets = new Set()
      server = createServer((socket) => {
        sockets.add(socket)
        socket.on('error', () => {})
        socket.once('data', () => behave(socket))
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
    })
    afterEach(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })

    it.each(Object.keys(BEHAVIOURS))('%s', async (behaviour) => {
      behave = BEHAVIOURS[behaviour]!
      const { port } = server.address() as AddressInfo
      const startMs = performance.now()
      const error: unknown = await client.ask(port).catch((thrown: unknown) => thrown)
      expect(performance.now() - startMs).toBeLessThan(WITHIN_MS)
      const sent = [...sockets].map(
        ({ bytesWritten, writableLength }) => bytesWritten - writableLength,
      )
      expect(Math.max(0, ...sent)).toBeLessThan(client.mostBytes + SYSTEM_BYTES)
      if (client.fine?.includes(behaviour) === true) return
      expect(error).toMatchObject({ message: expect.stringContaining(String(port)) })
      expect(client.codes).toContain((error as { readonly code?: string }).code)
      if (client.mayQuote !== true) expect(String(error)).not.toContain(SECRET)
    })
  })
}
