import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { readerOf, type Serializer } from '../../core/serializer.ts'
import type { StateDeclaration } from '../port/change.ts'
import type { TypedStateDescriptor } from '../port/descriptors.ts'
import { HOW_TO_MIGRATE, hasExpiry, valuesFormat } from '../port/format.ts'
import { EXPIRY_BYTES, readExpiry } from '../values/entry.ts'
import { chunksOf, rewriteElements } from '../values/list.ts'
import { isChunkKey } from './list-chunks.ts'
import type { Evolution } from './table-context.ts'

/** Appends a value, given as its stored bytes, in the declared form. */
type Rewrite = (bytes: Uint8Array, writer: ByteWriter) => void

/** Writes restored entries in the form that their state is declared with now; a text says why that cannot be. */
export function evolutionOf(
  stored: StateDeclaration,
  descriptor: TypedStateDescriptor,
): Evolution | string {
  const { kind, ttl } = descriptor
  const rewrite = rewriteOf(valuesFormat(stored.format), descriptor)
  if (typeof rewrite === 'string') return rewrite
  const hadTtl = hasExpiry(stored.format)
  const writer = new ByteWriter(256)
  return (key, value, nowMs) => {
    if (hadTtl && readExpiry(value) <= nowMs) return undefined
    writer.reset()
    if (ttl !== undefined) writer.int53(hadTtl ? readExpiry(value) : nowMs + ttl.ttlMs)
    const bytes = hadTtl ? value.subarray(EXPIRY_BYTES) : value
    if (kind !== 'list') rewrite(bytes, writer)
    else {
      if (ttl !== undefined && (isChunkKey(key) || chunksOf(bytes) > 0)) throw tooLong(stored)
      rewriteElements(bytes, writer, rewrite)
    }
    return writer.toBytes()
  }
}

function rewriteOf(stored: string, descriptor: TypedStateDescriptor): Rewrite | string {
  const { serializer } = descriptor
  let values = stored
  if (descriptor.kind === 'map') {
    const keys = `${descriptor.keySerializer.id}->`
    if (!stored.startsWith(keys)) return 'the keys of a map keep their serializer'
    values = stored.slice(keys.length)
  }
  if (values === serializer.id) return (bytes, writer) => writer.raw(bytes)
  return through(serializer, values)
}

function through(serializer: Serializer<unknown>, stored: string): Rewrite | string {
  const read = readerOf(serializer, stored)
  if (typeof read === 'string') return read
  return (bytes, writer) => serializer.write(read(new ByteReader(bytes)), writer)
}

/** Such a list has chunks, whose expiry would not be renewed with that of its head. */
function tooLong({ name }: StateDeclaration): WeirError {
  return new WeirError(
    'STATE_CONFLICT',
    `state "${name}" has a list too long to get a time to live; ${HOW_TO_MIGRATE}`,
    { details: { state: name } },
  )
}
