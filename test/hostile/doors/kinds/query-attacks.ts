import { inferBody } from '../../../../src/client/request-bodies.ts'
import { KIND } from '../../../../src/wire/frame.ts'
import { FrameWriter } from '../../../../src/wire/frame-writer.ts'
import { writeHello } from '../../../../src/wire/hello.ts'
import { beginRequest } from '../../../../src/wire/request.ts'
import { mutated } from '../../../../verify/fuzz/mutations.ts'
import { QUERY_FRAMES } from '../../../../verify/fuzz/query-frames.ts'
import { type Door, LARGE_ROWS, MODEL } from '../door.ts'
import {
  again,
  type DoorAttack,
  HALF_HANDSHAKE,
  hold,
  sendAndLeave,
  sendUnread,
  sendWhole,
} from './attack.ts'

const MIB = 1024 * 1024
const NOTHING = new Uint8Array(0)

function helloOf({ token = '' }: Door): Uint8Array {
  const writer = new FrameWriter(256)
  const limits = { minVersion: 1, maxVersion: 1, maxFrameBytes: 64 * MIB }
  writeHello(writer, { ...limits, token, job: '', client: 'hostile' })
  return writer.toBytes()
}

/** A run of the model on so many rows. */
function runOf(rows: number, id = 1): Uint8Array {
  const writer = new FrameWriter(rows * 8 + 1024)
  const consistency = { level: 'live' } as const
  const preamble = { state: MODEL, version: 0, deadlineMs: 60_000, consistency }
  beginRequest(writer, KIND.infer, 0, id, preamble)
  const data = new Uint8Array(rows * 8)
  const input = { name: 'x', datatype: 'FP32', shape: [rows, 2], data } as const
  inferBody({ inputs: [input], outputs: [] }).write(writer)
  writer.end(1)
  return writer.toBytes()
}

let large: Uint8Array | undefined
const largeRun = (): Uint8Array => {
  large ??= runOf(LARGE_ROWS)
  return large
}
const FLOOD = Buffer.concat(Array.from({ length: 4_000 }, (_, id) => runOf(1, id + 1)))
const greeted = (door: Door, bytes: Uint8Array): Buffer => Buffer.concat([helloOf(door), bytes])

/** Kinds of hostile clients of a query port. */
export const QUERY_ATTACKS: Readonly<Record<string, DoorAttack>> = {
  'big bodies': again(4, (site) => sendWhole(site, greeted(site.door, largeRun()))),
  'half bodies': hold({ count: 500, first: (door) => greeted(door, largeRun().subarray(0, MIB)) }),
  'small half bodies': hold({
    count: 600,
    first: (door) => greeted(door, largeRun().subarray(0, 20_000)),
  }),
  'half heads': hold({ count: 500, first: (door) => helloOf(door).subarray(0, 9) }),
  'trickled heads': hold({ count: 300, first: () => NOTHING, rest: helloOf }),
  'trickled bodies': hold({ count: 300, first: helloOf, rest: largeRun }),
  'silent connections': hold({ count: 600, first: () => NOTHING }),
  'half-open connections': hold({
    count: 300,
    isBare: true,
    isHalfOpen: true,
    first: (door) => (door.isTls ? HALF_HANDSHAKE : greeted(door, largeRun().subarray(0, 5_000))),
  }),
  'half handshakes': hold({ count: 2500, isBare: true, first: () => HALF_HANDSHAKE }),
  'requests whose answers no one reads': again(4, (site) => {
    return sendUnread(site, greeted(site.door, FLOOD))
  }),
  'new connections': again(16, (site) => sendAndLeave(site, helloOf(site.door))),
  'aborted bodies': again(8, (site) => {
    return sendAndLeave(site, greeted(site.door, largeRun().subarray(0, MIB)))
  }),
  'mutated requests': again(8, (site) => {
    const frame = QUERY_FRAMES[site.random.below(QUERY_FRAMES.length)]!
    return sendAndLeave(site, greeted(site.door, mutated(frame, site.random)))
  }),
}
