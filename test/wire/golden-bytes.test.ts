import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { topKRequest } from '../../src/client/request-bodies.ts'
import { WeirError } from '../../src/core/errors.ts'
import { placeOf } from '../../src/core/position.ts'
import {
  AnswerCursor,
  beginAnswer,
  readErrorFrame,
  writeDetails,
  writeErrorFrame,
  writeItemEnvelope,
} from '../../src/wire/answer.ts'
import { ANSWER, ANSWER_FLAG, KIND, MAGIC, REQUEST_FLAG } from '../../src/wire/frame.ts'
import { encodeGeneral } from '../../src/wire/general-envelope.ts'
import { readHello, readWelcome, writeHello, writeWelcome } from '../../src/wire/hello.ts'
import { beginRequest, RequestCursor } from '../../src/wire/request.ts'
import { readRouting, writeRouting } from '../../src/wire/routing-table.ts'
import { writeSparseVector } from '../../src/wire/sparse-vector.ts'
import { statusOf } from '../../src/wire/status.ts'
import { frameOf, hex, written } from './example-frames.ts'

const page = readFileSync(
  new URL('../../docs/reference/query-protocol.md', import.meta.url),
  'utf8',
)
const LIVE = { level: 'live' } as const

const hello = {
  minVersion: 1,
  maxVersion: 1,
  maxFrameBytes: 1 << 20,
  token: '',
  job: '',
  client: 'py',
}
const welcome = {
  version: 1,
  maxFrameBytes: 1 << 20,
  routingEpoch: 1,
  server: 'q',
  job: 'j',
  idleTimeoutMs: 1000,
  maxOutstanding: 8,
}

const helloBytes = written((writer) => writeHello(writer, hello))
const requestBytes = written((writer) => {
  const preamble = { state: 'M', version: 0, deadlineMs: 5000, consistency: LIVE }
  beginRequest(writer, KIND.predict, 0, 1, preamble)
  writer.key('1-U')
  writer.key('7-I')
  writer.end(1)
})
const answerBytes = written((writer) => {
  const envelope = { modelVersion: 1, routingEpoch: 1, checkpointId: 7, ageMs: 3 }
  beginAnswer(writer, KIND.predict + ANSWER, 0, 1, envelope)
  writer.scoreItem(0, 0, 11)
  writer.end(1)
})

