import { gzipSync } from 'node:zlib'
import { GATEWAY_REQUESTS } from '../../../../verify/fuzz/http-requests.ts'
import { mutated } from '../../../../verify/fuzz/mutations.ts'
import { type Door, LARGE_ROWS } from '../door.ts'
import {
  type AttackSite,
  again,
  type DoorAttack,
  HALF_HANDSHAKE,
  hold,
  sendAndLeave,
  sendUnread,
  sendWhole,
} from './attack.ts'
import { worstBody } from './worst-bodies.ts'

const MIB = 1024 * 1024
/** Length that half bodies announce. */
const ANNOUNCED = 50 * MIB
const JSON_TYPE = 'content-type: application/json'
const NOTHING = new Uint8Array(0)

function headOf(door: Door, lines: readonly string[], method = 'POST', path = door.bodyPath) {
  const access = door.token === undefined ? [] : [`authorization: Bearer ${door.token}`]
  const fields = [`host: 127.0.0.1:${door.port}`, ...access, ...lines]
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
}

function whole(door: Door, body: Uint8Array, lines: readonly string[] = [JSON_TYPE]): Buffer {
  const length = `content-length: ${body.length}`
  return Buffer.concat([headOf(door, [length, ...lines]), body])
}

/** A costly body for one of the routes. */
function costly({ door, random }: AttackSite): Buffer {
  const { method, path } = door.bodyRoutes[random.below(door.bodyRoutes.length)]!
  const { body, lines } = worstBody(random)
  const head = headOf(door, [`content-length: ${body.length}`, ...lines], method, path)
  return Buffer.concat([head, body])
}

/** The same bytes for the same door, made once. */
function made(make: (door: Door) => Uint8Array): (door: Door) => Uint8Array {
  const known = new Map<string, Uint8Array>()
  return (door) => {
    const bytes = known.get(door.name) ?? make(door)
    known.set(door.name, bytes)
    return bytes
  }
}

/** A request to the model as large as a body may be, with its tensor as bytes. */
const largeTensor = made((door) => {
  const size = LARGE_ROWS * 8
  const json = `{"inputs":[{"name":"x","datatype":"FP32","shape":[${LARGE_ROWS},2],"parameters":{"binary_data_size":${size}}}]}`
  const lines = [
    'content-type: application/octet-stream',
    `inference-header-content-length: ${json.length}`,
  ]
  return whole(door, Buffer.concat([Buffer.from(json), Buffer.alloc(size)]), lines)
})

const bomb = (text: string) =>
  made((door) => whole(door, gzipSync(text), [JSON_TYPE, 'content-encoding: gzip']))

const OBJECTS_BOMB = bomb(`{"inputs":[${'{},'.repeat(20 * MIB)}{}]}`)
const ZEROS_BOMB = bomb('0'.repeat(60 * MIB))
const JSON_BODIES: readonly ((door: Door) => Uint8Array)[] = [
  // The largest that the limits of JSON let pass: what they cost is what they allow.
  `{"inputs":[{"name":"x","datatype":"FP32","shape":[250000,2],"data":[${'1,'.repeat(499_999)}1]}]}`,
  `{"inputs":[${'{},'.repeat(60_000)}{}]}`,
  // Beyond them.
  `{"inputs":[${'{},'.repeat(300_000)}{}]}`,
  `{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
].map((text) => made((door) => whole(door, Buffer.from(text))))
const DEEP_BODIES: readonly ((door: Door) => Uint8Array)[] = [
  `{"inputs":${'['.repeat(400_000)}${']'.repeat(400_000)}}`,
  '{"a":'.repeat(200_000),
  '['.repeat(7 * MIB),
].map((text) => made((door) => whole(door, Buffer.from(text))))
const FLOOD = made((door) => {
  const get = headOf(door, [], 'GET', '/v2/models/double')
  return Buffer.concat(Array.from({ length: 5_000 }, () => get))
})
const halfHead = made((door) => headOf(door, []).subarray(0, -3))
const halfBody = made((door) =>
  Buffer.concat([headOf(door, [JSON_TYPE, `content-length: ${ANNOUNCED}`]), Buffer.alloc(MIB, 48)]),
)
const bodyHead = made((door) => headOf(door, [JSON_TYPE, 'content-length: 100000']))

/** Kinds of hostile clients of an HTTP port. */
export const HTTP_ATTACKS: Readonly<Record<string, DoorAttack>> = {
  'big bodies': again(4, (site) => sendWhole(site, largeTensor(site.door))),
  'gzip bombs': again(4, (site) => {
    return sendWhole(site, (site.random.below(2) === 0 ? OBJECTS_BOMB : ZEROS_BOMB)(site.door))
  }),
  'small values': again(4, (site) => {
    return sendWhole(site, JSON_BODIES[site.random.below(JSON_BODIES.length)]!(site.door))
  }),
  'costly bodies on every route': again(4, (site) => sendWhole(site, costly(site))),
  'deep nesting': again(4, (site) => {
    return sendWhole(site, DEEP_BODIES[site.random.below(DEEP_BODIES.length)]!(site.door))
  }),
  'half bodies': hold({ count: 500, first: halfBody }),
  'half heads': hold({ count: 500, first: halfHead }),
  'trickled heads': hold({ count: 300, first: () => NOTHING, rest: halfHead }),
  'trickled bodies': hold({ count: 300, first: bodyHead, rest: () => Buffer.alloc(100_000, 48) }),
  'silent connections': hold({ count: 600, first: () => NOTHING }),
  'half-open connections': hold({
    count: 300,
    isBare: true,
    isHalfOpen: true,
    first: (door) => (door.isTls ? HALF_HANDSHAKE : halfHead(door)),
  }),
  'half handshakes': hold({ count: 2500, isBare: true, first: () => HALF_HANDSHAKE }),
  'requests whose answers no one reads': again(4, (site) => sendUnread(site, FLOOD(site.door))),
  'new connections': again(16, (site) => sendAndLeave(site, headOf(site.door, [], 'GET', '/'))),
  'aborted bodies': again(8, (site) => {
    return sendAndLeave(site, (site.random.below(3) === 0 ? OBJECTS_BOMB : halfBody)(site.door))
  }),
  'mutated requests': again(8, (site) => {
    const { random } = site
    const bytes = GATEWAY_REQUESTS[random.below(GATEWAY_REQUESTS.length)]!
    return sendAndLeave(site, mutated(bytes, random))
  }),
}
