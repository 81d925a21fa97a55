import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { KIND } from '../../src/wire/frame.ts'
import { FrameWriter } from '../../src/wire/frame-writer.ts'
import { writeHello } from '../../src/wire/hello.ts'
import type { Consistency } from '../../src/wire/model-reader.ts'
import { beginRequest } from '../../src/wire/request.ts'
import { ROWS, TEXTS } from '../fixtures/served-rows-job.ts'
import { pause } from '../run/pause.ts'

/** Longest deadline that the protocol can express. */
const FOREVER = 0xffffffff

/** A server that is attacked. */
export interface Target {
  readonly port: number
  /** Keys of the job: `key-0` to `key-<keys - 1>`. */
  readonly keys: number
}

/** An attack runs until its sockets are destroyed; it may add sockets all the time. */
export type Attack = (target: Target, sockets: Set<Socket>, signal: AbortSignal) => Promise<void>

/** A connection that never reads unless its `data` event is used. */
async function open({ port }: Target, sockets: Set<Socket>, greet = true): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {})
  if (greet) socket.write(HELLO)
  return socket
}

function bytesOf(write: (writer: FrameWriter) => void): Uint8Array {
  const writer = new FrameWriter()
  write(writer)
  return writer.toBytes()
}

const HELLO = bytesOf((writer) =>
  writeHello(writer, {
    minVersion: 1,
    maxVersion: 1,
    maxFrameBytes: 64 * 1024 * 1024,
    token: '',
    job: '',
    client: 'hostile',
  }),
)

const LIVE: Consistency = { level: 'live' }
const FAR: Consistency = { level: 'at-least', partition: 0, offset: 2 ** 52 }

function preamble(state: string, consistency: Consistency = LIVE) {
  return { state, version: state === ROWS ? 1 : 0, deadlineMs: FOREVER, consistency }
}

/** Frames of one kind, `count` of them, with ids from 1. */
function frames(count: number, write: (writer: FrameWriter, id: number) => void): Uint8Array {
  return bytesOf((writer) => {
    for (let id = 1; id <= count; id++) write(writer, id)
  })
}

const SCANS = frames(4000, (writer, id) => {
  beginRequest(writer, KIND.scan, 0, id, preamble(id % 2 === 0 ? ROWS : TEXTS))
  writer.uint32(5000)
  writer.key('')
  writer.key('z')
  writer.end(1)
})

const TOP_KS = frames(4000, (writer, id) => {
  beginRequest(writer, KIND.topK, 0, id, preamble(ROWS))
  writer.uint16(1000)
  writer.key('')
  writer.uint16(0)
  writer.key('key-1')
  writer.end(1)
})

const FAR_PREDICTIONS = frames(1, (writer, id) => {
  beginRequest(writer, KIND.predict, 0, id, preamble(ROWS, FAR))
  for (let i = 0; i < 2 * 65_535; i++) writer.key('key-1')
  writer.end(65_535)
})

const SAME_VALUES = frames(1, (writer, id) => {
  beginRequest(writer, KIND.values, 0, id, preamble(TEXTS))
  for (let i = 0; i < 65_535; i++) writer.key('key-1')
  writer.end(65_535)
})

/** Sends again and again over connections that never read, and are replaced when they are cut. */
function flood(bytes: Uint8Array, connections: number): Attack {
  return async (target, sockets, signal) => {
    const one = async (): Promise<void> => {
      while (!signal.aborted) {
        const socket = await open(target, sockets)
        socket.pause()
        socket.write(bytes)
        if (!socket.closed) await once(socket, 'close').catch(() => {})
      }
    }
    await Promise.all(Array.from({ length: connections }, one))
  }
}

/** Connects, sends and leaves at once, again and again. */
function hitAndRun(bytes: Uint8Array, connections: number): Attack {
  return async (target, sockets, signal) => {
    const one = async (): Promise<void> => {
      while (!signal.aborted) {
        const socket = await open(target, sockets)
        await new Promise((resolve) => socket.write(bytes, resolve))
        await pause(50, 'an attacker leaves soon after it has sent')
        socket.destroy()
      }
    }
    await Promise.all(Array.from({ length: connections }, one))
  }
}

/** Opens connections and leaves them alone, greeted or not. */
function idle(connections: number, greet: boolean): Attack {
  return async (target, sockets, signal) => {
    while (!signal.aborted) {
      while (!signal.aborted && sockets.size < connections) await open(target, sockets, greet)
      await pause(20, 'an attacker looks now and then whether it was cut')
    }
  }
}

/** Sends half a hello, a byte at a time. */
const halfOpen: Attack = async (target, sockets, signal) => {
  const opened = await Promise.all(Array.from({ length: 200 }, () => open(target, sockets, false)))
  for (let at = 0; !signal.aborted && at < HELLO.length / 2; at++) {
    for (const socket of opened) socket.write(HELLO.subarray(at, at + 1))
    await pause(100, 'a byte comes now and then')
  }
}

/** The attacks, by name. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  'scans that no one reads': flood(SCANS, 3),
  'top-k that no one reads': flood(TOP_KS, 4),
  'values of one key, 65,535 times': flood(SAME_VALUES, 3),
  'at-least far in the future, then gone': hitAndRun(FAR_PREDICTIONS, 2),
  'scans, then gone': hitAndRun(SCANS, 2),
  'top-k, then gone': hitAndRun(TOP_KS, 2),
  'half-open connections': halfOpen,
  '1,100 idle connections': idle(1100, true),
  '1,100 silent connections': idle(1100, false),
}