describe('the bytes of the protocol', () => {
  it.each([
    ['hello', helloBytes],
    ['prediction', requestBytes],
    ['answer', answerBytes],
  ])('of a %s stand in the protocol page', (_name, bytes) => {
    const block = page.slice(page.indexOf('## Example'))
    const digits = block
      .replace(/a\d"(\w+)"/g, (token, text: string) => token.slice(0, 2) + hex(Buffer.from(text)))
      .replaceAll(/[\s>]/g, '')
    expect(digits).toContain(hex(bytes))
  })

  it('of a packed sparse vector are those of the protocol page', () => {
    const ids = Uint32Array.of(0, 1, 130, 70_000)
    const values = Float32Array.of(1, 0.5, -2, 3)
    const bytes = written((writer) => writeSparseVector(writer, { ids, values }, false))
    expect(page.replaceAll(/\s/g, '')).toContain(`${hex(bytes)}features0:11:0.5130:-270000:3`)
  })

  it('of an at-least request never change', () => {
    const bytes = written((writer) => {
      const consistency = { level: 'at-least', partition: 3, offset: 2 ** 33 + 1 } as const
      beginRequest(writer, KIND.rows, REQUEST_FLAG.envelope, 0xfffffffe, {
        state: 'ab',
        version: 9,
        deadlineMs: 250,
        consistency,
      })
      writer.key('é')
      writer.end(1)
    })
    expect(hex(bytes)).toBe(
      '26000000030101' +
        '00feffffff' +
        '09000000fa000000020002000300000001000000020000006162' +
        '0200c3a9',
    )
  })

  it('of an answer with an own envelope and a message never change', () => {
    const bytes = written((writer) => {
      const frame = { modelVersion: 2, routingEpoch: 3, checkpointId: 2 ** 32, ageMs: -1 }
      beginAnswer(writer, KIND.predict + ANSWER, ANSWER_FLAG.envelope, 5, frame)
      writer.scoreItem(statusOf('RESTORING'), 0, 0)
      writeItemEnvelope(writer, { slot: 1, partition: -1, offset: 0, ageMs: 0.5 })
      writer.addFlags(ANSWER_FLAG.details)
      writeDetails(writer, [{ index: 0, error: new WeirError('RESTORING', 'no') }])
      writer.end(1)
    })
    expect(hex(bytes)).toBe(
      '660000008203010005000000' +
        '02000000030000000000000001000000000000000000f0bf' +
        '050000000000' +
        '0100ffffffff0000000000000000000000000000e03f' +
        '010000002400' +
        '83a4636f6465a9524553544f52494e47a76d657373616765a26e6fa764657461696c7380',
    )
  })

  it.each([
    ['a plain', {}, '0b', '0200'],
    ['one with norms', { normColumns: 3 }, '2b', '030000000200'],
  ])('of %s top-k request never change', (_name, options, flags, head) => {
    const vector = Float32Array.of(1, 0.5)
    const bytes = written((writer) => {
      const body = topKRequest('M', vector, { k: 2, suffix: '-I', cold: 'c', ...options })
      const preamble = { state: 'M', version: 1, deadlineMs: 1, consistency: LIVE }
      beginRequest(writer, body.kind, body.flags, 1, preamble)
      body.write(writer)
      writer.end(1)
    })
    expect(hex(bytes.subarray(4, 6))).toBe(`07${flags}`)
    expect(hex(bytes.subarray(37))).toBe(`010063${head}02002d490000020000000000803f0000003f`)
  })

  it('of positions of other sources than the first never change', () => {
    const request = written((writer) => {
      const consistency = { level: 'at-least', source: 2, partition: 3, offset: 5 } as const
      beginRequest(writer, KIND.rows, 0, 1, { state: 'a', version: 0, deadlineMs: 1, consistency })
      writer.end(0)
    })
    expect(hex(request.subarray(20))).toBe('0200010003000002050000000000000061')
    const cursor = new RequestCursor()
    cursor.open(frameOf(request))
    cursor.readPreamble()
    expect(cursor.consistency).toEqual({ level: 'at-least', source: 2, partition: 3, offset: 5 })
    const answer = written((writer) => {
      const frame = { modelVersion: 2, routingEpoch: 3, checkpointId: 1, ageMs: -1 }
      beginAnswer(writer, KIND.rows + ANSWER, ANSWER_FLAG.envelope, 5, frame)
      writeItemEnvelope(writer, { slot: 1, partition: placeOf(2, 3), offset: 5, ageMs: 0 })
      writer.end(1)
    })
    expect(hex(answer.subarray(36))).toBe('01000300000205000000000000000000000000000000')
    const answers = new AnswerCursor()
    answers.open(frameOf(answer))
    answers.itemEnvelope()
    expect(answers.envelope('q')).toMatchObject({ source: 2, partition: 3, offset: 5 })
  })

  it('of an error number never change', () => {
    expect(
      (['UNKNOWN_KEY', 'NOT_OWNER', 'UNAUTHENTICATED', 'ILLEGAL_STATE', 'JOB_FAILED'] as const).map(
        statusOf,
      ),
    ).toEqual([1, 4, 12, 20, 254])
  })
})

