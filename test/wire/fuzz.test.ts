import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../src/core/errors.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { decodeAsync } from '../../src/serving/server/async-requests.ts'
import { AnswerCursor, beginAnswer, readErrorFrame } from '../../src/wire/answer.ts'
import { FrameReader, KIND, REQUEST_FLAG } from '../../src/wire/frame.ts'
import { decodeGeneral, encodeGeneral } from '../../src/wire/general-envelope.ts'
import { readHello, readWelcome, writeHello } from '../../src/wire/hello.ts'
import { beginRequest, RequestCursor } from '../../src/wire/request.ts'
import { readRouting, writeRouting } from '../../src/wire/routing-table.ts'
import { campaignSize } from '../run/campaign-size.ts'
import { written } from './example-frames.ts'

const SEED = Number(process.env['WEIR_FUZZ_SEED'] ?? 20_260_101)
const preamble = {
  state: 'ALS_MODEL',
  version: 0,
  deadlineMs: 100,
  consistency: { level: 'at-least', partition: 1, offset: 5 },
} as const

/** The last frame of the conversation, an answer whose body is noise. */
const ANSWER_FRAME_BYTES = 96

/** A conversation: one frame of every kind. */
const conversation = written((writer) => {
  const hello = { minVersion: 1, maxVersion: 1, maxFrameBytes: 65536, token: 't', job: 'j' }
  writeHello(writer, { ...hello, client: 'fuzz' })
  for (const kind of [KIND.predict, KIND.rows, KIND.values]) {
    beginRequest(writer, kind, REQUEST_FLAG.coldLeft, 1, preamble)
    for (const key of ['MEAN-U', '1-U', '2-I', '3-U', '4-I']) writer.key(key)
    writer.end(kind === KIND.predict ? 2 : 5)
  }
  beginRequest(writer, KIND.scan, 0, 2, preamble)
  writer.uint32(10)
  writer.key('a')
  writer.key('b')
  writer.end(1)
  beginRequest(writer, KIND.sparseDot, 0, 3, preamble)
  writer.uint32(2)
  writer.raw(new Uint8Array(16).fill(1))
  writer.end(1)
  beginRequest(writer, KIND.topK, REQUEST_FLAG.vector, 4, preamble)
  writer.uint16(5)
  writer.key('-I')
  writer.uint16(1)
  writer.key('7-I')
  writer.uint32(2)
  writer.floats(Float32Array.of(1, 2))
  writer.end(1)
  writeRouting(writer, 5, { epoch: 1, job: 'j', endpoints: [], states: [], sources: [] })
  beginAnswer(writer, 0x83, 3, 1, { modelVersion: 1, routingEpoch: 1, checkpointId: 1, ageMs: 1 })
  writer.raw(new Uint8Array(60).fill(3))
  writer.end(2)
})

/** Decodes a stream as both sides would; throws what they throw. */
function decode(stream: Uint8Array, pieces: Random | undefined): number {
  const reader = new FrameReader(() => 65_536)
  const cursor = new RequestCursor()
  let frames = 0
  for (let at = 0; at < stream.length; ) {
    const size = pieces === undefined ? stream.length : 1 + pieces.below(40)
    reader.append(stream.subarray(at, at + size))
    at += size
    while (reader.next()) {
      frames++
      decodeFrame(reader, cursor)
    }
  }
  return frames
}

function decodeFrame(reader: FrameReader, cursor: RequestCursor): void {
  switch (reader.kind) {
    case KIND.hello:
      readHello(reader)
      break
    case KIND.hello + 0x80:
      readWelcome(reader)
      break
    case KIND.routing + 0x80:
      readRouting(reader)
      break
    case KIND.error:
      readErrorFrame(reader)
      break
    case 0x83: {
      const answers = new AnswerCursor()
      answers.open(reader)
      answers.itemEnvelope()
      answers.copy(answers.uint16())
      answers.details()
      break
    }
    default:
      cursor.open(reader)
      cursor.readPreamble()
      decodeAsync(cursor)
  }
}

