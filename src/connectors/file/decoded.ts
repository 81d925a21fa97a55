import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { messageOf, WeirError } from '../../core/errors.ts'

const MAGIC = [0x1f, 0x8b]

/**
 * The bytes of a file, unpacked if they are gzip: if they begin as gzip does, whatever the file's name. Throws
 * MALFORMED_DATA for gzip that is damaged or cut off.
 */
export async function* unzipped(
  pieces: AsyncIterable<Uint8Array>,
  place: string,
): AsyncGenerator<Uint8Array> {
  const source = pieces[Symbol.asyncIterator]()
  try {
    const head = await firstBytes(source)
    const all = continued(head, source)
    yield* MAGIC.every((byte, at) => head[at] === byte) ? gunzipped(all, place) : all
  } finally {
    await source.return?.()
  }
}

/** The first two bytes or more; fewer only if there are no more. A copy. */
async function firstBytes(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let head = Buffer.alloc(0)
  while (head.length < MAGIC.length) {
    const next = await source.next()
    if (next.done === true) break
    head = Buffer.concat([head, next.value])
  }
  return head
}

async function* continued(
  head: Uint8Array,
  source: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head
  for (;;) {
    const next = await source.next()
    if (next.done === true) return
    yield next.value
  }
}

async function* gunzipped(
  pieces: AsyncIterable<Uint8Array>,
  place: string,
): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip()
  const done = pipeline(Readable.from(copies(pieces), { objectMode: false }), gunzip)
  // The reading below throws the same error.
  done.catch(() => undefined)
  try {
    for await (const piece of gunzip) yield piece as Uint8Array
  } catch (cause) {
    if (!isZlibError(cause)) throw cause
    throw new WeirError(
      'MALFORMED_DATA',
      `${place} is not whole: ${messageOf(cause)}; test it with "gzip -t"`,
      { cause, details: { path: place } },
    )
  } finally {
    gunzip.destroy()
    await done.catch(() => undefined)
  }
}

/** The stream keeps pieces longer than they are valid. */
async function* copies(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield piece.slice()
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
}