describe('frames read back what was written', () => {
  it('as a hello', () => {
    expect(readHello(frameOf(helloBytes))).toEqual(hello)
  })

  it('as a welcome', () => {
    const bytes = written((writer) => writeWelcome(writer, welcome))
    expect(readWelcome(frameOf(bytes))).toEqual(welcome)
  })

  it('as a welcome of a server that records spans', () => {
    const traced = { ...welcome, traces: true }
    const bytes = written((writer) => writeWelcome(writer, traced))
    expect(readWelcome(frameOf(bytes))).toEqual(traced)
  })

  it.each([
    { what: 'with sources', sources: [{ number: 0, uid: 'model-rows', tracked: true }] },
    { what: 'without sources, as earlier servers write it', sources: [] },
  ])('as a routing table $what', ({ sources }) => {
    const table = {
      epoch: 70_000,
      job: 'als',
      endpoints: [{ server: 'query-0', host: '', port: 40_001 }],
      states: [
        { name: 'ALS_MODEL', kind: 'vector', dimension: 102, versions: [1, 2], liveVersion: 2 },
      ],
      sources,
    }
    const bytes = written((writer) => writeRouting(writer, 4, table))
    expect(Buffer.from(bytes).includes('sources')).toBe(sources.length > 0)
    expect(readRouting(frameOf(bytes))).toEqual(table)
  })

  it('as a routing table with the labels of a linear model', () => {
    const labels = [{ version: 7, positive: 1, negative: 0 }]
    const shape = { kind: 'vector', dimension: 1024, versions: [7], liveVersion: 7 }
    const states = [{ name: 'SVM_MODEL', ...shape, labels }]
    const table = { epoch: 1, job: 'svm', endpoints: [], states, sources: [] }
    const bytes = written((writer) => writeRouting(writer, 4, table))
    expect(readRouting(frameOf(bytes))).toEqual(table)
  })

  it('as a routing table of a job in many processes', () => {
    const endpoints = [
      { server: 'a:1', host: 'a', port: 1 },
      { server: 'b:2', host: 'b', port: 2 },
    ]
    const counts = { name: 'COUNTS', kind: 'value', dimension: 0, versions: [], liveVersion: 0 }
    const table = {
      ...{ epoch: 4, job: 'counts', endpoints, sources: [] },
      states: [{ ...counts, keyGroups: 128 }],
      shares: { partitions: 8, owners: [-1, 0, 0, 1, 1, 1, -1, 0] },
    }
    const bytes = written((writer) => writeRouting(writer, 4, table))
    expect(readRouting(frameOf(bytes))).toEqual(table)
  })

  it.each([
    { partitions: 0, ranges: [] },
    { partitions: 4, ranges: [[0, 4, 0]] },
    { partitions: 4, ranges: [[2, 1, 0]] },
    { partitions: 4, ranges: [[0, 1, 1]] },
    { partitions: 4, ranges: [[0, 1]] },
    { partitions: 4 },
    7,
  ])('never as a table of owners that do not exist: %j', (shares) => {
    const bytes = written((writer) => {
      writer.begin(KIND.routing + ANSWER, 0, 4)
      const endpoints = [{ server: 'a:1', host: 'a', port: 1 }]
      writer.raw(encodeGeneral({ epoch: 1, job: '', endpoints, states: [], shares }))
      writer.end(1)
    })
    expect(() => readRouting(frameOf(bytes))).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_ERROR' }),
    )
  })

  it('as an error', () => {
    const details = { endpoint: 'h:1', n: -2.5, big: 2 ** 40, yes: true }
    const error = new WeirError('NOT_OWNER', 'ask Zoë', { details })
    const bytes = written((writer) => writeErrorFrame(writer, KIND.error, 3, error))
    expect(readErrorFrame(frameOf(bytes))).toMatchObject({
      code: 'NOT_OWNER',
      message: 'ask Zoë',
      details,
    })
  })

  it.each([
    LIVE,
    { level: 'checkpoint' } as const,
    { level: 'at-least', partition: 31, offset: 2 ** 52 } as const,
    { level: 'bounded', maxAgeMs: 12.5 } as const,
  ])('as a request with consistency $level', (consistency) => {
    const bytes = written((writer) => {
      const preamble = { state: 'état', version: 3, deadlineMs: 77, consistency }
      beginRequest(writer, KIND.values, 0, 9, preamble)
      writer.key('k')
      writer.end(1)
    })
    const cursor = new RequestCursor()
    cursor.open(frameOf(bytes))
    cursor.readPreamble()
    expect(cursor).toMatchObject({ state: 'état', version: 3, deadlineMs: 77, consistency })
    expect(cursor.text()).toBe('k')
    cursor.finish()
  })

  it('as an answer', () => {
    const cursor = new AnswerCursor()
    cursor.open(frameOf(answerBytes))
    expect(cursor).toMatchObject({ modelVersion: 1, routingEpoch: 1, checkpointId: 7, ageMs: 3 })
    cursor.take(2)
    expect(cursor.float32()).toBe(11)
  })
})

describe('a hello', () => {
  it('of a newer protocol is refused with its version', () => {
    const newer = written((writer) =>
      writeHello(writer, { ...hello, minVersion: 2, maxVersion: 9 }),
    )
    expect(() => readHello(frameOf(newer))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
    )
  })

  it('without the magic bytes is refused', () => {
    const bytes = helloBytes.slice()
    bytes[12] = 0
    expect(MAGIC & 0xff).toBe(0x57)
    expect(() => readHello(frameOf(bytes))).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_ERROR' }),
    )
  })
})