function expectTyped(attempt: () => unknown, note: string): void {
  try {
    attempt()
  } catch (error) {
    if (!isWeirError(error)) throw new Error(`${note}: ${String(error)}`, { cause: error })
    expect([
      'PROTOCOL_ERROR',
      'FRAME_TOO_LARGE',
      'UNSUPPORTED_VERSION',
      'INVALID_ARGUMENT',
    ]).toContain(error.code)
  }
}

function mutate(stream: Uint8Array, random: Random): Uint8Array {
  const mutant = stream.slice(0, random.below(4) === 0 ? random.below(stream.length) : undefined)
  const changes = 1 + random.below(6)
  for (let i = 0; i < changes && mutant.length > 0; i++) {
    const at = random.below(mutant.length)
    const kind = random.below(3)
    mutant[at] =
      kind === 0 ? random.below(256) : kind === 1 ? 0xff : mutant[at]! ^ (1 << random.below(8))
  }
  return mutant
}

describe('the decoders', () => {
  it('read an intact conversation', () => {
    const requests = conversation.subarray(0, conversation.length - ANSWER_FRAME_BYTES)
    expect(decode(requests, undefined)).toBe(8)
    expect(decode(requests, seededRandom(1))).toBe(8)
  })

  it(`throw nothing but typed errors on mutations (seed ${SEED})`, () => {
    const random = seededRandom(SEED)
    for (let round = 0; round < campaignSize(800, 4_000); round++) {
      const mutant = mutate(conversation, random)
      const pieces = round % 3 === 0 ? random : undefined
      expectTyped(() => decode(mutant, pieces), `seed ${SEED}, round ${round}`)
    }
  })

  it('throw only typed errors on every truncation of a frame whose length claims that it is whole', () => {
    const first = new FrameReader(() => 65_536)
    first.append(conversation)
    while (first.next()) {
      const frame = first.bytes.slice(first.start, first.end)
      for (let length = 12; length < frame.length; length++) {
        const cut = frame.slice(0, length)
        new DataView(cut.buffer).setUint32(0, length - 4, true)
        expectTyped(() => decode(cut, undefined), `kind ${frame[4]} cut to ${length}`)
      }
    }
  })

  it('throw only typed errors on random bytes', () => {
    const random = seededRandom(SEED + 1)
    for (let round = 0; round < campaignSize(160, 800); round++) {
      const bytes = Uint8Array.from({ length: random.below(200) }, () => random.below(256))
      expectTyped(() => decode(bytes, undefined), `round ${round}`)
      expectTyped(() => decodeGeneral(bytes, 0, bytes.length), `envelope ${round}`)
    }
  })
})

describe('a general envelope', () => {
  it('reads back every kind of value', () => {
    const value = {
      none: null,
      yes: true,
      numbers: [0, 127, 128, 70_000, 2 ** 40, -1, -200, -70_000, -(2 ** 40), 0.5, 1e300],
      text: 'é'.repeat(40),
      long: 'x'.repeat(70_000),
      map: { nested: { deep: [[], {}] } },
    }
    const bytes = encodeGeneral(value)
    expect(decodeGeneral(bytes, 0, bytes.length)).toEqual(value)
  })

  it.each([
    ['an array of four thousand million', [0x81, 0xa1, 0x61, 0xdd, 0xff, 0xff, 0xff, 0xff]],
    ['a map of four thousand million', [0xdf, 0xff, 0xff, 0xff, 0xff]],
    ['a text of four thousand million bytes', [0x81, 0xa1, 0x61, 0xdb, 0xff, 0xff, 0xff, 0xff]],
    ['an extension type', [0x81, 0xa1, 0x61, 0xd4, 0x01, 0x01]],
    ['arrays in arrays without end', [0x81, 0xa1, 0x61, ...new Array(64).fill(0x91), 0x01]],
  ])('refuses %s', (_name, bytes) => {
    expect(() => decodeGeneral(Uint8Array.from(bytes), 0, bytes.length)).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_ERROR' }),
    )
  })

  it('does not let a key reach a prototype', () => {
    const bytes = Uint8Array.from([0x81, 0xa9, ...Buffer.from('__proto__'), 0x81, 0xa1, 0x61, 1])
    const decoded = decodeGeneral(bytes, 0, bytes.length)
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>)['a']).toBeUndefined()
  })
})
