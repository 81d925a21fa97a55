import { scanRequest, topKRequest } from '../../src/client/request-bodies.ts'
import { KIND, REQUEST_FLAG } from '../../src/wire/frame.ts'
import { FrameWriter } from '../../src/wire/frame-writer.ts'
import { writeHello } from '../../src/wire/hello.ts'
import { beginRequest } from '../../src/wire/request.ts'
import { writeSparseVector } from '../../src/wire/sparse-vector.ts'

function frame(write: (writer: FrameWriter) => void): Uint8Array {
  const writer = new FrameWriter(256)
  write(writer)
  return writer.toBytes()
}

/** The hello that begins a connection. */
export const HELLO: Uint8Array = frame((writer) =>
  writeHello(writer, {
    minVersion: 1,
    maxVersion: 1,
    maxFrameBytes: 1 << 20,
    token: '',
    job: '',
    client: 'fuzz',
  }),
)

function about(
  state: string,
  kind: number,
  flags: number,
  body: (writer: FrameWriter) => number,
): Uint8Array {
  return frame((writer) => {
    const consistency = { level: 'live' } as const
    beginRequest(writer, kind, flags, 1, { state, version: 0, deadlineMs: 200, consistency })
    writer.end(body(writer))
  })
}

const whole = (body: {
  readonly kind: number
  readonly flags: number
  write(w: FrameWriter): void
}) =>
  about('ALS_MODEL', body.kind, body.flags, (writer) => {
    body.write(writer)
    return 1
  })

const keys =
  (...texts: readonly string[]) =>
  (writer: FrameWriter): number => {
    for (const text of texts) writer.key(text)
    return texts.length
  }

/** Valid frames of every kind. */
export const QUERY_FRAMES: readonly Uint8Array[] = [
  HELLO,
  about('ALS_MODEL', KIND.predict, 0, (writer) => {
    keys('1-U', '2-I', '3-U', '4-I')(writer)
    return 2
  }),
  about('ALS_MODEL', KIND.rows, REQUEST_FLAG.envelope, keys('1-U', 'x', '2-I')),
  about('KNOWN', KIND.values, 0, keys('1')),
  whole(scanRequest('', '\u{10ffff}', 50)),
  whole(topKRequest('ALS_MODEL', '1-U', { k: 5, suffix: '-I', exclude: ['1-I'] })),
  whole(topKRequest('ALS_MODEL', new Float32Array(100).fill(0.5), { k: 5, normColumns: 100 })),
  about('ALS_MODEL', KIND.sparseDot, REQUEST_FLAG.packed, (writer) => {
    const features = { ids: Uint32Array.of(1, 5, 70), values: Float32Array.of(1, 2, 3) }
    writeSparseVector(writer, features, false)
    return 1
  }),
  frame((writer) => {
    writer.begin(KIND.routing, 0, 2)
    writer.end(1)
  }),
  frame((writer) => {
    writer.begin(KIND.ping, 0, 3)
    writer.end(1)
  }),
]
